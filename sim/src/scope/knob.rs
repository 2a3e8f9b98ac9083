//! The parts of a world that a swarm run draws, one choice each: a list of choices alone names the whole world.

use homing_core::settings::Caps;
use homing_core::time::Millis;

use super::{FAR_OFF, Scope, StoreKind};
use crate::ask::{FORMS, Form};

/// One part of a drawn world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Knob {
    /// How many accounts.
    Accounts,
    /// How many tenants.
    Tenants,
    /// How many sessions each tenant has.
    Sessions,
    /// How requests name their session: a number of [`Knob::forms`].
    Forms,
    /// Whether odd requests come: 0 or 1.
    Odd,
    /// Whether operators do things: 0 or 1.
    Operators,
    /// Most requests open at once.
    Open,
    /// Most rows of one tenant; the table holds one less than twice as many.
    Cap,
    /// Time to live of a binding, in seconds.
    Ttl,
    /// Further accounts a request may try.
    Retry,
    /// The request's deadline, in seconds.
    Deadline,
    /// How many processes share a store that can be raced; 0: one process holds the store itself.
    Shared,
    /// Whether the processes' clocks are off: 0 or 1.
    Skew,
    /// Whether the shared store can be out of reach: 0 or 1.
    Outages,
}

impl Knob {
    /// All of them, in the order they are drawn in.
    pub const ALL: [Self; 14] = [
        Self::Accounts,
        Self::Tenants,
        Self::Sessions,
        Self::Forms,
        Self::Odd,
        Self::Operators,
        Self::Open,
        Self::Cap,
        Self::Ttl,
        Self::Retry,
        Self::Deadline,
        Self::Shared,
        Self::Skew,
        Self::Outages,
    ];

    /// What it can be, the plainest first: lowering a choice while shrinking makes the world smaller.
    #[must_use]
    pub const fn options(self) -> &'static [u32] {
        match self {
            Self::Accounts => &[2, 1, 3, 4, 6],
            Self::Tenants => &[1, 2, 3],
            Self::Sessions => &[1, 2, 3],
            Self::Forms => &[0, 1, 2, 3, 4],
            Self::Odd | Self::Operators | Self::Skew | Self::Outages => &[0, 1],
            Self::Open => &[2, 3, 5, 8],
            Self::Cap => &[500, 1, 2, 3, 5],
            Self::Ttl => &[60, 110, 600],
            Self::Retry => &[3, 0, 1, 2, 7],
            Self::Deadline => &[600, 5, 40],
            Self::Shared => &[0, 2, 1, 3],
        }
    }

    /// The forms with this number.
    #[must_use]
    pub const fn forms(number: u32) -> &'static [Form] {
        match number {
            0 => &[Form::Header],
            1 => &FORMS,
            2 => &[Form::Header, Form::HeaderAndShared, Form::Shared],
            3 => &[Form::HeaderAndOwn, Form::Own, Form::Header],
            _ => &[Form::BodyAndShared, Form::HeaderAndShared, Form::Nothing],
        }
    }

    /// Its name in traces.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Accounts => "accounts",
            Self::Tenants => "tenants",
            Self::Sessions => "sessions",
            Self::Forms => "forms",
            Self::Odd => "odd",
            Self::Operators => "operators",
            Self::Open => "open",
            Self::Cap => "cap",
            Self::Ttl => "ttl",
            Self::Retry => "retry",
            Self::Deadline => "deadline",
            Self::Shared => "shared",
            Self::Skew => "skew",
            Self::Outages => "outages",
        }
    }

    /// The knob with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|knob| knob.name() == name)
    }
}

/// A world that is being drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    scope: Scope,
    drawn: usize,
}

impl Draft {
    /// Nothing drawn yet.
    #[must_use]
    pub fn new() -> Self {
        Self { scope: Scope { name: "swarm", ..Scope::profile(0) }, drawn: 0 }
    }

    /// What is drawn next; `None` once everything is.
    #[must_use]
    pub fn next(&self) -> Option<Knob> {
        Knob::ALL.get(self.drawn).copied()
    }

    /// Draws the next part. Anything else than the next part, or a value it cannot have, changes nothing.
    pub fn draw(&mut self, knob: Knob, value: u32) {
        if self.next() != Some(knob) || !knob.options().contains(&value) {
            return;
        }
        self.drawn += 1;
        let scope = &mut self.scope;
        match knob {
            Knob::Accounts => scope.accounts = value,
            Knob::Tenants => scope.tenants = value,
            Knob::Sessions => scope.sessions = u8::try_from(value).unwrap_or(u8::MAX),
            Knob::Forms => scope.forms = Knob::forms(value),
            Knob::Odd => scope.odd_requests = value == 1,
            Knob::Operators => scope.operators = value == 1,
            Knob::Open => scope.open = value as usize,
            Knob::Cap => scope.caps = Caps { total: (value * 2 - 1) as usize, tenant: value as usize },
            Knob::Ttl => scope.settings.ttl = Millis::secs(value.into()),
            Knob::Retry => scope.settings.request_retry = u8::try_from(value).unwrap_or(u8::MAX),
            Knob::Deadline => scope.settings.request_deadline = Millis::secs(value.into()),
            Knob::Shared if value == 0 => {}
            Knob::Shared => {
                scope.store = StoreKind::Racing;
                scope.processes = u8::try_from(value).unwrap_or(1);
            }
            Knob::Skew => scope.skews = if value == 1 { FAR_OFF } else { &[] },
            Knob::Outages => scope.outages = value == 1,
        }
    }

    /// The world as drawn.
    #[must_use]
    pub fn scope(&self) -> &Scope {
        &self.scope
    }
}

impl Default for Draft {
    fn default() -> Self {
        Self::new()
    }
}
