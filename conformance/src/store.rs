//! What the suite asks of a store, and what it sees of one.

use homing_core::ids::{Epoch, RowId, Seq, TenantId};
use homing_core::key::{Digest, Keys};
use homing_core::pin::Pin;
use homing_core::row::{EpochScope, Row, Scope};
use homing_core::settings::Caps;
use homing_core::store::{Answer, Op, Subject};
use homing_core::table::Table;
use homing_core::time::Time;

/// The tenants of every script: a store that has to know them beforehand makes these.
pub const TENANTS: [TenantId; 3] = [TenantId(1), TenantId(2), TenantId(3)];

/// In which ways a store may differ from the model; see the crate's page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promises {
    /// Row ids, epochs and change numbers are the model's very own.
    pub counted: bool,
    /// It may answer that a race is lost.
    pub races: bool,
    /// It may answer that the outcome is unknown.
    pub loses_replies: bool,
    /// A crash may lose what was not reported durable. Asks for `counted`.
    pub writes_behind: bool,
}

/// One operation with all that goes with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Who asks.
    pub tenant: TenantId,
    /// The keys of its session or conversation.
    pub keys: Keys,
    /// The anchors it names.
    pub anchors: Vec<Digest>,
    /// The anchor its success brought.
    pub issued: Option<Digest>,
    /// What is to be done.
    pub op: Op,
}

impl Call {
    /// The part that goes with every operation.
    #[must_use]
    pub fn subject(&self) -> Subject<'_> {
        Subject { tenant: self.tenant, keys: &self.keys, anchors: &self.anchors, issued: self.issued }
    }
}

/// A store as the suite drives it. Times are in milliseconds of the script's own clock.
pub trait StoreUnderTest {
    /// Opens an empty store with these caps in the place of whatever was there.
    fn start(&mut self, caps: Caps, now: Time);

    /// In which ways it may differ from the model.
    fn promises(&self) -> Promises;

    /// Performs one operation.
    fn answer(&mut self, call: &Call, now: Time) -> Answer;

    /// Performs the operations at the same time, as far as it can; the answers in their order.
    fn race(&mut self, calls: &[Call], now: Time) -> Vec<Answer> {
        calls.iter().map(|call| self.answer(call, now)).collect()
    }

    /// Deletes what the scope names; how many rows that were.
    fn erase(&mut self, scope: Scope) -> usize;

    /// Removes every row and pin that has expired.
    fn purge(&mut self, now: Time);

    /// Queues the renewals that were held back; how many, or `None` from a store that holds back none.
    fn flush(&mut self) -> Option<usize>;

    /// Makes up to `changes` of the changes that wait durable, the oldest first, and no more than that if it can be helped.
    fn commit(&mut self, changes: usize);

    /// Makes everything durable.
    fn sync(&mut self);

    /// Everything up to here is reported durable.
    fn durable(&mut self) -> Seq;

    /// The process dies on the spot, and another one opens what is left.
    fn crash(&mut self, now: Time);

    /// An orderly stop, and a start.
    fn restart(&mut self, now: Time);

    /// Everything that can be seen of it.
    fn observe(&mut self, now: Time) -> Observed;

    /// The whole row a session has.
    fn session(&mut self, tenant: TenantId, keys: &Keys, now: Time) -> Option<Row>;

    /// The last erasure of each scope, as it is kept for the next process. Asked when all is durable and after a start.
    fn epochs(&mut self) -> Vec<(EpochScope, Epoch)>;

    /// Rows and pins that are kept for the next process, expired ones among them. Asked when all is durable; `None` from a
    /// store that has no other place than the one it serves from.
    fn kept(&mut self) -> Option<(usize, usize)>;
}

/// What can be seen of a store at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// Every row, expired ones that were not removed yet among them; in any order.
    pub rows: Vec<Row>,
    /// Every pin, likewise.
    pub pins: Vec<Pin>,
    /// The live rows of each tenant as they are listed for people, page by page; in any order.
    pub listed: Vec<Row>,
    /// Reservations and bindings of each of [`TENANTS`].
    pub held: Vec<(usize, usize)>,
    /// The erasures so far.
    pub epoch: Epoch,
    /// The id the next row will have.
    pub next_id: RowId,
    /// The number of the last change.
    pub seq: Seq,
}

impl Observed {
    /// What can be seen of a table.
    #[must_use]
    pub fn of(table: &Table, now: Time) -> Self {
        Self {
            rows: table.rows().cloned().collect(),
            pins: table.pins().copied().collect(),
            listed: table.rows_from(0, now).map(|(_, row)| row.clone()).collect(),
            held: TENANTS.iter().map(|tenant| table.held_by(*tenant)).collect(),
            epoch: table.epoch(),
            next_id: table.next_id(),
            seq: table.seq(),
        }
    }
}
