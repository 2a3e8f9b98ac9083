//! R4.

use homing_core::fleet::{Out, Standing};
use homing_core::time::Millis;
use homing_core::turn::Outcome;

use super::{Oracle, Verdict, must};
use crate::event::{Event, TurnId};
use crate::history::Story;
use crate::world::Moment;

pub(super) const ORACLE: Oracle = Oracle {
    id: "R4",
    says: "A client is told that all accounts are out only when none that would serve was left untried within the limits, and is told when to come back.",
    see,
};

fn see(event: &Event, moment: &Moment<'_>) -> Verdict {
    let Event::Ended(turn, Outcome::Out(out)) = event else { return Ok(()) };
    let pool = moment.history.story(*turn).map(|story| story.request.pool).unwrap_or_default();
    match *out {
        Out::Soon { retry_after } => {
            let sane = retry_after >= Millis::secs(1) && retry_after <= Millis::secs(60);
            must(sane, || format!("{turn:?} was told to come back in {retry_after:?}"))?;
        }
        Out::Spent { until } => {
            must(until > moment.now, || format!("{turn:?} was told of a reset that has passed: {until:?}"))?;
        }
        Out::Empty => {
            let any = moment.fleet.iter().any(|a| a.standing != Standing::Gone && a.is_in(pool));
            must(!any, || format!("{turn:?} was told that there are no accounts"))?;
        }
        Out::NoModel => {
            let any = moment.fleet.iter().any(|a| a.standing == Standing::Usable && a.is_in(pool));
            must(any, || format!("{turn:?} was told of a model that nobody is there to refuse"))?;
        }
        Out::Later => {}
    }
    match moment.history.story(*turn) {
        Some(story) if !story.pinned() => justified(*turn, story, moment),
        _ => Ok(()),
    }
}

fn justified(turn: TurnId, story: &Story, moment: &Moment<'_>) -> Verdict {
    let late = moment.now >= story.request.began.plus(moment.scope.settings.request_deadline);
    if late || story.distinct() >= moment.scope.attempts() {
        return Ok(());
    }
    let mut left = moment.fleet.iter().filter(|a| !story.tried(a.id) && a.is_in(story.request.pool));
    let left = left.find(|a| {
        let probed = a.cools(moment.now) && moment.history.under_way(a.id, turn).next().is_some();
        a.eligible(story.request.model, moment.now) && !probed
    });
    must(left.is_none(), || format!("{turn:?} was told that all are out; {:?} was not tried", left.map(|a| a.id)))
}
