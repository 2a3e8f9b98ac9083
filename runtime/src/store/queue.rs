//! What waits for the disk: the table's changes in order, at most one for each row or pin, so that a stuck disk costs no more
//! memory than the rows themselves.

use std::collections::{BTreeMap, HashMap, HashSet};

use homing_core::ids::{RowId, Seq};
use homing_core::key::Digest;
use homing_core::row::{Change, EpochScope};

use super::names::NameChanges;

/// What a change is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Subject {
    Row(RowId),
    Epoch(EpochScope),
    Pin(Digest),
}

impl Subject {
    fn of(change: &Change) -> Self {
        match change {
            Change::Put(row) => Self::Row(row.id),
            Change::Delete(id) => Self::Row(*id),
            Change::Erased(scope, _) => Self::Epoch(*scope),
            Change::PutPin(pin) => Self::Pin(pin.anchor),
            Change::DropPin(anchor) => Self::Pin(*anchor),
        }
    }
}

/// Changes not yet written.
///
/// A later change of a row takes the place of the earlier one *at the earlier one's position*, so that "everything up to n
/// is durable" stays true when the queue is written in parts. A row may then reach the disk a little ahead of the
/// deletion of the row whose key it took; the key goes over with it ([`super::apply`]), and no key ever has two owners.
#[derive(Debug)]
pub(super) struct Queue {
    changes: BTreeMap<Seq, Change>,
    places: HashMap<Subject, Seq>,
    names: NameChanges,
    /// The highest row id ever handed out for writing. A row beyond it is on no disk: its deletion needs no writing.
    written: RowId,
    /// Pins that wait and are on no disk: their deletion needs no writing. The table records no anchor that it holds, so that
    /// one which comes while nothing of it waits is not there yet; at most what had expired before the start is.
    fresh: HashSet<Digest>,
    last: Seq,
}

/// One transaction's worth.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) changes: Vec<(Seq, Change)>,
    pub(super) names: NameChanges,
    /// With the batch everything up to here is durable.
    pub(super) up_to: Seq,
}

impl Queue {
    /// An empty queue over a disk that has seen row ids below `next_id`.
    pub(super) fn new(next_id: RowId) -> Self {
        Self {
            changes: BTreeMap::new(),
            places: HashMap::new(),
            names: NameChanges::default(),
            written: RowId(next_id.0.saturating_sub(1)),
            fresh: HashSet::new(),
            last: Seq(0),
        }
    }

    /// Changes waiting.
    pub(super) fn len(&self) -> usize {
        self.changes.len() + self.names.len()
    }

    /// The last change that was queued.
    pub(super) const fn last(&self) -> Seq {
        self.last
    }

    /// Queues what the table did; `last` numbers the last of `changes`, the others precede it without a gap.
    pub(super) fn push(&mut self, changes: Vec<Change>, last: Seq) {
        let first = last.0.saturating_sub(changes.len() as u64) + 1;
        for (change, seq) in changes.into_iter().zip(first..) {
            self.push_one(change, Seq(seq));
        }
        self.last = self.last.max(last);
    }

    fn push_one(&mut self, change: Change, seq: Seq) {
        let subject = Subject::of(&change);
        let place = self.places.get(&subject).copied();
        match (place, &change) {
            (Some(place), Change::Delete(id)) if *id > self.written => self.cancel(place, &subject),
            (None, Change::Delete(id)) if *id > self.written => {}
            (Some(place), Change::DropPin(anchor)) if self.fresh.remove(anchor) => self.cancel(place, &subject),
            _ => {
                if let (None, Change::PutPin(pin)) = (place, &change) {
                    self.fresh.insert(pin.anchor);
                }
                self.places.insert(subject, place.unwrap_or(seq));
                self.changes.insert(place.unwrap_or(seq), change);
            }
        }
    }

    fn cancel(&mut self, place: Seq, subject: &Subject) {
        self.changes.remove(&place);
        self.places.remove(subject);
    }

    /// Queues new or changed names; they are written before every change queued after them.
    pub(super) fn push_names(&mut self, names: NameChanges) {
        self.names.replace(names);
    }

    /// The first `max` changes, and all names.
    pub(super) fn take(&mut self, max: usize) -> Batch {
        let mut batch = Batch { names: std::mem::take(&mut self.names), ..Batch::default() };
        while batch.changes.len() < max
            && let Some((seq, change)) = self.changes.pop_first()
        {
            let subject = Subject::of(&change);
            self.places.remove(&subject);
            match subject {
                Subject::Row(id) => self.written = self.written.max(id),
                Subject::Pin(anchor) => drop(self.fresh.remove(&anchor)),
                Subject::Epoch(_) => {}
            }
            batch.changes.push((seq, change));
        }
        batch.up_to = self.changes.first_key_value().map_or(self.last, |(next, _)| Seq(next.0 - 1));
        batch
    }

    /// Takes back a batch that could not be written. What came since stays the newest; positions stay the oldest.
    pub(super) fn put_back(&mut self, batch: Batch) {
        for (seq, change) in batch.changes {
            let subject = Subject::of(&change);
            if let Subject::Pin(anchor) = &subject {
                self.fresh.remove(anchor);
            }
            let newer = self.places.insert(subject, seq).and_then(|place| self.changes.remove(&place));
            self.changes.insert(seq, newer.unwrap_or(change));
        }
        let newer = std::mem::replace(&mut self.names, batch.names);
        self.names.replace(newer);
    }
}
