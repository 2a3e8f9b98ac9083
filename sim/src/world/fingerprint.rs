//! One number for a state: worlds with the same number go on alike.

use std::hash::Hash as _;

use homing_core::time::Millis;
use homing_core::turn::Effect;

use super::{Open, World};
use crate::event::TurnId;
use crate::explore::canon::{Canon, Encoding, Names};
use crate::explore::symmetry::Symmetry;
use crate::history::Story;

impl World {
    /// A fingerprint of everything the future depends on, whatever its names. What happened is left out, what oracles still
    /// compare against is in.
    pub(crate) fn fingerprint(&self, symmetry: &Symmetry) -> u128 {
        let names = Names::of(self.now, self.disk.durable(), |to| self.hash_state(to));
        let prints = symmetry.renamings.iter().map(|renaming| {
            let mut encoding = Encoding::new(&names, renaming);
            self.hash_state(&mut encoding);
            encoding.print()
        });
        prints.min().unwrap_or_default()
    }

    /// Forgets what no rule looks back at: the events of the step, and requests that are over.
    pub(crate) fn forget(&mut self) {
        self.seen = Vec::new();
        self.history.stories.retain(|_, story| story.open());
    }

    fn hash_state(&self, to: &mut impl Canon) {
        (self.behind, self.faults, self.asks, self.ticks).hash(to);
        (&self.disk, &self.placed, &self.rows, self.settings).hash(to);
        to.set(&self.tokens, |((tenant, session), (token, issuer)), to| {
            let known = self.process.as_ref().map(|p| p.states.belongs(*tenant, token, *issuer));
            (tenant, session, issuer, known).hash(to);
        });
        if let Some(process) = &self.process {
            (process.table.epoch(), process.table.seq(), process.table.next_id(), process.newest).hash(to);
            process.fleet.hash(to);
            to.set(&process.turns, |(id, open), to| self.hash_turn(*id, open, to));
        }
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
        (open.ask, &open.turn, effect, open.late, open.left).hash(to);
        if let Some(story) = self.history.story(id) {
            self.hash_story(story, to);
        }
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
