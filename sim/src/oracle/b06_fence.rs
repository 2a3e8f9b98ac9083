//! B6.

use homing_core::row::Row;
use homing_core::store::Op;

use super::{Oracle, Verdict, must, only_written};
use crate::event::{Cause, Event};
use crate::world::Moment;

pub(super) const ORACLE: Oracle = Oracle {
    id: "B6",
    says: "An old completion never moves a row, a completion never touches a row it did not see, and no row id is given out twice.",
    see,
};

fn see(event: &Event, moment: &Moment<'_>) -> Verdict {
    match event {
        Event::Row { cause: Cause::Restart, .. } => Ok(()),
        Event::Row { before: None, after: Some(after), .. } => {
            let last = moment.history.last_id;
            must(after.id > last, || format!("row id {:?} was given out before ({last:?} was the last)", after.id))
        }
        Event::Row { cause: Cause::Op(_, op), before: Some(before), after: Some(after) } => {
            completion(before, after, op)
        }
        _ => Ok(()),
    }
}

fn completion(before: &Row, after: &Row, op: &Op) -> Verdict {
    let Op::Complete { fence, account, .. } = op else { return Ok(()) };
    if only_written(before, after) {
        return Ok(());
    }
    let Some(fence) = fence.filter(|f| f.id == before.id) else {
        return Err(format!("{op:?} changed {:?}, which its plan did not see", before.id));
    };
    if fence.generation >= before.generation {
        return Ok(());
    }
    let stays = after.account == before.account && after.state == before.state && after.generation == before.generation;
    must(stays && *account == before.account, || {
        format!("a completion of generation {:?} changed {before:?} to {after:?}", fence.generation)
    })
}
