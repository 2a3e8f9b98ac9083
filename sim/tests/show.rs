//! What an engineer sees of a run: a time line, a diagram, a page.

use std::collections::BTreeSet;

use homing_sim::choose::ByName;
use homing_sim::picture::{Diagram, Figure, Kind, Place, html, matters, mermaid, text};
use homing_sim::plant::Plant;
use homing_sim::run::Plan;
use homing_sim::timeline::CODES;
use homing_sim::trace::{Broken, Trace, record};

/// A lost request, a lost answer, a late answer, a jump of the clock, a crash and a restart, all about one session.
const TROUBLE: [&str; 22] = [
    "setup 1",
    "ask t1/s0/h",
    "lose-request r0",
    "answer r0",
    "lose-reply r0",
    "answer r0",
    "serve r0",
    "apply r0",
    "ask t1/s0/h",
    "deliver r0",
    "commit",
    "commit",
    "release r0",
    "tick 6000ms",
    "answer r1",
    "fail r1 quota",
    "answer r1",
    "serve r1",
    "answer r1",
    "crash",
    "tick 1000ms",
    "restart",
];

/// What a golden file holds must not depend on the numbers of choices, only on their texts.
fn unnumbered(mut trace: Trace) -> Trace {
    trace.header.command = "homing-sim replay --choices …".into();
    trace
}

fn recorded(texts: &[&str], plant: Option<Plant>) -> Trace {
    let plan = Plan { steps: texts.len(), plant, settle: false, ..Plan::default() };
    let mut named = ByName::new(texts);
    let (_, trace) = record(&plan, &mut named);
    assert_eq!(named.divergence(), None);
    trace
}

/// The loser of a race is told that it won.
fn broken() -> Trace {
    let texts = ["setup 1", "ask t1/s0/h", "ask t1/s0/h", "answer r0", "answer r1", "answer r0", "answer r1"];
    let trace = recorded(&texts, Some(Plant::LoserIgnoresWinner));
    assert!(!trace.verdict.holds);
    trace
}

#[test]
fn the_text_of_a_run_with_trouble() {
    insta::assert_snapshot!(text(&unnumbered(recorded(&TROUBLE, None))));
}

#[test]
fn the_mermaid_of_a_run_with_trouble() {
    insta::assert_snapshot!(mermaid(&unnumbered(recorded(&TROUBLE, None))));
}

#[test]
fn the_text_of_a_broken_rule() {
    insta::assert_snapshot!(text(&unnumbered(broken())));
}

#[test]
fn the_mermaid_of_a_broken_rule_has_an_alert() {
    let said = mermaid(&unnumbered(broken()));
    assert!(said.contains("alert! B4 is broken at step 7"), "{said}");
    insta::assert_snapshot!(said);
}

#[test]
fn every_code_of_a_line_has_a_meaning() {
    let known: BTreeSet<&str> = CODES.iter().map(|(code, _)| *code).collect();
    assert_eq!(known.len(), CODES.len(), "a code is explained twice");
    let mut seen = BTreeSet::new();
    for seed in 0..60 {
        let (_, trace) = record(&Plan::default(), &mut homing_sim::choose::Seeded::new(seed));
        for line in trace.steps.iter().flat_map(|step| &step.events) {
            assert!(known.contains(line.code.as_str()), "{line}");
            seen.insert(line.code.clone());
        }
    }
    assert!(seen.len() >= 20, "only {seen:?} were seen");
}

#[test]
fn what_is_lost_and_what_is_late_is_drawn_so() {
    let trace = recorded(&TROUBLE, None);
    let diagram = Diagram::of(&trace);
    let (p0, store) = (Place::Process(0), Place::Store);
    let arrows: Vec<_> = diagram
        .drawn
        .iter()
        .filter_map(|drawn| match &drawn.figure {
            Figure::Arrow { from, to, kind, .. } => Some((drawn.line.step, from.clone(), to.clone(), *kind)),
            _ => None,
        })
        .collect();
    assert!(arrows.contains(&(3, p0.clone(), store.clone(), Kind::Lost)), "the request is lost on its way there");
    assert!(arrows.contains(&(5, p0.clone(), store.clone(), Kind::Ask)), "what is asked arrives");
    assert!(arrows.contains(&(5, store, p0.clone(), Kind::Lost)), "the answer is lost on its way back");
    let late = arrows.iter().find(|(step, _, _, kind)| *step == 10 && matches!(kind, Kind::Late(_)));
    let Some((_, _, _, Kind::Late(began))) = late else { panic!("{arrows:?}") };
    assert_eq!(diagram.drawn[*began].line.step, 8, "it begins where the store did it");
    assert!(diagram.drawn.iter().any(|d| d.figure == Figure::Down(p0.clone())));
    assert!(diagram.drawn.iter().any(|d| d.figure == Figure::Up(p0.clone())));
}

#[test]
fn the_steps_that_matter_end_with_the_broken_one_and_leave_out_the_rest() {
    let trace = broken();
    let told = matters(&trace);
    let last = told.last().unwrap();
    let verdict = trace.verdict.broken.as_ref().unwrap();
    assert_eq!((last.at, last.event), (verdict.at, verdict.event));
    assert!(last.text.contains("r1"), "{last:?}");
    assert!(told.iter().any(|m| m.text.contains("Request r1 arrives")), "{told:#?}");
    assert!(told.iter().any(|m| m.text.contains("row 1 t1 made")), "the winner's row matters: {told:#?}");
    assert!(told.len() < trace.steps.iter().map(|s| s.events.len()).sum());
    assert!(matters(&recorded(&TROUBLE, None)).is_empty(), "nothing broke");
}

/// Where the verdict names an account and nobody else, those that dialled it are told.
#[test]
fn a_verdict_about_an_account_tells_who_dialled_it() {
    let mut trace = recorded(&TROUBLE, None);
    let (at, event) = (trace.steps.len() - 1, 0);
    trace.verdict.holds = false;
    trace.verdict.broken = Some(Broken {
        oracle: "LIVE".into(),
        says: String::new(),
        text: "a2 does not serve".into(),
        step: 22,
        at,
        event,
    });
    let told: Vec<String> = matters(&trace).into_iter().map(|m| m.text).collect();
    assert!(told.iter().any(|text| text.contains("Request r1 goes upstream: attempt 2 on a2")), "{told:#?}");
    let without = recorded(&TROUBLE, None);
    assert!(matters(&without).is_empty(), "without a verdict nothing is told");
}

#[test]
fn the_page_is_one_file_that_loads_nothing() {
    for page in [html(&broken()), html(&recorded(&TROUBLE, None))] {
        let rest = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
        for outside in ["http:", "https:", "src=", "@import", "url(/", "<link", "fetch(", "XMLHttp", "import("] {
            assert!(!rest.contains(outside), "{outside} in the page");
        }
        assert!(page.starts_with("<!doctype html>"));
    }
}

#[test]
fn the_page_shows_every_event_every_step_and_the_verdict() {
    for trace in [broken(), recorded(&TROUBLE, None)] {
        let page = html(&trace);
        let drawn = page.matches("class=\"event").count();
        assert_eq!(drawn, trace.steps.iter().map(|s| s.events.len()).sum::<usize>());
        for line in trace.steps.iter().flat_map(|step| &step.events) {
            let shown = format!("<title>{}</title>", escaped(&line.to_string()));
            assert!(page.contains(&shown), "{line}");
        }
        for at in 0..trace.steps.len() {
            assert!(page.contains(&format!("id=\"step-{at}\"")));
        }
        assert!(page.contains(&escaped(&trace.header.command)), "the command that shows it again");
    }
    let (page, trace) = (html(&broken()), broken());
    let verdict = trace.verdict.broken.unwrap();
    assert!(page.contains(&escaped(&verdict.says)) && page.contains(&escaped(&verdict.text)));
    assert_eq!(page.matches("class=\"event breaks\"").count(), 1);
}

#[test]
fn the_page_breaks_the_arrows_of_what_is_lost_and_slants_those_of_what_is_late() {
    let page = html(&recorded(&TROUBLE, None));
    let lost: Vec<&str> = page.lines().filter(|line| line.contains("class=\"arrow lost\"")).collect();
    assert_eq!(lost.len(), 2, "one request, one answer");
    assert!(lost.iter().all(|line| line.contains("class=\"cross\"")), "each ends in a cross");
    assert_eq!(page.matches("class=\"arrow answer late\"").count(), 1);
    assert_eq!(page.matches("class=\"life down\"").count(), 1, "the process's lane has one gap");
    assert!(page.contains("class=\"piece reserved"), "a reservation's bar");
    assert!(page.contains("class=\"piece bound acct-2"), "a binding's bar after the move");
    assert!(page.contains("a1→a2"), "the agreed replacement is written, not only coloured");
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    for trace in [recorded as fn(&[&str], Option<Plant>) -> Trace; 2].map(|make| make(&TROUBLE, None)) {
        let again = recorded(&TROUBLE, None);
        assert_eq!(html(&trace), html(&again));
        assert_eq!(mermaid(&trace), mermaid(&again));
        assert_eq!(text(&trace), text(&again));
    }
}

/// A trace file is somebody else's text: nothing in it becomes markup, script or syntax.
#[test]
fn hostile_texts_stay_texts() {
    let evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&\"'";
    let mut trace = broken();
    trace.header.command = evil.into();
    trace.header.program = evil.into();
    trace.header.plant = Some(evil.into());
    let verdict = trace.verdict.broken.as_mut().unwrap();
    (verdict.text, verdict.says, verdict.oracle) = (evil.into(), evil.into(), evil.into());
    for step in &mut trace.steps {
        step.action = Some(evil.into());
        step.enabled = vec![evil.into()];
        for (line, at) in step.events.iter_mut().zip(0..) {
            (line.what, line.who) = (evil.into(), evil.into());
            if at % 2 == 1 {
                line.code = evil.into();
            }
        }
        for row in &mut step.state.rows {
            row.state = evil.into();
        }
    }
    let page = html(&trace);
    assert!(!page.contains("<img") && !page.contains("<script>alert"));
    assert_eq!(page.matches("</script>").count(), 2, "those of the page itself");
    let diagram = mermaid(&trace);
    assert!(!diagram.lines().skip(1).any(|line| line.contains('<')), "{diagram}");
}

/// A file may say anything: pictures of it are odd, not a crash.
#[test]
fn a_trace_whose_parts_do_not_fit_is_still_shown() {
    let mut trace = broken();
    trace.steps.rotate_left(3);
    trace.verdict.broken.as_mut().unwrap().at = 99;
    for step in &mut trace.steps {
        step.state.rows.reverse();
        step.state.accounts.clear();
        step.state.processes.clear();
    }
    assert!(html(&trace).contains("B4"));
    assert!(!text(&trace).is_empty() && !mermaid(&trace).is_empty());
    trace.steps.clear();
    assert!(html(&trace).contains("B4"));
    assert!(!text(&trace).is_empty() && !mermaid(&trace).is_empty());
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}
