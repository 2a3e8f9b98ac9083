//! Liveness (spec §7).

use super::{Oracle, Verdict, must};
use crate::event::Event;
use crate::world::Moment;

pub(super) const ORACLE: Oracle = Oracle {
    id: "LIVE",
    says: "With the faults over and the accounts able to serve, every request ends, every session settles on one account, every expired row goes.",
    see,
};

fn see(event: &Event, _: &Moment<'_>) -> Verdict {
    let Event::Settled(Some(unmet)) = event else { return Ok(()) };
    must(false, || unmet.clone())
}
