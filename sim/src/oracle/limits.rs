//! The attempt limits of spec §4.

use homing_core::failure::Failure;

use super::{Oracle, Verdict, must};
use crate::event::Event;
use crate::world::Moment;

pub(super) const ORACLE: Oracle = Oracle {
    id: "LIMITS",
    says: "A request tries at most request-retry + 1 accounts, each at most twice, starts no attempt past its deadline, and is not sent again where it cannot be repeated.",
    see,
};

fn see(event: &Event, moment: &Moment<'_>) -> Verdict {
    let Event::Dial { turn, account, .. } = event else { return Ok(()) };
    let Some(story) = moment.history.story(*turn) else { return Ok(()) };
    let distinct = story.distinct() + usize::from(!story.tried(*account));
    let most = moment.scope.attempts();
    must(distinct <= most, || format!("{turn:?} tries {distinct} accounts, {most} are allowed"))?;
    let same = story.attempts.iter().filter(|a| a.account == *account).count() + 1;
    must(same <= 2, || format!("{turn:?} tries {account:?} {same} times"))?;
    let sent = story.failures.last().is_some_and(|(_, failure)| *failure != Failure::Unreachable);
    must(story.request.repeatable || !sent, || {
        format!("{turn:?} cannot be repeated and is sent to {account:?} again")
    })?;
    let end = story.request.began.plus(moment.scope.settings.request_deadline);
    must(moment.now < end, || format!("{turn:?} starts an attempt {:?} after its deadline", moment.now.since(end)))
}
