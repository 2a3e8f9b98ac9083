//! One number for a state: worlds with the same number go on alike.

use std::hash::Hash as _;

use homing_core::fleet::Fleet;
use homing_core::ids::Seq;
use homing_core::time::{Millis, Time};
use homing_core::turn::Effect;

use super::flight::Statement;
use super::{Open, World};
use crate::event::{ProcessId, TurnId};
use crate::explore::canon::{Canon, Encoding, Frame, Names};
use crate::explore::symmetry::Symmetry;
use crate::history::Story;
use crate::scope::Scope;

impl World {
    /// A fingerprint of everything the future depends on, whatever its names. What happened is left out, what oracles still
    /// compare against is in.
    pub(crate) fn fingerprint(&self, symmetry: &Symmetry) -> u128 {
        let names = Names::of(self.frame(), |to| self.hash_state(to));
        let prints = symmetry.renamings.iter().map(|renaming| {
            let mut encoding = Encoding::new(&names, renaming);
            self.hash_state(&mut encoding);
            encoding.print()
        });
        prints.min().unwrap_or_default()
    }

    fn frame(&self) -> Frame {
        // A shared store is its own durable copy: all that a process was told is written.
        let durable = if self.racing() { Seq(u64::MAX) } else { self.store.disk.durable() };
        Frame { now: self.now, durable, ordered_past: self.scope.as_ref().is_some_and(Scope::only_orders_past) }
    }

    /// Forgets what no rule looks back at: the events of the step, and requests that are over and left nothing behind.
    pub(crate) fn forget(&mut self) {
        self.seen = Vec::new();
        self.acting = (None, Fleet::new());
        let flying = &self.store.flying;
        let left_behind = |id: &TurnId| flying.iter().any(|statement| statement.turn == *id);
        self.history.stories.retain(|id, story| story.open() || left_behind(id));
    }

    fn hash_state(&self, to: &mut impl Canon) {
        (self.left, &self.placed, self.settings).hash(to);
        to.set(&self.api_keys, |key, to| key.hash(to));
        (&self.pools, &self.ids, &self.history.pins).hash(to);
        to.set(&self.tokens, |((tenant, session), (_, issuer)), to| (tenant, session, issuer).hash(to));
        self.hash_store(to);
        // Processes may change places, unless an operator speaks to the first of them.
        if self.scope.as_ref().is_some_and(|scope| scope.operators) {
            self.processes.keys().for_each(|id| self.hash_process(*id, to));
        } else {
            to.set(self.processes.keys(), |id, to| self.hash_process(*id, to));
        }
        (self.history.last_id, self.history.erased.len()).hash(to);
        for erased in &self.history.erased {
            (erased.scope, erased.last_id, erased.seq, erased.durable).hash(to);
        }
    }

    fn hash_store(&self, to: &mut impl Canon) {
        let store = &self.store;
        (store.away, store.table.is_some(), store.disk.last_id(), &self.history.rows).hash(to);
        // The durable copy of a shared store is what it holds.
        if !self.racing() || store.disk.waiting() > 0 {
            store.disk.hash(to);
        }
        if let Some(table) = &store.table {
            (table.epoch(), table.seq(), table.next_id(), self.newest()).hash(to);
        }
    }

    /// The newest time that was stored, where a clock may still be set back behind it.
    fn newest(&self) -> Option<Time> {
        let goes_back = !self.racing() && self.scope.as_ref().is_some_and(|scope| scope.operators);
        (goes_back || self.store.newest > self.store_wall()).then_some(self.store.newest)
    }

    /// A process, with its machine's clock, its turns and what they left behind.
    fn hash_process(&self, id: ProcessId, to: &mut impl Canon) {
        self.walls.get(&id).hash(to);
        to.set(self.turns.iter().filter(|(_, open)| open.process == id), |(id, open), to| {
            self.hash_turn(*id, open, to)
        });
        let behind = self.store.flying.iter().filter(|statement| statement.process == id);
        to.set(behind, |statement, to| self.hash_left_behind(statement, to));
        let Some(process) = self.process(id) else { return };
        (&process.fleet, &process.placed, &process.unheard, process.settings, process.ahead).hash(to);
        to.set(&process.homes, |home, to| home.hash(to));
        to.set(&self.tokens, |((tenant, session), (token, issuer)), to| {
            (tenant, session, process.states.belongs(*tenant, token, *issuer)).hash(to);
        });
        let barred = self.history.barred.iter().filter(|((process, ..), _)| *process == id);
        to.set(barred, |((_, account, kind), bar), to| (account, kind, bar).hash(to));
        let renewed = self.history.renewed.iter().filter(|(process, _)| *process == id);
        to.set(renewed, |(_, account), to| account.hash(to));
    }

    fn hash_turn(&self, id: TurnId, open: &Open, to: &mut impl Canon) {
        // How long it waits is jitter, which is drawn from its id; it may be woken at any time.
        let effect = match open.effect {
            Effect::Wait(_) => Effect::Wait(Millis(0)),
            other => other,
        };
        (open.ask, open.anchors, &open.turn, effect, open.late, open.left).hash(to);
        if let Some(story) = self.history.story(id) {
            self.hash_story(story, to);
        }
    }

    /// The turn goes on meanwhile, or is over.
    fn hash_left_behind(&self, statement: &Statement, to: &mut impl Canon) {
        (&statement.request, statement.anchors, statement.op).hash(to);
        if let Some(story) = self.history.story(statement.turn) {
            self.hash_story(story, to);
        }
    }

    /// What oracles still compare with. Where in the run something happened matters only by what came behind it.
    fn hash_story(&self, story: &Story, to: &mut impl Canon) {
        (story.api_key, story.request, story.affinity, story.expected, story.anchors).hash(to);
        (story.asked, story.did, &story.told, &story.failures).hash(to);
        story.attempts.len().hash(to);
        for attempt in &story.attempts {
            (attempt.account, attempt.reason, attempt.at, attempt.probes, attempt.warms).hash(to);
        }
        (story.again, story.shown, story.served, story.written, story.life, story.held, story.wrote).hash(to);
        (story.released, story.ended, story.gone).hash(to);
        // The witness of its plan: the read it was told of, or the one it may be told of yet.
        let planned = story.planned.unwrap_or(story.did_at);
        self.history.erased.iter().filter(|e| e.event > planned).count().hash(to);
    }
}
