//! B10.

use homing_core::key::{Key, Keys};
use homing_core::row::{KEYS_PER_ROW, Row};
use homing_core::store::{Answer, Op};

use super::{Oracle, Verdict, must};
use crate::event::{Cause, Event};
use crate::world::Moment;

pub(super) const ORACLE: Oracle = Oracle {
    id: "B10",
    says: "A session is found by its strongest key, joined through a weaker one only where the row owns no stronger value of another, and no key is stolen.",
    see,
};

fn see(event: &Event, moment: &Moment<'_>) -> Verdict {
    match event {
        Event::Did { turn, op: Op::Look, answer: Some(Answer::Looked { view, .. }) } => {
            let Some(story) = moment.history.story(*turn) else { return Ok(()) };
            let right = session(&story.request.keys, moment).map(|row| row.id);
            let found = view.map(|v| v.fence.id);
            must(right == found, || format!("{turn:?} found {found:?}; its session is {right:?}"))
        }
        // A crash may take back what was not durable yet (B15).
        Event::Row { cause: Cause::Restart, .. } => Ok(()),
        Event::Row { cause, before, after: Some(after) } => keys(cause, before.as_ref(), after, moment),
        _ => Ok(()),
    }
}

/// The rule, written down a second time: the strongest key that leads to a live row the request may join.
fn session<'a>(keys: &Keys, moment: &Moment<'a>) -> Option<&'a Row> {
    let owner = |key: &Key| {
        let mut rows = moment.table?.rows();
        rows.find(|row| row.live(moment.store_now) && row.keys.has(&key.digest))
    };
    let foreign = |row: &Row, key: &Key| row.keys.iter().any(|k| k.kind < key.kind && !keys.has(&k.digest));
    let strongest = keys.iter().next()?;
    keys.iter().find_map(|key| owner(&key).filter(|row| key == strongest || !foreign(row, &key)))
}

fn keys(cause: &Cause, before: Option<&Row>, after: &Row, moment: &Moment<'_>) -> Verdict {
    must(after.keys.count() <= KEYS_PER_ROW, || format!("{:?} has {} keys", after.id, after.keys.count()))?;
    let others = || moment.table.into_iter().flat_map(|t| t.rows()).filter(|r| r.id != after.id);
    let shared = others().find(|r| r.keys.iter().any(|k| after.keys.has(&k.digest)));
    must(shared.is_none(), || format!("{:?} and {:?} own one key", after.id, shared.map(|r| r.id)))?;
    let Some(before) = before else { return Ok(()) };
    let lost = before.keys.iter().any(|k| !after.keys.has(&k.digest));
    must(!lost, || format!("a key of the live {:?} was taken", before.id))?;
    let mut new = after.keys.iter().filter(|k| !before.keys.has(&k.digest));
    let own = |k: &Key| match cause {
        Cause::Op(turn, Op::Complete { .. }) => {
            moment.history.story(*turn).is_some_and(|s| s.request.keys.has(&k.digest))
        }
        _ => false,
    };
    must(new.all(own), || format!("{:?} got keys that no success of its session brought", after.id))
}
