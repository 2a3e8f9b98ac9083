//! The durable copy beneath the table: changes wait in order, commits take whole batches, a crash drops what waits.

use std::collections::{BTreeMap, VecDeque};

use homing_core::ids::{Epoch, RowId, Seq};
use homing_core::key::Digest;
use homing_core::pin::Pin;
use homing_core::row::{Change, EpochScope, Row};
use homing_core::settings::Caps;
use homing_core::table::Table;
use homing_core::time::Time;

/// What one transition queued, and the number of its last change. It is written whole or not at all.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Batch {
    /// The number everything up to here has.
    pub upto: Seq,
    /// In order.
    pub changes: Vec<Change>,
}

/// The simulated database file and the queue in front of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Disk {
    rows: BTreeMap<RowId, Row>,
    erased: BTreeMap<EpochScope, Epoch>,
    pins: BTreeMap<Digest, Pin>,
    last_id: LastId,
    queue: VecDeque<Batch>,
    durable: Seq,
}

/// The highest row id ever written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct LastId(u64);

impl Disk {
    /// Queues what the table changed.
    pub fn queue(&mut self, changes: Vec<Change>, upto: Seq) {
        if !changes.is_empty() {
            self.queue.push_back(Batch { upto, changes });
        }
    }

    /// Writes the oldest batch; says what is durable now.
    pub fn commit(&mut self) -> Option<Seq> {
        let batch = self.queue.pop_front()?;
        for change in batch.changes {
            self.write(change);
        }
        self.durable = batch.upto;
        Some(self.durable)
    }

    fn write(&mut self, change: Change) {
        match change {
            Change::Put(row) => {
                self.last_id.0 = self.last_id.0.max(row.id.0);
                self.rows.insert(row.id, row);
            }
            Change::Delete(id) => {
                self.last_id.0 = self.last_id.0.max(id.0);
                self.rows.remove(&id);
            }
            Change::Erased(scope, epoch) => {
                self.erased.insert(scope, epoch);
            }
            Change::PutPin(pin) => {
                self.pins.insert(pin.anchor, pin);
            }
            Change::DropPin(anchor) => {
                self.pins.remove(&anchor);
            }
        }
    }

    /// How many batches wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Everything up to here is on disk.
    #[must_use]
    pub const fn durable(&self) -> Seq {
        self.durable
    }

    /// The process died: what waited is gone. A new process counts its changes from the start.
    pub fn crash(&mut self) {
        self.queue.clear();
        self.durable = Seq(0);
    }

    /// The table a process that started now would have, and how many rows it could not take.
    #[must_use]
    pub fn restore(&self, caps: Caps) -> (Table, usize) {
        let erased = self.erased.iter().map(|(scope, epoch)| (*scope, *epoch));
        let (mut table, refused) = Table::restore(caps, RowId(self.last_id.0 + 1), self.rows.values().cloned(), erased);
        table.restore_pins(self.pins.values().copied());
        (table, refused)
    }

    /// The highest row id ever written.
    #[must_use]
    pub const fn last_id(&self) -> RowId {
        RowId(self.last_id.0)
    }

    /// The pin with this anchor, if it is on disk.
    #[must_use]
    pub fn pin(&self, anchor: &Digest) -> Option<&Pin> {
        self.pins.get(anchor)
    }

    /// The newest time that is written down: a table that begins from here decides by no earlier one (B8).
    #[must_use]
    pub fn newest(&self) -> Time {
        let rows = self.rows.values().map(|row| row.renewed.max(row.created));
        rows.chain(self.pins.values().map(Pin::recorded)).max().unwrap_or(Time(0))
    }

    /// The rows on disk.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.values()
    }
}
