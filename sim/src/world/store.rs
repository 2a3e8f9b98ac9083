//! The store as the turns meet it: the table is the authority, its changes queue for the disk, answers may be late or lost.

use std::collections::BTreeMap;

use homing_core::row::{Change, Row};
use homing_core::store::{Answer, Completion, Op, Subject};
use homing_core::time::{Millis, Time};
use homing_core::turn::Turn;

use super::{Process, World, planted};
use crate::event::{Cause, Event, TurnId};
use crate::plant::Plant;

impl World {
    /// The store does it and answers.
    pub(crate) fn answer(&mut self, id: TurnId) {
        if let Some(answer) = self.perform(id) {
            self.tell(id, answer);
        }
    }

    /// The store does it; the answer comes later.
    pub(crate) fn apply_only(&mut self, id: TurnId) {
        let answer = self.perform(id);
        if let Some(open) = self.process.as_mut().and_then(|p| p.turns.get_mut(&id)) {
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
        let told = match (self.plant, op) {
            (Some(Plant::UnknownIsSuccess), Op::Complete { .. }) => {
                Answer::Completed { how: Completion::Renewed, seq: homing_core::ids::Seq(0) }
            }
            _ => Answer::Unknown,
        };
        self.tell(id, told);
    }

    /// Does what the turn asked, in the one place that touches the table for it.
    fn perform(&mut self, id: TurnId) -> Option<Answer> {
        let wall = self.wall();
        let plant = self.plant;
        let process = self.process.as_mut()?;
        let open = process.turns.get(&id)?;
        let op = Self::op_of(open)?;
        let turn = open.turn.clone();
        let answer = ask_table(process, plant, &turn, planted::op(plant, op), wall);
        let answer = planted::answer(plant, answer, turn.request(), &process.table, &self.history, wall);
        self.emit(Event::Did { turn: id, op, answer: Some(answer) });
        self.collect(Cause::Op(id, op));
        if op == Op::Look {
            self.after_look(id);
        }
        Some(answer)
    }

    /// Takes the table's changes to the disk's queue and tells what happened to the rows.
    pub(crate) fn collect(&mut self, cause: Cause) {
        let Some(process) = &mut self.process else { return };
        let (mut changes, upto) = process.table.take_changes();
        let rows: BTreeMap<_, Row> = process.table.rows().map(|row| (row.id, row.clone())).collect();
        let written = changes.iter().filter_map(|c| match c {
            Change::Put(row) => Some(row.renewed),
            Change::Delete(_) | Change::Erased(..) | Change::PutPin(_) | Change::DropPin(_) => None,
        });
        let newest = written.max().unwrap_or_default();
        if self.plant == Some(Plant::LosesWrites) && upto.0 % 2 == 0 {
            changes.truncate(0);
            changes.push(Change::Delete(homing_core::ids::RowId(0)));
        }
        if self.plant == Some(Plant::CoalescesForEver) {
            changes.retain(|change| !planted::only_renews(change, &self.rows));
        }
        self.disk.queue(changes, upto);
        let before = std::mem::replace(&mut self.rows, rows);
        let ids: std::collections::BTreeSet<_> = before.keys().chain(self.rows.keys()).copied().collect();
        let differences: Vec<(Option<Row>, Option<Row>)> = ids
            .iter()
            .map(|id| (before.get(id).cloned(), self.rows.get(id).cloned()))
            .filter(|(was, is)| was != is)
            .collect();
        for (before, after) in differences {
            self.emit(Event::Row { cause, before, after });
        }
        if let Some(process) = &mut self.process {
            process.newest = process.newest.max(newest);
        }
    }

    /// The disk writes its oldest batch.
    pub(crate) fn commit(&mut self) {
        if let Some(upto) = self.disk.commit() {
            self.emit(Event::Durable(upto));
        }
    }

    /// The planted bug: a failed attempt extends the life of the session's row.
    pub(crate) fn renew_anyway(&mut self, id: TurnId) {
        let (wall, ttl) = (self.wall(), self.settings.ttl);
        let Some(process) = &mut self.process else { return };
        let Some(open) = process.turns.get(&id) else { return };
        let (tenant, keys, row) = (open.turn.request().tenant, Self::keys_of(open), open.turn.row().copied());
        let Some(view) = row else { return };
        let op = Op::Complete {
            fence: Some(view.fence),
            account: view.account,
            seen: homing_core::ids::Epoch(u64::MAX),
            ttl: Millis(ttl.0 + 1),
            pinned: false,
            inserts: true,
        };
        process.table.answer(Subject::new(tenant, &keys), op, wall);
        self.collect(Cause::Op(id, op));
    }
}

/// Asks the table; the planted bugs of the store sit here.
fn ask_table(process: &mut Process, plant: Option<Plant>, turn: &Turn, op: Op, wall: Time) -> Answer {
    let (tenant, keys) = (turn.request().tenant, turn.request().keys);
    let tenant_asked = if plant == Some(Plant::SharesTenants) { homing_core::ids::TenantId(1) } else { tenant };
    let everything = homing_core::ids::Epoch(u64::MAX);
    match (plant, op) {
        (Some(Plant::IgnoresEpochs), Op::Complete { fence, account, ttl, pinned, inserts, .. }) => {
            let op = Op::Complete { fence, account, seen: everything, ttl, pinned, inserts };
            return process.table.answer(Subject::new(tenant, &keys), op, wall);
        }
        (Some(Plant::DropsFence), Op::Complete { account, seen, ttl, pinned, inserts, .. }) => {
            let fence = process.table.session(tenant, &keys, wall).map(|row| row.view().fence);
            return process.table.answer(
                Subject::new(tenant, &keys),
                Op::Complete { fence, account, seen, ttl, pinned, inserts },
                wall,
            );
        }
        (Some(Plant::RevivesExpired), Op::Look) => {
            let mut rows = process.table.rows();
            if let Some(row) = rows.find(|r| r.tenant == tenant && keys.iter().any(|k| r.keys.has(&k.digest))) {
                return Answer::Looked { view: Some(row.view()), epoch: process.table.epoch() };
            }
        }
        (Some(Plant::ForgetsPending), Op::Pend { next, .. }) => {
            if let Some(row) = process.table.session(tenant, &keys, wall) {
                let mut view = row.view();
                view.pending = Some(next);
                return Answer::Pended(view);
            }
        }
        (Some(Plant::WeakestKeyWins), Op::Look) => {
            let mut weakest = homing_core::key::Keys::default();
            keys.iter().last().into_iter().for_each(|k| weakest.add(k));
            return process.table.answer(Subject::new(tenant, &weakest), op, wall);
        }
        _ => {}
    }
    let answer = process.table.answer(Subject::new(tenant_asked, &keys), op, wall);
    match (plant, answer, op) {
        (Some(Plant::LoserIgnoresWinner), Answer::Found(view), Op::Reserve { account, .. }) => {
            Answer::Reserved(homing_core::row::View { account, ..view })
        }
        _ => answer,
    }
}
