//! Requests: they come, are resumed with replies, hang up, end.

use homing_core::ids::AccountId;
use homing_core::row::State;
use homing_core::store::{Answer, Op};
use homing_core::turn::{Effect, Env, Reply, Step, Turn};

use super::{Open, World};
use crate::ask::Ask;
use crate::event::{Event, ProcessId, TurnId};
use crate::plant::Plant;
use crate::shared::Shared;

impl World {
    pub(crate) fn open(&self, id: TurnId) -> Option<&Open> {
        self.turns.get(&id).map(|open| &**open)
    }

    /// A request comes to a process.
    pub(crate) fn ask(&mut self, at: ProcessId, ask: Ask) {
        let Some(process) = self.process(at) else { return };
        let id = TurnId(self.next_turn);
        let now = self.clock(at);
        let mut request = ask.request(now);
        let strongest = request.keys.iter().next();
        request.last_seen = strongest.and_then(|key| process.homes.get(&key.digest)).copied();
        let affinity = process.settings.session_affinity;
        let api_key = self.api_keys.get(&ask.tenant).copied().unwrap_or_default();
        self.next_turn += 1;
        self.emit_at(Some(at), Event::Came { turn: id, ask, request, affinity, api_key });
        match self.plant {
            Some(Plant::SharesTenants) => request.keys = ask.keys("everyone"),
            Some(Plant::SoftPins) => request.pin = None,
            Some(Plant::BindsTheNameless) if request.keys.is_empty() => {
                request.keys = Ask { form: crate::ask::Form::Header, ..ask }.keys("nobody");
            }
            _ => {}
        }
        let Some(process) = self.processes.get_mut(&at).and_then(Option::as_deref_mut) else { return };
        let mut env = Env { fleet: &mut process.fleet, settings: &process.settings, now, word: 0 };
        let step = Turn::start(request, &mut env);
        self.take(at, id, ask, step);
    }

    /// Goes on with a reply.
    pub(crate) fn resume(&mut self, id: TurnId, reply: Reply) {
        let Some(open) = self.turns.remove(&id).map(Shared::into_inner) else { return };
        // Any word will do for jitter; one that depends on the request alone keeps equal states equal.
        let (now, word) = (self.clock(open.process), u64::from(id.0) * 40);
        let Some(process) = self.processes.get_mut(&open.process).and_then(Option::as_deref_mut) else { return };
        let mut env = Env { fleet: &mut process.fleet, settings: &process.settings, now, word };
        match open.turn.resume(reply, &mut env) {
            Ok(step) => {
                self.take(open.process, id, open.ask, step);
                if let Some(next) = self.turns.get_mut(&id) {
                    next.left = open.left;
                    next.before_visible = open.before_visible;
                }
            }
            Err(error) => self.fault(error.to_string()),
        }
    }

    /// Takes a step's effect over, and says what the turn does next.
    fn take(&mut self, process: ProcessId, id: TurnId, ask: Ask, step: Step) {
        let Step { turn, effect, note } = step;
        self.emit(Event::Noted(id, note));
        match effect {
            Effect::Dial { account, attempt } => {
                let token = self.token_for(process, &ask, account);
                self.emit(Event::Dial { turn: id, account, attempt, reason: turn.reason(), token });
            }
            Effect::Wait(span) => self.emit(Event::Waits(id, span)),
            Effect::Refresh(account) => self.emit(Event::Renews(id, account)),
            Effect::Commit(seq) => self.emit(Event::Rests(id, seq)),
            Effect::Store(_) | Effect::Stream | Effect::Done(_) => {}
        }
        if let Effect::Done(outcome) = effect {
            self.emit(Event::Ended(id, outcome));
            return;
        }
        self.turns
            .insert(id, Open { process, ask, turn, effect, late: None, before_visible: None, left: false }.into());
    }

    /// The turn gets the store's answer.
    pub(crate) fn tell(&mut self, id: TurnId, answer: Answer) {
        let Some(op) = self.open(id).and_then(Self::op_of) else { return };
        if self.racing() {
            self.note_home(id, &op, &answer);
        }
        self.emit(Event::Told { turn: id, op, answer });
        self.resume(id, Reply::Store(answer));
    }

    /// The process remembers where it saw the session at home, for when the store cannot say (T3).
    fn note_home(&mut self, id: TurnId, op: &Op, answer: &Answer) {
        let home = match (op, answer) {
            (_, Answer::Looked { view: Some(view), .. }) if view.state == State::Bound => view.account,
            (Op::Complete { account, .. }, Answer::Completed { .. }) => *account,
            _ => return,
        };
        let Some(open) = self.turns.get(&id) else { return };
        let strongest = open.turn.request().keys.iter().next();
        if let (Some(key), Some(process)) = (strongest, self.processes.get_mut(&open.process).and_then(Option::as_mut))
        {
            process.homes.insert(key.digest, home);
        }
    }

    /// The client leaves. Once the terminal event was read that changes nothing (B15).
    pub(crate) fn hang_up(&mut self, id: TurnId) {
        let Some(open) = self.turns.get_mut(&id) else { return };
        let settled = open.turn.settled();
        if settled {
            open.left = true;
        } else if let Some(open) = self.turns.remove(&id).map(Shared::into_inner) {
            let now = self.clock(open.process);
            if let Some(process) = self.processes.get_mut(&open.process).and_then(Option::as_deref_mut) {
                let mut env = Env { fleet: &mut process.fleet, settings: &process.settings, now, word: 0 };
                open.turn.abandon(&mut env);
            }
        }
        self.emit(Event::Left(id, settled));
    }

    /// The turn state of the session that may go along to this account (R7), by who issued it.
    fn token_for(&self, process: ProcessId, ask: &Ask, account: AccountId) -> Option<AccountId> {
        let (token, issuer) = self.tokens.get(&(ask.tenant, ask.session))?;
        let belongs = self.process(process)?.states.belongs(ask.tenant, token, account);
        (belongs || self.plant == Some(Plant::KeepsForeignToken)).then_some(*issuer)
    }

    /// A success hands the session a new turn state.
    pub(crate) fn issue_token(&mut self, id: TurnId, account: AccountId) {
        let Some(open) = self.turns.get(&id) else { return };
        let (at, ask) = (open.process, open.ask);
        let token = format!("state-{}", id.0);
        if let Some(process) = self.processes.get_mut(&at).and_then(Option::as_mut) {
            process.states.issued(ask.tenant, &token, account);
        }
        self.tokens.insert((ask.tenant, ask.session), (token, account));
    }

    /// A fault of the driver itself, which is a violation of the machine's contract.
    fn fault(&mut self, text: String) {
        if self.violation.is_none() {
            self.violation = Some(super::Violation { oracle: "CONTRACT", text, step: self.step });
        }
    }
}
