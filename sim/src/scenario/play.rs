//! Tells a story: each line becomes what the world can do, and what is seen becomes the transcript.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use homing_core::ids::AccountId;
use homing_core::turn::Effect;

use super::expect::{Expectation, Facts, Subject};
use super::parse::{Line, Script, Statement, Until, action};
use super::sight;
use crate::action::{Action, Class};
use crate::event::{Event, TurnId};
use crate::plant::Plant;
use crate::world::World;

/// Most steps of one request that goes on without trouble.
const STEPS_MAX: usize = 60;

/// A story that was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Played {
    /// Every line of the script with what was seen behind it.
    pub transcript: String,
    /// Where it went wrong.
    pub failed: Option<Failed>,
}

/// A story that went wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {why}")]
pub struct Failed {
    /// The script.
    pub file: String,
    /// Its line, counted from 1.
    pub line: usize,
    /// What happened, in a line or several.
    pub why: String,
}

/// Tells the story, with a planted bug or none, up to the first thing that goes wrong.
#[must_use]
pub fn play(script: &Script, plant: Option<Plant>) -> Played {
    let world = World::of(script.scope.clone(), plant);
    let mut teller = Teller {
        world,
        names: BTreeMap::new(),
        tokens: BTreeMap::new(),
        transcript: String::new(),
        enabled: Vec::new(),
    };
    for line in &script.lines {
        if let Err(why) = teller.line(line) {
            let _ = writeln!(teller.transcript, "  !! {why}");
            let failed = Failed { file: script.file.clone(), line: line.number, why };
            return Played { transcript: teller.transcript, failed: Some(failed) };
        }
    }
    Played { transcript: teller.transcript, failed: None }
}

struct Teller {
    world: World,
    names: BTreeMap<String, TurnId>,
    /// The turn state that went along with each request's last attempt, by who issued it.
    tokens: BTreeMap<TurnId, AccountId>,
    transcript: String,
    enabled: Vec<Action>,
}

/// What went wrong.
type Why = String;

impl Teller {
    fn line(&mut self, line: &Line) -> Result<(), Why> {
        if line.statement == Statement::Comment {
            let _ = writeln!(self.transcript, "{}", line.text);
            return Ok(());
        }
        let _ = writeln!(self.transcript, "> {}", line.text);
        match &line.statement {
            Statement::Comment => Ok(()),
            Statement::Ask(name, process, ask) => {
                self.names.insert(name.clone(), TurnId(self.world.next_turn));
                let up = self.world.process(*process).is_some();
                if up { self.take(Action::Ask(*process, *ask)) } else { Err("nobody is up to be asked".into()) }
            }
            Statement::Step(words) => self.step(words),
            Statement::Let(name, until) => self.go_on(name, *until),
            Statement::Settle => self.settle(),
            Statement::Expect(expectation) => self.expect(expectation),
        }
    }

    fn turn(&self, name: &str) -> Result<TurnId, Why> {
        self.names.get(name).copied().ok_or_else(|| format!("nobody asked as {name:?}"))
    }

    fn step(&mut self, words: &[String]) -> Result<(), Why> {
        let named = |name: &str| self.names.get(name).map(|turn| format!("r{}", turn.0));
        let step = action(words, named).ok_or("this is no step of the world")?;
        self.world.enabled(&mut self.enabled);
        // Time may move by any span; everything else has to be on offer.
        if !matches!(step, Action::Tick(_)) && !self.enabled.contains(&step) {
            return Err(self.impossible(&step));
        }
        self.take(step)
    }

    /// The step and what could have happened instead: to the same request, where it is about one.
    fn impossible(&self, step: &Action) -> Why {
        let about = |action: &Action| step.turn().is_none_or(|turn| action.turn() == Some(turn));
        let others = self.enabled.iter().filter(|a| a.class() != Class::Client && about(a));
        let others: Vec<String> = others.map(Action::to_string).collect();
        let others = if others.is_empty() { "nothing".to_owned() } else { others.join(", ") };
        format!("{step} cannot happen here; what can: {others}")
    }

    fn take(&mut self, action: Action) -> Result<(), Why> {
        self.world.apply(action);
        self.note();
        self.holds()
    }

    fn holds(&self) -> Result<(), Why> {
        self.world.violation().map_or(Ok(()), |violation| Err(violation.to_string()))
    }

    /// Writes down what was seen in the last step.
    fn note(&mut self) {
        for seen in self.world.seen() {
            let line = crate::timeline::Line::of(self.world.steps(), seen);
            let _ = writeln!(self.transcript, "{line}");
            if let Event::Dial { turn, token, .. } = seen.event {
                match token {
                    Some(issuer) => self.tokens.insert(turn, issuer),
                    None => self.tokens.remove(&turn),
                };
            }
        }
    }

    /// Lets a request go on as long as something benign can happen to it.
    fn go_on(&mut self, name: &str, until: Until) -> Result<(), Why> {
        let turn = self.turn(name)?;
        for _ in 0..STEPS_MAX {
            let waits = sight::waits_for(&self.world, turn);
            let there = match (waits, until) {
                (None, Until::Finish) => true,
                (None, Until::Dial | Until::Rest) => return Err(format!("{name} has ended before it came so far")),
                (Some(effect), Until::Dial) => matches!(effect, Effect::Dial { .. }),
                (Some(effect), Until::Rest) => matches!(effect, Effect::Commit(_)),
                (Some(_), Until::Finish) => false,
            };
            if there {
                return Ok(());
            }
            self.world.enabled(&mut self.enabled);
            let mine = |a: &&Action| a.class() == Class::Progress && a.turn() == Some(turn);
            let next = self.enabled.iter().find(mine).or_else(|| self.enabled.iter().find(|a| **a == Action::Commit));
            let next = *next.ok_or_else(|| format!("{name} waits for nothing that can happen"))?;
            self.take(next)?;
        }
        Err(format!("{name} is not there after {STEPS_MAX} steps"))
    }

    /// Only the end is written down: how long the healed world takes is no part of the story.
    fn settle(&mut self) -> Result<(), Why> {
        self.world.settle(&mut |_, _| {});
        self.holds()?;
        for seen in self.world.seen().iter().filter(|seen| matches!(seen.event, Event::Settled(_))) {
            let line = crate::timeline::Line::of(self.world.steps(), seen);
            let _ = writeln!(self.transcript, "       {} {}", line.code, line.what);
        }
        Ok(())
    }

    fn expect(&mut self, expectation: &Expectation) -> Result<(), Why> {
        let found = self.found(&expectation.subject)?;
        expectation.check(&found).map_err(|unmet| format!("what was expected was not seen{unmet}"))
    }

    fn found(&self, subject: &Subject) -> Result<Facts, Why> {
        Ok(match subject {
            Subject::Turn(name) => {
                let turn = self.turn(name)?;
                let story = self.world.history.story(turn).ok_or_else(|| format!("{name} left no trace"))?;
                sight::turn(story, self.tokens.get(&turn).copied())
            }
            Subject::Binding(ask) => sight::session(&self.world, ask),
            Subject::DurableBinding(ask) => sight::durable_session(&self.world, ask),
            Subject::Rows(tenant) => sight::rows(&self.world, *tenant),
        })
    }
}
