//! How often something may happen in a world. Budgets bound the exhaustive search and give its scopes their names.

use crate::action::{Action, Refreshed};

/// How often each kind of thing may happen; what is spent is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Budget {
    /// A client sends a request.
    pub asks: u32,
    /// The clocks move.
    pub ticks: u32,
    /// Anything unkind, whatever it is; it takes from its own kind as well.
    pub faults: u32,
    /// An attempt or a renewal of a credential fails.
    pub fails: u32,
    /// What a turn asks of the store gets lost.
    pub lost_requests: u32,
    /// The store does what it was asked, and its reply gets lost.
    pub lost_replies: u32,
    /// A reply of the store is late, or a request that nobody waits for any longer.
    pub delays: u32,
    /// A client leaves, or does not wait for the disk.
    pub leaves: u32,
    /// An operator does something that hurts.
    pub operators: u32,
    /// A process or the shared store goes down.
    pub crashes: u32,
}

impl Budget {
    /// Everything, for ever.
    pub const UNBOUNDED: Self = Self {
        asks: u32::MAX,
        ticks: u32::MAX,
        faults: u32::MAX,
        fails: u32::MAX,
        lost_requests: u32::MAX,
        lost_replies: u32::MAX,
        delays: u32::MAX,
        leaves: u32::MAX,
        operators: u32::MAX,
        crashes: u32::MAX,
    };

    /// Nothing at all.
    pub const NOTHING: Self = Self {
        asks: 0,
        ticks: 0,
        faults: 0,
        fails: 0,
        lost_requests: 0,
        lost_replies: 0,
        delays: 0,
        leaves: 0,
        operators: 0,
        crashes: 0,
    };

    /// Whether the action may still happen.
    #[must_use]
    pub const fn allows(&self, action: &Action) -> bool {
        let own = match kind(action) {
            Some(kind) => self.of(kind) > 0,
            None => true,
        };
        own && (self.faults > 0 || !action.is_fault())
    }

    /// The action happens.
    pub const fn spend(&mut self, action: &Action) {
        if action.is_fault() {
            take_one(&mut self.faults);
        }
        if let Some(kind) = kind(action) {
            take_one(self.of_mut(kind));
        }
    }

    const fn of(&self, kind: Kind) -> u32 {
        match kind {
            Kind::Ask => self.asks,
            Kind::Tick => self.ticks,
            Kind::Fail => self.fails,
            Kind::LostRequest => self.lost_requests,
            Kind::LostReply => self.lost_replies,
            Kind::Delay => self.delays,
            Kind::Leave => self.leaves,
            Kind::Operator => self.operators,
            Kind::Crash => self.crashes,
        }
    }

    const fn of_mut(&mut self, kind: Kind) -> &mut u32 {
        match kind {
            Kind::Ask => &mut self.asks,
            Kind::Tick => &mut self.ticks,
            Kind::Fail => &mut self.fails,
            Kind::LostRequest => &mut self.lost_requests,
            Kind::LostReply => &mut self.lost_replies,
            Kind::Delay => &mut self.delays,
            Kind::Leave => &mut self.leaves,
            Kind::Operator => &mut self.operators,
            Kind::Crash => &mut self.crashes,
        }
    }
}

/// What is without bound stays so: no state differs by it.
const fn take_one(left: &mut u32) {
    if *left != u32::MAX {
        *left = left.saturating_sub(1);
    }
}

/// What an action takes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Ask,
    Tick,
    Fail,
    LostRequest,
    LostReply,
    Delay,
    Leave,
    Operator,
    Crash,
}

const fn kind(action: &Action) -> Option<Kind> {
    match action {
        Action::Ask(..) => Some(Kind::Ask),
        Action::Tick(_) => Some(Kind::Tick),
        Action::Fail(..) | Action::Refresh(_, Refreshed::Refused | Refreshed::Unavailable) => Some(Kind::Fail),
        Action::LoseRequest(_) => Some(Kind::LostRequest),
        Action::LoseReply(_) => Some(Kind::LostReply),
        Action::Apply(_) | Action::Linger(_) => Some(Kind::Delay),
        Action::HangUp(_) | Action::GiveUpWaiting(_) => Some(Kind::Leave),
        Action::Outage | Action::Reboot | Action::Crash(_) => Some(Kind::Crash),
        other if other.is_fault() => Some(Kind::Operator),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::Fault;
    use crate::event::{FIRST, TurnId};

    #[test]
    fn a_fault_takes_from_its_own_kind_and_from_all() {
        let mut left = Budget { faults: 3, crashes: 1, fails: 1, ..Budget::NOTHING };
        let (crash, fail, leave) =
            (Action::Crash(FIRST), Action::Fail(TurnId(0), Fault::Server), Action::HangUp(TurnId(0)));
        assert!(left.allows(&crash) && left.allows(&fail) && !left.allows(&leave));
        left.spend(&crash);
        assert!(!left.allows(&crash) && left.allows(&fail));
        left.spend(&fail);
        assert_eq!(left, Budget { faults: 1, ..Budget::NOTHING });
        let mut none = Budget { faults: 0, ..Budget::UNBOUNDED };
        assert!(!none.allows(&fail) && none.allows(&Action::Answer(TurnId(0))));
        none.spend(&Action::Tick(homing_core::time::Millis(1)));
        assert_eq!(none.ticks, u32::MAX);
    }
}
