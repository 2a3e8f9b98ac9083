//! The model: the core's table, and what it did since the last start.

use homing_core::ids::{RowId, Seq};
use homing_core::row::Scope;
use homing_core::settings::Caps;
use homing_core::store::Answer;
use homing_core::table::Table;
use homing_core::time::Time;

use crate::history::{History, Image};
use crate::store::Call;

#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) table: Table,
    pub(crate) history: History,
    caps: Caps,
}

impl Model {
    pub(crate) fn new(caps: Caps) -> Self {
        Self { table: Table::new(caps), history: History::default(), caps }
    }

    pub(crate) fn answer(&mut self, call: &Call, now: Time) -> Answer {
        self.change(|table| table.answer(call.subject(), call.op, now))
    }

    pub(crate) fn erase(&mut self, scope: Scope) -> usize {
        self.change(|table| table.erase(scope))
    }

    pub(crate) fn purge(&mut self, now: Time) {
        while self.change(|table| table.purge(now)) > 0 {}
    }

    pub(crate) fn flush(&mut self) -> usize {
        self.change(Table::flush)
    }

    pub(crate) fn seq(&self) -> Seq {
        self.table.seq()
    }

    /// A new process over what the old one left.
    pub(crate) fn start(&mut self, image: &Image, next_id: RowId) {
        let epochs = image.epochs.iter().map(|(scope, epoch)| (*scope, *epoch));
        // In the order of their ids, as a store reads them: places in the table follow it, and ties of expiry those.
        self.table = Table::restore(self.caps, next_id, image.rows.values().cloned(), epochs).0;
        self.table.restore_pins(image.pins.values().copied());
        self.history = History::from_image(image, next_id);
    }

    fn change<T>(&mut self, f: impl FnOnce(&mut Table) -> T) -> T {
        let out = f(&mut self.table);
        let (changes, last) = self.table.take_changes();
        self.history.record(changes, last);
        out
    }
}
