//! A shared store across a network: statements that land late or never, a store that is away, a store that begins again.

use homing_core::store::{Answer, Op};
use homing_core::turn::Request;

use super::World;
use crate::ask::Anchors;
use crate::event::{Cause, Event, ProcessId, TurnId};

/// Most statements under way that nobody waits for; of more, the surplus never arrives.
const FLYING_MAX: usize = 4;

/// What a turn asked of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Statement {
    pub(crate) turn: TurnId,
    pub(crate) process: ProcessId,
    pub(crate) request: Request,
    pub(crate) anchors: Anchors,
    pub(crate) op: Op,
}

/// Whether it changes anything.
pub(super) const fn writes(op: &Op) -> bool {
    match op {
        Op::Reserve { .. } | Op::Pend { .. } | Op::Complete { .. } | Op::Record { .. } => true,
        Op::FindPins | Op::Look => false,
    }
}

impl World {
    /// Whether one more statement may be left behind.
    pub(crate) fn may_fly(&self) -> bool {
        self.racing() && !self.store.away && self.store.flying.len() < FLYING_MAX
    }

    /// The turn gives up waiting, and what it asked stays under way.
    pub(crate) fn linger(&mut self, id: TurnId) {
        let Some(op) = self.open(id).and_then(Self::op_of) else { return };
        self.let_fly(id);
        self.tell_unknown(id, op);
    }

    /// Leaves behind what the turn asked of the store, where it is a write.
    pub(crate) fn let_fly(&mut self, id: TurnId) {
        let Some(open) = self.turns.get(&id) else { return };
        let Some(op) = Self::op_of(open).filter(writes) else { return };
        if self.may_fly() {
            let statement =
                Statement { turn: id, process: open.process, request: *open.turn.request(), anchors: open.anchors, op };
            self.store.flying.push(statement);
            self.emit(Event::LeftBehind { turn: id, op });
        }
    }

    /// A statement that was left behind is carried out, whoever sent it.
    pub(crate) fn land(&mut self, place: u8) {
        if usize::from(place) < self.store.flying.len() && !self.store.away {
            let statement = self.store.flying.remove(usize::from(place));
            if let Some(answer) = self.execute(&statement) {
                let Statement { turn, op, .. } = statement;
                self.emit(Event::Landed { turn, op, answer: Some(answer) });
                self.collect(Cause::Op(turn, op));
            }
        }
    }

    /// A statement that was left behind never arrives.
    pub(crate) fn drop_statement(&mut self, place: u8) {
        if usize::from(place) < self.store.flying.len() {
            let Statement { turn, op, .. } = self.store.flying.remove(usize::from(place));
            self.emit(Event::Landed { turn, op, answer: None });
        }
    }

    /// The shared store cannot be reached: what it had answered is lost with the connections.
    pub(crate) fn outage(&mut self) {
        self.store.away = true;
        self.cut_connections();
        self.emit(Event::Outage);
    }

    /// It is back.
    pub(crate) fn recover(&mut self) {
        self.store.away = false;
        self.emit(Event::Recovered);
    }

    /// It begins again: what was committed is there, what was under way is gone.
    pub(crate) fn reboot(&mut self) {
        self.cut_connections();
        while !self.store.flying.is_empty() {
            self.drop_statement(0);
        }
        let refused = self.restore();
        self.store.away = false;
        self.emit(Event::Rebooted(refused));
        self.collect(Cause::Reboot);
    }

    fn cut_connections(&mut self) {
        for late in self.turns.values_mut().filter_map(|open| open.late.as_mut()) {
            *late = Answer::Unknown;
        }
    }
}
