//! Reads a script. What is wrong with it is told with file and line, what was expected and what stood there.

use std::collections::BTreeSet;

use homing_core::settings::{ATTEMPTS_MAX, Caps, Settings, TTL_MAX, TTL_MIN};
use homing_core::time::Millis;

use super::expect::Expectation;
use super::words;
use crate::action::Action;
use crate::ask::{Ask, Oddity};
use crate::event::{FIRST, ProcessId};
use crate::scope::{Scope, StoreKind};

/// Most accounts and tenants of a story.
const CAST_MAX: u32 = 8;

/// Most processes of a story.
const PROCESSES_MAX: u32 = 4;

/// The first words of lines, for messages.
const VERBS: &str = "client, answer, apply, deliver, serve, show, wake, refresh, release, commit, fail, hang up, give up \
                     waiting, lose request, lose reply, linger, land, drop, time out, purge, flush, tick, clock back, clock \
                     forth, disable, vanish, replace, garble, mend, erase, remove, clear, reset key of, policy, sync, \
                     outage, recover, reboot, crash, restart, let, settle or expect";

/// A story.
#[derive(Clone, Debug)]
pub struct Script {
    /// Where it came from, for messages.
    pub file: String,
    /// The world it is told in.
    pub scope: Scope,
    /// What happens, and the comments in between.
    pub lines: Vec<Line>,
}

/// One line of a story.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Counted from 1.
    pub number: usize,
    /// As it was written.
    pub text: String,
    /// What it means.
    pub statement: Statement,
}

/// What a line means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    /// Nothing happens.
    Comment,
    /// A client sends a request to a process; it has this name from here on.
    Ask(String, ProcessId, Ask),
    /// One step of the world: the words of the action's text, names of requests among them.
    Step(Vec<String>),
    /// A request goes on without trouble.
    Let(String, Until),
    /// Trouble is over.
    Settle,
    /// What has to be seen.
    Expect(Expectation),
}

/// How far a request goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// It has ended.
    Finish,
    /// An attempt begins.
    Dial,
    /// Its end waits for durability.
    Rest,
}

/// A script that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: expected {expected}; found {found:?}")]
pub struct Wrong {
    /// The script.
    pub file: String,
    /// Its line, counted from 1.
    pub line: usize,
    /// What should stand there.
    pub expected: String,
    /// What does.
    pub found: String,
}

/// What should stand in a line.
pub(super) type Expected = String;

/// What was read so far.
struct Reader {
    scope: Scope,
    names: BTreeSet<String>,
    begun: bool,
}

impl Script {
    /// Reads a script; `file` is what messages call it.
    ///
    /// # Errors
    /// The first line that cannot be read.
    pub fn read(file: &str, text: &str) -> Result<Self, Wrong> {
        let mut reader = Reader { scope: world(), names: BTreeSet::new(), begun: false };
        let mut lines = Vec::new();
        for (number, raw) in (1..).zip(text.lines()) {
            let wrong =
                |expected| Wrong { file: file.to_owned(), line: number, expected, found: raw.trim().to_owned() };
            let said = raw.split_once('#').map_or(raw, |(said, _)| said).trim();
            let text = raw.trim().to_owned();
            let statement = match said {
                "" if text.is_empty() => continue,
                "" => Statement::Comment,
                said if reader.setting(said).map_err(wrong)? => continue,
                said => reader.statement(said).map_err(wrong)?,
            };
            lines.push(Line { number, text, statement });
        }
        Ok(Self { file: file.to_owned(), scope: reader.scope, lines })
    }
}

/// The world of a story that says nothing about it.
fn world() -> Scope {
    let settings = Settings { ttl: Millis::secs(60), ..Scope::profile(0).settings };
    Scope { name: "story", accounts: 2, tenants: 1, sessions: u8::MAX, open: usize::MAX, settings, ..Scope::profile(0) }
}

impl Reader {
    /// Takes the line in if it says what the world is; says whether it did.
    fn setting(&mut self, line: &str) -> Result<bool, Expected> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let scope = &mut self.scope;
        match words.as_slice() {
            ["accounts", n] => scope.accounts = number(n, 1, CAST_MAX, "accounts")?,
            ["processes", n] => {
                scope.processes = u8::try_from(number(n, 1, PROCESSES_MAX, "processes")?).unwrap_or(1);
                scope.store = StoreKind::Racing;
                scope.outages = true;
            }
            ["tenants", n] => scope.tenants = number(n, 1, CAST_MAX, "tenants")?,
            ["ttl", span] => {
                scope.settings.ttl = words::span(span).filter(ttl_fits).ok_or("ttl SPAN from 60s to 30d")?
            }
            ["request-retry", n] => {
                let most = u32::try_from(ATTEMPTS_MAX - 1).unwrap_or(0);
                scope.settings.request_retry = u8::try_from(number(n, 0, most, "request-retry")?).unwrap_or(0);
            }
            ["request-deadline", span] => {
                scope.settings.request_deadline = words::span(span).ok_or("request-deadline SPAN, such as 600s")?;
            }
            ["caps", "total", total, "tenant", tenant] => {
                let rows = |n: &str| number(n, 1, u32::MAX, "caps total").map(|n| n as usize);
                scope.caps = Caps { total: rows(total)?, tenant: rows(tenant)? };
            }
            ["processes" | "accounts" | "tenants", ..] => return Err(format!("{} NUMBER", words[0])),
            ["ttl" | "request-deadline", ..] => return Err(format!("{} SPAN", words[0])),
            ["request-retry", ..] => return Err("request-retry NUMBER".into()),
            ["caps", ..] => return Err("caps total NUMBER tenant NUMBER".into()),
            _ => return Ok(false),
        }
        if self.begun { Err("what the world is before the first thing that happens in it".into()) } else { Ok(true) }
    }

    fn statement(&mut self, line: &str) -> Result<Statement, Expected> {
        self.begun = true;
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["client", ..] => self.ask(line),
            ["settle"] => Ok(Statement::Settle),
            ["let", name, until] => {
                let until = match *until {
                    "finish" => Until::Finish,
                    "dial" => Until::Dial,
                    "rest" => Until::Rest,
                    _ => return Err("let NAME finish, dial or rest".into()),
                };
                self.known(name).map(|name| Statement::Let(name, until))
            }
            ["let", ..] => Err("let NAME finish, dial or rest".into()),
            ["expect", rest @ ..] => {
                let expectation = Expectation::read(rest)?;
                match expectation.turn() {
                    Some(name) => self.known(name)?,
                    None => String::new(),
                };
                Ok(Statement::Expect(expectation))
            }
            _ => self.step(line),
        }
    }

    fn known(&self, name: &str) -> Result<String, Expected> {
        let all = || self.names.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        match self.names.get(name) {
            Some(name) => Ok(name.clone()),
            None if self.names.is_empty() => {
                Err(format!("a request that was asked before, not {name:?}: there is none"))
            }
            None => Err(format!("one of the requests asked before ({}), not {name:?}", all())),
        }
    }

    /// `client a: ask t1/s0 header model`, or `client a: ask p1 t1/s0 header` where there are several processes.
    fn ask(&mut self, line: &str) -> Result<Statement, Expected> {
        let usage = || format!("client NAME: ask [pN] TENANT/SESSION FORM, with FORM one of {}", words::form_names());
        let (who, what) = line.split_once(':').ok_or_else(usage)?;
        let name = who.trim_start_matches("client").trim();
        if !words::is_name(name) {
            return Err("a name for the request: small letters, digits and -, not like t1, p0, s0 or account-1".into());
        }
        let words: Vec<&str> = what.split_whitespace().collect();
        let (process, words) = match words.as_slice() {
            ["ask", at, rest @ ..] if at.starts_with('p') => (self.process(at)?, rest),
            ["ask", rest @ ..] => (FIRST, rest),
            _ => return Err(usage()),
        };
        let [session, form, odd @ ..] = words else { return Err(usage()) };
        let form = words::form(form).ok_or_else(usage)?;
        let plain = Ask::named(&format!("{session}/{}", form.name())).ok_or_else(usage)?;
        let oddity = match odd {
            [] => Oddity::Plain,
            ["model"] => Oddity::Model,
            ["other-model"] => Oddity::OtherModel,
            ["once"] => Oddity::Once,
            ["pinned", account] => Oddity::Pinned(words::account(account).ok_or("pinned account-NUMBER")?),
            _ => return Err("nothing behind the form, or model, other-model, once, or pinned account-NUMBER".into()),
        };
        if plain.tenant.0 == 0 || plain.tenant.0 > self.scope.tenants {
            return Err(format!("a tenant from t1 to t{}: the story has that many", self.scope.tenants));
        }
        if !self.names.insert(name.to_owned()) {
            return Err(format!("another name than {name:?}: a request has it"));
        }
        Ok(Statement::Ask(name.to_owned(), process, Ask { oddity, ..plain }))
    }

    fn process(&self, word: &str) -> Result<ProcessId, Expected> {
        let most = self.scope.processes;
        let process = word.strip_prefix('p').and_then(|n| n.parse().ok()).filter(|n| *n < most);
        process.map(ProcessId).ok_or_else(|| format!("a process from p0 to p{}: the story has that many", most - 1))
    }

    /// Any other step of the world: checked with some request in place of the named one.
    fn step(&self, line: &str) -> Result<Statement, Expected> {
        let line = words::verb_first(line);
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let stand_in = |name: &str| self.names.contains(name).then(|| "r0".to_owned());
        match action(&words, stand_in) {
            Some(Action::Setup(_) | Action::Ask(..)) | None => Err(self.why_no_step(&words)),
            Some(_) => Ok(Statement::Step(words)),
        }
    }

    fn why_no_step(&self, words: &[String]) -> Expected {
        let verb = words.first().map_or("", String::as_str);
        let usage = match verb {
            "refresh" => "refresh NAME fresh, refused or unavailable".into(),
            "fail" => {
                format!("fail NAME FAULT, with FAULT one of {}", crate::action::FAULTS.map(|f| f.name()).join(", "))
            }
            "tick" => "tick SPAN, such as tick 61s".into(),
            "mend" | "disable" | "vanish" | "replace" | "garble" | "remove" | "remove-account" => {
                format!("{verb} account-NUMBER")
            }
            "erase" | "erase-account" | "erase-tenant" => "erase account-NUMBER or erase t1".into(),
            "clear" | "clear-row" => "clear t1".into(),
            "reset" | "reset-key" => "reset key of t1".into(),
            "affinity" => "policy on or policy off".into(),
            "commit" | "purge" | "flush" | "outage" | "recover" | "reboot" => format!("{verb} and nothing behind it"),
            "restart" | "crash" | "set-back" | "set-forth" => format!("{verb}, or {verb} pN where there are several"),
            "sync" => "sync pN".into(),
            "land" | "drop" => format!("{verb} and the place among what was left behind, from 0"),
            "answer" | "deliver" | "serve" | "show" | "wake" | "release" | "apply" | "hang-up" | "give-up-waiting"
            | "lose-request" | "lose-reply" | "linger" | "time-out" => return self.named_usage(verb, words),
            _ => return format!("a line that begins with {VERBS}"),
        };
        match words.get(1).filter(|_| matches!(verb, "refresh" | "fail")) {
            Some(name) if !self.names.contains(name) => self.named_usage(verb, words),
            _ => usage,
        }
    }

    fn named_usage(&self, verb: &str, words: &[String]) -> Expected {
        match words.get(1).map(|name| self.known(name)) {
            Some(Err(unknown)) => unknown,
            _ => format!("{} NAME", verb.replace('-', " ")),
        }
    }
}

fn ttl_fits(span: &Millis) -> bool {
    *span >= TTL_MIN && *span <= TTL_MAX
}

fn number(word: &str, least: u32, most: u32, what: &str) -> Result<u32, Expected> {
    let number = word.parse().ok().filter(|n| (least..=most).contains(n));
    number.ok_or_else(|| format!("{what} and a number from {least} to {most}"))
}

/// The action these words mean; `turn` knows the trace's names of requests.
pub(super) fn action(words: &[String], turn: impl Fn(&str) -> Option<String>) -> Option<Action> {
    let (verb, rest) = words.split_first()?;
    let mut text = verb.clone();
    for word in rest {
        let meant = turn(word)
            .or_else(|| words::account(word).map(|a| format!("a{}", a.0)))
            .or_else(|| words::span(word).map(|s| format!("{}ms", s.0)))
            .unwrap_or_else(|| word.clone());
        text = format!("{text} {meant}");
    }
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> String {
        Script::read("story.txt", text).map_or_else(|wrong| wrong.to_string(), |_| "nothing is wrong".into())
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let ask = "client a: ask t1/s0 header\n";
        assert!(wrong("\n# story\njump a").starts_with("story.txt:3: expected a line that begins with client, answer"));
        assert!(
            wrong(&format!("{ask}serve b"))
                .contains("story.txt:2: expected one of the requests asked before (a), not \"b\"")
        );
        assert!(wrong(&format!("{ask}fail b quota")).contains("asked before (a)"));
        assert!(wrong(&format!("{ask}fail a boredom")).contains("fail NAME FAULT, with FAULT one of server, quota"));
        assert!(wrong(&format!("{ask}{ask}")).contains("another name than \"a\""));
        assert!(wrong(&format!("{ask}ttl 60s")).contains("before the first thing that happens"));
        assert!(wrong("ttl 1s").contains("from 60s to 30d"));
        assert!(wrong("client a: ask t2/s0 header").contains("from t1 to t1"));
        assert!(wrong("processes 2\nclient a: ask p2 t1/s0 header").contains("from p0 to p1"));
        assert!(wrong("client t1: ask t1/s0 header").contains("a name for the request"));
        assert!(wrong("client a: ask t1/s0 letter").contains("header+shared"));
        assert!(wrong("tick long").contains("tick SPAN"));
        assert!(wrong("setup 1").contains("a line that begins with"));
        assert!(wrong(&format!("{ask}let a fly")).contains("finish, dial or rest"));
        assert!(wrong("expect luck").contains("expected"));
        assert!(wrong("accounts 99").contains("from 1 to 8"));
    }

    #[test]
    fn a_line_is_a_step_of_the_world() {
        let script =
            Script::read("s", "accounts 3\nclient a: ask t1/s2 own once # why\n\nlose reply a\ntick 2h").unwrap();
        assert_eq!(script.scope.accounts, 3);
        let numbers: Vec<usize> = script.lines.iter().map(|l| l.number).collect();
        assert_eq!(numbers, [2, 4, 5]);
        assert!(
            matches!(&script.lines[0].statement, Statement::Ask(name, FIRST, ask) if name == "a" && ask.name() == "t1/s2/own once")
        );
        assert_eq!(script.lines[1].statement, Statement::Step(vec!["lose-reply".into(), "a".into()]));
    }
}
