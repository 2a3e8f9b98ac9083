//! One number for a state: worlds with the same number go on alike.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::World;

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
        (self.now, self.behind, self.faults, self.asks, self.ticks, self.next_turn).hash(to);
        (&self.disk, &self.placed, &self.rows, &self.tokens, self.settings).hash(to);
        if let Some(process) = &self.process {
            (process.table.epoch(), process.table.seq(), process.table.next_id(), process.newest).hash(to);
            (&process.fleet, &process.states).hash(to);
            for (id, open) in &process.turns {
                (id, open.ask, &open.turn, open.effect, open.late, open.left).hash(to);
            }
        }
        for (id, story) in self.history.stories.iter().filter(|(_, story)| story.open()) {
            (id, story).hash(to);
        }
    }
}
