//! B4.

use homing_core::row::State;
use homing_core::store::{Answer, Op};

use super::{Oracle, Verdict, must};
use crate::event::Event;
use crate::history::Story;
use crate::scope::StoreKind;
use crate::world::Moment;

pub(super) const ORACLE: Oracle = Oracle {
    id: "B4",
    says: "A new session is reserved before its first attempt, and whoever finds the reservation tries its account first.",
    see,
};

fn see(event: &Event, moment: &Moment<'_>) -> Verdict {
    match event {
        Event::Did { turn, op: Op::Reserve { account, .. }, answer: Some(Answer::Reserved(view)) } => {
            let stands = moment.row(view).is_some_and(|row| row.state == State::Reserved && row.account == *account);
            must(stands, || format!("{turn:?} was told that it reserved {account:?}, but no such row stands"))
        }
        Event::Dial { turn, account, .. } => match moment.history.story(*turn) {
            Some(story) if story.identified() && !story.pinned() => dial(event, story, *account, moment),
            _ => Ok(()),
        },
        Event::Row { before: Some(before), after: Some(after), .. } => {
            let renewed = after.state == State::Reserved && after.expires > before.expires;
            must(!renewed, || format!("the reservation {:?} was renewed", after.id))
        }
        _ => Ok(()),
    }
}

fn dial(event: &Event, story: &Story, account: homing_core::ids::AccountId, moment: &Moment<'_>) -> Verdict {
    if story.attempts.is_empty() {
        if let Some((Op::Reserve { .. }, Answer::Reserved(view))) = story.told.last()
            && moment.scope.store == StoreKind::Racing
            && moment.row(view).is_some()
        {
            let committed = moment.disk.rows().any(|row| row.id == view.fence.id);
            must(committed, || format!("{:?} dials before its reservation is committed", event.turn()))?;
        }
        let off = moment.settings.ttl_of(story.request.keys.policy()).is_none();
        // Who lost the race to leave a row that went meanwhile goes on without writing (B5).
        let outrun = story.told.iter().any(|told| matches!(told, (Op::Pend { .. }, Answer::Raced)));
        let unwritten =
            !off && !outrun && matches!(story.told.last(), None | Some((_, Answer::Looked { view: None, .. })));
        must(!unwritten, || format!("{:?} starts its first attempt without a reservation", event.turn()))?;
    }
    let Some((Op::Look | Op::Reserve { .. }, _)) = story.told.last() else { return Ok(()) };
    let Some(view) = story.last_view().filter(|v| v.state == State::Reserved) else { return Ok(()) };
    let skipped = account != view.account
        && !story.tried(account)
        && !story.tried(view.account)
        && moment.serves(view.account, story);
    must(!skipped, || {
        format!("{:?} goes to {account:?} though {:?} is reserved and serves", event.turn(), view.account)
    })
}
