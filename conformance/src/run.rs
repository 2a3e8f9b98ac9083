//! Running a script on the model and on a store.

use homing_core::ids::{RowId, Seq};
use homing_core::row::Scope;
use homing_core::store::{Answer, Op};
use homing_core::time::{Millis, Time};

use crate::agree::{Agree, Verdict, equal};
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
        model: Model::new(script.caps),
        agree: Agree::new(promises),
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
    model: Model,
    agree: Agree,
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
            Step::Race(acts) => self.race(acts),
            Step::EraseAccount(n) => self.erase(Scope::Account(account(*n)), None),
            Step::EraseTenant(n) => self.erase(Scope::Tenant(TENANTS[usize::from(*n) % TENANTS.len()]), None),
            Step::ErasePool(n) => self.erase(Scope::Pool(pool(*n)), None),
            Step::EraseRow(turn) => self.erase_row(*turn),
            Step::Purge => {
                self.model.purge(self.now);
                self.store.purge(self.now);
                Ok(())
            }
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
        if let Act::Begin(who) = act {
            self.turns.begin(turn, who);
        }
        let Some((model, store)) = self.turns.calls(turn, act) else { return Ok(()) };
        if matches!(model.op, Op::Look) {
            let here = self.model.table.session(model.tenant, &model.keys, self.now).cloned();
            let there = self.store.session(store.tenant, &store.keys, self.now);
            match (&here, &there) {
                (Some(m), Some(s)) => self.agree.row(m, s)?,
                _ => equal("the session's row", &here, &there)?,
            }
        }
        self.both(turn, &model, &store)
    }

    fn both(&mut self, turn: u8, model: &Call, store: &Call) -> Result<(), String> {
        let without = self.promises.loses_replies.then(|| (self.model.clone(), self.agree.clone()));
        let here = self.model.answer(model, self.now);
        let there = self.store.answer(store, self.now);
        match (self.agree.answers(&here, &there), without) {
            (Verdict::Same, _) => {
                self.turns.learn(turn, &here, &there);
                Ok(())
            }
            (Verdict::Raced, _) => self.act(turn, &Act::Look),
            (Verdict::Unknown, Some((model, agree))) => {
                if self.compare().is_err() {
                    (self.model, self.agree) = (model, agree);
                    self.compare().map_err(|e| format!("the outcome was unknown, and it is neither: {e}"))?;
                }
                // The turn reads again.
                self.act(turn, &Act::Look)
            }
            _ => Err(format!("the answer to {:?}: the model says {here:?}, the store {there:?}", model.op)),
        }
    }

    fn serve(&mut self, turn: u8, who: &Who, at: u32, ttl: u64) -> Result<(), String> {
        self.act(turn, &Act::Begin(who.clone()))?;
        self.act(turn, &Act::Look)?;
        if self.turns.sight(turn, Side::Model).view.is_none() {
            self.act(turn, &Act::Reserve { account: at, ttl })?;
        }
        self.act(turn, &Act::Complete { at: At::Seen, ttl, pinned: false, inserts: true, issued: None })
    }

    /// Operations at the same time: some order of them on the model has to give the very same answers and rows.
    fn race(&mut self, acts: &[(u8, Act)]) -> Result<(), String> {
        if self.promises.loses_replies {
            return acts.iter().try_for_each(|(turn, act)| self.act(*turn, act));
        }
        for (turn, act) in acts {
            if let Act::Begin(who) = act {
                self.turns.begin(*turn, who);
            }
        }
        let asked: Vec<(u8, Call, Call)> = acts
            .iter()
            .filter_map(|(turn, act)| self.turns.calls(*turn, act).map(|(model, store)| (*turn, model, store)))
            .collect();
        let theirs: Vec<Call> = asked.iter().map(|(.., store)| store.clone()).collect();
        let there = self.store.race(&theirs, self.now);
        let seen = self.store.observe(self.now);
        let found = orders(asked.len()).into_iter().find_map(|order| self.explain(&order, &asked, &there, &seen));
        let Some((model, agree, here)) = found else {
            return Err(format!("no order of {asked:?} gives the answers {there:?} and the rows {:?}", seen.rows));
        };
        (self.model, self.agree) = (model, agree);
        for ((turn, ..), (here, there)) in asked.iter().zip(here.iter().zip(&there)) {
            match there {
                Answer::Raced => self.act(*turn, &Act::Look)?,
                _ => self.turns.learn(*turn, here, there),
            }
        }
        Ok(())
    }

    /// The model after this order of the operations, if the order explains what the store answered and shows.
    fn explain(
        &self,
        order: &[usize],
        asked: &[(u8, Call, Call)],
        there: &[Answer],
        seen: &Observed,
    ) -> Option<(Model, Agree, Vec<Answer>)> {
        let (mut model, mut agree) = (self.model.clone(), self.agree.clone());
        let mut here = vec![Answer::Unknown; asked.len()];
        for place in order {
            let (_, call, _) = asked.get(*place)?;
            let answer = model.answer(call, self.now);
            if !matches!(agree.answers(&answer, there.get(*place)?), Verdict::Same | Verdict::Raced) {
                return None;
            }
            *here.get_mut(*place)? = answer;
        }
        agree.observed(&Observed::of(&model.table, self.now), seen).ok()?;
        Some((model, agree, here))
    }

    fn erase(&mut self, scope: Scope, theirs: Option<Scope>) -> Result<(), String> {
        let (here, there) = (self.model.erase(scope), self.store.erase(theirs.unwrap_or(scope)));
        equal("the rows erased", &here, &there)
    }

    fn erase_row(&mut self, turn: u8) -> Result<(), String> {
        let Some((call, _)) = self.turns.calls(turn, &Act::Look) else { return Ok(()) };
        let id = |turns: &mut Turns, side| turns.sight(turn, side).view.map(|v| v.fence.id);
        let (here, there) = (id(&mut self.turns, Side::Model), id(&mut self.turns, Side::Store));
        let (Some(here), Some(there)) = (here, there) else { return Ok(()) };
        self.erase(Scope::Row(call.tenant, here), Some(Scope::Row(call.tenant, there)))
    }

    fn flush(&mut self) -> Result<(), String> {
        let here = self.model.flush();
        match self.store.flush() {
            Some(there) => equal("the renewals flushed", &here, &there),
            None => Ok(()),
        }
    }

    fn sync(&mut self) -> Result<(), String> {
        self.store.sync();
        self.model.history.synced();
        let image = self.model.history.image(Time(0));
        self.agree.epochs(&image.epochs, &self.store.epochs())?;
        if self.promises.writes_behind {
            equal("what is durable", &self.model.seq(), &self.store.durable())?;
        }
        Ok(())
    }

    fn crash(&mut self) -> Result<(), String> {
        let durable = if self.promises.writes_behind { self.store.durable() } else { self.model.seq() };
        if durable > self.model.seq() {
            return Err(format!("change {} is durable, but only {} were made", durable.0, self.model.seq().0));
        }
        self.store.crash(self.now);
        self.started_again(durable)
    }

    fn restart(&mut self) -> Result<(), String> {
        self.model.flush();
        self.model.history.synced();
        let all = self.model.seq();
        self.store.restart(self.now);
        self.started_again(all)
    }

    /// Compares what a start found with what had to be durable, and goes on from there.
    fn started_again(&mut self, durable: Seq) -> Result<(), String> {
        self.started = self.started.max(self.now);
        let (image, next_id) = if self.promises.counted {
            self.found(durable)?
        } else {
            (self.model.history.image(self.now), self.model.table.next_id())
        };
        self.model.start(&image, next_id);
        if self.promises.writes_behind {
            self.turns.forget();
        }
        self.agree.epochs(&image.epochs, &self.store.epochs())
    }

    fn found(&mut self, durable: Seq) -> Result<(Image, RowId), String> {
        let seen = self.store.observe(self.now);
        let image = Image {
            rows: seen.rows.iter().map(|row| (row.id, row.clone())).collect(),
            pins: seen.pins.iter().map(|pin| (pin.anchor, *pin)).collect(),
            epochs: self.store.epochs().into_iter().collect(),
        };
        self.model.history.allows(durable, &image, self.now)?;
        let (least, most) = (self.model.history.ids_used(), self.model.table.next_id());
        if seen.next_id < least || seen.next_id > most {
            return Err(format!("B6: the next row's id is {:?}, it has to be {least:?} to {most:?}", seen.next_id));
        }
        Ok((image, seen.next_id))
    }

    fn compare(&mut self) -> Result<(), String> {
        self.model.table.check()?;
        self.agree.observed(&Observed::of(&self.model.table, self.now), &self.store.observe(self.now))
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
