//! Running a script on the model and on a store.

use homing_core::ids::{Epoch, RowId, Seq};
use homing_core::row::{EpochScope, Scope};
use homing_core::store::{Answer, Op};
use homing_core::time::{Millis, Time};

use crate::agree::{Verdict, equal};
use crate::candidates::{Candidate, Candidates};
use crate::history::Image;
use crate::model::Model;
use crate::script::{Act, At, Script, Step, Who, account, pool};
use crate::store::{Call, Observed, Promises, StoreUnderTest, TENANTS};
use crate::turns::{Side, Turns};

/// When every script begins; late enough for a clock that is set back.
const START: Time = Time(1_000_000_000_000);

/// Where a store is not the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("step {step} of the script, {what}: {difference}")]
pub struct Disagreement {
    /// The step's place in the script, counted from 0.
    pub step: usize,
    /// The step.
    pub what: String,
    /// What differs.
    pub difference: String,
}

/// Runs a script on a store, which begins empty.
///
/// # Errors
/// The first step after which the store and the model disagree beyond what the store's [`Promises`] allow.
pub fn run(script: &Script, store: &mut impl StoreUnderTest) -> Result<(), Disagreement> {
    store.start(script.caps, START);
    let promises = store.promises();
    let mut run = Run {
        promises,
        models: Candidates::new(Model::new(script.caps), promises),
        turns: Turns::new(),
        now: START,
        started: START,
        store,
    };
    for (place, step) in script.steps.iter().enumerate() {
        run.step(step).and_then(|()| run.compare()).map_err(|difference| Disagreement {
            step: place,
            what: format!("{step:?}"),
            difference,
        })?;
    }
    run.end().map_err(|difference| Disagreement { step: script.steps.len(), what: "the end".to_owned(), difference })
}

struct Run<'s, S> {
    promises: Promises,
    models: Candidates,
    turns: Turns,
    now: Time,
    /// The newest time of a start: no clock is set back behind it. What had expired by then is not read again, and whether the
    /// store still keeps it is its own affair.
    started: Time,
    store: &'s mut S,
}

impl<S: StoreUnderTest> Run<'_, S> {
    fn step(&mut self, step: &Step) -> Result<(), String> {
        // No two steps at one time: two rows made with the same life do not end at once.
        self.now = self.now.plus(Millis(1));
        match step {
            Step::Turn(turn, act) => self.act(*turn, act),
            Step::Serve(turn, who, at, ttl) => self.serve(*turn, who, *at, *ttl),
            Step::Meet(one, other, first, second) => self.meet(*one, *other, first, second),
            Step::Race(acts) => self.race(acts),
            Step::EraseAccount(n) => self.erase(Scope::Account(account(*n)), None),
            Step::EraseTenant(n) => self.erase(Scope::Tenant(TENANTS[usize::from(*n) % TENANTS.len()]), None),
            Step::ErasePool(n) => self.erase(Scope::Pool(pool(*n)), None),
            Step::EraseRow(turn) => self.erase_row(*turn),
            Step::Purge => self.purge(),
            Step::Flush => self.flush(),
            Step::Pass(ms) => {
                self.now = self.now.plus(Millis(*ms));
                Ok(())
            }
            Step::SetBack(ms) => {
                self.now = Time(self.now.0.saturating_sub(*ms)).max(self.started);
                Ok(())
            }
            Step::Commit(changes) => {
                self.store.commit(usize::from(*changes));
                Ok(())
            }
            Step::Sync => self.sync(),
            Step::Crash => self.crash(),
            Step::Restart => self.restart(),
        }
    }

    fn act(&mut self, turn: u8, act: &Act) -> Result<(), String> {
        self.turns.set_out(turn, act);
        let Some((model, store)) = self.turns.calls(turn, act) else { return Ok(()) };
        if matches!(model.op, Op::Look) {
            self.session(&model, &store)?;
        }
        let there = self.store.answer(&store, self.now);
        let seen = self.promises.loses_replies.then(|| self.store.observe(self.now));
        let now = self.now;
        let (here, verdict) = self.models.each(|c| c.answer(&model, &there, seen.as_ref(), now))?;
        match verdict {
            // The turn reads again.
            Verdict::Raced | Verdict::Unknown => self.act(turn, &Act::Look),
            _ => {
                self.turns.learn(turn, &here, &there);
                Ok(())
            }
        }
    }

    fn session(&mut self, model: &Call, store: &Call) -> Result<(), String> {
        let (there, now) = (self.store.session(store.tenant, &store.keys, self.now), self.now);
        self.models.each(|c| {
            let here = c.model.table.session(model.tenant, &model.keys, now).cloned();
            match (&here, &there) {
                (Some(m), Some(s)) => c.agree.row(m, s),
                _ => equal("the session's row", &here, &there),
            }
        })
    }

    fn serve(&mut self, turn: u8, who: &Who, at: u32, ttl: u64) -> Result<(), String> {
        self.act(turn, &Act::Begin(who.clone()))?;
        self.act(turn, &Act::Look)?;
        if self.turns.sight(turn, Side::Model).view.is_none() {
            self.act(turn, &Act::Reserve { account: at, ttl })?;
        }
        self.act(turn, &Act::Complete { at: At::Seen, ttl, pinned: false, inserts: true, issued: None })
    }

    fn meet(&mut self, one: u8, other: u8, first: &Act, second: &Act) -> Result<(), String> {
        self.act(one, &Act::Look)?;
        self.act(other, &Act::Join(one))?;
        self.act(one, first)?;
        self.act(other, second)
    }

    /// Operations at the same time: some order of them on the model has to give the very same answers and rows.
    fn race(&mut self, acts: &[(u8, Act)]) -> Result<(), String> {
        if self.promises.loses_replies {
            return acts.iter().try_for_each(|(turn, act)| self.act(*turn, act));
        }
        for (turn, act) in acts {
            self.turns.set_out(*turn, act);
        }
        let asked: Vec<(u8, Call, Call)> = acts
            .iter()
            .filter_map(|(turn, act)| self.turns.calls(*turn, act).map(|(model, store)| (*turn, model, store)))
            .collect();
        let theirs: Vec<Call> = asked.iter().map(|(.., store)| store.clone()).collect();
        let there = self.store.race(&theirs, self.now);
        let (seen, now) = (self.store.observe(self.now), self.now);
        self.models.branch(|c| {
            orders(asked.len()).iter().filter_map(|order| explain(c, order, &asked, &there, &seen, now)).collect()
        });
        if !self.promises.counted {
            self.models.settle();
        }
        if self.models.first().is_none() {
            return Err(format!("no order of {asked:?} gives the answers {there:?} and the rows {:?}", seen.rows));
        }
        for ((turn, ..), there) in asked.iter().zip(&there) {
            match there {
                Answer::Raced => self.act(*turn, &Act::Look)?,
                // What the model said is what the store said, but for names: the turn looks them up.
                _ if !self.promises.counted => self.act(*turn, &Act::Look)?,
                _ => self.turns.learn(*turn, there, there),
            }
        }
        Ok(())
    }

    fn erase(&mut self, scope: Scope, theirs: Option<Scope>) -> Result<(), String> {
        let there = self.store.erase(theirs.unwrap_or(scope));
        self.models.each(|c| equal("the rows erased", &c.model.erase(scope), &there))
    }

    fn erase_row(&mut self, turn: u8) -> Result<(), String> {
        let Some((call, _)) = self.turns.calls(turn, &Act::Look) else { return Ok(()) };
        let id = |turns: &mut Turns, side| turns.sight(turn, side).view.map(|v| v.fence.id);
        let (here, there) = (id(&mut self.turns, Side::Model), id(&mut self.turns, Side::Store));
        let (Some(here), Some(there)) = (here, there) else { return Ok(()) };
        self.erase(Scope::Row(call.tenant, here), Some(Scope::Row(call.tenant, there)))
    }

    fn purge(&mut self) -> Result<(), String> {
        self.store.purge(self.now);
        let now = self.now;
        self.models.each(|c| {
            c.model.purge(now);
            Ok(())
        })
    }

    fn flush(&mut self) -> Result<(), String> {
        let there = self.store.flush();
        self.models.each(|c| {
            let here = c.model.flush();
            there.map_or(Ok(()), |there| equal("the renewals flushed", &here, &there))
        })
    }

    fn sync(&mut self) -> Result<(), String> {
        self.store.sync();
        let epochs = self.store.epochs();
        let durable = self.promises.writes_behind.then(|| self.store.durable());
        self.models.each(|c| {
            c.model.history.synced();
            c.agree.epochs(&c.model.history.image(Time(0)).epochs, &epochs)?;
            durable.map_or(Ok(()), |durable| equal("what is durable", &c.model.seq(), &durable))
        })
    }

    fn crash(&mut self) -> Result<(), String> {
        let durable = self.promises.writes_behind.then(|| self.store.durable());
        self.store.crash(self.now);
        self.started_again(durable)
    }

    fn restart(&mut self) -> Result<(), String> {
        self.store.restart(self.now);
        self.models.each(|c| {
            c.model.flush();
            c.model.history.synced();
            Ok(())
        })?;
        self.started_again(None)
    }

    /// Compares what a start found with what had to be there, and goes on from that. `durable` is what was reported so before;
    /// `None`: all of it.
    fn started_again(&mut self, durable: Option<Seq>) -> Result<(), String> {
        self.started = self.started.max(self.now);
        let (seen, epochs, now) = (self.store.observe(self.now), self.store.epochs(), self.now);
        let counted = self.promises.counted;
        self.models.each(|c| {
            let (image, next_id) = if counted {
                found(&c.model, durable, &seen, &epochs, now)?
            } else {
                (c.model.history.image(now), c.model.table.next_id())
            };
            c.model.start(&image, next_id);
            c.agree.epochs(&image.epochs, &epochs)
        })?;
        if self.promises.writes_behind {
            self.turns.forget();
        }
        Ok(())
    }

    fn compare(&mut self) -> Result<(), String> {
        let (seen, now) = (self.store.observe(self.now), self.now);
        self.models.each(|c| c.compare(&seen, now))
    }

    /// At last everything expires, and nothing is kept of it.
    fn end(&mut self) -> Result<(), String> {
        self.sync()?;
        self.restart()?;
        self.compare()?;
        self.now = self.now.plus(Millis::secs(400 * 24 * 3600));
        self.step(&Step::Purge)?;
        self.compare()?;
        self.sync()?;
        match self.store.kept() {
            Some(kept) => equal("what is kept of rows and pins when all have expired", &(0, 0), &kept),
            None => Ok(()),
        }
    }
}

/// The model after this order of the operations, if the order explains what the store answered and shows.
fn explain(
    before: &Candidate,
    order: &[usize],
    asked: &[(u8, Call, Call)],
    there: &[Answer],
    seen: &Observed,
    now: Time,
) -> Option<Candidate> {
    let mut after = before.clone();
    for place in order {
        let ((_, call, _), there) = (asked.get(*place)?, there.get(*place)?);
        after.answer(call, there, None, now).ok()?;
    }
    after.compare(seen, now).ok()?;
    Some(after)
}

/// What a start found, if it may have.
fn found(
    model: &Model,
    durable: Option<Seq>,
    seen: &Observed,
    epochs: &[(EpochScope, Epoch)],
    now: Time,
) -> Result<(Image, RowId), String> {
    let made = model.seq();
    let durable = durable.unwrap_or(made);
    if durable > made {
        return Err(format!("change {} is durable, but only {} were made", durable.0, made.0));
    }
    let image = Image {
        rows: seen.rows.iter().map(|row| (row.id, row.clone())).collect(),
        pins: seen.pins.iter().map(|pin| (pin.anchor, *pin)).collect(),
        epochs: epochs.iter().copied().collect(),
    };
    model.history.allows(durable, &image, now)?;
    let (least, most) = (model.history.ids_used(), model.table.next_id());
    if seen.next_id < least || seen.next_id > most {
        return Err(format!("B6: the next row's id is {:?}, it has to be {least:?} to {most:?}", seen.next_id));
    }
    Ok((image, seen.next_id))
}

/// All orders of `n` things.
fn orders(n: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for next in 0..n {
        all = all
            .iter()
            .flat_map(|order| {
                (0..=order.len()).rev().map(move |place| {
                    let mut longer = order.clone();
                    longer.insert(place, next);
                    longer
                })
            })
            .collect();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_is_tried_once_and_the_given_one_first() {
        let mut all = orders(4);
        assert_eq!(all.first(), Some(&vec![0, 1, 2, 3]));
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 24);
    }
}
