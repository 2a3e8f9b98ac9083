//! Who is tried next (spec §4): eligibility, hard pin, round robin, soft-cooling ones last, home first.

use super::{Account, Fleet, ModelId};
use crate::ids::{AccountId, PoolId};
use crate::settings::ATTEMPTS_MAX;
use crate::time::Time;

/// The accounts a request has tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tried {
    accounts: [Option<AccountId>; ATTEMPTS_MAX],
}

impl Tried {
    /// Whether the account was tried.
    #[must_use]
    pub fn has(&self, id: AccountId) -> bool {
        self.accounts.contains(&Some(id))
    }

    /// How many distinct accounts were tried.
    #[must_use]
    pub fn count(&self) -> usize {
        self.accounts.iter().flatten().count()
    }

    /// Remembers the account. Beyond [`ATTEMPTS_MAX`] nothing is remembered; the machine stops before.
    pub(crate) fn add(&mut self, id: AccountId) {
        if !self.has(id)
            && let Some(free) = self.accounts.iter_mut().find(|a| a.is_none())
        {
            *free = Some(id);
        }
    }
}

/// What a choice depends on besides the fleet.
#[derive(Clone, Copy, Debug)]
pub struct Choice<'a> {
    /// Nothing is tried but this one (R1).
    pub pin: Option<AccountId>,
    /// The caller's pool: no account outside it is eligible, a home or a pin neither (B17).
    pub pool: PoolId,
    /// The account of the session's row. It comes first if eligible and not cooling (B3, B4).
    pub home: Option<AccountId>,
    /// Whether that row is bound: then its account serves it also while draining.
    pub settled: bool,
    /// Where no store could say what the session's home is (T3).
    pub guess: Option<Guess>,
    /// What was tried is not tried again.
    pub tried: &'a Tried,
    /// The model, where exactly one is named.
    pub model: Option<ModelId>,
    /// Now.
    pub now: Time,
}

/// What stands in for a home that no store could tell (T3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Guess {
    /// The home this process saw last, if it saw one.
    pub last_seen: Option<AccountId>,
    /// Of the session's strongest key: every process comes to the same account from it.
    pub word: u64,
}

/// The account to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pick {
    /// Which.
    pub account: AccountId,
    /// The attempt finds out whether a barred account serves again: one at a time.
    pub probe: bool,
}

impl<'a> Choice<'a> {
    /// A request of the pool that names no session, no pin and no model. Set what is known of it.
    #[must_use]
    pub const fn any(pool: PoolId, tried: &'a Tried, now: Time) -> Self {
        Self { pin: None, pool, home: None, settled: false, guess: None, tried, model: None, now }
    }

    /// Whether the account is eligible for this request and was not tried by it.
    fn admits(&self, account: &Account) -> bool {
        let at_home = (self.settled && self.home == Some(account.id)) || self.pin == Some(account.id);
        let open = if at_home { account.keeps(self.model, self.now) } else { account.eligible(self.model, self.now) };
        open && account.is_in(self.pool) && !self.tried.has(account.id)
    }
}

/// How strongly a key is drawn to an account: a fixed mixing of both (the finaliser of SplitMix64), the same in every process.
const fn weight(word: u64, id: AccountId) -> u64 {
    let mut z = word ^ (id.0 as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Fleet {
    /// The next account for a request, or `None` when every one is out or was tried.
    ///
    /// The round robin goes on behind an account that was chosen by it; homes and pins do not turn it.
    pub fn choose(&mut self, choice: &Choice<'_>) -> Option<Pick> {
        if let Some(pin) = choice.pin {
            return self.fits(pin, choice).map(Self::pick_of);
        }
        if let Some(guess) = choice.guess
            && let Some(pick) = self.guessed(guess, choice)
        {
            return Some(pick);
        }
        let home = choice.home.and_then(|home| self.fits(home, choice)).filter(|a| !a.cools(choice.now));
        if let Some(home) = home {
            return Some(Self::pick_of(home));
        }
        let pick = self.next_in_turn(choice).or_else(|| self.soonest_warm(choice))?;
        self.last = Some(pick.account);
        Some(pick)
    }

    /// Whether the account would be taken for this request if it came first.
    #[must_use]
    pub fn serves(&self, id: AccountId, choice: &Choice<'_>) -> bool {
        self.fits(id, choice).is_some_and(|a| !a.cools(choice.now))
    }

    /// Whether a pick made earlier would still be made, while something else had to be done first.
    #[must_use]
    pub fn stands(&self, pick: Pick, choice: &Choice<'_>) -> bool {
        let alone = |a: &Account| !a.cools(choice.now) || (pick.probe && !a.probing);
        self.fits(pick.account, choice).is_some_and(|a| (pick.probe || !a.needs_probe()) && alone(a))
    }

    fn fits(&self, id: AccountId, choice: &Choice<'_>) -> Option<&Account> {
        self.get(id).filter(|a| choice.admits(a))
    }

    /// The last home seen, else the account that the key and the accounts alone name (highest random weight): an account that
    /// comes or goes moves only the sessions it takes or leaves.
    fn guessed(&self, guess: Guess, choice: &Choice<'_>) -> Option<Pick> {
        let warm = |a: &&Account| choice.admits(a) && !a.cools(choice.now);
        let seen = guess.last_seen.and_then(|id| self.get(id)).filter(warm);
        let hashed = || self.accounts.iter().filter(warm).max_by_key(|a| (weight(guess.word, a.id), a.id));
        seen.or_else(hashed).map(Self::pick_of)
    }

    fn pick_of(account: &Account) -> Pick {
        Pick { account: account.id, probe: account.needs_probe() }
    }

    /// Round robin: the first fitting account behind the one chosen last.
    fn next_in_turn(&self, choice: &Choice<'_>) -> Option<Pick> {
        let start = self.last.map_or(0, |last| self.accounts.partition_point(|a| a.id <= last));
        let (before, behind) = self.accounts.split_at(start);
        let mut turn = behind.iter().chain(before).filter(|a| !a.cools(choice.now));
        turn.find(|a| choice.admits(a)).map(Self::pick_of)
    }

    /// If nothing else is left: the cooling account that ends first, one probe at a time.
    fn soonest_warm(&self, choice: &Choice<'_>) -> Option<Pick> {
        let cooling = self.accounts.iter().filter(|a| a.cools(choice.now) && !a.probing);
        let first = cooling.filter(|a| choice.admits(a)).min_by_key(|a| (a.cooling.map(|bar| bar.until), a.id))?;
        Some(Pick { account: first.id, probe: true })
    }
}
