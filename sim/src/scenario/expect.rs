//! What a story says has to be seen: a subject, and what is expected of it, each with a value.
//!
//! ```text
//! expect a on account-1                      its last attempt
//! expect a tried account-1 account-1 account-2      all its attempts in order, repeats among them
//! expect a served by account-1
//! expect a because home                      why its last attempt went where it went, as traces say it
//! expect a wrote moved                       what its success did: confirmed, moved, renewed, inserted, stale, nothing
//! expect a with turn state                   whether the session's turn state went along; or: without turn state
//! expect a ended served                      or open, gone, relay, out-soon, out-spent, out-later, broken, ...
//! expect a retry-after 50s                   when its client was told to come back
//! expect a durable                           its end was durable in time; or: undurable
//! expect binding t1/s0 header on account-2 generation 2 state bound pending none keys 1 ends 60s
//! expect no binding t1/s0 own
//! expect durable binding t1/s0 header on account-1      what a restart would find
//! expect rows 3                              or: rows of t1 3
//! ```
//!
//! `binding` is what a request of that tenant, session and form would find.

use homing_core::ids::TenantId;

use super::parse::Expected;
use super::words;
use crate::ask::Ask;

/// Whom an expectation is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The request of this name.
    Turn(String),
    /// What such a request would find in the store.
    Binding(Ask),
    /// What it would find after a crash right now.
    DurableBinding(Ask),
    /// The rows of the store, or of one tenant.
    Rows(Option<TenantId>),
}

/// What is expected, or found: names and values.
pub(super) type Facts = Vec<(&'static str, String)>;

/// One expectation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// Of whom.
    pub subject: Subject,
    /// What.
    pub(super) facts: Facts,
}

/// An expectation that was not met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmet {
    /// What differs: its name, what was expected, what was found.
    pub differs: Vec<(&'static str, String, String)>,
}

impl std::fmt::Display for Unmet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (name, expected, found) in &self.differs {
            write!(f, "\n    {name:<12} expected {expected}\n    {:<12} found    {found}", "")?;
        }
        Ok(())
    }
}

const OF_TURN: &str = "expect NAME and one of: on account-N, tried account-N ..., served by account-N, because REASON, wrote \
                       WHAT, with turn state, without turn state, ended HOW, open, retry-after SPAN, durable, undurable";
const OF_BINDING: &str = "expect binding TENANT/SESSION FORM with any of: on account-N, generation N, state bound or reserved, \
                          pending account-N or none, keys N, ends SPAN";

impl Expectation {
    /// Reads the words behind `expect`.
    pub(super) fn read(line: &[&str]) -> Result<Self, Expected> {
        match line {
            ["no", "binding", session, form] => Self::of(Subject::Binding(ask(session, form)?), none()),
            ["no", "durable", "binding", session, form] => {
                Self::of(Subject::DurableBinding(ask(session, form)?), none())
            }
            ["durable", "binding", session, form, rest @ ..] => {
                Self::of(Subject::DurableBinding(ask(session, form)?), of_binding(rest)?)
            }
            ["binding", session, form, rest @ ..] => Self::of(Subject::Binding(ask(session, form)?), of_binding(rest)?),
            ["binding" | "no" | "durable", ..] => Err(OF_BINDING.into()),
            ["rows", n] => Self::of(Subject::Rows(None), vec![("rows", number(n)?)]),
            ["rows", "of", tenant, n] => {
                let tenant = tenant.strip_prefix('t').and_then(|t| t.parse().ok()).ok_or("rows of t1 NUMBER")?;
                Self::of(Subject::Rows(Some(TenantId(tenant))), vec![("rows", number(n)?)])
            }
            [name, rest @ ..] => Self::of(Subject::Turn((*name).to_owned()), of_turn(rest)?),
            [] => Err(OF_TURN.into()),
        }
    }

    fn of(subject: Subject, facts: Facts) -> Result<Self, Expected> {
        Ok(Self { subject, facts })
    }

    /// The request it is about.
    pub(super) fn turn(&self) -> Option<&str> {
        match &self.subject {
            Subject::Turn(name) => Some(name),
            Subject::Binding(_) | Subject::DurableBinding(_) | Subject::Rows(_) => None,
        }
    }

    /// Compares with what was found; a value is met by a text that goes on behind it, word for word.
    ///
    /// # Errors
    /// What differs.
    pub(super) fn check(&self, found: &Facts) -> Result<(), Unmet> {
        let value = |name: &str| found.iter().find(|(n, _)| *n == name).map_or("nothing", |(_, v)| v.as_str());
        let differs: Vec<_> = self
            .facts
            .iter()
            .filter(|(name, expected)| value(name) != expected)
            .map(|(name, expected)| (*name, expected.clone(), value(name).to_owned()))
            .collect();
        if differs.is_empty() { Ok(()) } else { Err(Unmet { differs }) }
    }
}

/// Where no row is, nothing is found but that.
fn none() -> Facts {
    vec![("binding", "none".into())]
}

fn ask(session: &str, form: &str) -> Result<Ask, Expected> {
    let form = words::form(form).ok_or_else(|| format!("a form behind the session: {}", words::form_names()))?;
    Ask::named(&format!("{session}/{}", form.name())).ok_or_else(|| "TENANT/SESSION, such as t1/s0".into())
}

fn of_turn(words: &[&str]) -> Result<Facts, Expected> {
    let fact = match words {
        ["on", account] => ("on", account_text(account)?),
        ["tried", accounts @ ..] if !accounts.is_empty() => {
            let all: Result<Vec<_>, _> = accounts.iter().map(|a| account_text(a)).collect();
            ("tried", all?.join(" "))
        }
        ["tried"] => ("tried", "nobody".into()),
        ["served", "by", account] => ("served by", account_text(account)?),
        ["because", reason] => ("because", (*reason).into()),
        ["wrote", what] => ("wrote", (*what).into()),
        ["with", "turn", "state"] => ("turn state", "with".into()),
        ["without", "turn", "state"] => ("turn state", "without".into()),
        ["ended", how] => ("ended", (*how).into()),
        ["open"] => ("ended", "open".into()),
        ["gone"] => ("ended", "gone".into()),
        ["retry-after", span] => ("retry-after", span_text(words::span(span).ok_or("retry-after SPAN")?)),
        ["durable"] => ("end", "durable".into()),
        ["undurable"] => ("end", "undurable".into()),
        _ => return Err(OF_TURN.into()),
    };
    Ok(vec![fact])
}

fn of_binding(words: &[&str]) -> Result<Facts, Expected> {
    let mut facts = Vec::new();
    let (pairs, left) = words.as_chunks::<2>();
    for pair in pairs {
        facts.push(match pair {
            ["on", account] => ("on", account_text(account)?),
            ["generation", n] => ("generation", number(n)?),
            ["state", state @ ("bound" | "reserved")] => ("state", (*state).into()),
            ["pending", "none"] => ("pending", "none".into()),
            ["pending", account] => ("pending", account_text(account)?),
            ["keys", n] => ("keys", number(n)?),
            ["ends", span] => {
                ("ends", span_text(words::span(span).ok_or("ends SPAN, from the beginning of the story")?))
            }
            _ => return Err(OF_BINDING.into()),
        });
    }
    if facts.is_empty() || !left.is_empty() { Err(OF_BINDING.into()) } else { Ok(facts) }
}

fn account_text(word: &str) -> Result<String, Expected> {
    words::account(word).map(|_| word.to_owned()).ok_or_else(|| format!("account-NUMBER in place of {word:?}"))
}

fn number(word: &str) -> Result<String, Expected> {
    word.parse::<u64>().map(|n| n.to_string()).map_err(|_| format!("a number in place of {word:?}"))
}

/// A span as expectations compare it.
pub(super) fn span_text(span: homing_core::time::Millis) -> String {
    if span.0.is_multiple_of(1_000) { format!("{}s", span.0 / 1_000) } else { format!("{}ms", span.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Expectation, Expected> {
        Expectation::read(&line.split_whitespace().collect::<Vec<_>>())
    }

    #[test]
    fn expectations_are_read() {
        let e = read("binding t1/s0 header on account-2 generation 2").unwrap();
        assert_eq!(e.facts, [("on", "account-2".to_owned()), ("generation", "2".to_owned())]);
        assert_eq!(read("a tried account-1 account-2").unwrap().facts, [("tried", "account-1 account-2".to_owned())]);
        assert_eq!(read("rows of t2 3").unwrap().subject, Subject::Rows(Some(TenantId(2))));
        assert_eq!(read("no durable binding t1/s0 own").unwrap().facts, none());
        for wrong in ["", "a", "a on it", "binding", "binding t1/s0", "binding t1/s0 header", "rows many", "no luck"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert!(read("binding t1/s0 header on account-1 generation").is_err());
    }

    #[test]
    fn what_differs_is_told_with_both_values() {
        let e = read("binding t1/s0 header on account-2 generation 2").unwrap();
        let found = vec![("on", "account-1".to_owned()), ("generation", "2".to_owned())];
        let unmet = e.check(&found).unwrap_err();
        assert_eq!(unmet.differs, [("on", "account-2".to_owned(), "account-1".to_owned())]);
        assert!(unmet.to_string().contains("expected account-2"));
        assert!(e.check(&none()).is_err());
        assert_eq!(e.check(&vec![("on", "account-2".into()), ("generation", "2".into())]), Ok(()));
    }
}
