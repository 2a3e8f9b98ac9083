//! What every request of the process shares.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use event_listener::Event;
use homing_core::fleet::{Fleet, Standing};
use homing_core::ids::AccountId;
use homing_core::keeper::Keeper;
use homing_core::settings::Settings;
use homing_core::time::Time;
use homing_core::turn::Env;
use homing_core::turn_state::TurnStates;

use super::management::Management;
use crate::accounts::{Identity, Roster};
use crate::config::Config;
use crate::http::{Limits, MemoryBudget, Origin, Pool};
use crate::store::{Store, Tenant};
use crate::tenants::Tenants;
use crate::{clock, entropy};

/// The gateway: configuration, store, accounts, upstream connections.
pub(crate) struct Gateway {
    /// As loaded at start.
    pub(crate) config: Config,
    /// Bindings, in memory and on disk.
    pub(crate) store: Arc<Store>,
    /// Managed users and their keys.
    pub(crate) tenants: Tenants,
    /// The auth files and their credentials.
    pub(crate) roster: Roster,
    /// Keep-alive connections to the upstream.
    pub(super) pool: Pool,
    /// Where the upstream is.
    pub(super) origin: Origin,
    /// The path under which its routes are.
    pub(super) base_path: String,
    /// All request bodies held for replay together (W5).
    pub(super) budget: MemoryBudget,
    /// Bounds of a client's connection.
    pub(super) limits: Arc<Limits>,
    pub(super) settings: Settings,
    pub(super) fleet: Mutex<Fleet>,
    pub(super) turn_states: Mutex<TurnStates>,
    pub(super) names: RwLock<Names>,
    pub(super) open_connections: AtomicU64,
    pub(super) keeper: Mutex<Keeper>,
    /// Notified whenever the keeper may have something new to say while the gateway stops.
    pub(super) kept: Event,
    /// Set where the data port serves the management API too (T5).
    pub(super) management: OnceLock<Management>,
}

/// Which number stands for which loaded account.
#[derive(Default)]
pub(super) struct Names {
    pub(super) accounts: HashMap<AccountId, Named>,
    pub(super) numbers: HashMap<Identity, AccountId>,
}

/// A loaded account by its name, and the tenant of its compatibility callers.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) identity: Identity,
    /// Safe to show.
    pub(crate) label: Arc<str>,
    /// Who presents this account's own token (spec §1).
    pub(crate) tenant: Tenant,
}

impl Gateway {
    /// Runs one step of the machine: with the fleet, the settings as they are, the time and a random word.
    pub(super) fn step<T>(&self, step: impl FnOnce(&mut Env<'_>) -> T) -> T {
        let mut fleet = self.fleet();
        step(&mut Env { fleet: &mut fleet, settings: &self.settings, now: now(), word: entropy::jitter() })
    }

    /// The accounts as routing sees them.
    pub(crate) fn fleet(&self) -> MutexGuard<'_, Fleet> {
        self.fleet.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who issued which turn-state token.
    pub(super) fn turn_states(&self) -> MutexGuard<'_, TurnStates> {
        self.turn_states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The loaded account behind a number.
    pub(crate) fn named(&self, id: AccountId) -> Option<Named> {
        self.names.read().unwrap_or_else(PoisonError::into_inner).accounts.get(&id).cloned()
    }

    /// The number of a loaded account.
    pub(crate) fn number(&self, identity: &Identity) -> Option<AccountId> {
        self.names.read().unwrap_or_else(PoisonError::into_inner).numbers.get(identity).copied()
    }

    /// What an account is called, loaded or not.
    pub(crate) fn account_label(&self, id: AccountId) -> Arc<str> {
        let known = || self.store.account_name(id).map(|(_, label)| label).filter(|label| !label.is_empty());
        self.named(id).map(|n| n.label).or_else(known).unwrap_or_else(|| format!("account {}", id.0).into())
    }

    /// Accounts that may be used now.
    pub(crate) fn usable_accounts(&self) -> usize {
        self.fleet().iter().filter(|a| a.standing == Standing::Usable).count()
    }

    /// Accounts that a request would go to now: usable, and nothing bars them.
    pub(crate) fn serving_accounts(&self) -> usize {
        self.fleet().iter().filter(|a| a.eligible(None, now())).count()
    }

    /// All loaded accounts.
    pub(crate) fn loaded(&self) -> Vec<Named> {
        self.names.read().unwrap_or_else(PoisonError::into_inner).accounts.values().cloned().collect()
    }

    /// Whether sessions are kept at all (B16).
    pub(crate) const fn affinity_is_on(&self) -> bool {
        self.settings.session_affinity
    }

    /// The upkeep of this process.
    pub(super) fn keeper(&self) -> MutexGuard<'_, Keeper> {
        self.keeper.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Client connections open now.
    pub(super) fn connections(&self) -> u64 {
        self.open_connections.load(Ordering::Relaxed)
    }

    /// Whether the gateway is stopping: no new connections, and those open close after their response.
    pub(super) fn is_draining(&self) -> bool {
        self.keeper().draining()
    }
}

/// The wall clock as the core takes it.
pub(crate) fn now() -> Time {
    Time(clock::wall_ms())
}
