//! B2.

use homing_core::fleet::Standing;

use super::{Oracle, Verdict, must};
use crate::event::Event;
use crate::world::Moment;

pub(super) const ORACLE: Oracle = Oracle {
    id: "B2",
    says: "No attempt starts on an account that is not eligible at that moment; a binding never brings one back.",
    see,
};

fn see(event: &Event, moment: &Moment<'_>) -> Verdict {
    let Event::Dial { turn, account, .. } = event else { return Ok(()) };
    let Some(story) = moment.history.story(*turn) else { return Ok(()) };
    let known = moment.fleet.get(*account);
    if story.tried(*account) {
        // The one repeat: what happened to the account meanwhile may be the very reason, but its owner's word counts.
        let off = known.is_some_and(|a| a.standing == Standing::Disabled);
        return must(!off, || format!("{turn:?} repeats on {account:?}, which its owner switched off"));
    }
    let eligible = known.is_some_and(|a| a.eligible(story.request.model, moment.now));
    must(eligible, || format!("{turn:?} goes to {account:?}, which is not eligible: {known:?}"))
}
