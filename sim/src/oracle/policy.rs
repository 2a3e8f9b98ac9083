//! The two policies of spec §2.

use homing_core::row::Row;
use homing_core::store::{Answer, Op};

use super::{Oracle, Verdict, must, view_of};
use crate::event::{Cause, Event};
use crate::history::Story;
use crate::world::Moment;

pub(super) const ORACLE: Oracle = Oracle {
    id: "POLICY",
    says: "Where its policy is on, a conversation counts instead of the session: a request reads and writes rows of the one policy that counts, under keys of its own.",
    see,
};

fn see(event: &Event, moment: &Moment<'_>) -> Verdict {
    match event {
        Event::Row { cause: Cause::Op(turn, op), before, after: Some(after) } if !eviction(before.as_ref(), after) => {
            let Some(story) = moment.history.story(*turn) else { return Ok(()) };
            let foreign = after.keys.iter().find(|k| !story.request.keys.has(&k.digest));
            must(fits(after, story), || format!("{turn:?} wrote {after:?} by {op:?}, a row of the other policy"))?;
            must(before.is_some() || foreign.is_none(), || {
                format!("{turn:?} made {after:?} under keys it did not send")
            })
        }
        Event::Did { turn, answer: Some(answer @ (Answer::Looked { .. } | Answer::Found(_))), .. } => {
            let Some(story) = moment.history.story(*turn) else { return Ok(()) };
            let row = view_of(answer).and_then(|view| moment.row(&view));
            must(row.is_none_or(|row| fits(row, story)), || {
                format!("{turn:?} was shown {row:?}, a row of the other policy")
            })
        }
        // B8: what expired under an old plan stays gone.
        Event::Row {
            cause: Cause::Op(turn, Op::Complete { fence: Some(_), .. }),
            before: None,
            after: Some(after),
        } => must(after.pool.is_none(), || format!("{turn:?} brought a conversation back that had expired: {after:?}")),
        _ => Ok(()),
    }
}

fn fits(row: &Row, story: &Story) -> bool {
    row.policy() == story.request.keys.policy() && row.pool == story.request.keys.pool()
}

/// Whether all that happened is that a longer life was written down.
fn eviction(before: Option<&Row>, after: &Row) -> bool {
    before.is_some_and(|before| super::only_written(before, after))
}
