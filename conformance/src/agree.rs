//! When an answer or a state of the store is the model's.

use std::collections::BTreeMap;

use homing_core::ids::{Epoch, RowId, Seq};
use homing_core::row::{EpochScope, Row, View};
use homing_core::store::Answer;

use crate::store::{Observed, Promises};

/// Which row of the store is which of the model's. In a counted store every id is its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ids {
    to_store: BTreeMap<RowId, RowId>,
    to_model: BTreeMap<RowId, RowId>,
}

/// One store's way to compare, and the names it has learnt so far.
#[derive(Clone, Debug)]
pub(crate) struct Agree {
    promises: Promises,
    ids: Ids,
}

/// How an answer of the store compares with the model's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Same,
    /// Allowed: the race is lost, and what stands has to be looked up.
    Raced,
    /// Allowed: it was done, or it was not.
    Unknown,
    Different,
}

impl Agree {
    pub(crate) fn new(promises: Promises) -> Self {
        Self { promises, ids: Ids::default() }
    }

    /// Compares two answers; learns the ids in them.
    pub(crate) fn answers(&mut self, model: &Answer, store: &Answer) -> Verdict {
        let same = match (model, store) {
            (_, Answer::Unknown) if self.promises.loses_replies => return Verdict::Unknown,
            (Answer::Found(_) | Answer::Lost(_), Answer::Raced) if self.promises.races => return Verdict::Raced,
            (Answer::Pins { found: m, epoch: e }, Answer::Pins { found: s, epoch: f }) => m == s && self.epoch(*e, *f),
            (Answer::Recorded(m), Answer::Recorded(s)) => self.seq(*m, *s),
            (Answer::Looked { view: m, epoch: e }, Answer::Looked { view: s, epoch: f }) => {
                self.views(m.as_ref(), s.as_ref()) && self.epoch(*e, *f)
            }
            (Answer::Reserved(m), Answer::Reserved(s))
            | (Answer::Found(m), Answer::Found(s))
            | (Answer::Pended(m), Answer::Pended(s)) => self.views(Some(m), Some(s)),
            (Answer::Lost(m), Answer::Lost(s)) => self.views(m.as_ref(), s.as_ref()),
            (Answer::Completed { how: m, seq: e }, Answer::Completed { how: s, seq: f }) => m == s && self.seq(*e, *f),
            (m, s) => m == s,
        };
        if same { Verdict::Same } else { Verdict::Different }
    }

    /// Compares everything that can be seen; the error names the first difference.
    pub(crate) fn observed(&mut self, model: &Observed, store: &Observed) -> Result<(), String> {
        self.rows("the rows", &model.rows, &store.rows)?;
        self.rows("the listing", &model.listed, &store.listed)?;
        let (mut m, mut s) = (model.pins.clone(), store.pins.clone());
        m.sort_unstable();
        s.sort_unstable();
        equal("the pins", &m, &s)?;
        equal("the counts of each tenant", &model.held, &store.held)?;
        if self.promises.counted {
            equal("the epoch", &model.epoch, &store.epoch)?;
            equal("the next row's id", &model.next_id, &store.next_id)?;
            equal("the last change", &model.seq, &store.seq)?;
        }
        Ok(())
    }

    fn rows(&mut self, what: &str, model: &[Row], store: &[Row]) -> Result<(), String> {
        // A digest has one owner, so that the smallest one orders the rows of both in the same way.
        let sorted = |rows: &[Row]| {
            let mut rows = rows.to_vec();
            rows.sort_by_key(|row| row.keys.iter().map(|k| k.digest).min());
            rows
        };
        let (model, store) = (sorted(model), sorted(store));
        equal(&format!("how many there are of {what}"), &model.len(), &store.len())?;
        for (m, s) in model.iter().zip(&store) {
            self.row(m, s).map_err(|e| format!("{what}: {e}"))?;
        }
        Ok(())
    }

    /// Compares two rows, all columns.
    pub(crate) fn row(&mut self, model: &Row, store: &Row) -> Result<(), String> {
        if !self.pair(model.id, store.id) {
            return Err(format!(
                "row {} of the model is row {} of the store, which is another",
                model.id.0, store.id.0
            ));
        }
        let same = Row { id: model.id, ..store.clone() };
        let same = if self.promises.counted {
            same
        } else {
            Row { seq: model.seq, stored_expires: model.stored_expires, ..same }
        };
        equal("a row", model, &same)
    }

    /// Compares the last erasures: which scopes, in which order, and where they are counted the numbers.
    pub(crate) fn epochs(
        &self,
        model: &BTreeMap<EpochScope, Epoch>,
        store: &[(EpochScope, Epoch)],
    ) -> Result<(), String> {
        let ordered = |all: Vec<(EpochScope, Epoch)>| {
            let mut all: Vec<_> = all.into_iter().map(|(scope, epoch)| (epoch, scope)).collect();
            all.sort_unstable();
            all
        };
        let (model, store) = (ordered(model.iter().map(|(s, e)| (*s, *e)).collect()), ordered(store.to_vec()));
        if self.promises.counted {
            return equal("the erasures kept", &model, &store);
        }
        let scopes = |all: &[(Epoch, EpochScope)]| all.iter().map(|(_, scope)| *scope).collect::<Vec<_>>();
        equal("the erasures kept, oldest first", &scopes(&model), &scopes(&store))
    }

    fn views(&mut self, model: Option<&View>, store: Option<&View>) -> bool {
        let (Some(m), Some(s)) = (model, store) else { return model.is_none() && store.is_none() };
        let columns = |v: &View| (v.fence.generation, v.account, v.state, v.pending);
        self.pair(m.fence.id, s.fence.id) && columns(m) == columns(s) && self.seq(m.seq, s.seq)
    }

    fn epoch(&self, model: Epoch, store: Epoch) -> bool {
        !self.promises.counted || model == store
    }

    fn seq(&self, model: Seq, store: Seq) -> bool {
        !self.promises.counted || model == store
    }

    /// Whether these two ids may name one row; from then on they do, and no other.
    fn pair(&mut self, model: RowId, store: RowId) -> bool {
        if self.promises.counted {
            return model == store;
        }
        let known = *self.ids.to_store.entry(model).or_insert(store);
        let back = *self.ids.to_model.entry(store).or_insert(model);
        known == store && back == model
    }
}

pub(crate) fn equal<T: PartialEq + std::fmt::Debug>(what: &str, model: &T, store: &T) -> Result<(), String> {
    if model == store { Ok(()) } else { Err(format!("{what}: the model has {model:?}, the store {store:?}")) }
}
