//! How large a world is and what may happen in it. Every bound is small: rules break in small worlds.

mod budget;
mod knob;
mod named;

pub use budget::Budget;
pub use knob::{Draft, Knob};

use homing_core::ids::{AccountId, PoolId, TenantId};
use homing_core::settings::{Caps, Settings};
use homing_core::time::Millis;

use crate::action::{FAULTS, Fault};
use crate::ask::{FORMS, Form};
use crate::event::ProcessId;

/// What kind of store the processes have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StoreKind {
    /// The table of the one process that is the authority, a disk behind it (SQLite): never raced, dies with its process.
    Embedded,
    /// A database that several processes share (PostgreSQL): committed at once, raced, out of reach at times.
    Racing,
}

/// One kind of world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// What it is called in traces.
    pub name: &'static str,
    /// Gateway processes, numbered from 0; more than one only with a store that can be raced.
    pub processes: u8,
    /// Where the bindings are.
    pub store: StoreKind,
    /// How far the wall clock of each process's machine is off when the run begins, in milliseconds; 0 beyond the list.
    pub skews: &'static [i64],
    /// Whether the shared store can be out of reach, and begin again.
    pub outages: bool,
    /// Upstream accounts, numbered from 1.
    pub accounts: u32,
    /// Tenants, numbered from 1. They all use the same session ids.
    pub tenants: u32,
    /// Sessions of each tenant.
    pub sessions: u8,
    /// How requests name their session.
    pub forms: &'static [Form],
    /// Whether requests with pins, with models, and ones that cannot be repeated are made as well.
    pub odd_requests: bool,
    /// Whether clients name ids that pin their requests (R1).
    pub anchors: bool,
    /// Whether there are two pools, with an account in both.
    pub pools: bool,
    /// Most requests open at once.
    pub open: usize,
    /// How attempts may fail.
    pub fails: &'static [Fault],
    /// Whether operators do things.
    pub operators: bool,
    /// Bounds of the table.
    pub caps: Caps,
    /// What the operator set.
    pub settings: Settings,
    /// How the clocks move: at one of these steps.
    pub spans: &'static [Millis],
    /// How often what may happen.
    pub budget: Budget,
}

/// The fixed worlds of random runs; the first choice of a run names one, or [`SWARM`].
pub const PROFILES: u8 = 13;

/// The pool besides the default one.
pub const OTHER_POOL: PoolId = PoolId(1);

/// How the clocks move: less than a cooling, more than one, past half a life, past a whole one.
const SPANS: [Millis; 4] = [Millis::secs(1), Millis::secs(6), Millis::secs(31), Millis::secs(61)];

/// A machine far behind, and one far ahead: by more than a life.
const FAR_OFF: &[i64] = &[0, -90_000, 400_000];

/// The first choice of a run whose world is drawn part by part.
pub const SWARM: u8 = PROFILES;

impl Scope {
    /// The profile with this number, modulo [`PROFILES`].
    #[must_use]
    pub fn profile(n: u8) -> Self {
        let roomy = Self {
            name: "roomy",
            processes: 1,
            store: StoreKind::Embedded,
            skews: &[],
            outages: false,
            accounts: 3,
            tenants: 2,
            sessions: 2,
            forms: &FORMS,
            odd_requests: true,
            anchors: false,
            pools: false,
            open: 5,
            fails: &FAULTS,
            operators: true,
            caps: Caps { total: 1_000, tenant: 500 },
            settings: Settings {
                ttl: Millis::secs(60),
                request_retry: 3,
                request_deadline: Millis::secs(600),
                ..Settings::default()
            },
            spans: &SPANS,
            budget: Budget::UNBOUNDED,
        };
        // Two processes that share a database.
        let shared =
            Self { name: "shared", processes: 2, store: StoreKind::Racing, skews: FAR_OFF, outages: true, ..roomy };
        let talking = Settings { conversation: Some(Millis::secs(100)), ..roomy.settings };
        match n % PROFILES {
            0 => roomy,
            // One session, plain requests: races about one row.
            1 => {
                Self { name: "one-row", sessions: 1, tenants: 1, forms: &[Form::Header], odd_requests: false, ..roomy }
            }
            // Caps that bite.
            // Their lives are long enough for several renewals to be coalesced.
            2 => Self {
                name: "tight",
                sessions: 3,
                caps: Caps { total: 5, tenant: 3 },
                settings: Settings { ttl: Millis::secs(110), ..roomy.settings },
                ..roomy
            },
            // Aliases and nothing else.
            3 => Self { name: "aliases", tenants: 1, odd_requests: false, ..roomy },
            // Few attempts, little time.
            4 => Self {
                name: "hurried",
                settings: Settings { request_retry: 1, request_deadline: Millis::secs(5), ..roomy.settings },
                ..roomy
            },
            5 => shared,
            // One session, plain requests, three processes: races about one row in several of them.
            6 => Self {
                name: "shared-row",
                processes: 3,
                sessions: 1,
                tenants: 1,
                forms: &[Form::Header],
                odd_requests: false,
                ..shared
            },
            // Three processes, aliases, a database that holds; the clocks agree.
            7 => Self {
                name: "shared-aliases",
                processes: 3,
                tenants: 1,
                skews: &[],
                outages: false,
                forms: &[Form::Header, Form::HeaderAndShared, Form::HeaderAndOwn, Form::Own],
                ..shared
            },
            // Caps that bite in the database.
            8 => Self { name: "shared-tight", sessions: 3, caps: Caps { total: 5, tenant: 3 }, ..shared },
            // Conversations, and the sessions behind them.
            9 => Self { name: "conversations", forms: &[Form::Thread, Form::Header], settings: talking, ..roomy },
            // Ids that pin.
            10 => Self { name: "anchors", anchors: true, forms: &[Form::Header, Form::Nothing], ..roomy },
            // Two pools, accounts that drain, conversations that live in a pool.
            11 => Self { name: "pools", pools: true, forms: &[Form::Header, Form::Thread], settings: talking, ..roomy },
            // All of that in two processes that share a database.
            _ => Self {
                name: "shared-all",
                anchors: true,
                pools: true,
                forms: &[Form::Header, Form::Thread],
                settings: talking,
                ..shared
            },
        }
    }

    /// The pools that name an account of this world; none: it is in the default pool.
    #[must_use]
    pub fn pools_of(&self, account: AccountId) -> &'static [PoolId] {
        match account.0 {
            2 if self.pools => &[PoolId::DEFAULT, OTHER_POOL],
            3 if self.pools => &[OTHER_POOL],
            _ => &[],
        }
    }

    /// The processes of this world.
    pub fn process_ids(&self) -> impl Iterator<Item = ProcessId> + use<> {
        (0..self.processes.max(1)).map(ProcessId)
    }

    /// How far the wall clock of the process's machine is off when the run begins, in milliseconds.
    #[must_use]
    pub fn skew_of(&self, process: ProcessId) -> i64 {
        self.skews.get(usize::from(process.0)).copied().unwrap_or(0)
    }

    /// The accounts of this world.
    pub fn account_ids(&self) -> impl Iterator<Item = AccountId> + use<> {
        (1..=self.accounts).map(AccountId)
    }

    /// The tenants of this world.
    pub fn tenant_ids(&self) -> impl Iterator<Item = TenantId> + use<> {
        (1..=self.tenants).map(TenantId)
    }

    /// Most distinct accounts one request may try (spec §4).
    #[must_use]
    pub fn attempts(&self) -> usize {
        usize::from(self.settings.request_retry) + 1
    }
}
