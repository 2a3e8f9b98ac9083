//! One account's health: what a failure holds against it and what lifts that (R2).

use alloc::vec::Vec;

use sha2::{Digest as _, Sha256};

use crate::failure::Failure;
use crate::ids::{AccountId, PoolId, Revision};
use crate::time::{Millis, Time};

/// First soft cooling; doubles with each window up to [`COOL_MAX`].
const COOL_FIRST: Millis = Millis::secs(2);
/// Longest soft cooling.
const COOL_MAX: Millis = Millis::secs(300);
/// How long spent quota without a stated reset is taken to last before one request may probe it.
const QUOTA_UNKNOWN: Millis = Millis::secs(300);
/// How long a refused model is remembered.
const MODEL_MEMORY: Millis = Millis::secs(3600);
/// Most refused models remembered for an account; the one that ends first makes room.
const MODELS_MAX: usize = 32;

/// A model's name as routing needs it: equal or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModelId(u64);

impl ModelId {
    /// The id of a model's exposed name.
    #[must_use]
    pub fn of(name: &str) -> Self {
        let [a, b, c, d, e, f, g, h, ..]: [u8; 32] = Sha256::digest(name.as_bytes()).into();
        Self(u64::from_le_bytes([a, b, c, d, e, f, g, h]))
    }
}

/// Whether an account may be used at all, from its file and its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Standing {
    /// Its credential works as far as is known.
    Usable,
    /// Usable, but only by the sessions that have their home here; it takes no new ones (R2).
    Draining,
    /// Switched off by its owner.
    Disabled,
    /// Its file is gone or holds another identity: no attempt starts (B11).
    Gone,
    /// Only a new login helps.
    NeedsLogin,
    /// The upstream refuses the account itself; only a changed credential helps.
    Refused,
}

/// Something timed that is held against an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bar {
    /// When it was imposed.
    pub since: Time,
    /// When it ends.
    pub until: Time,
}

impl Bar {
    pub(crate) fn holds(bar: Option<Self>, now: Time) -> bool {
        bar.is_some_and(|bar| now < bar.until)
    }
}

/// One account in the fleet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Account {
    /// Whose.
    pub id: AccountId,
    /// Whether it may be used at all.
    pub standing: Standing,
    /// Quota known to be spent. Past its end, one request probes first.
    pub spent: Option<Bar>,
    /// The upstream named a time before which it will not serve.
    pub limited: Option<Bar>,
    /// Soft cooling: only orders.
    pub cooling: Option<Bar>,
    /// How often soft cooling was imposed without a success in between.
    pub(crate) strikes: u8,
    /// The one probe is under way.
    pub(crate) probing: bool,
    pub(crate) refused_models: Vec<(ModelId, Time)>,
    /// The pools that name it, in order; none: it belongs to [`PoolId::DEFAULT`].
    pub(crate) pools: Vec<PoolId>,
    /// When its file or its owner last said something of it.
    pub(crate) revision: Revision,
}

impl Account {
    pub(crate) const fn new(id: AccountId, standing: Standing) -> Self {
        Self {
            id,
            standing,
            spent: None,
            limited: None,
            cooling: None,
            strikes: 0,
            probing: false,
            refused_models: Vec::new(),
            pools: Vec::new(),
            revision: Revision(0),
        }
    }

    /// Whether requests for the model may go here at all (B2).
    #[must_use]
    pub fn eligible(&self, model: Option<ModelId>, now: Time) -> bool {
        self.standing == Standing::Usable && self.unbarred(model, now)
    }

    /// Whether requests of sessions that have their home here may come: also while it drains.
    #[must_use]
    pub fn keeps(&self, model: Option<ModelId>, now: Time) -> bool {
        matches!(self.standing, Standing::Usable | Standing::Draining) && self.unbarred(model, now)
    }

    fn unbarred(&self, model: Option<ModelId>, now: Time) -> bool {
        let barred = Bar::holds(self.spent, now) || Bar::holds(self.limited, now);
        let taken = self.probing && self.needs_probe();
        !barred && !taken && !self.refuses(model, now)
    }

    /// Whether the account is in the pool.
    #[must_use]
    pub fn is_in(&self, pool: PoolId) -> bool {
        if self.pools.is_empty() { pool == PoolId::DEFAULT } else { self.pools.contains(&pool) }
    }

    /// Whether a request that is here already may try once more (R2): its owner still wants it, and nothing bars it.
    pub(crate) fn repeats(&self, now: Time) -> bool {
        let off = matches!(self.standing, Standing::Disabled | Standing::Gone);
        !off && !Bar::holds(self.spent, now) && !Bar::holds(self.limited, now)
    }

    /// Whether the next request here is the one that finds out (spent quota whose reset has passed).
    pub(crate) const fn needs_probe(&self) -> bool {
        self.spent.is_some()
    }

    /// Whether soft cooling puts it behind the others.
    #[must_use]
    pub fn cools(&self, now: Time) -> bool {
        Bar::holds(self.cooling, now)
    }

    const fn in_use(&self) -> bool {
        matches!(self.standing, Standing::Usable | Standing::Draining)
    }

    pub(crate) fn refuses(&self, model: Option<ModelId>, now: Time) -> bool {
        model.is_some_and(|m| self.refused_models.iter().any(|(r, until)| *r == m && now < *until))
    }

    pub(crate) fn failed(&mut self, failure: Failure, model: Option<ModelId>, started: Time, now: Time) {
        match failure {
            Failure::Server { retry_after } => self.cool(retry_after.unwrap_or_default(), started, now),
            Failure::Throttled | Failure::Challenge => self.cool(Millis(0), started, now),
            Failure::QuotaSpent { until } => {
                let until = until.filter(|t| *t > now).unwrap_or(now.plus(QUOTA_UNKNOWN));
                self.spent = Some(Bar { since: now, until });
            }
            Failure::RateLimited { retry_after } => {
                let until = now.plus(retry_after);
                let longest = self.limited.map_or(until, |bar| bar.until.max(until));
                self.limited = Some(Bar { since: now, until: longest });
            }
            // What its owner or its file said of the account stands above what an attempt from before that found.
            Failure::Unauthorized if self.in_use() => self.standing = Standing::NeedsLogin,
            Failure::AccountRefused if self.in_use() => self.standing = Standing::Refused,
            Failure::Unauthorized | Failure::AccountRefused => {}
            Failure::ModelRefused => self.refuse_model(model, now),
            // The host's, the request's or the stream's fault: no account's.
            Failure::Unreachable | Failure::ForeignCiphertext | Failure::Request | Failure::CutOff => {}
        }
    }

    /// Soft cooling grows once a window, however many requests that began before it fail at once.
    fn cool(&mut self, at_least: Millis, started: Time, now: Time) {
        if self.cooling.is_some_and(|bar| started < bar.since || now < bar.until) {
            return;
        }
        let doubled = Millis(COOL_FIRST.0 << self.strikes.min(16)).min(COOL_MAX);
        self.strikes = self.strikes.saturating_add(1);
        self.cooling = Some(Bar { since: now, until: now.plus(doubled.max(at_least)) });
    }

    fn refuse_model(&mut self, model: Option<ModelId>, now: Time) {
        let Some(model) = model else { return };
        self.refused_models.retain(|(m, until)| *m != model && now < *until);
        if self.refused_models.len() >= MODELS_MAX {
            self.refused_models.remove(0);
        }
        self.refused_models.push((model, now.plus(MODEL_MEMORY)));
    }

    /// A success says nothing about what was held against the account after the attempt began.
    pub(crate) fn succeeded(&mut self, started: Time) {
        let earlier = |bar: &mut Option<Bar>| {
            if bar.is_some_and(|bar| bar.since <= started) {
                *bar = None;
                return true;
            }
            false
        };
        earlier(&mut self.spent);
        earlier(&mut self.limited);
        if earlier(&mut self.cooling) {
            self.strikes = 0;
        }
    }
}
