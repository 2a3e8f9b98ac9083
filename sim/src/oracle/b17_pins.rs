//! B17.

use homing_core::store::Op;

use super::{Oracle, Verdict, must};
use crate::event::{Cause, Event};
use crate::world::Moment;

pub(super) const ORACLE: Oracle = Oracle {
    id: "B17",
    says: "A success under a hard pin never moves a row; where there is none it binds to the pinned account.",
    see,
};

fn see(event: &Event, moment: &Moment<'_>) -> Verdict {
    let Event::Row { cause: Cause::Op(turn, op), before, after: Some(after) } = event else { return Ok(()) };
    let Some(pin) = moment.history.story(*turn).and_then(|s| s.pin()) else { return Ok(()) };
    if !matches!(op, Op::Complete { .. }) {
        return Err(format!("{turn:?} is pinned and wrote {after:?} before it succeeded"));
    }
    match before {
        Some(before) => {
            let moved = before.account != after.account;
            must(!moved, || format!("{turn:?}, pinned to {pin:?}, moved {before:?} to {:?}", after.account))
        }
        None => must(after.account == pin, || format!("{turn:?}, pinned to {pin:?}, bound to {:?}", after.account)),
    }
}
