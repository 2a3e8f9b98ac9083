//! B3.

use homing_core::row::State;
use homing_core::store::Op;

use super::{Oracle, Verdict, must};
use crate::event::Event;
use crate::world::Moment;

pub(super) const ORACLE: Oracle = Oracle {
    id: "B3",
    says: "While the home is eligible and not cooling, every request of the session tries it first.",
    see,
};

fn see(event: &Event, moment: &Moment<'_>) -> Verdict {
    let Event::Dial { turn, account, .. } = event else { return Ok(()) };
    let Some(story) = moment.history.story(*turn) else { return Ok(()) };
    let (Some(view), Some((Op::Look | Op::Reserve { .. }, _))) = (story.last_view(), story.told.last()) else {
        return Ok(());
    };
    if story.pinned() || story.tried(*account) || view.state != State::Bound {
        return Ok(());
    }
    let home = view.account;
    let keeps = moment.fleet.get(home).is_some_and(|a| {
        a.keeps(story.request.model, moment.now) && a.is_in(story.request.pool) && !a.cools(moment.now)
    });
    let skipped = *account != home && keeps && !story.tried(home);
    must(!skipped, || format!("{turn:?} goes to {account:?} though its home {home:?} serves"))
}
