//! Where the next attempt goes, and what has to be written before it (B2 to B5).

use super::{Effect, Env, Note, Outcome, Phase, Reason, Step, Turn};
use crate::fleet::{Choice, Pick};
use crate::ids::AccountId;
use crate::row::State;
use crate::store::{Answer, Op};

impl Turn {
    fn choice<'a>(&'a self, env: &Env<'_>) -> Choice<'a> {
        Choice {
            pin: self.request.pin,
            pool: self.request.pool,
            home: self.row.map(|row| row.account),
            settled: self.row.is_some_and(|row| row.state == State::Bound),
            guess: self.guess,
            tried: &self.tried,
            model: self.request.model,
            now: env.now,
        }
    }

    /// Chooses the next account. A row's account that serves is followed as it is; so is a replacement that another request
    /// proposed. Anything else is written before the dial: a reservation for a new session, a proposal where it leaves.
    pub(super) fn aim(self, env: &mut Env<'_>) -> Step {
        if self.late(env) {
            return self.all_out(env);
        }
        if let Some((account, reason)) = self.standing_choice(env) {
            let probe = env.fleet.get(account).is_some_and(crate::fleet::Account::needs_probe);
            return self.dial(Pick { account, probe }, reason, env);
        }
        let Some(pick) = env.fleet.choose(&self.choice(env)) else { return self.all_out(env) };
        self.write_then_dial(pick, env)
    }

    /// What the row says already: its account, else the replacement agreed on.
    pub(super) fn standing_choice(&self, env: &Env<'_>) -> Option<(AccountId, Reason)> {
        let row = self.row?;
        if self.request.pin.is_some() {
            return None;
        }
        let choice = self.choice(env);
        let agreed = row.pending.map(|account| (account, Reason::Converged));
        let mut known = [Some((row.account, stays(row.state))), agreed].into_iter().flatten();
        known.find(|(account, _)| env.fleet.serves(*account, &choice))
    }

    fn write_then_dial(mut self, pick: Pick, env: &mut Env<'_>) -> Step {
        if self.request.pin.is_some() {
            return self.dial(pick, Reason::Pinned, env);
        }
        let Some(row) = self.row else {
            if !self.identified() {
                let reason = if self.guess.is_some() { Reason::Guessed } else { Reason::NoIdentity };
                return self.dial(pick, reason, env);
            }
            // B16: once the policy is off no new row is made, by a plan that was admitted before neither.
            if self.detached || env.settings.ttl_of(self.request.keys.policy()).is_none() {
                return self.dial(pick, Reason::Unremembered, env);
            }
            self.phase = Phase::Reserving(pick);
            let op = Op::Reserve { account: pick.account, seen: self.seen.unwrap_or_default(), ttl: self.ttl };
            return self.step(Effect::Store(op), Note::Reserves(pick.account));
        };
        if pick.account == row.account {
            return self.dial(pick, stays(row.state), env);
        }
        if row.pending == Some(pick.account) {
            return self.dial(pick, Reason::Converged, env);
        }
        if self.detached {
            return self.dial(pick, Reason::FailedOver, env);
        }
        self.phase = Phase::Pending(pick);
        let op = Op::Pend { fence: row.fence, expect: row.pending, next: pick.account };
        self.step(Effect::Store(op), Note::Diverts { from: row.account, to: pick.account })
    }

    pub(super) fn reserved(mut self, pick: Pick, answer: Answer, env: &mut Env<'_>) -> Step {
        match answer {
            Answer::Reserved(view) => {
                self.row = Some(view);
                self.launch(pick, Reason::Reserved, env)
            }
            Answer::Found(view) => {
                self.row = Some(view);
                self.aim(env)
            }
            Answer::Refused(_) => {
                self.detached = true;
                self.launch(pick, Reason::Unremembered, env)
            }
            Answer::Raced => self.look_at_winner(env),
            Answer::Pins { .. }
            | Answer::Recorded(_)
            | Answer::Looked { .. }
            | Answer::Pended(_)
            | Answer::Lost(_)
            | Answer::Completed { .. }
            | Answer::Unknown => self.look_again(env),
        }
    }

    pub(super) fn pended(mut self, pick: Pick, answer: Answer, env: &mut Env<'_>) -> Step {
        match answer {
            Answer::Pended(view) => {
                self.row = Some(view);
                self.launch(pick, Reason::FailedOver, env)
            }
            // B5: the loser follows what stands now where that can serve and was not tried, else goes on without writing.
            Answer::Lost(view) => {
                self.row = view;
                self.detached = true;
                match self.standing_choice(env) {
                    Some((account, reason)) => {
                        let probe = env.fleet.get(account).is_some_and(crate::fleet::Account::needs_probe);
                        self.detached = false;
                        self.launch(Pick { account, probe }, reason, env)
                    }
                    None => self.launch(pick, Reason::FailedOver, env),
                }
            }
            Answer::Raced => {
                self.outrun = true;
                self.look_at_winner(env)
            }
            Answer::Pins { .. }
            | Answer::Recorded(_)
            | Answer::Looked { .. }
            | Answer::Reserved(_)
            | Answer::Found(_)
            | Answer::Refused(_)
            | Answer::Completed { .. }
            | Answer::Unknown => self.look_again(env),
        }
    }

    /// No attempt starts from here on.
    fn late(&self, env: &Env<'_>) -> bool {
        env.now >= self.request.began.plus(env.settings.request_deadline)
    }

    /// Dials what was chosen before a store answered. Meanwhile the account may be gone (B11), barred, or probed by another
    /// request (R2), and the deadline may be over: then it is chosen again.
    fn launch(self, pick: Pick, reason: Reason, env: &mut Env<'_>) -> Step {
        if !self.late(env) && env.fleet.stands(pick, &self.choice(env)) {
            return self.dial(pick, reason, env);
        }
        self.aim(env)
    }

    /// Begins an attempt on an account that was not tried yet.
    fn dial(mut self, pick: Pick, reason: Reason, env: &mut Env<'_>) -> Step {
        self.tried.add(pick.account);
        self.current = Some(pick.account);
        self.repeated = false;
        self.renewed = false;
        self.reason = reason;
        if pick.probe {
            self.probing = true;
            env.fleet.probe(pick.account);
        }
        self.send(pick.account, Note::Goes(reason), env)
    }

    /// The present account once more; its probe, if it is one, goes on. Where it can serve no longer the next one is tried.
    pub(super) fn dial_again(mut self, env: &mut Env<'_>) -> Step {
        let still = |id: &AccountId| env.fleet.get(*id).is_some_and(|a| a.repeats(env.now));
        match self.current {
            Some(account) if !self.late(env) && still(&account) => {
                let note = Note::Goes(self.reason);
                self.send(account, note, env)
            }
            Some(_) | None => {
                self.end_probe(env);
                self.onward(env)
            }
        }
    }

    fn send(mut self, account: AccountId, note: Note, env: &Env<'_>) -> Step {
        self.phase = Phase::Dialling;
        self.dialled = env.now;
        self.revision = env.fleet.get(account).map(|a| a.revision);
        self.attempt = self.attempt.saturating_add(1);
        let attempt = self.attempt;
        self.step(Effect::Dial { account, attempt }, note)
    }

    /// R4.
    pub(super) fn all_out(mut self, env: &mut Env<'_>) -> Step {
        self.end_probe(env);
        let (pool, model) = (self.request.pool, self.request.model);
        if let Some(pin) = self.request.pin {
            let (anchor, out) = (self.anchor, env.fleet.out_of(pin, pool, model, env.now));
            return self.done(Outcome::PinOut { anchor, out }, Note::PinOut(out));
        }
        let out = env.fleet.out(pool, model, env.now);
        self.done(Outcome::Out(out), Note::AllOut(out))
    }
}

/// Why an attempt goes to the row's own account.
const fn stays(state: State) -> Reason {
    match state {
        State::Bound => Reason::Home,
        State::Reserved => Reason::Joined,
    }
}
