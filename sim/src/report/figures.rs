//! The figures of one run, from its observations and its record.

use std::collections::{BTreeMap, BTreeSet};

use homing_core::ids::RowId;
use homing_core::row::Row;
use serde::{Deserialize, Serialize};

use crate::choose::Chooser;
use crate::event::{Cause, Event, TurnId};
use crate::run::{Plan, watched};
use crate::scenario::ended;
use crate::world::{BEGINNING, World};

/// What one run was like. Requests that the healed world makes to be looked at are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// Its seed.
    pub seed: u64,
    /// Steps, those of the healed world included.
    pub steps: u64,
    /// Attempts of each request, repeats among them.
    pub attempts: Vec<u64>,
    /// How often the home of each session moved.
    pub moves: Vec<u64>,
    /// How often a home moved.
    pub failovers: u64,
    /// From a proposal to leave a home to the success that ended it, for each: steps.
    pub converge_steps: Vec<u64>,
    /// The same in milliseconds of the world's time.
    pub converge_ms: Vec<u64>,
    /// Steps from the healing to the end of the last request that was open; `None` where the run did not come so far.
    pub heal_steps: Option<u64>,
    /// Live rows that went because a cap was reached.
    pub evictions: u64,
    /// Rows that requests made, or changed so that it has to be durable.
    pub writes: u64,
    /// How requests ended, with how many did so.
    pub outcomes: BTreeMap<String, u64>,
    /// The situations reached.
    pub marks: BTreeSet<String>,
    /// The rule that broke.
    pub broken: Option<String>,
}

/// A line that holds no figures.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {error}: a line holds the figures of one run, as `homing-sim report --out` writes them")]
pub struct Unreadable {
    /// Counted from 1.
    pub line: usize,
    /// What the reader says.
    pub error: serde_json::Error,
}

/// Reads figures, a run a line; empty lines are passed over.
///
/// # Errors
/// The first line that holds none.
pub fn read(text: &str) -> Result<Vec<Figures>, Unreadable> {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(line, text)| serde_json::from_str(text).map_err(|error| Unreadable { line, error })).collect()
}

impl Figures {
    /// Writes for every hundred requests, rounded; `None` where there was no request.
    #[must_use]
    pub fn writes_per_100(&self) -> Option<u64> {
        let requests = self.attempts.len() as u64;
        (requests > 0).then(|| (self.writes * 100 + requests / 2) / requests)
    }
}

/// Makes the run of this seed and measures it.
pub fn measure(plan: &Plan, seed: u64, chooser: &mut dyn Chooser) -> Figures {
    let mut gauge = Gauge { figures: Figures { seed, ..Figures::default() }, ..Gauge::default() };
    let report = watched(plan, chooser, &mut |world, _| gauge.see(world));
    let mut figures = gauge.figures;
    figures.steps = u64::from(report.steps);
    figures.moves = gauge.moves.into_values().collect();
    figures.marks = report.marks.iter().filter(|(_, count)| *count > 0).map(|(mark, _)| mark.name.to_owned()).collect();
    figures.broken = report.violation.map(|violation| violation.oracle.to_owned());
    figures
}

/// What has to be remembered between steps.
#[derive(Default)]
struct Gauge {
    figures: Figures,
    moves: BTreeMap<RowId, u64>,
    /// Since when, in steps and milliseconds, a session has been leaving its home.
    leaving: BTreeMap<RowId, (u32, u64)>,
    /// The step of the healing, and the first request that came behind it.
    healed: Option<(u32, TurnId)>,
}

impl Gauge {
    fn see(&mut self, world: &World) {
        for seen in world.seen() {
            match &seen.event {
                Event::Healed => self.healed = Some((world.steps(), TurnId(world.next_turn))),
                Event::Row { cause: Cause::Op(..), before, after } if self.healed.is_none() => {
                    self.row(world, before.as_ref(), after.as_ref());
                }
                _ => {}
            }
        }
        // Once all of them have ended there is nothing new to know of them.
        if self.figures.heal_steps.is_none() {
            self.requests(world);
        }
        self.heal(world);
    }

    fn row(&mut self, world: &World, before: Option<&Row>, after: Option<&Row>) {
        match (before, after) {
            (before, Some(after)) => {
                let moved = before.is_some_and(|before| before.account != after.account);
                *self.moves.entry(after.id).or_default() += u64::from(moved);
                self.figures.failovers += u64::from(moved);
                self.figures.writes += u64::from(before.map(|before| before.seq) != Some(after.seq));
                self.converge(world, after);
            }
            (Some(before), None) => {
                self.leaving.remove(&before.id);
                self.figures.evictions += u64::from(before.live(world.store_wall()));
            }
            (None, None) => {}
        }
    }

    fn converge(&mut self, world: &World, row: &Row) {
        let now = (world.steps(), world.now.since(BEGINNING).0);
        if row.pending.is_some() {
            self.leaving.entry(row.id).or_insert(now);
        } else if let Some((step, at)) = self.leaving.remove(&row.id) {
            self.figures.converge_steps.push(u64::from(now.0 - step));
            self.figures.converge_ms.push(now.1.saturating_sub(at));
        }
    }

    /// What is known of the requests so far replaces what was known before.
    fn requests(&mut self, world: &World) {
        let end = self.healed.map_or(TurnId(u32::MAX), |(_, first)| first);
        let stories = world.history.stories.range(..end).map(|(_, story)| story);
        self.figures.attempts = stories.clone().map(|story| story.attempts.len() as u64).collect();
        self.figures.outcomes.clear();
        for story in stories {
            *self.figures.outcomes.entry(ended(story).to_owned()).or_default() += 1;
        }
    }

    /// Whether every request from before the healing has ended by now.
    fn heal(&mut self, world: &World) {
        let Some((step, first)) = self.healed else { return };
        let open = world.history.stories.range(..first).any(|(_, story)| story.open());
        if !open && self.figures.heal_steps.is_none() {
            self.figures.heal_steps = Some(u64::from(world.steps() - step));
        }
    }
}
