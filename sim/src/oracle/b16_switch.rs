//! B16.

use homing_core::store::Op;
use homing_core::turn::Note;

use super::{Oracle, Verdict, must};
use crate::event::{Cause, Event};
use crate::world::Moment;

pub(super) const ORACLE: Oracle = Oracle {
    id: "B16",
    says: "A request that came while the policy was off reads and writes no row, and once it is off no plan from before makes a new one.",
    see,
};

fn see(event: &Event, moment: &Moment<'_>) -> Verdict {
    match event {
        Event::Did {
            turn, op: op @ (Op::Look | Op::Reserve { .. } | Op::Pend { .. } | Op::Complete { .. }), ..
        } => {
            let on = moment.history.story(*turn).is_none_or(|story| story.affinity);
            must(on, || format!("{turn:?} asked the store to {op:?} with the policy off"))
        }
        Event::Noted(turn, Note::Reserves(account)) => {
            let policy = moment.history.story(*turn).map(|story| story.request.keys.policy());
            let on = policy.is_none_or(|policy| moment.settings.ttl_of(policy).is_some());
            must(on, || format!("{turn:?} reserves {account:?} after the policy was switched off"))
        }
        Event::Row {
            cause: Cause::Op(turn, Op::Complete { inserts: false, .. }),
            before: None,
            after: Some(after),
        } => Err(format!("{turn:?} was to make no row and made {after:?}")),
        _ => Ok(()),
    }
}
