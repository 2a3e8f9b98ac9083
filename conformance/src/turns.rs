//! What each turn under way knows: the script acts on that, however stale it has become.

use homing_core::ids::{AccountId, Epoch};
use homing_core::key::Keys;
use homing_core::row::View;
use homing_core::store::{Answer, Op};

use crate::script::{Act, At, TURNS, Who, account, anchor, seconds};
use crate::store::{Call, TENANTS};

/// What a turn last saw, on one side: ids and epochs are that side's own.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sight {
    pub(crate) view: Option<View>,
    epoch: Epoch,
}

impl Sight {
    fn learn(&mut self, answer: &Answer) {
        match answer {
            Answer::Looked { view, epoch } => *self = Self { view: *view, epoch: *epoch },
            Answer::Pins { epoch, .. } => self.epoch = *epoch,
            Answer::Reserved(view) | Answer::Found(view) | Answer::Pended(view) => self.view = Some(*view),
            Answer::Lost(view) => self.view = *view,
            _ => {}
        }
    }
}

/// The two sides of a comparison.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Side {
    Model,
    Store,
}

#[derive(Clone, Debug, Default)]
struct Turn {
    who: Option<Who>,
    model: Sight,
    store: Sight,
}

/// All turns under way.
#[derive(Clone, Debug)]
pub(crate) struct Turns([Turn; TURNS as usize]);

impl Turns {
    pub(crate) fn new() -> Self {
        Self(std::array::from_fn(|_| Turn::default()))
    }

    /// What an act means for who the turn is.
    pub(crate) fn set_out(&mut self, n: u8, act: &Act) {
        let turn = match act {
            Act::Begin(who) => Turn { who: Some(who.clone()), ..Turn::default() },
            Act::Join(other) => self.turn(*other).clone(),
            _ => return,
        };
        *self.turn(n) = turn;
    }

    /// The process dies: what it knew is gone, and the same clients ask again.
    pub(crate) fn forget(&mut self) {
        for turn in &mut self.0 {
            *turn = Turn { who: turn.who.take(), ..Turn::default() };
        }
    }

    pub(crate) fn sight(&mut self, n: u8, side: Side) -> &mut Sight {
        let turn = self.turn(n);
        match side {
            Side::Model => &mut turn.model,
            Side::Store => &mut turn.store,
        }
    }

    pub(crate) fn learn(&mut self, n: u8, model: &Answer, store: &Answer) {
        self.sight(n, Side::Model).learn(model);
        self.sight(n, Side::Store).learn(store);
    }

    /// The operation an act comes to, on each side; `None` where the turn has nothing to ask.
    pub(crate) fn calls(&mut self, n: u8, act: &Act) -> Option<(Call, Call)> {
        Some((self.call(n, act, Side::Model)?, self.call(n, act, Side::Store)?))
    }

    fn call(&mut self, n: u8, act: &Act, side: Side) -> Option<Call> {
        let Sight { view, epoch } = *self.sight(n, side);
        let turn = self.turn(n);
        let op = match act {
            Act::Begin(_) | Act::Join(_) | Act::Fail => return None,
            Act::FindPins => Op::FindPins,
            Act::Look => Op::Look,
            Act::Reserve { account: to, ttl } => Op::Reserve { account: account(*to), seen: epoch, ttl: seconds(*ttl) },
            Act::Pend(next) => {
                let view = view?;
                Op::Pend { fence: view.fence, expect: view.pending, next: account(*next) }
            }
            Act::Complete { at, ttl, pinned, inserts, .. } => Op::Complete {
                fence: view.map(|v| v.fence),
                account: served(*at, view.as_ref()),
                seen: epoch,
                ttl: seconds(*ttl),
                pinned: *pinned,
                inserts: *inserts,
            },
            Act::Record { account: at, planned, .. } => {
                Op::Record { account: account(*at), seen: planned.then_some(epoch) }
            }
        };
        let issued = match act {
            Act::Complete { issued, .. } => issued.and_then(anchor),
            Act::Record { issued, .. } => anchor(*issued),
            _ => None,
        };
        let who = turn.who.as_ref();
        Some(Call {
            tenant: who.map_or(TENANTS[0], Who::tenant),
            keys: who.map_or_else(Keys::default, Who::keys),
            anchors: who.map_or_else(Vec::new, Who::anchors),
            issued,
            op,
        })
    }

    fn turn(&mut self, n: u8) -> &mut Turn {
        &mut self.0[usize::from(n % TURNS)]
    }
}

fn served(at: At, view: Option<&View>) -> AccountId {
    let seen = view.map(|v| v.account);
    match at {
        At::Account(n) => account(n),
        At::Seen => seen.unwrap_or(account(0)),
        At::Pending => view.and_then(|v| v.pending).or(seen).unwrap_or(account(0)),
    }
}
