//! Random scripts of store operations: what every interleaving must keep (B4 to B10, B13, B14).

use std::collections::BTreeMap;

use homing_core::ids::{AccountId, Epoch, Generation, RowId, TenantId};
use homing_core::key::{Keys, SignalKind};
use homing_core::row::{Fence, Row, Scope, State};
use homing_core::settings::Caps;
use homing_core::store::{Answer, Op, Subject};
use homing_core::table::Table;
use homing_core::time::{Millis, Time};
use proptest::prelude::*;

const TTL: Millis = Millis::secs(100);

#[derive(Clone, Debug)]
enum Act {
    Look(Who),
    Reserve(Who, u32, bool),
    Pend(Who, u32),
    Complete(Who, u32, bool, bool),
    EraseAccount(u32),
    EraseTenant(u32),
    Pass(u64),
    SetBack(u64),
    Purge,
}

/// A tenant and the signals it sends: a session header out of few, and perhaps a cache key out of fewer.
#[derive(Clone, Debug)]
struct Who {
    tenant: u32,
    session: u8,
    cache: Option<u8>,
}

impl Who {
    fn keys(&self) -> Keys {
        let session = format!("s{}", self.session);
        let cache = self.cache.map(|c| format!("c{c}"));
        let weak = cache.as_ref().map(|c| (SignalKind::PromptCacheKey, c.as_bytes()));
        let strong = (SignalKind::SessionHeader, session.as_bytes());
        Keys::session(&format!("user:{}", self.tenant), std::iter::once(strong).chain(weak))
    }
}

fn who() -> impl Strategy<Value = Who> {
    (0..3u32, 0..6u8, proptest::option::of(0..2u8)).prop_map(|(tenant, session, cache)| Who { tenant, session, cache })
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        2 => who().prop_map(Act::Look),
        6 => (who(), 0..4u32, any::<bool>()).prop_map(|(w, a, old)| Act::Reserve(w, a, old)),
        3 => (who(), 0..4u32).prop_map(|(w, a)| Act::Pend(w, a)),
        6 => (who(), 0..4u32, any::<bool>(), any::<bool>()).prop_map(|(w, a, o, p)| Act::Complete(w, a, o, p)),
        1 => (0..4u32).prop_map(Act::EraseAccount),
        1 => (0..3u32).prop_map(Act::EraseTenant),
        2 => (1..60_000u64).prop_map(Act::Pass),
        1 => (1..60_000u64).prop_map(Act::SetBack),
        1 => Just(Act::Purge),
    ]
}

/// The script's state: the table, what a client of each session last saw, and every row as it last stood.
struct Run {
    table: Table,
    now: Time,
    newest: Time,
    fences: BTreeMap<(u32, u8), Fence>,
    old_epoch: Epoch,
    seen: BTreeMap<RowId, Row>,
}

impl Run {
    fn op(&mut self, who: &Who, op: Op) -> Answer {
        self.newest = self.newest.max(self.now);
        let answer = self.table.answer(Subject::new(TenantId(who.tenant), &who.keys()), op, self.now);
        if let Answer::Looked { view: Some(view), .. } | Answer::Reserved(view) | Answer::Found(view) = answer {
            self.fences.insert((who.tenant, who.session), view.fence);
        }
        answer
    }

    fn act(&mut self, act: &Act) {
        match act {
            Act::Look(who) => {
                self.op(who, Op::Look);
            }
            Act::Reserve(who, account, old) => {
                let seen = if *old { self.old_epoch } else { self.table.epoch() };
                self.op(who, Op::Reserve { account: AccountId(*account), seen, ttl: TTL });
            }
            Act::Pend(who, next) => {
                if let Some(fence) = self.fences.get(&(who.tenant, who.session)).copied() {
                    let row = self.table.session(TenantId(who.tenant), &who.keys(), self.now);
                    let expect = row.and_then(|r| r.pending);
                    self.op(who, Op::Pend { fence, expect, next: AccountId(*next) });
                }
            }
            Act::Complete(who, account, old, pinned) => {
                let fence = self.fences.get(&(who.tenant, who.session)).copied();
                let seen = if *old { self.old_epoch } else { self.table.epoch() };
                let op = Op::Complete {
                    fence,
                    account: AccountId(*account),
                    seen,
                    ttl: TTL,
                    pinned: *pinned,
                    inserts: true,
                };
                self.op(who, op);
            }
            Act::EraseAccount(account) => {
                self.old_epoch = self.table.epoch();
                self.table.erase(Scope::Account(AccountId(*account)));
                assert!(self.table.rows().all(|r| r.account != AccountId(*account)), "B11");
            }
            Act::EraseTenant(tenant) => {
                self.old_epoch = self.table.epoch();
                self.table.erase(Scope::Tenant(TenantId(*tenant)));
                assert!(self.table.rows().all(|r| r.tenant != TenantId(*tenant)), "B12");
            }
            Act::Pass(ms) => self.now = self.now.plus(Millis(*ms)),
            Act::SetBack(ms) => self.now = Time(self.now.0.saturating_sub(*ms)),
            Act::Purge => {
                while self.table.purge(self.now) > 0 {}
                assert!(self.table.rows().all(|r| r.live(self.now)), "B13: an expired row is left");
            }
        }
    }

    /// What no transition may break, whatever came before.
    fn check(&mut self) {
        assert_eq!(self.table.check(), Ok(()));
        for row in self.table.rows() {
            if let Some(before) = self.seen.get(&row.id) {
                check_change(before, row);
            }
        }
        self.seen.extend(self.table.rows().map(|row| (row.id, row.clone())));
    }
}

fn check_change(before: &Row, after: &Row) {
    assert!(after.generation >= before.generation, "B5: a generation went back");
    assert!(after.expires >= before.expires && after.renewed >= before.renewed, "B7: stored times went back");
    assert_eq!(after.tenant, before.tenant, "B14");
    if after.account != before.account {
        assert_eq!(after.generation, Generation(before.generation.0 + 1), "B5: a move is one generation");
        assert_eq!((after.state, after.pending), (State::Bound, None), "B5");
    }
    if before.state == State::Bound {
        assert_eq!(after.state, State::Bound);
    }
    if after.state == State::Reserved {
        assert_eq!(after.expires, before.expires, "B7: a reservation is never renewed");
    }
    assert!(before.keys.iter().all(|k| after.keys.has(&k.digest)), "B10: a live row lost a key");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn scripts_keep_the_rules(script in proptest::collection::vec(act(), 1..120)) {
        let mut run = Run {
            table: Table::new(Caps { total: 12, tenant: 10 }),
            now: Time(1_000_000),
            newest: Time(0),
            fences: BTreeMap::new(),
            old_epoch: Epoch(0),
            seen: BTreeMap::new(),
        };
        for act in &script {
            run.act(act);
            run.check();
        }
    }

    #[test]
    fn one_tenant_s_traffic_changes_nothing_for_another(script in proptest::collection::vec(act(), 1..80)) {
        // B14: the run without tenant 2 leaves tenants 0 and 1 with the same answers.
        let mine = |act: &Act| match act {
            Act::Look(w) | Act::Reserve(w, ..) | Act::Pend(w, _) | Act::Complete(w, ..) => w.tenant != 2,
            Act::EraseTenant(t) => *t != 2,
            Act::EraseAccount(_) | Act::Pass(_) | Act::SetBack(_) | Act::Purge => true,
        };
        // Erasures and the newest stored time are counted store-wide, so here no plan is old and no clock is set back; and what
        // is compared is homes, not ids.
        let fresh = |act: Act| match act {
            Act::Reserve(w, a, _) => Act::Reserve(w, a, false),
            Act::Complete(w, a, _, p) => Act::Complete(w, a, false, p),
            other => other,
        };
        let script: Vec<_> = script.into_iter().filter(|a| !matches!(a, Act::SetBack(_))).map(fresh).collect();
        let homes = |acts: &[Act]| {
            let mut run = Run {
                table: Table::new(Caps { total: 1_000, tenant: 10 }),
                now: Time(1_000_000),
                newest: Time(0),
                fences: BTreeMap::new(),
                old_epoch: Epoch(0),
                seen: BTreeMap::new(),
            };
            acts.iter().for_each(|act| run.act(act));
            let mut rows: Vec<_> = run.table.rows().filter(|r| r.tenant != TenantId(2)).collect();
            rows.sort_by_key(|r| r.keys.iter().next().map(|k| k.digest));
            rows.iter().map(|r| (r.tenant, r.account, r.state, r.pending, r.expires)).collect::<Vec<_>>()
        };
        let alone: Vec<_> = script.iter().filter(|a| mine(a)).cloned().collect();
        prop_assert_eq!(homes(&script), homes(&alone));
    }
}
