//! Which steps of a broken run matter, in plain words: those of the requests, rows and accounts the verdict names.

use std::collections::BTreeSet;

use crate::ask::{Ask, Form, Oddity};
use crate::names::numbers;
use crate::timeline::Line;
use crate::trace::{Broken, Trace};

/// Most steps that are told.
const MOST: usize = 18;

/// One line that matters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matter {
    /// Its step's place in the trace.
    pub at: usize,
    /// Its place among the step's events.
    pub event: usize,
    /// The step's number.
    pub step: u32,
    /// What happened, as a sentence.
    pub text: String,
}

/// Whom the verdict is about.
struct About {
    turns: BTreeSet<String>,
    rows: BTreeSet<u64>,
    accounts: BTreeSet<u32>,
}

/// The lines that matter, up to the one at which the rule broke. Empty where every rule held.
#[must_use]
pub fn matters(trace: &Trace) -> Vec<Matter> {
    let Some(broken) = &trace.verdict.broken else { return Vec::new() };
    let lines: Vec<(usize, usize, &Line)> = lines_until(trace, broken).collect();
    let about = About::of(broken, &lines);
    let mut chosen: Vec<Matter> = Vec::new();
    let mut then = 0;
    for (at, event, line) in &lines {
        let last = (*at, *event) == (broken.at, broken.event);
        if last || about.concerns(line) {
            let later = line.time_ms.saturating_sub(then);
            let later =
                if later > 0 && !chosen.is_empty() { format!("{} s later: ", later / 1_000) } else { String::new() };
            let text = format!("{later}{}", sentence(line));
            then = line.time_ms;
            chosen.push(Matter { at: *at, event: *event, step: line.step, text });
        }
    }
    chosen.split_off(chosen.len().saturating_sub(MOST))
}

fn lines_until<'a>(trace: &'a Trace, broken: &Broken) -> impl Iterator<Item = (usize, usize, &'a Line)> {
    let end = (broken.at, broken.event);
    let steps = trace.steps.iter().enumerate();
    let lines = steps.flat_map(|(at, step)| step.events.iter().enumerate().map(move |(event, line)| (at, event, line)));
    lines.take_while(move |(at, event, _)| (*at, *event) <= end)
}

impl About {
    fn of(broken: &Broken, lines: &[(usize, usize, &Line)]) -> Self {
        let mut turns: BTreeSet<String> = numbers(&broken.text, "r").iter().map(|n| format!("r{n}")).collect();
        let mut rows: BTreeSet<u64> = numbers(&broken.text, "row ").into_iter().collect();
        let mut accounts: BTreeSet<u32> =
            numbers(&broken.text, "a").iter().filter_map(|n| u32::try_from(*n).ok()).collect();
        if let Some((_, _, last)) = lines.last() {
            turns.extend(Some(last.who.clone()).filter(|who| who != "."));
            rows.extend(last.row);
            accounts.extend(last.account);
        }
        if turns.is_empty() {
            // Nobody is named: those that had to do with the accounts, and the last one.
            let theirs = lines.iter().filter(|(.., l)| l.account.is_some_and(|a| accounts.contains(&a)));
            turns.extend(theirs.chain(lines.iter().rfind(|(.., l)| l.who != ".")).map(|(.., l)| l.who.clone()));
            turns.remove(".");
        }
        // The rows that these requests dealt with, and then whoever else changed those.
        rows.extend(lines.iter().filter(|(.., l)| turns.contains(&l.who)).filter_map(|(.., l)| l.row));
        turns.extend(
            lines
                .iter()
                .filter(|(.., l)| l.code == "s~" && l.row.is_some_and(|r| rows.contains(&r)) && l.who != ".")
                .map(|(.., l)| l.who.clone()),
        );
        accounts.extend(lines.iter().filter(|(.., l)| turns.contains(&l.who)).filter_map(|(.., l)| l.account));
        Self { turns, rows, accounts }
    }

    fn concerns(&self, line: &Line) -> bool {
        let its = self.turns.contains(&line.who);
        match line.code.as_str() {
            "c>" | "c<" | "c!" | "s-" | "s?" | "s_" | "s!" | "u>" | "u+" | "u!" | "d?" => its,
            "s=" => its && !line.what.starts_with("look"),
            "s~" => line.row.is_some_and(|row| self.rows.contains(&row)),
            "o." | "o!" => line.account.is_none_or(|account| self.accounts.contains(&account)),
            "p!" | "p+" | "d!" | "d+" => true,
            _ => false,
        }
    }
}

/// One line as a sentence for somebody who does not know the codes.
pub(super) fn sentence(line: &Line) -> String {
    let Line { who, what, .. } = line;
    let process = line.process.map(|p| format!("p{p}")).unwrap_or_default();
    match line.code.as_str() {
        "c>" => format!("Request {who} arrives at process {process}: {}", asked(what)),
        "c<" => format!("Request {who} {what}."),
        "c!" => format!("Request {who}: its {what}."),
        "s=" => {
            let (ask, answer) = what.split_once(" -> ").unwrap_or((what, "done"));
            format!("Request {who} asks the store: {ask}. What the store makes of it: {answer}.")
        }
        "s-" => format!("Request {who} asks the store, but its {what}."),
        "s_" => format!("Request {who} waits no longer; its {what} and may still be carried out."),
        "s!" => format!(
            "What {who} left behind is carried out: {}.",
            what.trim_start_matches("late: ").replace(" -> ", "; the outcome, which nobody is told: ")
        ),
        "s~" => format!("In the store: {what}."),
        "s<" => format!("Request {who} has the store's answer."),
        "s?" => format!("Request {who} gets no answer: for it the outcome is unknown."),
        "t." => format!("Request {who} decides: {what}."),
        "t_" => format!("Request {who} {what}."),
        "u>" => format!("Request {who} goes upstream: {what}."),
        "u+" => format!("Request {who} is {what}."),
        "u!" => format!("The attempt of {who} on {what}."),
        "d=" => format!("The disk is {what}."),
        "d<" => format!("What {who} rests on is durable."),
        "d?" => format!("What {who} rests on is {what}; its end goes out all the same."),
        "o." | "o!" => format!("From outside: {what}."),
        "p!" | "p+" if line.process.is_some() => format!("Process {process} {what}."),
        "p_" => format!("Time: {what}."),
        "d!" | "d+" => format!("From here on {what}."),
        _ if who == "." => format!("{what}."),
        _ => format!("Request {who}: {what}."),
    }
}

/// "asks t1/s0/h" in words.
fn asked(what: &str) -> String {
    let (name, off) =
        what.strip_suffix(" (policy off)").map_or((what, ""), |name| (name, ", with the session policy off"));
    let name = name.trim_start_matches("asks ");
    let Some(ask) = Ask::named(name) else { return format!("{what}.") };
    let odd = oddity(ask.oddity);
    let how = match ask.form {
        Form::Header => "by header",
        Form::HeaderAndShared => "by header, with a prompt_cache_key that the whole application shares",
        Form::HeaderAndOwn => "by header, with a prompt_cache_key of its own",
        Form::BodyAndShared => "in the body, with a prompt_cache_key that the whole application shares",
        Form::Own => "by a prompt_cache_key of its own",
        Form::Shared => "by a prompt_cache_key that the whole application shares",
        Form::Thread => "by header, and its conversation by thread-id",
        Form::Nothing => return format!("tenant t{}, naming no session{odd}{off} ({name}).", ask.tenant.0),
    };
    format!("tenant t{}, session s{} named {how}{odd}{off} ({name}).", ask.tenant.0, ask.session)
}

/// What is odd about a request, in words.
fn oddity(oddity: Oddity) -> String {
    let words = match oddity {
        Oddity::Plain => return String::new(),
        Oddity::Model => "it names a model",
        Oddity::OtherModel => "it names another model",
        Oddity::Once => "it cannot be repeated once it was sent",
        Oddity::Pinned(account) => return format!("; only a{} can serve it", account.0),
        Oddity::Issues => "its success brings an id that pins",
        Oddity::Continues => "it names the last id its session got",
        Oddity::Foreign => "it names an id that another tenant got",
        Oddity::Mixed => "it names ids of two sessions",
    };
    format!("; {words}")
}
