//! What a client is told when every account is out (R4).

use super::{Account, Bar, Fleet, ModelId, Standing};
use crate::ids::{AccountId, PoolId};
use crate::time::{Millis, Time};

/// An account expected back within this time is worth waiting for.
const SOON: Millis = Millis::secs(60);

/// The whole-pool answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Out {
    /// 503 with `Retry-After`: one is expected back. Codex waits exactly that long and goes on.
    Soon {
        /// At least a second, at most a minute.
        retry_after: Millis,
    },
    /// 429 `usage_limit_reached`: quota is why.
    Spent {
        /// The earliest reset.
        until: Time,
    },
    /// 400: every account that could serve refuses this model. To come back later would not help.
    NoModel,
    /// 503 with a `Retry-After` of a minute: only an operator can help.
    Later,
    /// 503: there are no accounts at all.
    Empty,
}

impl Fleet {
    /// The most useful answer now for a request of the pool for `model`.
    #[must_use]
    pub fn out(&self, pool: PoolId, model: Option<ModelId>, now: Time) -> Out {
        self.out_among(|account| account.is_in(pool), model, now)
    }

    /// The most useful answer where only this account may serve: what keeps it, and for how long (R1).
    #[must_use]
    pub fn out_of(&self, id: AccountId, pool: PoolId, model: Option<ModelId>, now: Time) -> Out {
        self.out_among(|account| account.id == id && account.is_in(pool), model, now)
    }

    fn out_among(&self, asked: impl Fn(&Account) -> bool, model: Option<ModelId>, now: Time) -> Out {
        let all = || self.accounts.iter().filter(|a| asked(a));
        if all().all(|a| a.standing == Standing::Gone) {
            return Out::Empty;
        }
        let waiting = || all().filter(|a| a.standing == Standing::Usable && !a.refuses(model, now));
        let back = waiting().map(|a| Self::back(a, now)).min();
        if let Some(wait) = back.map(|t| t.since(now)).filter(|wait| *wait <= SOON) {
            return Out::Soon { retry_after: wait.max(Millis::secs(1)) };
        }
        let resets = waiting().filter_map(|a| a.spent).filter(|bar| now < bar.until).map(|bar| bar.until);
        let mut usable = all().filter(|a| a.standing == Standing::Usable).peekable();
        let none_serves_it = usable.peek().is_some() && usable.all(|a| a.refuses(model, now));
        match resets.min() {
            Some(until) => Out::Spent { until },
            None if none_serves_it => Out::NoModel,
            None => Out::Later,
        }
    }

    /// When the account is expected back: the end of everything that is held against it.
    fn back(account: &Account, now: Time) -> Time {
        let ends = |bar: Option<Bar>| bar.map_or(now, |b| b.until.max(now));
        ends(account.spent).max(ends(account.limited)).max(ends(account.cooling))
    }
}
