//! B1.

use homing_core::store::Op;

use super::{Oracle, Verdict, must};
use crate::event::Event;
use crate::world::Moment;

pub(super) const ORACLE: Oracle =
    Oracle { id: "B1", says: "A request without identity asks for no row and makes none.", see };

fn see(event: &Event, moment: &Moment<'_>) -> Verdict {
    let Event::Did { turn, op: op @ (Op::Look | Op::Reserve { .. } | Op::Pend { .. } | Op::Complete { .. }), .. } =
        event
    else {
        return Ok(());
    };
    let named = moment.history.story(*turn).is_some_and(|story| !story.request.keys.is_empty());
    must(named, || format!("{turn:?} has no identity and asked the store to {op:?}"))
}
