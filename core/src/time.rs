//! Time as an input: the core has no clock.

use crate::name::hashed_as_name;

/// A point in time in milliseconds since the Unix epoch, from whichever clock the caller names.
///
/// Stores compare expiries only with their own clock (the table takes it with every call).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub u64);

hashed_as_name! { Time => Time }

/// A length of time in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(pub u64);

impl Time {
    /// The latest representable time: "never" where a deadline is asked for.
    pub const NEVER: Self = Self(u64::MAX);

    /// This time and `span` later; saturates at [`Time::NEVER`].
    #[must_use]
    pub const fn plus(self, span: Millis) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// How long from `earlier` to this time; zero where `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Millis {
        Millis(self.0.saturating_sub(earlier.0))
    }
}

impl Millis {
    /// `n` seconds.
    #[must_use]
    pub const fn secs(n: u64) -> Self {
        Self(n.saturating_mul(1_000))
    }

    /// The smaller of the two.
    #[must_use]
    pub const fn min(self, other: Self) -> Self {
        if self.0 < other.0 { self } else { other }
    }

    /// This many whole seconds, rounded up: what a `Retry-After` header says.
    #[must_use]
    pub const fn ceil_secs(self) -> u64 {
        self.0.div_ceil(1_000)
    }
}
