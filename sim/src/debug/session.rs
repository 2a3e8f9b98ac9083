//! The session: a history, a place in it, and what was typed.

use std::fmt::Write as _;

use super::branch::{Branch, Moment};
use super::command::{COMMANDS, Command};
use super::tell;
use super::until::Until;
use crate::choose::text;
use crate::oracle;
use crate::timeline::Line;

/// Whether the session goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// It does.
    On,
    /// The person has seen enough.
    Over,
}

/// One session.
#[derive(Clone, Debug)]
pub struct Session {
    branch: Branch,
    at: usize,
    undone: Vec<(Branch, usize)>,
    done: Vec<(Branch, usize)>,
    breaks: Vec<Until>,
}

impl Session {
    /// At the beginning of a history.
    #[must_use]
    pub const fn new(branch: Branch) -> Self {
        Self { branch, at: 0, undone: Vec::new(), done: Vec::new(), breaks: Vec::new() }
    }

    /// The history, forks included.
    #[must_use]
    pub const fn branch(&self) -> &Branch {
        &self.branch
    }

    /// What is said first.
    #[must_use]
    pub fn greeting(&self) -> String {
        let steps = self.last_step();
        let verdict = match self.violation() {
            Some(v) => format!("{} breaks at step {}", v.oracle, v.step),
            None if steps == 0 => "nothing was chosen yet".into(),
            None => "every rule holds".into(),
        };
        format!("{steps} steps; {verdict}; `help` tells what can be typed\n")
    }

    /// Where the session is, for a prompt.
    #[must_use]
    pub fn prompt(&self) -> String {
        format!("step {} of {}> ", self.here().world.steps(), self.last_step())
    }

    /// Does what was typed and says what came of it.
    pub fn enter(&mut self, line: &str) -> (String, Flow) {
        match Command::read(line) {
            Ok(Command::Quit) => (String::new(), Flow::Over),
            Ok(command) => (self.obey(command), Flow::On),
            Err(wrong) => (format!("{wrong}\n"), Flow::On),
        }
    }

    fn obey(&mut self, command: Command) -> String {
        match command {
            Command::Nothing | Command::Quit => String::new(),
            Command::Step(n) => self.forth(n),
            Command::Back(n) => self.go(self.at.saturating_sub(n)),
            Command::Run(until) => self.run(until.as_ref()),
            Command::Goto(step) => match self.branch.find(step) {
                Some(at) => self.go(at),
                None => format!("there is no step {step}; the last is {}\n", self.last_step()),
            },
            Command::List => self.list(),
            Command::Do(what) => self.choose(&what),
            Command::Heal => self.heal(),
            Command::Undo => self.undo(),
            Command::Redo => self.redo(),
            Command::Diff => self.diff(),
            Command::State => lines(&tell::everything(&self.here().state()), "nothing stands yet"),
            Command::Rows => lines(&tell::rows(&self.here().state()), "no bindings"),
            Command::Turns => lines(&tell::turns(&self.here().state()), "no requests under way"),
            Command::Accounts => lines(&tell::accounts(&self.here().state()), "no accounts"),
            Command::Break(until) => {
                self.breaks.push(until);
                self.list_breaks()
            }
            Command::Breaks => self.list_breaks(),
            Command::Unbreak(number) => self.unbreak(number),
            Command::Save(path) => self.save(&path),
            Command::Choices => self.choices(),
            Command::Verdict => self.verdict(),
            Command::Help => help(),
        }
    }

    fn here(&self) -> &Moment {
        self.branch.at(self.at)
    }

    fn last_step(&self) -> u32 {
        self.branch.at(self.branch.last()).world.steps()
    }

    fn violation(&self) -> Option<&crate::world::Violation> {
        self.branch.at(self.branch.last()).world.violation()
    }

    /// The lines of the step that led to a place.
    fn step_lines(&self, at: usize) -> Vec<Line> {
        let before = at.checked_sub(1).and_then(|at| self.branch.get(at));
        self.branch.at(at).lines(before)
    }

    fn print_step(&self, at: usize) -> String {
        let mut out = String::new();
        let moment = self.branch.at(at);
        if let Some(action) = moment.taken.action {
            let _ = writeln!(out, "== step {}: {action}", moment.world.steps());
        }
        self.step_lines(at).iter().for_each(|line| {
            let _ = writeln!(out, "{line}");
        });
        out
    }

    fn go(&mut self, at: usize) -> String {
        self.at = at;
        if at == 0 { "at the beginning\n".into() } else { self.print_step(at) }
    }

    fn forth(&mut self, steps: usize) -> String {
        let mut out = String::new();
        for _ in 0..steps {
            if self.at == self.branch.last() {
                out.push_str(&self.the_end());
                break;
            }
            self.at += 1;
            out.push_str(&self.print_step(self.at));
        }
        out
    }

    fn the_end(&self) -> String {
        "the history ends here; `list` tells what can happen, `do N` lets it happen\n".into()
    }

    fn run(&mut self, until: Option<&Until>) -> String {
        if self.at == self.branch.last() {
            return self.the_end();
        }
        let from = self.at;
        while self.at < self.branch.last() {
            self.at += 1;
            let (before, after) = (self.branch.at(self.at - 1), self.branch.at(self.at));
            let stop = until.into_iter().chain(&self.breaks).find(|until| until.met(before, after));
            if let Some(stop) = stop {
                return format!("{} steps, stopped at: {stop}\n{}", self.at - from, self.print_step(self.at));
            }
            if before.world.violation().is_none() && after.world.violation().is_some() {
                return format!("{} steps, a rule is broken\n{}", self.at - from, self.print_step(self.at));
            }
        }
        format!("{} steps, to the end\n{}", self.at - from, self.print_step(self.at))
    }

    fn list(&self) -> String {
        let next = self.branch.get(self.at + 1).and_then(|moment| moment.taken.choice).map(usize::from);
        let enabled = self.here().enabled();
        let one = |(number, action): (usize, &crate::action::Action)| {
            let next = if next == Some(number) { "  <- next" } else { "" };
            format!("{number:>4} {action}{next}")
        };
        lines(&enabled.iter().enumerate().map(one).collect::<Vec<_>>(), "nothing can happen")
    }

    fn choose(&mut self, what: &str) -> String {
        let enabled = self.here().enabled();
        let number = what.parse::<usize>().ok().or_else(|| enabled.iter().position(|a| a.to_string() == what));
        let known = number.filter(|number| *number < enabled.len());
        let Some(number) = known else {
            return format!(
                "{what} cannot happen here; `list` tells what can, from 0 to {}\n",
                enabled.len().saturating_sub(1)
            );
        };
        if !self.branch.chosen(self.at) {
            return "the trouble is over here and the world goes its own way; go back to where it was chosen\n".into();
        }
        let same = self.branch.get(self.at + 1).and_then(|next| next.taken.choice).map(usize::from) == Some(number);
        if same {
            return self.forth(1);
        }
        let Some(fork) = self.branch.fork(self.at, number) else { return self.the_end() };
        let left = self.branch.last() - self.at;
        let told = if left > 0 {
            format!("another history from here; {left} steps are left behind, `undo` brings them back\n")
        } else {
            String::new()
        };
        self.replace(fork, self.at + 1);
        format!("{told}{}", self.print_step(self.at))
    }

    fn heal(&mut self) -> String {
        if !self.branch.chosen(self.at) {
            return "the trouble is over here already\n".into();
        }
        let healed = self.branch.heal(self.at);
        let at = healed.last();
        self.replace(healed, at);
        self.print_step(at)
    }

    fn replace(&mut self, branch: Branch, at: usize) {
        let old = (std::mem::replace(&mut self.branch, branch), std::mem::replace(&mut self.at, at));
        self.done.push(old);
        self.undone.clear();
    }

    fn undo(&mut self) -> String {
        let Some((branch, at)) = self.done.pop() else { return "nothing to undo\n".into() };
        let now = (std::mem::replace(&mut self.branch, branch), std::mem::replace(&mut self.at, at));
        self.undone.push(now);
        format!("back before it: step {} of {}\n", self.here().world.steps(), self.last_step())
    }

    fn redo(&mut self) -> String {
        let Some((branch, at)) = self.undone.pop() else { return "nothing to redo\n".into() };
        let now = (std::mem::replace(&mut self.branch, branch), std::mem::replace(&mut self.at, at));
        self.done.push(now);
        self.print_step(self.at)
    }

    fn diff(&self) -> String {
        let Some(before) = self.at.checked_sub(1).and_then(|at| self.branch.get(at)) else {
            return "at the beginning nothing has changed yet\n".into();
        };
        lines(&tell::difference(&before.state(), &self.here().state()), "no difference")
    }

    fn list_breaks(&self) -> String {
        let one = |(number, until): (usize, &Until)| format!("{number:>4} {until}");
        lines(&self.breaks.iter().enumerate().map(one).collect::<Vec<_>>(), "no breakpoints")
    }

    fn unbreak(&mut self, number: usize) -> String {
        if number < self.breaks.len() {
            self.breaks.remove(number);
            self.list_breaks()
        } else {
            format!("there is no breakpoint {number}; `breaks` lists them\n")
        }
    }

    fn save(&self, path: &str) -> String {
        let trace = self.branch.trace();
        match std::fs::write(path, trace.to_text()) {
            Ok(()) => format!("{} steps written to {path}\n", trace.steps.len().saturating_sub(1)),
            Err(error) => format!("save {path}: it cannot be written: {error}\n"),
        }
    }

    fn choices(&self) -> String {
        let choices = self.branch.choices();
        let command = self.branch.trace().header.command;
        format!("{}\n{command}\n", if choices.is_empty() { "none yet".into() } else { text(&choices) })
    }

    fn verdict(&self) -> String {
        let Some(violation) = self.violation() else { return "no rule is broken in this history\n".into() };
        let says = oracle::ALL.iter().find(|o| o.id == violation.oracle).map_or("", |o| o.says);
        format!("{}\nwhat has to hold: {says}\n", crate::names::plain(&violation.to_string()))
    }
}

fn lines(all: &[String], none: &str) -> String {
    if all.is_empty() { format!("{none}\n") } else { all.iter().map(|line| format!("{line}\n")).collect() }
}

fn help() -> String {
    let mut out: String = COMMANDS.iter().map(|(names, does)| format!("{names:<18} {does}\n")).collect();
    out.push_str("A condition C: mark NAME, oracle NAME, turn rN or event TEXT.\n");
    out
}
