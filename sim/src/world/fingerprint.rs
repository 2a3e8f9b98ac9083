//! One number for a state: worlds with the same number go on alike.

use std::hash::Hash as _;

use homing_core::time::Millis;
use homing_core::turn::Effect;

use super::flight::Statement;
use super::process::Process;
use super::{Open, World};
use crate::event::TurnId;
use crate::explore::canon::{Canon, Encoding, Names};
use crate::explore::symmetry::Symmetry;
use crate::history::Story;

impl World {
    /// A fingerprint of everything the future depends on, whatever its names. What happened is left out, what oracles still
    /// compare against is in.
    pub(crate) fn fingerprint(&self, symmetry: &Symmetry) -> u128 {
        let names = Names::of(self.now, self.store.disk.durable(), |to| self.hash_state(to));
        let prints = symmetry.renamings.iter().map(|renaming| {
            let mut encoding = Encoding::new(&names, renaming);
            self.hash_state(&mut encoding);
            encoding.print()
        });
        prints.min().unwrap_or_default()
    }

    /// Forgets what no rule looks back at: the events of the step, and requests that are over and left nothing behind.
    pub(crate) fn forget(&mut self) {
        self.seen = Vec::new();
        let flying = &self.store.flying;
        let left_behind = |id: &TurnId| flying.iter().any(|statement| statement.turn == *id);
        self.history.stories.retain(|id, story| story.open() || left_behind(id));
        self.history.writers.clear();
    }

    fn hash_state(&self, to: &mut impl Canon) {
        (&self.walls, self.faults, self.asks, self.ticks).hash(to);
        (&self.placed, self.settings).hash(to);
        to.set(&self.api_keys, |key, to| key.hash(to));
        to.set(&self.tokens, |((tenant, session), (token, issuer)), to| {
            (tenant, session, issuer).hash(to);
            for (process, there) in self.live() {
                (process, there.states.belongs(*tenant, token, *issuer)).hash(to);
            }
        });
        for (id, process) in &self.processes {
            (id, process.is_some()).hash(to);
            if let Some(Process { fleet, placed, unheard, settings, ahead, homes, .. }) = process {
                (fleet, placed, unheard, settings, ahead).hash(to);
                to.set(homes, |home, to| home.hash(to));
            }
        }
        to.set(&self.turns, |(id, open), to| self.hash_turn(*id, open, to));
        self.hash_store(to);
        (self.history.last_id, &self.history.barred, &self.history.renewed).hash(to);
        for erased in &self.history.erased {
            (erased.scope, erased.last_id, erased.seq, erased.durable).hash(to);
        }
    }

    fn hash_turn(&self, id: TurnId, open: &Open, to: &mut impl Canon) {
        // How long it waits is jitter, which is drawn from its id; it may be woken at any time.
        let effect = match open.effect {
            Effect::Wait(_) => Effect::Wait(Millis(0)),
            other => other,
        };
        (open.process, open.ask, &open.turn, effect, open.late, open.left).hash(to);
        if let Some(story) = self.history.story(id) {
            self.hash_story(story, to);
        }
        to.set(self.store.flying.iter().filter(|s| s.turn == id), |statement, to| statement.op.hash(to));
    }

    fn hash_store(&self, to: &mut impl Canon) {
        (&self.store.disk, self.store.away, &self.history.rows).hash(to);
        if let Some(table) = &self.store.table {
            (table.epoch(), table.seq(), table.next_id(), self.store.newest).hash(to);
        }
        // What an open request left behind is part of that request.
        let orphans = self.store.flying.iter().filter(|statement| !self.turns.contains_key(&statement.turn));
        to.set(orphans, |Statement { turn, process, request, op }, to| {
            (process, request, op).hash(to);
            if let Some(story) = self.history.story(*turn) {
                self.hash_story(story, to);
            }
        });
    }

    /// What oracles still compare with. Where in the run something happened matters only by what came behind it.
    fn hash_story(&self, story: &Story, to: &mut impl Canon) {
        (story.affinity, story.asked, story.did, &story.told, &story.failures).hash(to);
        for attempt in &story.attempts {
            (attempt.account, attempt.reason, attempt.at, attempt.probes, attempt.warms).hash(to);
        }
        (story.again, story.shown, story.served, story.written, story.life, story.wrote, story.released).hash(to);
        let planned = story.planned.unwrap_or(u64::MAX);
        self.history.erased.iter().filter(|e| e.event > planned).count().hash(to);
    }
}
