//! Slips of the SQLite adapter: one thing it forgets or gets wrong between the table and the file.

use homing_core::ids::{AccountId, Generation, Seq};
use homing_core::key::{Key, SignalKind};
use homing_core::row::{Change, Row, RowKeys, State};
use homing_core::time::Time;

use crate::store::queue::Batch;

/// A mistake in writing or reading the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slip {
    /// The pending account is not written (B5).
    Pending,
    /// Only the first key of a row is written (B10).
    SecondKey,
    /// All kinds are written as the weakest (K2).
    Kind,
    /// Reservations are written as bindings (B4).
    Bound,
    /// The home is written, its generation is not raised (B6).
    Generation,
    /// The first account stays in the row when the home moves (B5).
    Account,
    /// A conversation is written as a session.
    Pool,
    /// A renewal writes the row's first life again (B7).
    FirstLife,
    /// A renewal writes its time of making (B7).
    Renewed,
    /// A life is written that is longer than the real one (B15).
    LongerLife,
    /// Deletions are forgotten.
    Delete,
    /// The last change of every second transaction is lost.
    Last,
    /// Erasures are forgotten (B6).
    Epoch,
    /// Erasures of pools alone are.
    PoolEpoch,
    /// Pins are not written (R1).
    Pin,
    /// The tenant of a pin is not written as it is (B14).
    PinTenant,
    /// Pins that are gone stay in the file.
    DropPin,
    /// A transaction counts as durable before it is written (B15).
    Early,
    /// One that was written does not count as durable.
    Late,
    /// Ids are given again after a start (B6).
    NextId,
    /// A start reads no pins.
    NoPinsRead,
    /// A start does not read the erasures (B6).
    NoEpochsRead,
    /// A start reads a row's keys in another order.
    KeyOrder,
}

impl Slip {
    pub(super) const ALL: [Self; 23] = [
        Self::Pending,
        Self::SecondKey,
        Self::Kind,
        Self::Bound,
        Self::Generation,
        Self::Account,
        Self::Pool,
        Self::FirstLife,
        Self::Renewed,
        Self::LongerLife,
        Self::Delete,
        Self::Last,
        Self::Epoch,
        Self::PoolEpoch,
        Self::Pin,
        Self::PinTenant,
        Self::DropPin,
        Self::Early,
        Self::Late,
        Self::NextId,
        Self::NoPinsRead,
        Self::NoEpochsRead,
        Self::KeyOrder,
    ];

    /// The batch as the faulty adapter writes it; `turn` counts the batches.
    pub(super) fn written(self, batch: &Batch, turn: usize) -> Batch {
        let mut changes = batch.changes.clone();
        if self == Self::Last && turn.is_multiple_of(2) {
            changes.pop();
        }
        changes.retain(|(_, change)| !self.forgets(change));
        for (_, change) in &mut changes {
            match change {
                Change::Put(row) => self.spoil(row),
                Change::PutPin(pin) if self == Self::PinTenant => pin.tenant = super::super::T1,
                _ => {}
            }
        }
        Batch { changes, names: batch.names.clone(), up_to: batch.up_to }
    }

    fn forgets(self, change: &Change) -> bool {
        use homing_core::row::EpochScope::Pool;
        matches!(
            (self, change),
            (Self::Delete, Change::Delete(_))
                | (Self::Epoch, Change::Erased(..))
                | (Self::PoolEpoch, Change::Erased(Pool(_), _))
                | (Self::Pin, Change::PutPin(_))
                | (Self::DropPin, Change::DropPin(_))
        )
    }

    fn spoil(self, row: &mut Row) {
        let keys: Vec<_> = row.keys.iter().copied().collect();
        match self {
            Self::Pending => row.pending = None,
            Self::SecondKey => row.keys = RowKeys::new(keys[0]),
            Self::Kind if row.pool.is_none() => {
                let weak = |k: Key| Key { kind: SignalKind::PromptCacheKey, ..k };
                row.keys = row_keys(keys.into_iter().map(weak));
            }
            Self::Bound if row.state == State::Reserved => {
                row.state = State::Bound;
                row.generation = Generation(1);
            }
            Self::Generation if row.generation.0 > 1 => row.generation = Generation(1),
            Self::Account if row.generation.0 > 1 => row.account = AccountId(1),
            Self::Pool => row.pool = None,
            Self::FirstLife if row.renewed > row.created => {
                row.stored_expires = Time(row.stored_expires.0 - (row.renewed.0 - row.created.0));
            }
            Self::Renewed => row.renewed = row.created,
            Self::LongerLife => row.stored_expires = Time(row.stored_expires.0 + 1),
            Self::KeyOrder if keys.len() > 1 => {
                row.keys = row_keys(keys.into_iter().rev());
            }
            _ => {}
        }
    }

    /// How far the faulty adapter says that everything is durable, before this batch is written and after.
    pub(super) fn reported(self, batch: &Batch, queued: Seq) -> (Option<Seq>, Seq) {
        match self {
            Self::Early => (Some(queued), batch.up_to),
            Self::Late => (None, Seq(batch.up_to.0.saturating_sub(1))),
            _ => (None, batch.up_to),
        }
    }

    /// What a start of the faulty adapter overlooks, as statements that remove it from the file.
    pub(super) const fn overlooked(self) -> &'static str {
        match self {
            Self::NextId => "UPDATE meta SET value = 1 WHERE name = 'next_row_id'",
            Self::NoPinsRead => "DELETE FROM pins",
            Self::NoEpochsRead => "DELETE FROM epochs",
            _ => "",
        }
    }
}

fn row_keys(keys: impl IntoIterator<Item = Key>) -> RowKeys {
    let mut keys = keys.into_iter();
    let mut all = RowKeys::new(keys.next().unwrap());
    for key in keys {
        assert!(all.push(key));
    }
    all
}
