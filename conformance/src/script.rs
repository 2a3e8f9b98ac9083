//! Scripts: what several turns, the operator, the clock and the disk do, in one order.

use homing_core::ids::{AccountId, PoolId, TenantId};
use homing_core::key::{ConversationScope, Digest, Keys, SignalKind};
use homing_core::pin::{AnchorKind, anchor_digest};
use homing_core::settings::Caps;
use homing_core::time::Millis;
use proptest::prelude::*;

use crate::store::TENANTS;

/// Turns under way at once.
pub(crate) const TURNS: u8 = 6;

/// A script and the bounds it runs under.
#[derive(Clone, Debug)]
pub struct Script {
    /// The store's caps.
    pub caps: Caps,
    /// What happens, one after the other.
    pub steps: Vec<Step>,
}

/// One step.
#[derive(Clone, Debug)]
pub enum Step {
    /// One turn goes on.
    Turn(u8, Act),
    /// A turn begins anew, is served at once by this account and ends: what fills a store.
    Serve(u8, Who, u32, u64),
    /// Two requests of one session have looked at the same moment; then each goes on, the first one first.
    Meet(u8, u8, Act, Act),
    /// Several turns go on at the same time.
    Race(Vec<(u8, Act)>),
    /// Everything bound to an account goes (B11).
    EraseAccount(u32),
    /// Everything of a tenant goes (B12).
    EraseTenant(u8),
    /// The conversations of a pool go.
    ErasePool(u32),
    /// The row that the turn saw is cleared by hand.
    EraseRow(u8),
    /// Expired rows and pins are removed (B13).
    Purge,
    /// Renewals held back are queued (B15).
    Flush,
    /// Time passes.
    Pass(u64),
    /// The clock is set back.
    SetBack(u64),
    /// The disk takes this many changes.
    Commit(u8),
    /// The disk takes all of them.
    Sync,
    /// The process dies and another one starts.
    Crash,
    /// An orderly stop and a start.
    Restart,
}

/// What a turn does next, with whatever it saw when it last looked: that may be stale.
#[derive(Clone, Debug)]
pub enum Act {
    /// It begins, knowing nothing.
    Begin(Who),
    /// It is another request of that turn's session, and has seen what that one has.
    Join(u8),
    /// It asks for its anchors.
    FindPins,
    /// It looks for its row.
    Look,
    /// It reserves.
    Reserve {
        /// Where it will go first.
        account: u32,
        /// Seconds to live.
        ttl: u64,
    },
    /// It had to leave and says where it goes.
    Pend(u32),
    /// Its attempt failed: nothing is written.
    Fail,
    /// It succeeded.
    Complete {
        /// Where.
        at: At,
        /// Seconds to live.
        ttl: u64,
        /// Under a hard pin.
        pinned: bool,
        /// Whether a new row may be made.
        inserts: bool,
        /// The anchor it brought.
        issued: Option<u8>,
    },
    /// It succeeded outside any session and brought an anchor.
    Record {
        /// Where.
        account: u32,
        /// The anchor.
        issued: u8,
        /// Whether its plan had read the epoch.
        planned: bool,
    },
}

/// Where an attempt succeeded.
#[derive(Clone, Copy, Debug)]
pub enum At {
    /// On the account the turn saw.
    Seen,
    /// On the pending account it saw.
    Pending,
    /// On this one.
    Account(u32),
}

/// Who a turn is for, and what its request carries. Small numbers, so that sessions, aliases and tenants meet.
#[derive(Clone, Debug)]
pub struct Who {
    /// Index into [`TENANTS`].
    pub tenant: u8,
    /// What it is known by.
    pub identity: Identity,
    /// Anchors it names.
    pub anchors: Vec<u8>,
}

/// What a request is known by.
#[derive(Clone, Debug)]
pub enum Identity {
    /// Session signals: kind and value of each.
    Session(Vec<(u8, u8)>),
    /// A conversation: pool, model, whether by `thread-id`, value.
    Conversation(u32, u8, bool, u8),
}

impl Who {
    pub(crate) fn tenant(&self) -> TenantId {
        TENANTS[usize::from(self.tenant) % TENANTS.len()]
    }

    pub(crate) fn keys(&self) -> Keys {
        let scope = format!("user:{}", self.tenant().0);
        match &self.identity {
            Identity::Session(signals) => {
                let values: Vec<_> = signals.iter().map(|(kind, value)| (*kind, value.to_string())).collect();
                let signals = values.iter().filter_map(|(k, v)| Some((SignalKind::from_u8(*k)?, v.as_bytes())));
                Keys::session(&scope, signals)
            }
            Identity::Conversation(pool, model, thread, value) => {
                let (model, value) = (format!("model-{model}"), value.to_string());
                let scope = ConversationScope { pool: PoolId(*pool), api_key: &scope, model: &model };
                let value: &[&[u8]] = &[value.as_bytes()];
                let (by_thread, by_conversation) =
                    if *thread { (value, [].as_slice()) } else { ([].as_slice(), value) };
                Keys::conversation(&scope, by_thread, by_conversation).unwrap_or_default()
            }
        }
    }

    pub(crate) fn anchors(&self) -> Vec<Digest> {
        self.anchors.iter().filter_map(|n| anchor(*n)).collect()
    }
}

/// The anchor with this number; ids are upstream's, so that tenants may name each other's.
pub(crate) fn anchor(n: u8) -> Option<Digest> {
    anchor_digest(AnchorKind::Response, format!("resp_{n}").as_bytes())
}

pub(crate) const fn account(n: u32) -> AccountId {
    AccountId(n + 1)
}

pub(crate) const fn pool(n: u32) -> PoolId {
    PoolId(n)
}

pub(crate) const fn seconds(n: u64) -> Millis {
    Millis::secs(n)
}

fn who() -> impl Strategy<Value = Who> {
    let session = prop::collection::vec((0..4_u8, 0..5_u8), 1..4).prop_map(Identity::Session);
    let conversation = (0..2_u32, 0..2_u8, any::<bool>(), 0..3_u8)
        .prop_map(|(pool, model, thread, value)| Identity::Conversation(pool, model, thread, value));
    let identity = prop_oneof![3 => session, 1 => conversation];
    (0..3_u8, identity, prop::collection::vec(0..6_u8, 0..3)).prop_map(|(tenant, identity, anchors)| Who {
        tenant,
        identity,
        anchors,
    })
}

fn ttl() -> impl Strategy<Value = u64> {
    prop_oneof![Just(3_600_u64), 60..4_000_u64]
}

fn act() -> impl Strategy<Value = Act> {
    let at = prop_oneof![
        4 => Just(At::Seen),
        2 => Just(At::Pending),
        2 => (0..4_u32).prop_map(At::Account),
    ];
    let complete = (at, ttl(), prop::bool::weighted(0.2), prop::bool::weighted(0.8), prop::option::of(0..6_u8));
    prop_oneof![
        3 => who().prop_map(Act::Begin),
        2 => (0..TURNS).prop_map(Act::Join),
        2 => Just(Act::FindPins),
        4 => Just(Act::Look),
        4 => (0..4_u32, ttl()).prop_map(|(account, ttl)| Act::Reserve { account, ttl }),
        3 => (0..4_u32).prop_map(Act::Pend),
        1 => Just(Act::Fail),
        6 => complete.prop_map(|(at, ttl, pinned, inserts, issued)| Act::Complete { at, ttl, pinned, inserts, issued }),
        1 => (0..4_u32, 0..6_u8, any::<bool>())
            .prop_map(|(account, issued, planned)| Act::Record { account, issued, planned }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let day = 24 * 3_600_000_u64;
    prop_oneof![
        20 => (0..TURNS, act()).prop_map(|(turn, act)| Step::Turn(turn, act)),
        5 => (0..TURNS, who(), 0..4_u32, ttl()).prop_map(|(turn, who, at, ttl)| Step::Serve(turn, who, at, ttl)),
        3 => (0..TURNS, 0..TURNS, act(), act()).prop_map(|(one, other, a, b)| Step::Meet(one, other, a, b)),
        3 => prop::collection::vec((0..TURNS, act()), 2..4).prop_map(Step::Race),
        1 => (0..4_u32).prop_map(Step::EraseAccount),
        1 => (0..3_u8).prop_map(Step::EraseTenant),
        1 => (0..2_u32).prop_map(Step::ErasePool),
        1 => (0..TURNS).prop_map(Step::EraseRow),
        1 => Just(Step::Purge),
        1 => Just(Step::Flush),
        3 => prop_oneof![8 => 0..2_000_000_u64, 1 => 10 * day..31 * day].prop_map(Step::Pass),
        1 => (0..2_000_000_u64).prop_map(Step::SetBack),
        3 => (1..6_u8).prop_map(Step::Commit),
        2 => Just(Step::Sync),
        1 => Just(Step::Crash),
        1 => Just(Step::Restart),
    ]
}

fn caps() -> impl Strategy<Value = Caps> {
    prop_oneof![
        Just(Caps { total: 12, tenant: 6 }),
        Just(Caps { total: 30, tenant: 20 }),
        Just(Caps { total: 5, tenant: 5 }),
        Just(Caps { total: 1_000, tenant: 1_000 }),
    ]
}

/// Scripts of up to `steps` steps.
///
/// Two rows never expire in the same millisecond but by rare chance; which one a cap then takes is the model's affair.
pub fn script(steps: usize) -> impl Strategy<Value = Script> {
    (caps(), prop::collection::vec(step(), 1..=steps)).prop_map(|(caps, steps)| Script { caps, steps })
}
