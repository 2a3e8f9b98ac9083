//! R1.

use homing_core::fleet::Account;
use homing_core::ids::AccountId;
use homing_core::pin::{PIN_TTL, Pin, Pinned};
use homing_core::row::Scope as Erasure;
use homing_core::store::{Answer, Op};
use homing_core::turn::Outcome;

use super::{Oracle, Verdict, must};
use crate::event::{Cause, Event, TurnId};
use crate::history::Story;
use crate::world::Moment;

pub(super) const ORACLE: Oracle = Oracle {
    id: "R1",
    says: "A request with a hard pin is tried on the pinned account and nowhere else; an id of another tenant is never dialled, and no pin changes hands while it stands.",
    see,
};

fn see(event: &Event, moment: &Moment<'_>) -> Verdict {
    if let Event::Pin { cause, before, after } = event {
        return changed(*cause, *before, *after, moment);
    }
    let Some((turn, story)) = event.turn().and_then(|turn| Some((turn, moment.history.story(turn)?))) else {
        return Ok(());
    };
    match event {
        Event::Dial { account, .. } => dial(turn, *account, story),
        Event::Told { op: Op::FindPins, answer: Answer::Pins { found, .. }, .. } => {
            let right = story.expected == Some(*found);
            must(right, || format!("{turn:?} was told {found:?}; its ids say {:?}", story.expected))
        }
        Event::Ended(_, outcome) => ended(turn, *outcome, story, moment),
        _ => Ok(()),
    }
}

fn dial(turn: TurnId, account: AccountId, story: &Story) -> Verdict {
    let pin = story.pin();
    must(pin.is_none_or(|pin| pin == account), || format!("{turn:?} is pinned to {pin:?} and goes to {account:?}"))?;
    let barred = matches!(story.expected, Some(Pinned::Foreign { .. } | Pinned::Apart { .. }));
    must(!barred, || format!("{turn:?} is dialled though its ids say {:?}", story.expected))?;
    let unasked = story.request.anchors > 0 && story.expected.is_none();
    must(!unasked, || format!("{turn:?} is dialled though nobody looked whom its ids belong to"))
}

/// The client is told what is so.
fn ended(turn: TurnId, outcome: Outcome, story: &Story, moment: &Moment<'_>) -> Verdict {
    let right = match outcome {
        Outcome::NotFound { anchor } => story.expected == Some(Pinned::Foreign { anchor }),
        Outcome::Apart { anchor } => story.expected == Some(Pinned::Apart { anchor }),
        Outcome::PinsUnknown => story.told.iter().filter(|(_, answer)| *answer == Answer::Unknown).count() > 2,
        Outcome::PinOut { anchor, .. } => match story.expected {
            Some(Pinned::At { account, anchor: place }) => anchor == Some(place) && cannot(account, story, moment),
            _ => anchor.is_none() && story.request.pin.is_some_and(|pin| cannot(pin, story, moment)),
        },
        Outcome::Out(_) => story.pin().is_none(),
        Outcome::Served | Outcome::Relay | Outcome::Unreachable | Outcome::Broken => true,
    };
    must(right, || format!("{turn:?} ended with {outcome:?}, but its ids say {:?}", story.expected))
}

/// Whether the pinned account could not be tried any more.
fn cannot(account: AccountId, story: &Story, moment: &Moment<'_>) -> bool {
    let late = moment.now >= story.request.began.plus(moment.settings.request_deadline);
    let keeps = |a: &Account| a.keeps(story.request.model, moment.now) && a.is_in(story.request.pool);
    late || story.tried(account) || !moment.fleet.get(account).is_some_and(keeps)
}

/// A pin is made by a success of its tenant on its account, stands as it is, and goes by age, by a deletion or for want of room.
fn changed(cause: Cause, before: Option<Pin>, after: Option<Pin>, moment: &Moment<'_>) -> Verdict {
    let now = moment.store_now;
    if cause == Cause::Restart || cause == Cause::Reboot {
        return match after {
            Some(pin) => must(moment.disk.pin(&pin.anchor) == Some(&pin), || format!("{pin:?} came from nowhere")),
            None => Ok(()),
        };
    }
    match (before, after) {
        (old, Some(pin)) => {
            let stands = old.filter(|old| old.live(now));
            must(stands.is_none(), || format!("{old:?} became {pin:?} while it stood"))?;
            let Cause::Op(turn, Op::Complete { account, .. } | Op::Record { account, .. }) = cause else {
                return Err(format!("{pin:?} was made by {cause:?}"));
            };
            let story = moment.history.story(turn);
            let made = story.is_some_and(|story| {
                story.served == Some(account)
                    && story.anchors.issued == Some(pin.anchor)
                    && (pin.tenant, pin.account) == (story.request.tenant, account)
            });
            let lasts = pin.expires == now.plus(PIN_TTL);
            must(made && lasts, || format!("{turn:?} made {pin:?}, which is not what it got"))
        }
        (Some(pin), None) => {
            let deleted = matches!(cause, Cause::Erase(Erasure::Tenant(tenant)) if tenant == pin.tenant);
            let full = moment.table.is_some_and(|table| {
                let held = table.pins().filter(|p| p.tenant == pin.tenant).count();
                let caps = moment.scope.caps;
                matches!(cause, Cause::Op(..)) && (held + 1 >= caps.tenant || table.pin_count() >= caps.total)
            });
            must(deleted || full || !pin.live(now), || format!("{pin:?} went by {cause:?} while it stood"))
        }
        (None, None) => Ok(()),
    }
}
