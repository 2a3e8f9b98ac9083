//! The table's own check notices each way it can come apart.

use std::vec::Vec;

use super::Table;
use crate::ids::{AccountId, Epoch, TenantId};
use crate::key::{Keys, SignalKind};
use crate::row::{KEYS_PER_ROW, State};
use crate::settings::Caps;
use crate::store::{Op, Subject};
use crate::time::{Millis, Time};

const ADA: TenantId = TenantId(1);
const BOB: TenantId = TenantId(2);
const NOW: Time = Time(1_000);
const CAPS: Caps = Caps { total: 30, tenant: 20 };

fn keys(session: &str) -> Keys {
    Keys::session("user:ada", [(SignalKind::SessionHeader, session.as_bytes())])
}

/// Slot 0 is a binding, slot 1 a reservation.
fn sound() -> Table {
    let (mut table, ttl, account) = (Table::new(CAPS), Millis::secs(60), AccountId(1));
    let seen = Epoch(0);
    let bind = Op::Complete { fence: None, account, seen, ttl, pinned: false, inserts: true };
    table.answer(Subject::new(ADA, &keys("bound")), bind, NOW);
    table.answer(Subject::new(ADA, &keys("reserved")), Op::Reserve { account, seen, ttl }, NOW);
    assert_eq!(table.check(), Ok(()));
    table
}

/// What the check says once something was done to a sound table.
fn after(harm: impl FnOnce(&mut Table)) -> &'static str {
    let mut table = sound();
    harm(&mut table);
    table.check().expect_err("the harm is noticed")
}

#[test]
fn a_count_that_is_off_is_noticed() {
    assert_eq!(after(|t| t.live += 1), "the count of rows is off");
    assert_eq!(after(|t| t.free.push(7)), "the count of rows is off");
}

#[test]
fn orders_that_differ_from_the_rows_are_noticed() {
    let differ = "the orders by expiry and the rows differ";
    assert_eq!(after(|t| t.ledgers.clear()), differ);
    let add = |t: &mut Table| t.ledgers.entry(BOB).or_default().bound.insert((NOW, 9));
    assert_eq!(after(|t| assert!(add(t))), differ);
    let hand_over = |t: &mut Table| {
        let ledger = t.ledgers.remove(&ADA).unwrap();
        t.ledgers.insert(BOB, ledger);
    };
    assert_eq!(after(hand_over), "a row's tenant has no order");
    assert_eq!(after(|t| t.rows[0].as_mut().unwrap().stored_expires = NOW), "a row is missing from its order");
    assert_eq!(after(|t| t.rows[0].as_mut().unwrap().state = State::Reserved), "a row is missing from its order");
}

#[test]
fn lives_that_do_not_fit_are_noticed() {
    let shorter = |t: &mut Table| t.rows[0].as_mut().unwrap().expires = NOW;
    assert_eq!(after(shorter), "B15: a stored life is longer than the real one");
    let longer = |t: &mut Table| t.rows[1].as_mut().unwrap().expires = Time::NEVER;
    assert_eq!(after(longer), "B7: a reservation was renewed");
    let renewed = |t: &mut Table| t.rows[0].as_mut().unwrap().expires = Time::NEVER;
    let mut table = sound();
    renewed(&mut table);
    assert_eq!(table.check(), Ok(()), "a binding's renewal may be coalesced");
}

#[test]
fn keys_that_lead_astray_are_noticed() {
    assert_eq!(after(|t| t.index.clear()), "the index and the rows' keys differ");
    let swap = |t: &mut Table| {
        let all: Vec<_> = t.index.drain().collect();
        for (digest, slot) in all {
            t.index.insert_unique(digest.word(), (digest, 1 - slot), |(d, _)| d.word());
        }
    };
    assert_eq!(after(swap), "B10: a key leads to another row than its owner");
}

#[test]
fn a_row_with_more_keys_than_it_may_own_is_noticed() {
    let nine = |t: &mut Table| {
        for n in 0..KEYS_PER_ROW {
            let key = keys(&std::format!("more{n}")).iter().next().unwrap();
            t.rows[0].as_mut().unwrap().keys.push_unbounded(key);
            t.index.insert_unique(key.digest.word(), (key.digest, 0), |(d, _)| d.word());
        }
    };
    assert_eq!(after(nine), "B10: a row has more than eight keys");
}

#[test]
fn caps_that_are_passed_are_noticed() {
    assert_eq!(after(|t| t.caps.total = 1), "B13: more rows than the total cap");
    assert_eq!(after(|t| t.caps.tenant = 1), "B13: a tenant holds more rows than its cap");
    let reserve = |t: &mut Table| {
        // One more reservation than a tenth, put there by hand.
        for (session, caps) in [("r2", 100), ("r3", 100)] {
            t.caps.tenant = caps;
            let op = Op::Reserve { account: AccountId(1), seen: Epoch(0), ttl: Millis::secs(60) };
            t.answer(Subject::new(ADA, &keys(session)), op, NOW);
        }
        t.caps = CAPS;
    };
    assert_eq!(after(reserve), "B4: reservations fill more than a tenth of a tenant's cap");
    let mut full = sound();
    full.caps = Caps { total: 2, tenant: 2 };
    assert_eq!(full.check(), Ok(()), "what may be held may be held");
}
