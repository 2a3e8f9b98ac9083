//! B11.

use homing_core::fleet::Standing;
use homing_core::row::Scope as Erasure;

use super::{Oracle, Verdict, must};
use crate::event::{Cause, Event};
use crate::world::Moment;

pub(super) const ORACLE: Oracle = Oracle {
    id: "B11",
    says: "From the moment an account is gone no attempt on it starts; only then are its bindings erased, and no success from before binds to it again.",
    see,
};

fn see(event: &Event, moment: &Moment<'_>) -> Verdict {
    match event {
        Event::Dial { turn, account, .. } => {
            let gone = moment.placed.get(account).is_none_or(|s| *s == Standing::Gone);
            must(!gone, || format!("{turn:?} goes to {account:?}, which is gone"))
        }
        Event::Erased(Erasure::Account(account), _) => {
            let gone = moment.directory.get(account).is_none_or(|s| *s == Standing::Gone);
            must(gone, || format!("{account:?} is there, and its bindings were erased"))?;
            let left = moment.table.into_iter().flat_map(|t| t.rows()).find(|row| row.account == *account);
            must(left.is_none(), || format!("{left:?} survived the erasure of its account"))
        }
        Event::Row { cause: Cause::Op(turn, _), before, after: Some(after) } => {
            if before.as_ref().is_some_and(|b| b.account == after.account) {
                return Ok(());
            }
            let planned = moment.history.story(*turn).and_then(|s| s.planned).unwrap_or(u64::MAX);
            let erased = moment.history.erased_since(planned, |scope| *scope == Erasure::Account(after.account));
            must(!erased, || format!("{turn:?} bound {:?} to {:?}, erased since its plan", after.id, after.account))
        }
        _ => Ok(()),
    }
}
