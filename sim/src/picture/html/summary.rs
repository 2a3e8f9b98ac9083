//! The top of the page: the verdict in plain words, the command that shows the run again, how to read the drawing.

use std::fmt::Write as _;

use super::super::explain::matters;
use super::super::headline;
use super::svg::escape;
use crate::timeline::CODES;
use crate::trace::Trace;

pub(super) fn summary(trace: &Trace, out: &mut String) {
    let class = if trace.verdict.broken.is_some() { "broken" } else { "holds" };
    let sign = if trace.verdict.broken.is_some() { "✗" } else { "✓" };
    let _ = writeln!(out, "<header class=\"{class}\">\n<h1>{sign} {}</h1>", escape(&headline(trace)));
    match &trace.verdict.broken {
        Some(broken) => {
            let _ = writeln!(
                out,
                "<div class=\"why\">\n<section><h2>What had to hold</h2><p><b>{}</b> {}</p></section>\n\
                 <section><h2>What happened</h2><p>{}</p><p><a href=\"#at={}\" data-go=\"{}\">Go to the step that broke it</a> (key <kbd>v</kbd>)</p></section>\n</div>",
                escape(&broken.oracle),
                escape(&broken.says),
                escape(&broken.text),
                broken.at,
                broken.at
            );
            steps_that_matter(trace, out);
        }
        None => out.push_str("<p>No oracle objected to any step of this run.</p>\n"),
    }
    origin(trace, out);
    out.push_str("</header>\n");
    help(trace, out);
}

fn steps_that_matter(trace: &Trace, out: &mut String) {
    out.push_str("<section class=\"matters\"><h2>The steps that matter</h2>\n<ol>\n");
    let matters = matters(trace);
    for (i, matter) in matters.iter().enumerate() {
        let last = if i + 1 == matters.len() { " class=\"last\"" } else { "" };
        let _ = writeln!(
            out,
            "<li{last}><a href=\"#at={}\" data-go=\"{}\">step {}</a> {}</li>",
            matter.at,
            matter.at,
            matter.step,
            escape(&matter.text)
        );
    }
    out.push_str("</ol>\n<p class=\"quiet\">They are those of the requests, bindings and accounts that the verdict names.</p></section>\n");
}

fn origin(trace: &Trace, out: &mut String) {
    let header = &trace.header;
    let lines = || trace.steps.iter().flat_map(|step| &step.events);
    let profile = lines().find_map(|line| line.what.strip_prefix("world ")).unwrap_or("not chosen").trim_matches('"');
    let world = match &header.scope {
        Some(scope) => format!("scope {scope}"),
        None => format!("world {profile}, named by the first choice"),
    };
    let plant = header.plant.as_ref().map_or_else(|| "no planted bug".into(), |p| format!("planted bug: {p}"));
    let _ = writeln!(
        out,
        "<p class=\"command\"><span>Run it again</span> <code id=\"command\">{}</code> <button type=\"button\" id=\"copy\">Copy</button></p>\n\
         <p class=\"quiet\">{}; {}; {} steps; homing-sim {}</p>",
        escape(&header.command),
        escape(&world),
        escape(&plant),
        trace.steps.iter().filter(|s| s.action.is_some()).count(),
        escape(&header.program)
    );
}

const WORDS: [(&str, &str); 7] = [
    ("account", "an upstream account, a1, a2, …; requests of one session should stay on one"),
    ("binding, row", "what the store remembers of a session: its account, its generation, when it ends"),
    ("reserved", "made before the first attempt, so that racing first requests go to the same account (hatched bar)"),
    ("bound", "an attempt there succeeded: the account is the session's home (full bar)"),
    (
        "generation g0, g1, …",
        "rises when the home is confirmed or moves; an older success cannot move the row any more",
    ),
    ("pending →a2", "requests that had to leave agreed to go to a2; the home moves only when one succeeds there"),
    ("r0, r1, …", "requests, in the order they came; t1/s0 is tenant 1, session 0"),
];

fn help(trace: &Trace, out: &mut String) {
    out.push_str(
        "<details class=\"help\"><summary>How to read this page</summary>\n<div class=\"columns\">\n<div><h3>The drawing</h3><ul>\n\
         <li>Time runs down. Every line is one thing that happened, lines on one ground are one step.</li>\n\
         <li><b class=\"sample\">──▶</b> somebody asks; <b class=\"sample\">╌╌▷</b> somebody answers.</li>\n\
         <li><b class=\"sample\">╌╌✕</b> broken: it never arrives. A request that is lost was not done; an answer that is lost was.</li>\n\
         <li>A slanted line: the answer comes late, or a write lands late, after other things happened. A dotted line that ends in a circle was left behind: nobody waits for it.</li>\n\
         <li>A gap in a process's thick line: it is down, and everything in its memory is gone. A gap in the store's line: it cannot be reached.</li>\n\
         <li>Bars on the right: bindings, in the colour and with the name of their account.</li>\n\
         <li>Keys: <kbd>↓</kbd> <kbd>↑</kbd> (or <kbd>j</kbd> <kbd>k</kbd>) step, <kbd>Home</kbd> <kbd>End</kbd>, <kbd>v</kbd> the broken step.</li>\n\
         </ul></div>\n<div><h3>Words</h3><dl>\n",
    );
    for (word, means) in WORDS {
        let _ = writeln!(out, "<dt>{}</dt><dd>{}</dd>", escape(word), escape(means));
    }
    out.push_str("</dl></div>\n<div><h3>Codes</h3><dl class=\"codes\">\n");
    let used: std::collections::BTreeSet<&str> =
        trace.steps.iter().flat_map(|step| &step.events).map(|line| line.code.as_str()).collect();
    for (code, means) in CODES.iter().filter(|(code, _)| used.contains(code)) {
        let _ = writeln!(out, "<dt>{}</dt><dd>{}</dd>", escape(code), escape(means));
    }
    out.push_str("</dl></div>\n</div></details>\n");
}
