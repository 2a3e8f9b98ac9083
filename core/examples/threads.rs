//! Plain threads drive the affinity machine: `cargo run -p homing-core --example threads`.
//!
//! Four first requests of one session race. Then the account they met on runs out of quota, and four more requests move
//! the session together. One mutex guards the table and the fleet; nobody holds it while it dials.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use homing_core::failure::Failure;
use homing_core::fleet::{Fleet, Standing};
use homing_core::ids::{AccountId, TenantId};
use homing_core::key::{Keys, SignalKind};
use homing_core::settings::{Caps, Settings};
use homing_core::store::Subject;
use homing_core::table::Table;
use homing_core::time::Time;
use homing_core::turn::{Effect, Env, Outcome, Renewal, Reply, Request, Turn};

struct Shared {
    table: Table,
    fleet: Fleet,
    settings: Settings,
    /// The scripted upstream: the account whose quota is spent.
    spent: Option<AccountId>,
}

impl Shared {
    fn env(&mut self) -> Env<'_> {
        let word = RandomState::new().build_hasher().finish();
        Env { fleet: &mut self.fleet, settings: &self.settings, now: now(), word }
    }
}

fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One request to its end: the account that served it.
fn ask(shared: &Mutex<Shared>) -> Option<AccountId> {
    let keys = Keys::session("user:ada", [(SignalKind::SessionHeader, b"session-1".as_slice())]);
    let request = Request { keys, ..Request::new(TenantId(1), now()) };
    let subject = Subject::new(request.tenant, &keys);
    let mut step = Turn::start(request, &mut lock(shared).env());
    loop {
        let reply = match step.effect {
            Effect::Store(op) => Reply::Store(lock(shared).table.answer(subject, op, now())),
            Effect::Dial { account, .. } => {
                thread::sleep(Duration::from_millis(5));
                let spent = lock(shared).spent == Some(account);
                if spent { Reply::Failed(Failure::QuotaSpent { until: None }) } else { Reply::Visible }
            }
            Effect::Stream => Reply::Served { issued: false },
            Effect::Wait(span) => {
                thread::sleep(Duration::from_millis(span.0));
                Reply::Waited
            }
            Effect::Refresh(_) => Reply::Refreshed(Renewal::Unavailable),
            // A gateway waits here until `table.take_changes()` is on its disk.
            Effect::Commit(_) => Reply::Committed { in_time: true },
            Effect::Done(outcome) => return step.turn.account().filter(|_| outcome == Outcome::Served),
        };
        step = step.turn.resume(reply, &mut lock(shared).env()).expect("the reply answers the effect");
    }
}

/// Four requests at once: the accounts that served them.
fn four(shared: &Mutex<Shared>) -> BTreeSet<Option<AccountId>> {
    thread::scope(|scope| {
        let asked: Vec<_> = (0..4).map(|_| scope.spawn(|| ask(shared))).collect();
        asked.into_iter().map(|asks| asks.join().expect("no request panics")).collect()
    })
}

pub(crate) fn story() -> [String; 2] {
    let mut fleet = Fleet::new();
    (1..=3).for_each(|id| fleet.set(AccountId(id), Standing::Usable));
    let (table, settings) = (Table::new(Caps::default()), Settings::default());
    let shared = Mutex::new(Shared { table, fleet, settings, spent: None });
    let first = four(&shared);
    lock(&shared).spent = first.first().copied().flatten();
    let then = four(&shared);
    let moved = !then.contains(&None) && first.is_disjoint(&then);
    [format!("raced: {} account", first.len()), format!("moved: {moved}, {} account", then.len())]
}

fn main() {
    story().iter().for_each(|line| println!("{line}"));
}
