//! Which account and which row an event is about, for whoever draws it.

use homing_core::ids::{AccountId, RowId};
use homing_core::store::{Answer, Op};

use crate::event::Event;

/// The account it is about.
pub(super) const fn account(event: &Event) -> Option<AccountId> {
    match *event {
        Event::Dial { account, .. }
        | Event::Served(_, account)
        | Event::Failed(_, account, _)
        | Event::Renews(_, account)
        | Event::Renewed(_, account, _)
        | Event::Stands(account, _)
        | Event::Placed(account, _) => Some(account),
        Event::Replaced { old, .. } => Some(old),
        _ => None,
    }
}

/// The row it changes, else the row the store speaks of, else the row the operation depends on.
pub(super) fn row(event: &Event) -> Option<RowId> {
    match event {
        Event::Row { before, after, .. } => after.as_ref().or(before.as_ref()).map(|row| row.id),
        Event::Did { op, answer, .. } | Event::Landed { op, answer, .. } => {
            answer.as_ref().and_then(told).or_else(|| fenced(op))
        }
        Event::LeftBehind { op, .. } => fenced(op),
        Event::Told { answer, .. } => told(answer),
        _ => None,
    }
}

fn told(answer: &Answer) -> Option<RowId> {
    match *answer {
        Answer::Looked { view, .. } | Answer::Lost(view) => view.map(|v| v.fence.id),
        Answer::Reserved(view) | Answer::Found(view) | Answer::Pended(view) => Some(view.fence.id),
        _ => None,
    }
}

fn fenced(op: &Op) -> Option<RowId> {
    match *op {
        Op::Pend { fence, .. } => Some(fence.id),
        Op::Complete { fence, .. } => fence.map(|f| f.id),
        _ => None,
    }
}
