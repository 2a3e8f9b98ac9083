//! What every request of the process shares.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use homing_core::fleet::{Fleet, Standing};
use homing_core::ids::{AccountId, TenantId};
use homing_core::settings::Settings;
use homing_core::time::{Millis, Time};
use homing_core::turn::Env;
use homing_core::turn_state::TurnStates;

use crate::accounts::{Identity, Roster};
use crate::config::Config;
use crate::http::{MemoryBudget, Origin, Pool};
use crate::store::Store;
use crate::tenants::Tenants;
use crate::{clock, entropy};

/// The gateway: configuration, store, accounts, upstream connections.
pub struct Gateway {
    /// As loaded at start.
    pub(crate) config: Config,
    /// Bindings, in memory and on disk.
    pub(crate) store: Store,
    /// Managed users and their keys.
    pub(crate) tenants: Tenants,
    /// The auth files and their credentials.
    pub(crate) roster: Roster,
    /// Keep-alive connections to the upstream.
    pub(crate) pool: Pool,
    /// Where the upstream is.
    pub(crate) origin: Origin,
    /// The path under which its routes are.
    pub(crate) base_path: String,
    /// All request bodies held for replay together (W5).
    pub(crate) budget: MemoryBudget,
    /// Who issued which turn-state token (R7).
    pub(crate) turn_states: Mutex<TurnStates>,
    pub(super) settings: Settings,
    pub(super) fleet: Mutex<Fleet>,
    pub(super) names: RwLock<Names>,
    pub(super) open_connections: AtomicU64,
}

/// Which number stands for which account and which compatibility caller.
#[derive(Default)]
pub(super) struct Names {
    pub(super) accounts: HashMap<AccountId, Named>,
    pub(super) numbers: HashMap<Identity, AccountId>,
    pub(super) callers: HashMap<Identity, TenantId>,
}

/// An account by its name.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) identity: Identity,
    /// Safe to show.
    pub(crate) label: Arc<str>,
}

impl Gateway {
    /// Runs one step of the machine: with the fleet, the settings as they are, the time and a random word.
    pub(crate) fn step<T>(&self, step: impl FnOnce(&mut Env<'_>) -> T) -> T {
        let mut fleet = self.fleet();
        step(&mut Env { fleet: &mut fleet, settings: &self.settings, now: now(), word: entropy::jitter() })
    }

    /// The accounts as routing sees them.
    pub(crate) fn fleet(&self) -> MutexGuard<'_, Fleet> {
        self.fleet.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who issued which turn-state token.
    pub(crate) fn turn_states(&self) -> MutexGuard<'_, TurnStates> {
        self.turn_states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The account behind a number.
    pub(crate) fn named(&self, id: AccountId) -> Option<Named> {
        self.names.read().unwrap_or_else(PoisonError::into_inner).accounts.get(&id).cloned()
    }

    /// The number of an account.
    pub(crate) fn number(&self, identity: &Identity) -> Option<AccountId> {
        self.names.read().unwrap_or_else(PoisonError::into_inner).numbers.get(identity).copied()
    }

    /// The tenant of a compatibility caller (spec §1).
    pub(crate) fn caller_tenant(&self, identity: &Identity) -> Option<TenantId> {
        self.names.read().unwrap_or_else(PoisonError::into_inner).callers.get(identity).copied()
    }

    /// Accounts that may be used now.
    pub(crate) fn usable_accounts(&self) -> usize {
        self.fleet().iter().filter(|a| a.standing == Standing::Usable).count()
    }

    /// Client connections open now.
    pub(crate) fn connections(&self) -> u64 {
        self.open_connections.load(Ordering::Relaxed)
    }
}

/// The wall clock as the core takes it.
pub(crate) fn now() -> Time {
    Time(clock::wall_ms())
}

/// The settings the core reads, from the configuration.
pub(super) fn settings(config: &Config) -> Settings {
    let millis = |d: std::time::Duration| Millis(u64::try_from(d.as_millis()).unwrap_or(u64::MAX));
    Settings {
        session_affinity: config.affinity.session && config.state.store != crate::config::StoreKind::Off,
        ttl: millis(config.affinity.ttl),
        request_retry: u8::try_from(config.routing.request_retry).unwrap_or(u8::MAX),
        request_deadline: millis(config.routing.request_deadline),
        quick_repeat: millis(config.routing.quick_retry_delay),
    }
}
