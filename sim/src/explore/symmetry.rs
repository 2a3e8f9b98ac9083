//! Which names may change places without changing what can happen.
//!
//! Tenants are alike: each has the same sessions, and no rule looks at their numbers. Accounts are not: the round robin begins
//! with the first and goes on in their order.

use homing_core::fleet::{Choice, Fleet, Guess, Standing, Tried};
use homing_core::ids::{AccountId, PoolId};
use homing_core::key::Digest;
use homing_core::time::Time;

use crate::ask::{Ask, Oddity};
use crate::scope::Scope;

/// Other names for tenants, and for the keys of their sessions along with them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Renaming {
    tenants: Vec<(u64, u64)>,
    /// By the first eight bytes of the digest, sorted.
    digests: Vec<(u64, u64)>,
}

impl Renaming {
    pub(crate) fn tenant(&self, id: u64) -> u64 {
        self.tenants.iter().find(|(from, _)| *from == id).map_or(id, |(_, to)| *to)
    }

    pub(crate) fn digest(&self, word: u64) -> u64 {
        let at = self.digests.binary_search_by_key(&word, |(from, _)| *from);
        at.ok().and_then(|at| self.digests.get(at)).map_or(word, |(_, to)| *to)
    }
}

/// All renamings under which a world of this scope goes on alike; the first changes nothing.
#[derive(Clone, Debug)]
pub(crate) struct Symmetry {
    pub(crate) renamings: Vec<Renaming>,
}

impl Symmetry {
    pub(crate) fn of(scope: &Scope) -> Self {
        let tenants: Vec<u32> = scope.tenant_ids().map(|t| t.0).collect();
        let words: Vec<Vec<u64>> = tenants.iter().map(|t| words(scope, *t)).collect();
        let guesses: Vec<Vec<Vec<AccountId>>> =
            words.iter().map(|words| words.iter().map(|word| guess_order(scope, *word)).collect()).collect();
        let alike = |order: &Vec<usize>| {
            guesses.iter().zip(order).all(|(mine, other)| guesses.get(*other).is_some_and(|theirs| mine == theirs))
        };
        let renaming = |order: Vec<usize>| {
            let pairs = || order.iter().enumerate().map(|(from, to)| (from, *to)).filter(|(from, to)| from != to);
            let names = |from: usize, to: usize| Some((u64::from(*tenants.get(from)?), u64::from(*tenants.get(to)?)));
            let mut digests: Vec<(u64, u64)> = pairs()
                .filter_map(|(from, to)| Some((words.get(from)?, words.get(to)?)))
                .flat_map(|(from, to)| from.iter().copied().zip(to.iter().copied()))
                .collect();
            digests.sort_unstable();
            digests.dedup();
            Renaming { tenants: pairs().filter_map(|(from, to)| names(from, to)).collect(), digests }
        };
        Self { renamings: permutations(tenants.len()).into_iter().filter(alike).map(renaming).collect() }
    }
}

/// The first words of all key digests a tenant's requests can carry, in an order that is the same for every tenant.
fn words(scope: &Scope, tenant: u32) -> Vec<u64> {
    let mut words = Vec::new();
    for form in scope.forms {
        for session in 0..scope.sessions {
            let ask = Ask { tenant: homing_core::ids::TenantId(tenant), session, form: *form, oddity: Oddity::Plain };
            let mut keys: Vec<_> = ask.keys(&format!("user:{tenant}")).iter().collect();
            keys.sort_by_key(|key| key.kind);
            words.extend(keys.iter().map(|key| word(&key.digest)));
        }
    }
    words
}

fn word(digest: &Digest) -> u64 {
    digest.0.iter().take(8).rev().fold(0, |word, byte| (word << 8) | u64::from(*byte))
}

/// Where a request of this key goes, and where next, while no store answers (T3): the one place where a key's value counts.
fn guess_order(scope: &Scope, word: u64) -> Vec<AccountId> {
    let mut fleet = Fleet::new();
    scope.account_ids().for_each(|id| fleet.set(id, Standing::Usable));
    let mut order = Vec::new();
    loop {
        let choice = Choice {
            pin: None,
            pool: PoolId::DEFAULT,
            home: None,
            settled: false,
            guess: Some(Guess { last_seen: None, word }),
            tried: &Tried::default(),
            model: None,
            now: Time(0),
        };
        let Some(pick) = fleet.choose(&choice) else { return order };
        fleet.set(pick.account, Standing::Gone);
        order.push(pick.account);
    }
}

/// All orders of the numbers below `count`, the sorted one first.
fn permutations(count: usize) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for _ in 0..count {
        let longer = |short: &Vec<usize>| {
            let short = short.clone();
            let free = (0..count).filter({
                let short = short.clone();
                move |n| !short.contains(n)
            });
            free.map(move |n| short.iter().copied().chain([n]).collect::<Vec<_>>()).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permutations_are_all_orders() {
        assert_eq!(permutations(2), [[0, 1], [1, 0]]);
        assert_eq!(permutations(3).len(), 6);
        assert_eq!(permutations(3).first(), Some(&vec![0, 1, 2]));
    }

    #[test]
    fn a_renaming_of_two_tenants_takes_their_keys_along() {
        let scope = Scope { tenants: 2, ..Scope::tiny() };
        let (a, b) = (words(&scope, 1), words(&scope, 2));
        assert_ne!(a, b);
        let swap = Renaming { tenants: vec![(1, 2), (2, 1)], digests: vec![] };
        assert_eq!((swap.tenant(1), swap.tenant(2), swap.tenant(3)), (2, 1, 3));
        for renaming in Symmetry::of(&scope).renamings.iter().skip(1) {
            assert_eq!(renaming.digest(a[0]), b[0]);
            assert_eq!(renaming.digest(b[0]), a[0]);
        }
        assert_eq!(Symmetry::of(&scope).renamings.first(), Some(&Renaming::default()));
    }

    #[test]
    fn tenants_whose_keys_guess_differently_are_not_alike() {
        for sessions in 1..6 {
            let scope = Scope { tenants: 2, sessions, ..Scope::tiny() };
            let orders = |tenant| words(&scope, tenant).into_iter().map(|w| guess_order(&scope, w)).collect::<Vec<_>>();
            let alike = orders(1) == orders(2);
            assert_eq!(Symmetry::of(&scope).renamings.len(), 1 + usize::from(alike), "{sessions} sessions");
        }
    }
}
