//! B2.

use homing_core::fleet::Standing;
use homing_core::ids::PoolId;
use homing_core::row::State;

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
    let (model, now) = (story.request.model, moment.now);
    let home = story.last_view().is_some_and(|v| v.state == State::Bound && v.account == *account);
    let keeps = home || story.pin() == Some(*account);
    let eligible = known.is_some_and(|a| if keeps { a.keeps(model, now) } else { a.eligible(model, now) });
    let pools = moment.scope.pools_of(*account);
    let in_pool = pools.contains(&story.request.pool) || (pools.is_empty() && story.request.pool == PoolId::DEFAULT);
    must(in_pool, || format!("{turn:?} goes to {account:?}, which is not in {:?}", story.request.pool))?;
    must(eligible, || format!("{turn:?} goes to {account:?}, which is not eligible: {known:?}"))
}
