//! B5.

use homing_core::row::{Fence, Row, State, View};
use homing_core::store::{Answer, Op};
use homing_core::turn::Note;

use super::{Oracle, Verdict, must, view_of};
use crate::event::{Cause, Event};
use crate::history::Story;
use crate::world::Moment;

pub(super) const ORACLE: Oracle = Oracle {
    id: "B5",
    says: "A home is made or moved only by a success under the current generation, and whoever leaves it agrees with the others where to go.",
    see,
};

fn see(event: &Event, moment: &Moment<'_>) -> Verdict {
    match event {
        Event::Row { cause: Cause::Op(turn, op), before, after: Some(after) } => {
            if let Op::Complete { account, .. } = op {
                let served = moment.history.story(*turn).and_then(|s| s.served);
                let moved = before.as_ref().is_none_or(|b| b.generation != after.generation);
                must(!moved || served == Some(*account), || {
                    format!("{:?} is bound to {account:?}, where {turn:?} did not succeed", after.id)
                })?;
            }
            match before {
                Some(before) => change(before, after, op),
                None => made(after, op),
            }
        }
        Event::Did { turn, op: Op::Pend { .. }, answer: Some(answer) } => match view_of(answer) {
            Some(view) => must(moment.row(&view).is_some_and(|row| row.view() == view), || {
                format!("{turn:?} was told {answer:?}, which is not what stands")
            }),
            None => Ok(()),
        },
        Event::Noted(turn, Note::Diverts { .. }) => diverts(*turn, moment),
        Event::Dial { turn, account, .. } => dial(*turn, *account, moment),
        _ => Ok(()),
    }
}

fn made(row: &Row, op: &Op) -> Verdict {
    let right = match op {
        Op::Reserve { account, .. } => row.state == State::Reserved && row.account == *account,
        Op::Complete { account, .. } => row.state == State::Bound && row.account == *account,
        Op::FindPins | Op::Look | Op::Pend { .. } | Op::Record { .. } => false,
    };
    must(right && row.pending.is_none(), || format!("{op:?} made {row:?}"))
}

fn change(before: &Row, after: &Row, op: &Op) -> Verdict {
    let current = Fence { id: before.id, generation: before.generation };
    let raised = after.generation.0 == before.generation.0 + 1;
    let moved = before.account != after.account || before.state != after.state;
    must(!moved || raised, || format!("{:?} moved without a new generation by {op:?}", before.id))?;
    if before.generation != after.generation {
        let by_success =
            matches!(op, Op::Complete { fence: Some(f), account, .. } if *f == current && *account == after.account);
        return must(by_success && raised && after.pending.is_none() && after.state == State::Bound, || {
            format!("{:?} got generation {:?} by {op:?}", before.id, after.generation)
        });
    }
    let agreed = before.pending == after.pending
        || matches!(op, Op::Pend { fence, expect, next }
            if *fence == current && *expect == before.pending && after.pending == Some(*next));
    must(agreed, || format!("{:?}: pending {:?} became {:?} by {op:?}", before.id, before.pending, after.pending))
}

/// Who lost and does not follow goes on without writing.
fn diverts(turn: crate::event::TurnId, moment: &Moment<'_>) -> Verdict {
    let Some(story) = moment.history.story(turn) else { return Ok(()) };
    let Some(view) = winner(story) else { return Ok(()) };
    let follows = view
        .is_some_and(|v| story.attempts.last().is_some_and(|a| a.account == v.account || v.pending == Some(a.account)));
    must(follows, || format!("{turn:?} lost the race, does not follow {view:?} and proposes another account"))
}

/// What a turn that lost the last race for where it goes read of the winner: with the answer, or in a new statement.
fn winner(story: &Story) -> Option<Option<View>> {
    match story.told.as_slice() {
        [.., (_, Answer::Lost(view))] => Some(*view),
        [before @ .., (_, Answer::Looked { view, .. })] => {
            let unknown = |told: &&(Op, Answer)| matches!(told, (Op::Look, Answer::Unknown));
            let last = before.iter().rev().find(|told| !unknown(told));
            matches!(last, Some((Op::Pend { .. }, Answer::Raced))).then_some(*view)
        }
        _ => None,
    }
}

fn dial(turn: crate::event::TurnId, account: homing_core::ids::AccountId, moment: &Moment<'_>) -> Verdict {
    let Some(story) = moment.history.story(turn) else { return Ok(()) };
    let Some(view) = story.last_view() else { return Ok(()) };
    if story.pinned() || story.tried(account) {
        return Ok(());
    }
    let agreed = account == view.account || view.pending == Some(account);
    let lost = story.told.iter().any(|told| matches!(told, (_, Answer::Lost(_)) | (Op::Pend { .. }, Answer::Raced)));
    must(agreed || lost, || format!("{turn:?} leaves {:?} for {account:?} and told nobody", view.account))
}
