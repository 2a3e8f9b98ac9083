//! B9.

use homing_core::turn::Note;

use super::{Oracle, Verdict, must};
use crate::event::{Cause, Event};
use crate::world::Moment;

pub(super) const ORACLE: Oracle = Oracle {
    id: "B9",
    says: "A home that serves is not left, however good another account is again: only who tried it or found it out of service moves it.",
    see,
};

fn see(event: &Event, moment: &Moment<'_>) -> Verdict {
    match event {
        Event::Noted(turn, Note::Diverts { from, .. }) => {
            let Some(story) = moment.history.story(*turn) else { return Ok(()) };
            let reason = story.tried(*from) || !moment.serves(*from, story);
            must(reason, || format!("{turn:?} leaves {from:?}, which serves and was not tried"))
        }
        Event::Row { cause: Cause::Op(turn, _), before: Some(before), after: Some(after) } => {
            if before.account == after.account {
                return Ok(());
            }
            let Some(story) = moment.history.story(*turn) else { return Ok(()) };
            let knew = story.told.iter().filter_map(|(_, answer)| super::view_of(answer));
            let knew = knew.into_iter().any(|v| v.fence == before.view().fence && v.account == before.account);
            must(knew, || format!("{turn:?} moved the home {:?} without having known it", before.account))
        }
        _ => Ok(()),
    }
}
