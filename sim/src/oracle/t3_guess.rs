//! T3: an outage of the shared store.

use homing_core::store::Op;
use homing_core::turn::Reason;

use super::{Oracle, Verdict, must};
use crate::event::Event;
use crate::world::Moment;

pub(super) const ORACLE: Oracle = Oracle {
    id: "T3",
    says: "A request that had to guess its home goes where its process last saw it, and binds nothing.",
    see,
};

fn see(event: &Event, moment: &Moment<'_>) -> Verdict {
    match event {
        Event::Dial { turn, account, reason: Reason::Guessed, .. } => {
            let Some(story) = moment.history.story(*turn).filter(|story| !story.tried(*account)) else { return Ok(()) };
            let seen = story.request.last_seen.filter(|seen| moment.serves(*seen, story) && !story.tried(*seen));
            must(seen.is_none_or(|seen| seen == *account), || {
                format!("{turn:?} guesses {account:?}; its process last saw it at {seen:?}, which serves")
            })
        }
        Event::Did { turn, op: op @ (Op::Reserve { .. } | Op::Pend { .. } | Op::Complete { .. }), .. } => {
            let guessed = moment.history.story(*turn).map(|story| story.attempts.iter());
            let guessed = guessed.is_some_and(|mut attempts| attempts.any(|a| a.reason == Reason::Guessed));
            must(!guessed, || format!("{turn:?} guessed its home and asked the store to {op:?}"))
        }
        _ => Ok(()),
    }
}
