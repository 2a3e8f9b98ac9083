//! A store made of the table itself, in each manner that the suite allows: what the suite is tested on.

use std::collections::{BTreeMap, BTreeSet};

use homing_core::ids::{Epoch, RowId, Seq, TenantId};
use homing_core::key::Keys;
use homing_core::pin::Pin;
use homing_core::row::{Change, EpochScope, Fence, Row, Scope, View};
use homing_core::settings::Caps;
use homing_core::store::{Answer, Op};
use homing_core::table::Table;
use homing_core::time::Time;

use crate::store::{Call, Observed, Promises, StoreUnderTest};

/// How a [`Reference`] differs from the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Not at all.
    Plain,
    /// Every loser is told that the race is lost, and no more.
    Races,
    /// Every third answer is lost, with its write and without it in turn.
    LosesReplies,
    /// Its ids, epochs and change numbers are its own.
    OwnNumbers,
    /// What it did is durable only once it was committed.
    WritesBehind,
}

/// What a crash leaves of it.
#[derive(Clone, Debug, Default)]
struct Disk {
    rows: BTreeMap<RowId, Row>,
    pins: BTreeMap<homing_core::key::Digest, Pin>,
    epochs: BTreeMap<EpochScope, Epoch>,
    next_id: u64,
    durable: Seq,
}

/// The store.
#[derive(Clone, Debug)]
pub struct Reference {
    manner: Manner,
    caps: Caps,
    table: Table,
    waiting: Vec<(Seq, Change)>,
    disk: Disk,
    asked: u32,
    given: BTreeSet<String>,
}

impl Reference {
    /// An empty store.
    #[must_use]
    pub fn new(manner: Manner) -> Self {
        let caps = Caps::default();
        Self {
            manner,
            caps,
            table: Table::new(caps),
            waiting: Vec::new(),
            disk: Disk::default(),
            asked: 0,
            given: BTreeSet::new(),
        }
    }

    /// The kinds of answers it gave: what scripts reached.
    #[must_use]
    pub const fn given(&self) -> &BTreeSet<String> {
        &self.given
    }

    fn change<T>(&mut self, f: impl FnOnce(&mut Table) -> T) -> T {
        let out = f(&mut self.table);
        let (changes, last) = self.table.take_changes();
        let first = last.0 + 1 - changes.len() as u64;
        self.waiting.extend((first..).map(Seq).zip(changes));
        if self.manner != Manner::WritesBehind {
            self.write(usize::MAX);
        }
        out
    }

    fn write(&mut self, most: usize) {
        let batch: Vec<_> = self.waiting.drain(..most.min(self.waiting.len())).collect();
        for (seq, change) in batch {
            self.disk.durable = seq;
            match change {
                Change::Put(row) => {
                    self.disk.next_id = self.disk.next_id.max(row.id.0 + 1);
                    self.disk.rows.insert(row.id, Row { expires: row.stored_expires, ..row });
                }
                Change::Delete(id) => drop(self.disk.rows.remove(&id)),
                Change::PutPin(pin) => drop(self.disk.pins.insert(pin.anchor, pin)),
                Change::DropPin(anchor) => drop(self.disk.pins.remove(&anchor)),
                Change::Erased(scope, epoch) => drop(self.disk.epochs.insert(scope, epoch)),
            }
        }
    }

    fn perform(&mut self, call: &Call, now: Time) -> Answer {
        let call = if self.manner == Manner::OwnNumbers { ours(call) } else { call.clone() };
        let answer = self.change(|table| table.answer(call.subject(), call.op, now));
        self.given.insert(kind(&answer));
        if self.manner == Manner::OwnNumbers { theirs(answer) } else { answer }
    }

    fn shown(&self, row: &Row) -> Row {
        if self.manner != Manner::OwnNumbers {
            return row.clone();
        }
        Row { id: their_id(row.id), stored_expires: Time(0), seq: Seq(0), ..row.clone() }
    }
}

impl StoreUnderTest for Reference {
    fn start(&mut self, caps: Caps, _now: Time) {
        let given = std::mem::take(&mut self.given);
        *self = Self { caps, table: Table::new(caps), given, ..Self::new(self.manner) };
    }

    fn promises(&self) -> Promises {
        Promises {
            counted: self.manner != Manner::OwnNumbers,
            races: self.manner == Manner::Races,
            loses_replies: self.manner == Manner::LosesReplies,
            writes_behind: self.manner == Manner::WritesBehind,
        }
    }

    fn answer(&mut self, call: &Call, now: Time) -> Answer {
        self.asked += 1;
        match self.manner {
            Manner::LosesReplies if self.asked.is_multiple_of(3) => {
                if self.asked.is_multiple_of(2) {
                    self.perform(call, now);
                }
                Answer::Unknown
            }
            Manner::Races => match self.perform(call, now) {
                Answer::Found(_) | Answer::Lost(_) => Answer::Raced,
                other => other,
            },
            _ => self.perform(call, now),
        }
    }

    fn race(&mut self, calls: &[Call], now: Time) -> Vec<Answer> {
        // The last one comes first: as good an order as any.
        let mut answers: Vec<_> = calls.iter().rev().map(|call| self.answer(call, now)).collect();
        answers.reverse();
        answers
    }

    fn erase(&mut self, scope: Scope) -> usize {
        let scope = match scope {
            Scope::Row(tenant, id) if self.manner == Manner::OwnNumbers => Scope::Row(tenant, our_id(id)),
            scope => scope,
        };
        self.change(|table| table.erase(scope))
    }

    fn purge(&mut self, now: Time) {
        while self.change(|table| table.purge(now)) > 0 {}
    }

    fn flush(&mut self) -> Option<usize> {
        Some(self.change(Table::flush))
    }

    fn commit(&mut self, changes: usize) {
        self.write(changes);
    }

    fn sync(&mut self) {
        self.write(usize::MAX);
    }

    fn durable(&mut self) -> Seq {
        self.disk.durable
    }

    fn crash(&mut self, now: Time) {
        self.waiting.clear();
        let epochs = self.disk.epochs.iter().map(|(scope, epoch)| (*scope, *epoch));
        let rows = self.disk.rows.values().filter(|row| row.live(now)).cloned();
        self.table = Table::restore(self.caps, RowId(self.disk.next_id.max(1)), rows, epochs).0;
        self.table.restore_pins(self.disk.pins.values().filter(|pin| pin.live(now)).copied());
        self.disk.rows.retain(|_, row| row.live(now));
        self.disk.pins.retain(|_, pin| pin.live(now));
        self.disk.durable = Seq(0);
    }

    fn restart(&mut self, now: Time) {
        self.change(Table::flush);
        self.sync();
        self.crash(now);
    }

    fn observe(&mut self, now: Time) -> Observed {
        let seen = Observed::of(&self.table, now);
        let shown = |rows: Vec<Row>| rows.iter().map(|row| self.shown(row)).collect();
        Observed { rows: shown(seen.rows), listed: shown(seen.listed), ..seen }
    }

    fn session(&mut self, tenant: TenantId, keys: &Keys, now: Time) -> Option<Row> {
        self.table.session(tenant, keys, now).map(|row| self.shown(row))
    }

    fn epochs(&mut self) -> Vec<(EpochScope, Epoch)> {
        self.disk.epochs.iter().map(|(scope, epoch)| (*scope, *epoch)).collect()
    }

    fn kept(&mut self) -> Option<(usize, usize)> {
        Some((self.disk.rows.len(), self.disk.pins.len()))
    }
}

/// The first words of the answer, as it is printed for people.
fn kind(answer: &Answer) -> String {
    let text = match answer {
        Answer::Completed { how, .. } => format!("{how:?}"),
        Answer::Pins { found, .. } => format!("{found:?}"),
        Answer::Looked { view, .. } => format!("Looked {}", view.is_some()),
        Answer::Lost(view) => format!("Lost {}", view.is_some()),
        Answer::Refused(why) => format!("Refused {why:?}"),
        other => format!("{other:?}"),
    };
    text.split(['(', '{']).next().unwrap_or_default().trim().to_owned()
}

const fn their_id(id: RowId) -> RowId {
    RowId(id.0 * 5 + 2)
}

const fn our_id(id: RowId) -> RowId {
    RowId(id.0 / 5)
}

fn ours(call: &Call) -> Call {
    let fence = |f: Fence| Fence { id: our_id(f.id), ..f };
    let epoch = |e: Epoch| Epoch(e.0 / 3);
    let op = match call.op {
        Op::Reserve { account, seen, ttl } => Op::Reserve { account, seen: epoch(seen), ttl },
        Op::Pend { fence: f, expect, next } => Op::Pend { fence: fence(f), expect, next },
        Op::Complete { fence: f, account, seen, ttl, pinned, inserts } => {
            Op::Complete { fence: f.map(fence), account, seen: epoch(seen), ttl, pinned, inserts }
        }
        Op::Record { account, seen } => Op::Record { account, seen: seen.map(epoch) },
        op => op,
    };
    Call { op, ..call.clone() }
}

fn theirs(answer: Answer) -> Answer {
    let view = |v: View| View { fence: Fence { id: their_id(v.fence.id), ..v.fence }, seq: Seq(0), ..v };
    let epoch = |e: Epoch| Epoch(e.0 * 3);
    match answer {
        Answer::Pins { found, epoch: e } => Answer::Pins { found, epoch: epoch(e) },
        Answer::Looked { view: v, epoch: e } => Answer::Looked { view: v.map(view), epoch: epoch(e) },
        Answer::Reserved(v) => Answer::Reserved(view(v)),
        Answer::Found(v) => Answer::Found(view(v)),
        Answer::Pended(v) => Answer::Pended(view(v)),
        Answer::Lost(v) => Answer::Lost(v.map(view)),
        Answer::Recorded(_) => Answer::Recorded(Seq(0)),
        Answer::Completed { how, .. } => Answer::Completed { how, seq: Seq(0) },
        other => other,
    }
}
