//! Named gates: an answer waits at one until a test releases it, so that no test depends on timing.

use std::collections::HashMap;

use smol::channel::{Receiver, Sender};

struct Gate {
    /// Closed by the release; nothing is ever sent.
    open: Sender<()>,
    wait: Receiver<()>,
    waiting: usize,
}

/// All gates of one upstream. A gate exists from its first use on and stays open once released, until held again.
#[derive(Default)]
pub(super) struct Gates(HashMap<String, Gate>);

impl Gates {
    /// What a waiter at `name` awaits: the receiver ends when the gate is released.
    pub(super) fn join(&mut self, name: &str) -> Receiver<()> {
        let gate = self.gate(name);
        gate.waiting += 1;
        gate.wait.clone()
    }

    /// The waiter at `name` went on or left.
    pub(super) fn part(&mut self, name: &str) {
        let gate = self.gate(name);
        gate.waiting = gate.waiting.saturating_sub(1);
    }

    /// Lets everyone through, now and later.
    pub(super) fn release(&mut self, name: &str) {
        self.gate(name).open.close();
    }

    /// Closes a released gate again.
    pub(super) fn hold(&mut self, name: &str) {
        let gate = self.gate(name);
        if gate.open.is_closed() {
            (gate.open, gate.wait) = smol::channel::bounded(1);
        }
    }

    pub(super) fn waiting(&self, name: &str) -> usize {
        self.0.get(name).map_or(0, |gate| gate.waiting)
    }

    fn gate(&mut self, name: &str) -> &mut Gate {
        self.0.entry(name.to_owned()).or_insert_with(|| {
            let (open, wait) = smol::channel::bounded(1);
            Gate { open, wait, waiting: 0 }
        })
    }
}
