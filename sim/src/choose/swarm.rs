//! Swarm runs: the whole world is drawn, and only some kinds of trouble happen in it, so that those that do go far.

use super::Chooser;
use super::seeded::{Weights, draw_weights, pick_by_class};
use crate::action::{Action, Refreshed};
use crate::rng::Rng;
use crate::scope::SWARM;

/// Swarm runs.
#[derive(Clone, Debug)]
pub struct Swarm {
    rng: Rng,
    weights: Weights,
    /// One bit for each kind of step that can be left out.
    kinds: u64,
}

impl Swarm {
    /// The run of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let weights = draw_weights(&mut rng);
        // A quarter, a half or three quarters of the kinds are on.
        let (a, b) = (rng.word(), rng.word());
        let kinds = [a & b, a, a | b].get(rng.below(3) as usize).copied().unwrap_or(a);
        Self { rng, weights, kinds }
    }
}

impl Chooser for Swarm {
    fn pick(&mut self, enabled: &[Action]) -> Option<usize> {
        if let Some(at) = enabled.iter().position(|a| *a == Action::Setup(SWARM)) {
            return Some(at);
        }
        let kinds = self.kinds;
        let on = |action: &Action| kind(action).is_none_or(|bit| (kinds >> bit) & 1 == 1);
        pick_by_class(&mut self.rng, &self.weights, enabled, on)
    }
}

/// The bit of a kind that a run may do without.
const fn kind(action: &Action) -> Option<u32> {
    match action {
        Action::Fail(_, fault) => Some(*fault as u32),
        Action::Refresh(_, Refreshed::Refused) => Some(20),
        Action::Refresh(_, Refreshed::Unavailable) => Some(21),
        Action::HangUp(_) => Some(22),
        Action::GiveUpWaiting(_) => Some(23),
        Action::LoseRequest(_) => Some(24),
        Action::LoseReply(_) => Some(25),
        Action::Apply(_) => Some(26),
        Action::Show(_) => Some(27),
        Action::Disable(_) => Some(28),
        Action::Vanish(_) => Some(29),
        Action::EraseTenant(_) => Some(30),
        Action::ClearRow(_) => Some(31),
        Action::Affinity(_, false) => Some(32),
        Action::WallBack(_) => Some(33),
        Action::Crash(_) => Some(34),
        Action::Tick(_) => Some(35),
        Action::Purge => Some(36),
        Action::Flush => Some(37),
        Action::Ask(_, ask) => match ask.oddity {
            crate::ask::Oddity::Plain => None,
            crate::ask::Oddity::Model | crate::ask::Oddity::OtherModel => Some(38),
            crate::ask::Oddity::Once => Some(39),
            crate::ask::Oddity::Pinned(_) => Some(40),
            crate::ask::Oddity::Issues | crate::ask::Oddity::Continues => Some(48),
            crate::ask::Oddity::Foreign | crate::ask::Oddity::Mixed => Some(49),
        },
        Action::Linger(_) => Some(41),
        Action::Outage => Some(42),
        Action::Reboot => Some(43),
        Action::WallForth(_) => Some(44),
        Action::Replace(_) => Some(45),
        Action::RemoveAccount(_) => Some(46),
        Action::ResetKey(_) => Some(47),
        Action::Drain(_) => Some(50),
        Action::MovePool(_) => Some(51),
        Action::ErasePool => Some(52),
        Action::Talk(_, false) => Some(53),
        _ => None,
    }
}
