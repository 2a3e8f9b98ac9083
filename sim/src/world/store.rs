//! The store as the turns meet it: an authority in memory, a durable copy beneath it, answers that may be late or lost.
//!
//! An embedded store is the table of the one process: its changes queue for the disk, and it dies with the process. A racing
//! store is one table outside the processes, the model of a database: each transition is committed when it is applied, its own
//! clock decides, the loser of a race is told no more than that it lost, and what the processes know of it can be out of date.

use std::collections::BTreeMap;

use homing_core::ids::{RowId, Seq};
use homing_core::key::Digest;
use homing_core::pin::{Pin, Pinned};
use homing_core::row::{Change, Row};
use homing_core::settings::Caps;
use homing_core::store::{Answer, Completion, Op};
use homing_core::table::Table;
use homing_core::time::{Millis, Time};

use super::{World, planted, process::Offset};
use crate::disk::Disk;
use crate::event::{Cause, Event, ProcessId, TurnId};
use crate::plant::Plant;
use crate::shared::Shared;

pub(crate) use super::flight::Statement;

/// The table, its durable copy, and what is on its way to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Store {
    /// `None`: it died with its process.
    pub(crate) table: Option<Shared<Table>>,
    pub(crate) disk: Shared<Disk>,
    /// The newest time the table stored, from its changes (B8).
    pub(crate) newest: Time,
    /// A shared store cannot be reached.
    pub(crate) away: bool,
    /// Statements nobody waits for any longer, in the order they were sent: each may still be carried out, or never.
    pub(crate) flying: Vec<Statement>,
}

impl Store {
    /// The process that holds the table died; how many batches were lost.
    pub(crate) fn crash(&mut self) -> usize {
        let lost = self.disk.waiting();
        self.disk.crash();
        self.table = None;
        lost
    }
}

impl World {
    fn caps(&self) -> Caps {
        match (self.plant, &self.scope) {
            (Some(Plant::ForgetsCaps), _) | (_, None) => Caps::default(),
            (_, Some(scope)) => scope.caps,
        }
    }

    /// The table as its durable copy describes it; how many rows it could not take.
    pub(crate) fn restore(&mut self) -> usize {
        let (table, refused) = planted::restored(self.plant, &self.store.disk, self.caps());
        self.store.newest = self.store.disk.newest();
        self.store.table = Some(table.into());
        refused
    }

    /// The store does it and answers.
    pub(crate) fn answer(&mut self, id: TurnId) {
        if let Some(answer) = self.perform(id) {
            self.tell(id, answer);
        }
    }

    /// The store does it; the answer comes later.
    pub(crate) fn apply_only(&mut self, id: TurnId) {
        let answer = self.perform(id);
        if let Some(open) = self.turns.get_mut(&id) {
            open.late = answer;
        }
    }

    /// The outcome stays unknown, done or not.
    pub(crate) fn lose(&mut self, id: TurnId, done: bool) {
        let Some(op) = self.open(id).and_then(Self::op_of) else { return };
        if done {
            self.perform(id);
        } else {
            self.emit(Event::Did { turn: id, op, answer: None });
        }
        self.tell_unknown(id, op);
    }

    /// The turn gives up waiting for the store.
    pub(crate) fn tell_unknown(&mut self, id: TurnId, op: Op) {
        let told = match (self.plant, op) {
            (Some(Plant::UnknownIsSuccess), Op::Complete { .. }) => {
                Answer::Completed { how: Completion::Renewed, seq: Seq(0) }
            }
            (Some(Plant::UnknownIdIsNoPin), Op::FindPins) => {
                Answer::Pins { found: Pinned::Nowhere, epoch: homing_core::ids::Epoch(u64::MAX) }
            }
            _ => Answer::Unknown,
        };
        self.tell(id, told);
    }

    /// Does what the turn asked.
    fn perform(&mut self, id: TurnId) -> Option<Answer> {
        let open = self.turns.get(&id)?;
        let op = Self::op_of(open)?;
        let statement =
            Statement { turn: id, process: open.process, request: *open.turn.request(), anchors: open.anchors, op };
        let answer = self.execute(&statement)?;
        self.emit(Event::Did { turn: id, op, answer: Some(answer) });
        self.collect(Cause::Op(id, op));
        if op == Op::Look {
            self.after_look(id);
        }
        Some(answer)
    }

    /// The one place that asks the table for a turn. A racing store writes every life down at once, and tells the loser of a
    /// race nothing but that.
    pub(crate) fn execute(&mut self, statement: &Statement) -> Option<Answer> {
        let racing = self.racing();
        let decides = match self.plant {
            Some(Plant::ProcessClockDecides) => self.clock(statement.process),
            _ => self.store_wall(),
        };
        let table = self.store.table.as_mut()?;
        let Statement { request, op, .. } = statement;
        let asked = Statement { op: planted::op(self.plant, *op), ..*statement };
        let answer = super::asked::ask_table(table, self.plant, &asked, decides);
        let answer = planted::answer(self.plant, answer, request, table, &self.history, decides);
        if !racing {
            return Some(answer);
        }
        table.flush();
        Some(match (self.plant, answer, *op) {
            (Some(Plant::ShowsLoserOldRow), Answer::Lost(Some(view)), Op::Pend { fence, expect, .. }) => {
                Answer::Lost(Some(homing_core::row::View { fence, pending: expect, ..view }))
            }
            (_, Answer::Found(_) | Answer::Lost(_), _) => Answer::Raced,
            (_, answer, _) => answer,
        })
    }

    /// Takes the table's changes to the disk and tells what happened to the rows.
    pub(crate) fn collect(&mut self, cause: Cause) {
        let racing = self.racing();
        let Some(table) = &mut self.store.table else { return };
        let (mut changes, upto) = table.take_changes();
        let written = changes.iter().filter_map(|c| match c {
            Change::Put(row) => Some(row.renewed),
            Change::PutPin(pin) => Some(pin.recorded()),
            Change::Delete(_) | Change::Erased(..) | Change::DropPin(_) => None,
        });
        let newest = written.max().unwrap_or_default();
        if self.plant == Some(Plant::LosesWrites) && upto.0 % 2 == 0 {
            changes.truncate(0);
            changes.push(Change::Delete(RowId(0)));
        }
        if self.plant == Some(Plant::CoalescesForEver) {
            changes.retain(|change| !planted::only_renews(change, &self.history.rows));
        }
        self.store.disk.queue(changes, upto);
        if racing && !self.holds_back(&cause) {
            while self.store.disk.commit().is_some() {}
        }
        for (before, after) in self.differences() {
            self.emit(Event::Row { cause, before, after });
        }
        for (before, after) in self.pin_differences() {
            self.emit(Event::Pin { cause, before, after });
        }
        self.store.newest = self.store.newest.max(newest);
    }

    /// The planted bug: a reservation is answered before it is committed.
    fn holds_back(&self, cause: &Cause) -> bool {
        self.plant == Some(Plant::CommitsLate) && matches!(cause, Cause::Op(_, Op::Reserve { .. }))
    }

    /// The rows that are not as they were last seen, in the order of their ids.
    fn differences(&self) -> Vec<(Option<Row>, Option<Row>)> {
        let Some(table) = &self.store.table else { return Vec::new() };
        let known = &self.history.rows;
        let mut differences: BTreeMap<RowId, (Option<Row>, Option<Row>)> = BTreeMap::new();
        let mut there = 0;
        for row in table.rows() {
            let before = known.get(&row.id);
            there += usize::from(before.is_some());
            if before != Some(row) {
                differences.insert(row.id, (before.cloned(), Some(row.clone())));
            }
        }
        if there < known.len() {
            for (id, row) in known.iter().filter(|(id, _)| table.rows().all(|row| row.id != **id)) {
                differences.insert(*id, (Some(row.clone()), None));
            }
        }
        differences.into_values().collect()
    }

    /// The pins that are not as they were last seen, in the order of their anchors.
    fn pin_differences(&self) -> Vec<(Option<Pin>, Option<Pin>)> {
        let Some(table) = self.store.table.as_ref().filter(|t| t.pin_count() + self.history.pins.len() > 0) else {
            return Vec::new();
        };
        let there: BTreeMap<Digest, Pin> = table.pins().map(|pin| (pin.anchor, *pin)).collect();
        let known = &self.history.pins;
        let anchors: std::collections::BTreeSet<_> = there.keys().chain(known.keys()).collect();
        let pairs = anchors.into_iter().map(|anchor| (known.get(anchor).copied(), there.get(anchor).copied()));
        pairs.filter(|(before, after)| before != after).collect()
    }

    /// The disk writes its oldest batch.
    pub(crate) fn commit(&mut self) {
        if let Some(upto) = self.store.disk.commit() {
            self.emit(Event::Durable(upto));
        }
    }

    /// A wall clock is set to another time; the clocks that processes go by are not.
    pub(crate) fn set_wall(&mut self, id: ProcessId, by: i64) {
        let wall = self.walls.entry(id).or_insert(Offset(0));
        wall.0 = wall.0.saturating_add(by);
        let span = Millis(by.unsigned_abs());
        self.emit_at(Some(id), if by < 0 { Event::SetBack(span) } else { Event::SetForth(span) });
    }
}
