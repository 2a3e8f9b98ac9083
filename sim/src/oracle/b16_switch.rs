//! B16.

use super::{Oracle, Verdict, must};
use crate::event::Event;
use crate::world::Moment;

pub(super) const ORACLE: Oracle =
    Oracle { id: "B16", says: "A request that came while the policy was off reads and writes no row.", see };

fn see(event: &Event, moment: &Moment<'_>) -> Verdict {
    let Event::Did { turn, op, .. } = event else { return Ok(()) };
    let on = moment.history.story(*turn).is_none_or(|story| story.affinity);
    must(on, || format!("{turn:?} asked the store to {op:?} with the policy off"))
}
