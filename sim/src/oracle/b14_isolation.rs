//! B14.

use super::{Oracle, Verdict, must, only_written, view_of};
use crate::event::{Cause, Event};
use crate::world::Moment;

pub(super) const ORACLE: Oracle =
    Oracle { id: "B14", says: "No request of one tenant is told of, goes by, or changes another tenant's row.", see };

fn see(event: &Event, moment: &Moment<'_>) -> Verdict {
    let Some(turn) = event.turn() else { return Ok(()) };
    let Some(tenant) = moment.history.story(turn).map(|s| s.request.tenant) else { return Ok(()) };
    match event {
        Event::Did { answer: Some(answer), .. } | Event::Landed { answer: Some(answer), .. } => {
            let foreign = view_of(answer).and_then(|v| moment.row(&v)).filter(|row| row.tenant != tenant);
            must(foreign.is_none(), || format!("{turn:?} of {tenant:?} was told of {foreign:?}"))
        }
        Event::Row { cause: Cause::Op(..), before, after: Some(after) } => {
            let kept = before.as_ref().is_some_and(|b| only_written(b, after));
            must(kept || after.tenant == tenant, || format!("{turn:?} of {tenant:?} wrote {after:?}"))
        }
        _ => Ok(()),
    }
}
