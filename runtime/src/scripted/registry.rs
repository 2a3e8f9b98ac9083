//! The accounts an upstream has issued, and which token belongs to which.

use std::collections::{HashMap, VecDeque};

use super::account::{Account, AccountSpec};
use super::ids::{Mint, Tag};

/// Access tokens that stay good for one account at once. Older ones are forgotten, hence refused.
const TOKENS_KEPT: usize = 64;

/// Spent refresh tokens that are remembered as spent, in all.
const SPENT_KEPT: usize = 4096;

/// The account a request was authorised as.
#[derive(Clone, Debug)]
pub(super) struct Identity {
    pub(super) name: String,
    pub(super) account_id: String,
    pub(super) plan: String,
    pub(super) tag: Tag,
}

struct Entry {
    account: Account,
    tag: Tag,
    tokens: VecDeque<String>,
}

/// The outcome of presenting a refresh token.
pub(super) enum Redeemed {
    /// The account with its new tokens.
    Rotated(Box<Account>),
    /// The token was used before.
    Reused,
    /// Nobody issued it.
    Unknown,
}

#[derive(Default)]
pub(super) struct Registry {
    entries: Vec<Entry>,
    access: HashMap<String, (usize, u64)>,
    refresh: HashMap<String, usize>,
    spent: VecDeque<String>,
}

impl Registry {
    /// Adds an account, or logs in anew to the one of that name (the tokens issued before stay good).
    pub(super) fn add(&mut self, spec: AccountSpec, now_ms: u64, mint: &Mint) -> Account {
        let account = issue(spec.completed(), now_ms, mint);
        let tag = Tag::of(&account.spec.account_id, &account.spec.user_id);
        let index = self.entries.iter().position(|e| e.account.spec.name == account.spec.name);
        let index = index.unwrap_or_else(|| {
            self.entries.push(Entry { account: account.clone(), tag, tokens: VecDeque::new() });
            self.entries.len() - 1
        });
        self.entries[index].tag = tag;
        self.install(index, account.clone());
        account
    }

    /// The account of that name with its newest tokens.
    pub(super) fn get(&self, name: &str) -> Option<Account> {
        self.entries.iter().find(|e| e.account.spec.name == name).map(|e| e.account.clone())
    }

    pub(super) fn all(&self) -> Vec<Account> {
        self.entries.iter().map(|e| e.account.clone()).collect()
    }

    /// Forgets every access token of the account: all are answered 401 from now on.
    pub(super) fn revoke_access(&mut self, name: &str) -> bool {
        let Some(entry) = self.entries.iter_mut().find(|e| e.account.spec.name == name) else { return false };
        for token in entry.tokens.drain(..) {
            self.access.remove(&token);
        }
        true
    }

    /// Makes the account's refresh token unusable, as if it had been spent elsewhere.
    pub(super) fn revoke_refresh(&mut self, name: &str) -> bool {
        let token = self.entries.iter().find(|e| e.account.spec.name == name).map(|e| e.account.refresh_token.clone());
        token.is_some_and(|token| {
            self.spend(token);
            true
        })
    }

    /// Whose valid access token this is.
    pub(super) fn by_access(&self, token: &str, now_ms: u64) -> Option<Identity> {
        let (index, expires) = *self.access.get(token)?;
        (now_ms < expires).then(|| self.identity(index))
    }

    /// Whose unspent refresh token this is.
    pub(super) fn by_refresh(&self, token: &str) -> Option<Identity> {
        self.refresh.get(token).map(|&index| self.identity(index))
    }

    /// The first account, for callers that need no token.
    pub(super) fn first(&self) -> Option<Identity> {
        (!self.entries.is_empty()).then(|| self.identity(0))
    }

    /// The name behind a tag.
    pub(super) fn name_of(&self, tag: Tag) -> Option<&str> {
        self.entries.iter().find(|e| e.tag == tag).map(|e| e.account.spec.name.as_str())
    }

    /// Uses up a refresh token and rotates all three tokens of its account.
    pub(super) fn redeem(&mut self, token: &str, now_ms: u64, mint: &Mint) -> Redeemed {
        let Some(&index) = self.refresh.get(token) else {
            return if self.spent.iter().any(|t| t == token) { Redeemed::Reused } else { Redeemed::Unknown };
        };
        self.spend(token.to_owned());
        let account = issue(self.entries[index].account.spec.clone(), now_ms, mint);
        self.install(index, account.clone());
        Redeemed::Rotated(Box::new(account))
    }

    fn install(&mut self, index: usize, account: Account) {
        self.access.insert(account.access_token.clone(), (index, account.expires_ms));
        self.refresh.insert(account.refresh_token.clone(), index);
        let entry = &mut self.entries[index];
        entry.tokens.push_back(account.access_token.clone());
        if entry.tokens.len() > TOKENS_KEPT
            && let Some(old) = entry.tokens.pop_front()
        {
            self.access.remove(&old);
        }
        entry.account = account;
    }

    fn spend(&mut self, token: String) {
        self.refresh.remove(&token);
        if self.spent.len() == SPENT_KEPT {
            self.spent.pop_front();
        }
        self.spent.push_back(token);
    }

    fn identity(&self, index: usize) -> Identity {
        let Entry { account, tag, .. } = &self.entries[index];
        let AccountSpec { name, account_id, plan, .. } = &account.spec;
        Identity { name: name.clone(), account_id: account_id.clone(), plan: plan.clone(), tag: *tag }
    }
}

fn issue(spec: AccountSpec, now_ms: u64, mint: &Mint) -> Account {
    Account::issue(spec, now_ms, &mint.serial(), crate::entropy::jitter())
}
