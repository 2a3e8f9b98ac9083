//! A run as text: one line for each event, in fixed columns.

mod about;

use std::fmt;

use homing_core::pin::Pin;
use homing_core::row::{Row, State};
use homing_core::store::{Answer, Op};
use serde::{Deserialize, Serialize};

use crate::event::{Event, Seen, TurnId};
use crate::names::plain;
use crate::world::{BEGINNING, Violation};

/// One line of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// The step it belongs to.
    pub step: u32,
    /// Milliseconds since the run began, by the process's clock.
    pub time_ms: u64,
    /// The process it happened in, if in one.
    pub process: Option<u8>,
    /// What kind of event it is, in two characters; [`CODES`] says what they mean.
    pub code: String,
    /// Whose it is: a request, or a dot.
    pub who: String,
    /// What happened.
    pub what: String,
    /// The account it is about, if about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<u32>,
    /// The row it is about, if about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<u64>,
}

/// The codes of events and what they mean. The first character says who acts.
pub const CODES: [(&str, &str); 28] = [
    ("c>", "a client's request arrives"),
    ("c<", "the request ends, the client has its answer"),
    ("c!", "the client leaves"),
    ("s=", "the store does what a request asked"),
    ("s-", "the store never gets what a request asked"),
    ("s_", "the request waits no longer; what it asked may still be carried out"),
    ("s!", "the store does what was left behind; nobody is told"),
    ("s~", "a row of the store changes"),
    ("s<", "the request has the store's answer"),
    ("s?", "the request has no answer: the outcome is unknown"),
    ("t.", "the request decides, and why"),
    ("t_", "the request waits"),
    ("u>", "an attempt on an account begins"),
    ("u~", "the upstream sends something on the way"),
    ("u+", "the attempt succeeds"),
    ("u!", "the attempt fails"),
    ("d=", "the disk has committed"),
    ("d!", "the store cannot be reached"),
    ("d+", "the store can be reached again, or begins again"),
    ("d<", "what the request rests on is durable"),
    ("d?", "the request ends before it is durable"),
    ("o.", "an operator, or the directory of accounts, changes something"),
    ("o!", "an operator erases something, or sets a clock back"),
    ("p.", "housekeeping"),
    ("p_", "time passes"),
    ("p!", "a process dies, or an expectation is not met"),
    ("p+", "a process is up again"),
    ("!!", "a rule is broken"),
];

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let secs = self.time_ms / 1_000;
        let process = self.process.map_or_else(|| ".".into(), |p| format!("p{p}"));
        write!(f, "{:>4} {:>+6}s {process:<2} {} {:<4} {}", self.step, secs, self.code, self.who, self.what)
    }
}

impl Line {
    /// The columns' names.
    #[must_use]
    pub const fn heading() -> &'static str {
        "step    time in what who  event"
    }

    /// The line of an event.
    #[must_use]
    pub fn of(step: u32, seen: &Seen) -> Self {
        let (code, what) = describe(&seen.event);
        let who = seen.event.turn().map_or_else(|| ".".into(), name);
        Self {
            step,
            time_ms: seen.at.since(BEGINNING).0,
            process: seen.process.map(|p| p.0),
            code: code.into(),
            who,
            what: plain(&what),
            account: about::account(&seen.event).map(|a| a.0),
            row: about::row(&seen.event).map(|r| r.0),
        }
    }

    /// Appends the line of a broken rule, at the time of the last line.
    pub fn close(lines: &mut Vec<Self>, violation: &Violation) {
        lines.push(Self {
            step: violation.step,
            time_ms: lines.last().map_or(0, |last| last.time_ms),
            process: None,
            code: "!!".into(),
            who: ".".into(),
            what: plain(&violation.to_string()),
            account: None,
            row: None,
        });
    }
}

fn name(turn: TurnId) -> String {
    format!("r{}", turn.0)
}

/// Two characters: the first says who acts (c client, s store, u upstream, t turn, o operator, p process, d disk).
fn describe(event: &Event) -> (&'static str, String) {
    match event {
        Event::World(name) => ("p.", format!("world {name:?}")),
        Event::Came { ask, affinity, .. } => {
            ("c>", format!("asks {}{}", ask.name(), if *affinity { "" } else { " (policy off)" }))
        }
        Event::Did { op, answer: None, .. } => ("s-", format!("{} never arrives", op_text(op))),
        Event::Did { op, answer: Some(answer), .. } => ("s=", format!("{} -> {}", op_text(op), answer_text(answer))),
        Event::LeftBehind { op, .. } => ("s_", format!("{} is left behind", op_text(op))),
        Event::Landed { op, answer: None, .. } => ("s-", format!("{} never arrives", op_text(op))),
        Event::Landed { op, answer: Some(answer), .. } => {
            ("s!", format!("late: {} -> {}", op_text(op), answer_text(answer)))
        }
        Event::Row { before, after, .. } => ("s~", rows_text(before.as_ref(), after.as_ref())),
        Event::Told { answer: Answer::Unknown, .. } => ("s?", "outcome unknown".into()),
        Event::Told { .. } => ("s<", "answered".into()),
        Event::Noted(_, note) => ("t.", format!("{note:?}")),
        Event::Dial { account, attempt, reason, token, .. } => {
            let token = if token.is_some() { ", with its turn state" } else { "" };
            ("u>", format!("attempt {attempt} on a{} ({}{token})", account.0, reason.name()))
        }
        Event::Shown(_) => ("u~", "visible output".into()),
        Event::Served(_, account) => ("u+", format!("served by a{}", account.0)),
        Event::Failed(_, account, failure) => ("u!", format!("a{} fails: {failure:?}", account.0)),
        Event::Waits(_, span) => ("t_", format!("waits {} ms", span.0)),
        Event::Renews(_, account) => ("t_", format!("renews the credential of a{}", account.0)),
        Event::Renewed(_, account, how) => ("u~", format!("credential of a{}: {how:?}", account.0)),
        Event::Rests(_, seq) => ("t_", format!("rests on change {}", seq.0)),
        Event::Released(_, true) => ("d<", "durable".into()),
        Event::Released(_, false) => ("d?", "not durable within commit-wait".into()),
        Event::Ended(_, outcome) => ("c<", format!("ends: {outcome:?}")),
        Event::Left(_, settled) => {
            ("c!", if *settled { "client left; everything was read" } else { "client left" }.into())
        }
        Event::Stands(account, Some(standing)) => ("o.", format!("a{} is {standing:?}", account.0)),
        Event::Stands(account, None) => ("o.", format!("a{} is forgotten", account.0)),
        Event::Placed(account, standing) => {
            ("o.", format!("a{} is {standing:?}; processes have yet to hear it", account.0))
        }
        Event::Replaced { old, new } => ("o!", format!("the file of a{} holds another identity: a{}", old.0, new.0)),
        Event::Garbled(account) => ("o!", format!("the file of a{} cannot be read", account.0)),
        Event::KeyReset(tenant) => ("o.", format!("t{} gets a new API key", tenant.0)),
        Event::Erased(scope, rows) => ("o!", format!("erases {scope:?}: {rows} rows")),
        Event::Purged(gone) => ("p.", format!("purges {gone} rows")),
        Event::Flushed(queued) => ("p.", format!("queues {queued} renewals")),
        Event::Durable(seq) => ("d=", format!("durable up to change {}", seq.0)),
        Event::Crashed(lost) => ("p!", format!("dies with {lost} batches not durable")),
        Event::Restarted(refused) => ("p+", format!("is up again, {refused} rows refused")),
        Event::Ticked(span) => ("p_", format!("{} ms pass", span.0)),
        Event::SetBack(span) => ("o!", format!("wall clock set back {} ms", span.0)),
        Event::SetForth(span) => ("o!", format!("wall clock set forth {} ms", span.0)),
        Event::Outage => ("d!", "the store cannot be reached".into()),
        Event::Recovered => ("d+", "the store can be reached again".into()),
        Event::Rebooted(refused) => ("d+", format!("the store begins again, {refused} rows refused")),
        Event::Talk(on) => ("o.", format!("conversation policy {}", if *on { "on" } else { "off" })),
        Event::MovedPool(tenant, pool) => ("o.", format!("t{} is in pool {}", tenant.0, pool.0)),
        Event::Pin { before, after, .. } => ("s~", pin_text(before.as_ref(), after.as_ref())),
        Event::Affinity(on) => ("o.", format!("session policy {}", if *on { "on" } else { "off" })),
        Event::Healed => ("p.", "trouble is over".into()),
        Event::Settled(None) => ("p.", "everything ended and settled".into()),
        Event::Settled(Some(unmet)) => ("p!", unmet.clone()),
    }
}

/// A store operation in a few words.
pub(crate) fn op_text(op: &Op) -> String {
    let row = |fence: &homing_core::row::Fence| format!("row {} g{}", fence.id.0, fence.generation.0);
    match op {
        Op::FindPins => "find pins".into(),
        Op::Record { account, .. } => format!("record a pin to a{}", account.0),
        Op::Look => "look".into(),
        Op::Reserve { account, seen, .. } => format!("reserve a{} (epoch {})", account.0, seen.0),
        Op::Pend { fence, expect, next } => {
            let expect = expect.map_or_else(|| "none".into(), |a| format!("a{}", a.0));
            format!("pend a{} if {} pending {expect}", next.0, row(fence))
        }
        Op::Complete { fence, account, seen, pinned, .. } => {
            let fence = fence.as_ref().map_or_else(|| "no row".into(), row);
            format!("complete a{}{} under {fence} (epoch {})", account.0, if *pinned { " pinned" } else { "" }, seen.0)
        }
    }
}

/// A row as a request saw it, in a few words.
pub(crate) fn view_text(v: &homing_core::row::View) -> String {
    let pending = v.pending.map(|a| format!(" pending a{}", a.0)).unwrap_or_default();
    let state = if v.state == State::Bound { "bound" } else { "reserved" };
    format!("row {} g{} {state} a{}{pending}", v.fence.id.0, v.fence.generation.0, v.account.0)
}

fn answer_text(answer: &Answer) -> String {
    let view = view_text;
    match answer {
        Answer::Looked { view: None, epoch } => format!("no row (epoch {})", epoch.0),
        Answer::Looked { view: Some(v), epoch } => format!("{} (epoch {})", view(v), epoch.0),
        Answer::Reserved(v) => format!("made {}", view(v)),
        Answer::Found(v) => format!("found {}", view(v)),
        Answer::Refused(why) => format!("refused: {why:?}"),
        Answer::Pended(v) => view(v),
        Answer::Lost(None) => "lost: no row".into(),
        Answer::Lost(Some(v)) => format!("lost: {}", view(v)),
        Answer::Completed { how, seq } => format!("{how:?}, change {}", seq.0),
        Answer::Pins { found, epoch } => format!("{found:?} (epoch {})", epoch.0),
        Answer::Recorded(seq) => format!("recorded, change {}", seq.0),
        Answer::Raced => "lost the race".into(),
        Answer::Unknown => "unknown".into(),
    }
}

fn pin_text(before: Option<&Pin>, after: Option<&Pin>) -> String {
    match (before, after) {
        (_, Some(pin)) => format!("pin {:?} t{} to a{}", pin.anchor, pin.tenant.0, pin.account.0),
        (Some(pin), None) => format!("pin {:?} t{} gone", pin.anchor, pin.tenant.0),
        (None, None) => String::new(),
    }
}

fn rows_text(before: Option<&Row>, after: Option<&Row>) -> String {
    let row = |r: &Row| {
        let pending = r.pending.map(|a| format!("->a{}", a.0)).unwrap_or_default();
        let state = if r.state == State::Bound { "bound" } else { "reserved" };
        let ends = r.expires.since(BEGINNING).ceil_secs();
        format!("g{} {state} a{}{pending} {} keys ends +{ends}s", r.generation.0, r.account.0, r.keys.count())
    };
    match (before, after) {
        (None, Some(r)) => format!("row {} t{} made: {}", r.id.0, r.tenant.0, row(r)),
        (Some(r), None) => format!("row {} t{} gone", r.id.0, r.tenant.0),
        (Some(_), Some(r)) => format!("row {} t{}: {}", r.id.0, r.tenant.0, row(r)),
        (None, None) => String::new(),
    }
}
