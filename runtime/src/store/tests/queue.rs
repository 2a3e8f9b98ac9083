//! The queue keeps the order of durability whatever is coalesced.

use std::collections::BTreeMap;

use homing_core::ids::{Epoch, Generation, RowId};
use homing_core::pin::Pin;
use homing_core::row::{Change, EpochScope, RowKeys, State};
use proptest::prelude::*;

use super::*;
use crate::store::queue::Queue;

fn row(id: u64, generation: u32) -> Row {
    let key = session(T1, &id.to_string()).iter().next().unwrap();
    Row {
        id: RowId(id),
        tenant: T1,
        pool: None,
        generation: Generation(generation),
        account: A,
        state: State::Bound,
        pending: None,
        created: START,
        renewed: START,
        expires: START,
        stored_expires: START,
        seq: Seq(0),
        keys: RowKeys::new(key),
    }
}

#[test]
fn a_later_change_takes_the_earlier_ones_place() {
    let mut queue = Queue::new(RowId(1));
    queue.push(vec![Change::Put(row(1, 0)), Change::Put(row(2, 0)), Change::Put(row(1, 1))], Seq(3));
    assert_eq!(queue.len(), 2);
    let first = queue.take(1);
    assert_eq!(first.changes, [(Seq(1), Change::Put(row(1, 1)))]);
    assert_eq!(first.up_to, Seq(1));
    assert_eq!(queue.take(9).up_to, Seq(3));
}

#[test]
fn rows_no_disk_has_seen_need_no_deletion() {
    let mut queue = Queue::new(RowId(5));
    queue.push(vec![Change::Put(row(5, 0)), Change::Delete(RowId(5)), Change::Delete(RowId(4))], Seq(3));
    let batch = queue.take(9);
    assert_eq!(batch.changes, [(Seq(3), Change::Delete(RowId(4)))]);
    assert_eq!(batch.up_to, Seq(3));
}

#[test]
fn a_batch_put_back_yields_to_what_came_since() {
    let mut queue = Queue::new(RowId(1));
    queue.push(vec![Change::Put(row(1, 0)), Change::Put(row(2, 0))], Seq(2));
    let batch = queue.take(9);
    let scope = EpochScope::Account(A);
    queue.push(vec![Change::Delete(RowId(1)), Change::Erased(scope, Epoch(1))], Seq(4));
    queue.put_back(batch);
    let batch = queue.take(2);
    assert_eq!(batch.changes, [(Seq(1), Change::Delete(RowId(1))), (Seq(2), Change::Put(row(2, 0)))]);
    assert_eq!(batch.up_to, Seq(3), "the deletion stood at 3");
    assert_eq!(queue.take(9).up_to, Seq(4));
}

#[derive(Clone, Debug)]
enum Event {
    Put(u64),
    Delete(u64),
    Write { max: usize, fails: bool },
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (0..6_u64).prop_map(Event::Put),
        2 => (0..6_u64).prop_map(Event::Delete),
        2 => (1..4_usize, any::<bool>()).prop_map(|(max, fails)| Event::Write { max, fails }),
    ]
}

fn a_pin(id: &str) -> Pin {
    let anchor = anchor_digest(AnchorKind::Response, id.as_bytes()).unwrap();
    Pin { anchor, tenant: T1, account: A, expires: START }
}

#[test]
fn pins_no_disk_has_seen_need_no_deletion() {
    let mut queue = Queue::new(RowId(1));
    let (new, old) = (a_pin("new"), a_pin("old"));
    queue.push(vec![Change::PutPin(old)], Seq(1));
    assert_eq!(queue.take(9).up_to, Seq(1));
    queue.push(vec![Change::PutPin(new), Change::DropPin(new.anchor), Change::DropPin(old.anchor)], Seq(4));
    assert_eq!(queue.len(), 1);
    // One that is deleted, recorded and deleted again is still on the disk.
    queue.push(vec![Change::PutPin(old), Change::DropPin(old.anchor)], Seq(6));
    let batch = queue.take(9);
    assert_eq!(batch.changes, [(Seq(4), Change::DropPin(old.anchor))]);
    assert_eq!(batch.up_to, Seq(6));
    // Whether a batch that failed reached the disk nobody knows.
    queue.push(vec![Change::PutPin(new)], Seq(7));
    let failed = queue.take(9);
    queue.push(vec![Change::PutPin(old)], Seq(8));
    queue.put_back(failed);
    queue.push(vec![Change::DropPin(new.anchor), Change::DropPin(old.anchor)], Seq(10));
    assert_eq!(queue.take(9).changes, [(Seq(7), Change::DropPin(new.anchor))]);
}

proptest! {
    /// Whatever is written, refused and coalesced: at every published number, every change up to it is on the disk or was
    /// overtaken by a later change of the same row that is.
    #[test]
    fn published_numbers_are_true(events in prop::collection::vec(event(), 1..60)) {
        let mut queue = Queue::new(RowId(1));
        let (mut seq, mut next_id) = (0, 1);
        let mut live: BTreeMap<u64, (u64, u32)> = BTreeMap::new(); // slot -> (id, generation)
        let mut history: Vec<(u64, u64, Option<u32>)> = Vec::new(); // seq, id, generation
        let mut disk: BTreeMap<u64, u32> = BTreeMap::new();
        for event in events {
            match event {
                Event::Put(slot) => {
                    let (id, generation) = *live.entry(slot).or_insert_with(|| { next_id += 1; (next_id - 1, 0) });
                    live.insert(slot, (id, generation + 1));
                    seq += 1;
                    history.push((seq, id, Some(generation)));
                    queue.push(vec![Change::Put(row(id, generation))], Seq(seq));
                }
                Event::Delete(slot) => if let Some((id, _)) = live.remove(&slot) {
                    seq += 1;
                    history.push((seq, id, None));
                    queue.push(vec![Change::Delete(RowId(id))], Seq(seq));
                },
                Event::Write { max, fails } => {
                    let batch = queue.take(max);
                    if fails {
                        queue.put_back(batch);
                        continue;
                    }
                    for (_, change) in &batch.changes {
                        match change {
                            Change::Put(row) => { disk.insert(row.id.0, row.generation.0); }
                            Change::Delete(id) => { disk.remove(&id.0); }
                            Change::Erased(..) | Change::PutPin(_) | Change::DropPin(_) => {}
                        }
                    }
                    for (_, id, generation) in history.iter().filter(|(s, ..)| *s <= batch.up_to.0) {
                        let gone_later = history.iter().any(|(_, i, g)| i == id && g.is_none());
                        match (disk.get(id), generation) {
                            (Some(on_disk), Some(generation)) => prop_assert!(on_disk >= generation),
                            (None, Some(_)) => prop_assert!(gone_later, "a durable row is not on the disk"),
                            (Some(_), None) => prop_assert!(false, "a deleted row is on the disk"),
                            (None, None) => {}
                        }
                    }
                }
            }
        }
        prop_assert!(queue.len() <= live.len() + disk.len() + 4);
    }
}
