//! B8.

use super::{Oracle, Verdict, must, view_of};
use crate::event::{Cause, Event};
use crate::world::Moment;

pub(super) const ORACLE: Oracle =
    Oracle { id: "B8", says: "An expired row is never used, never changed and never revived.", see };

fn see(event: &Event, moment: &Moment<'_>) -> Verdict {
    match event {
        Event::Did { turn, answer: Some(answer), .. } | Event::Landed { turn, answer: Some(answer), .. } => {
            let row = view_of(answer).and_then(|view| moment.row(&view));
            let gone = row.is_some_and(|row| !row.live(moment.store_now));
            must(!gone, || format!("{turn:?} was given {row:?}, which had expired"))
        }
        Event::Row { cause: Cause::Op(..), before: Some(before), after: Some(after) } => {
            let gone = !before.live(moment.store_now) && before.expires != after.expires;
            must(!gone, || format!("the expired {before:?} became {after:?}"))
        }
        _ => Ok(()),
    }
}
