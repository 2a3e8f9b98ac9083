//! B15.

use homing_core::key::Keys;
use homing_core::row::{Row, State};
use homing_core::store::{Answer, Completion, Op};
use homing_core::table::Table;
use homing_core::turn::Outcome;

use super::{Oracle, Verdict, must};
use crate::event::{Event, TurnId};
use crate::history::Story;
use crate::scope::StoreKind;
use crate::world::Moment;

pub(super) const ORACLE: Oracle = Oracle {
    id: "B15",
    says: "When a client saw its end in time, a crash right then and a restart still find the binding, by every key of the request that leads to it.",
    see,
};

fn see(event: &Event, moment: &Moment<'_>) -> Verdict {
    let Some(story) = event.turn().and_then(|turn| moment.history.story(turn)) else { return Ok(()) };
    match event {
        Event::Told { turn, op: Op::Complete { .. }, answer } => told(*turn, answer, story),
        Event::Released(turn, true) => {
            if moment.scope.store == StoreKind::Racing {
                // Whatever is applied is committed; what the end rests on is looked for when it goes out.
                return Ok(());
            }
            let rests = story.wrote.map(|(_, seq)| seq).filter(|seq| *seq > moment.disk.durable());
            must(rests.is_none(), || format!("{turn:?} ends before {rests:?} is durable"))
        }
        Event::Ended(turn, Outcome::Served) if story.released == Some(true) => {
            pin_after_crash(*turn, story, moment)?;
            if story.identified() { after_crash(*turn, story, moment) } else { Ok(()) }
        }
        _ => Ok(()),
    }
}

/// The id that a success brought pins to its account also after a crash, unless its tenant was deleted meanwhile.
fn pin_after_crash(turn: TurnId, story: &Story, moment: &Moment<'_>) -> Verdict {
    let (Some(anchor), Some(_)) = (story.anchors.issued, story.served) else { return Ok(()) };
    let stands = moment.table.and_then(|table| table.pins().find(|pin| pin.anchor == anchor));
    let kept = stands.is_none_or(|pin| moment.disk.pin(&anchor) == Some(pin));
    must(kept, || format!("{turn:?} ended; after a crash the id it brought is not known: {stands:?}"))
}

/// Nobody is told of a write that the store did not make.
fn told(turn: TurnId, answer: &Answer, story: &Story) -> Verdict {
    let wrote = matches!(answer, Answer::Completed { how, .. } if *how != Completion::Stale);
    must(!wrote || story.did == Some(*answer), || {
        format!("{turn:?} was told {answer:?}; the store did {:?}", story.did)
    })
}

/// The twin: what a process that starts from the disk right now would find.
fn after_crash(turn: TurnId, story: &Story, moment: &Moment<'_>) -> Verdict {
    let (Some(table), Some(account)) = (moment.table, story.served) else { return Ok(()) };
    let stale = matches!(story.wrote, Some((Completion::Stale, _)));
    if stale && !story.written {
        // It came too late for its row and rests on nothing.
        return Ok(());
    }
    let (tenant, keys) = (story.request.tenant, story.request.keys);
    // A crash may take a sixteenth off a life; what is left of it has to be found.
    let slack = moment.scope.settings.ttl_of(story.request.keys.policy()).unwrap_or_default().0 / 16;
    // Another row or generation is another turn's business, and so is the life that others added to this one's.
    let own = |row: &Row| {
        story.life.is_some_and(|(fence, life)| fence == row.view().fence && life.0 > moment.store_now.0 + slack)
    };
    let stands = table.session(tenant, &keys, moment.wall);
    let Some(row) = stands.filter(|row| row.state == State::Bound && row.account == account && own(row)) else {
        return Ok(());
    };
    let (twin, _) = moment.disk.restore(moment.scope.caps);
    for key in story.held.iter() {
        let mut alone = Keys::default();
        alone.add(key);
        let found = found(&twin, row, &alone, moment);
        let kept = found
            .is_some_and(|r| r.account == account && story.life.is_none_or(|(_, life)| r.expires.0 + slack >= life.0));
        must(kept, || format!("{turn:?} ended on {account:?}; after a crash its key {key:?} finds {found:?}"))?;
    }
    Ok(())
}

fn found<'a>(twin: &'a Table, row: &Row, keys: &Keys, moment: &Moment<'_>) -> Option<&'a Row> {
    twin.session(row.tenant, keys, moment.wall).filter(|r| r.id == row.id)
}
