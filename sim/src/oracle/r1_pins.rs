//! R1.

use super::{Oracle, Verdict, must};
use crate::event::Event;
use crate::world::Moment;

pub(super) const ORACLE: Oracle =
    Oracle { id: "R1", says: "A request with a hard pin is tried on the pinned account and nowhere else.", see };

fn see(event: &Event, moment: &Moment<'_>) -> Verdict {
    let Event::Dial { turn, account, .. } = event else { return Ok(()) };
    let pin = moment.history.story(*turn).and_then(|s| s.request.pin);
    must(pin.is_none_or(|pin| pin == *account), || format!("{turn:?} is pinned to {pin:?} and goes to {account:?}"))
}
