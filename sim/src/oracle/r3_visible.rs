//! R3.

use super::{Oracle, Verdict, must};
use crate::event::Event;
use crate::world::Moment;

pub(super) const ORACLE: Oracle =
    Oracle { id: "R3", says: "Once visible output reached the client nothing is tried again.", see };

fn see(event: &Event, moment: &Moment<'_>) -> Verdict {
    let Event::Dial { turn, account, .. } = event else { return Ok(()) };
    let shown = moment.history.story(*turn).is_some_and(|s| s.shown);
    must(!shown, || format!("{turn:?} goes to {account:?} after visible output"))
}
