//! One number for a state: worlds with the same number go on alike.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::World;
use crate::history::Story;

impl World {
    /// A fingerprint of everything the future depends on. What happened is left out, what oracles still compare against is in.
    #[must_use]
    pub fn fingerprint(&self) -> u128 {
        let mut low = DefaultHasher::new();
        0_u8.hash(&mut low);
        self.hash_state(&mut low);
        let mut high = DefaultHasher::new();
        1_u8.hash(&mut high);
        self.hash_state(&mut high);
        (u128::from(high.finish()) << 64) | u128::from(low.finish())
    }

    fn hash_state(&self, to: &mut DefaultHasher) {
        (self.now, &self.walls, self.faults, self.asks, self.ticks, self.next_turn).hash(to);
        (&self.placed, &self.api_keys, &self.tokens, self.settings, &self.processes).hash(to);
        self.hash_store(to);
        for (id, open) in &self.turns {
            (id, open.process, open.ask, &open.turn, open.effect, open.late, open.left).hash(to);
        }
        (self.history.last_id, &self.history.barred, &self.history.renewed).hash(to);
        for erased in &self.history.erased {
            (erased.scope, erased.last_id, erased.seq, erased.durable).hash(to);
        }
        let left_behind = |id| self.store.flying.iter().any(|statement| statement.turn == id);
        for (id, story) in self.history.stories.iter().filter(|(id, story)| story.open() || left_behind(**id)) {
            id.hash(to);
            self.hash_story(story, to);
        }
    }

    fn hash_store(&self, to: &mut DefaultHasher) {
        (&self.store.disk, self.store.away, &self.store.flying, &self.history.rows).hash(to);
        if let Some(table) = &self.store.table {
            (table.epoch(), table.seq(), table.next_id(), self.store.newest).hash(to);
        }
    }

    /// What oracles still compare with. Where in the run something happened matters only by what came behind it.
    fn hash_story(&self, story: &Story, to: &mut DefaultHasher) {
        (story.affinity, story.asked, story.did, &story.told, &story.failures).hash(to);
        for attempt in &story.attempts {
            (attempt.account, attempt.reason, attempt.at, attempt.probes, attempt.warms).hash(to);
        }
        (story.again, story.shown, story.served, story.written, story.life, story.wrote, story.released).hash(to);
        let planned = story.planned.unwrap_or(u64::MAX);
        self.history.erased.iter().filter(|e| e.event > planned).count().hash(to);
    }
}
