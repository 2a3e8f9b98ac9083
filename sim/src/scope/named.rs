//! The scopes of the exhaustive search, by name.

use homing_core::time::Millis;

use super::{Budget, Scope, StoreKind};
use crate::action::Fault;

/// A step of the clocks past a whole life of a binding.
const EXPIRY: &[Millis] = &[Millis::secs(61)];

impl Scope {
    /// Small enough for every commit: one process, two requests of one session, two accounts, one failure, lost reply, hang-up or
    /// crash.
    #[must_use]
    pub fn tiny() -> Self {
        Self {
            name: "tiny",
            accounts: 2,
            open: 2,
            fails: &[Fault::Server, Fault::Quota],
            operators: false,
            budget: Budget { faults: 1, asks: 2, ticks: 0, ..Budget::UNBOUNDED },
            ..Self::profile(1)
        }
    }

    /// As small as [`Self::tiny`], with two processes that share a database.
    #[must_use]
    pub fn tiny_shared() -> Self {
        Self { name: "tiny-shared", processes: 2, store: StoreKind::Racing, fails: &[Fault::Server], ..Self::tiny() }
    }

    /// Two processes that share a database, two tenants, two accounts, three requests; one crash, one lost or late message of the
    /// store and one expiry in the same run.
    #[must_use]
    pub fn small() -> Self {
        Self {
            name: "small",
            tenants: 2,
            open: 2,
            spans: EXPIRY,
            budget: Budget { asks: 3, ticks: 1, faults: 2, lost_replies: 1, crashes: 1, ..Budget::NOTHING },
            ..Self::tiny_shared()
        }
    }

    /// For a night and as much memory as there is: three requests at once, failures, hang-ups, late and lost messages as well.
    #[must_use]
    pub fn night() -> Self {
        let budget = Budget { faults: 3, fails: 1, lost_requests: 1, delays: 1, leaves: 1, ..Self::small().budget };
        Self { name: "night", open: 3, budget, ..Self::small() }
    }

    /// All of them, the smallest first.
    #[must_use]
    pub fn all() -> Vec<Self> {
        vec![Self::tiny(), Self::tiny_shared(), Self::small(), Self::night()]
    }

    /// The scope with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|scope| scope.name == name)
    }

    /// Whether it matters of two times that have passed only which was first: all clocks agree and go on, no renewal is put off,
    /// and the clocks cannot reach the deadline of a request.
    pub(crate) fn only_orders_past(&self) -> bool {
        let longest = self.spans.iter().map(|span| span.0).max().unwrap_or(0);
        let reach = longest.saturating_mul(self.budget.ticks.into());
        let agree = self.skews.is_empty() && !self.operators;
        agree && self.store == StoreKind::Racing && reach < self.settings.request_deadline.0
    }

    /// What is in it, in one line.
    #[must_use]
    pub fn says(&self) -> String {
        let Self { processes, tenants, accounts, sessions, budget, .. } = self;
        let store = match self.store {
            StoreKind::Embedded => "with its own store",
            StoreKind::Racing => "on a shared store",
        };
        let Budget { asks, ticks, faults, fails, lost_requests, lost_replies, delays, leaves, operators, crashes } =
            *budget;
        let rest = [
            (fails, "failures"),
            (lost_requests, "lost requests"),
            (lost_replies, "lost replies"),
            (delays, "delays"),
            (leaves, "hang-ups"),
            (operators, "operators"),
            (crashes, "crashes"),
        ];
        let rest: Vec<String> = rest
            .into_iter()
            .filter(|(most, _)| *most > 0)
            .map(|(most, what)| if most >= faults { what.to_owned() } else { format!("{most} {what}") })
            .collect();
        format!(
            "{processes} processes {store}, {tenants} tenants with {sessions} sessions, {accounts} accounts, {asks} requests, {ticks} \
             steps of the clock, {faults} faults among {}",
            rest.join(", ")
        )
    }
}
