//! B7.

use homing_core::row::State;
use homing_core::store::Op;

use super::{Oracle, Verdict, must};
use crate::event::{Cause, Event};
use crate::world::Moment;

pub(super) const ORACLE: Oracle =
    Oracle { id: "B7", says: "Only a success extends a life, and stored times never go back.", see };

fn see(event: &Event, moment: &Moment<'_>) -> Verdict {
    let Event::Row { cause, before: Some(before), after: Some(after) } = event else { return Ok(()) };
    if *cause == Cause::Restart {
        return Ok(());
    }
    let back = after.expires < before.expires || after.renewed < before.renewed || after.created != before.created;
    must(!back, || format!("a time of {:?} went back: {before:?} became {after:?}", before.id))?;
    if after.expires == before.expires {
        return Ok(());
    }
    let success = match cause {
        Cause::Op(turn, Op::Complete { account, .. }) => {
            let served = moment.history.story(*turn).and_then(|s| s.served);
            served == Some(*account) && after.account == *account && after.state == State::Bound
        }
        _ => false,
    };
    must(success, || format!("{:?} lives longer by {cause:?}, which is no success there", after.id))
}
