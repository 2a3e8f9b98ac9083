//! Requests: they come, are resumed with replies, hang up, end.

use homing_core::fleet::Fleet;
use homing_core::ids::AccountId;
use homing_core::key::Keys;
use homing_core::turn::{Effect, Env, Reply, Step, Turn};

use super::{Open, World, planted};
use crate::ask::Ask;
use crate::event::{Event, TurnId};
use crate::plant::Plant;

impl World {
    pub(crate) fn open(&self, id: TurnId) -> Option<&Open> {
        self.process.as_ref()?.turns.get(&id)
    }

    /// A request comes in.
    pub(crate) fn ask(&mut self, ask: Ask) {
        let id = TurnId(self.next_turn);
        let now = self.now;
        let request = ask.request(now);
        let affinity = self.settings.session_affinity;
        self.next_turn += 1;
        self.emit(Event::Came { turn: id, ask, request, affinity });
        let request = planted::request(self.plant, &ask, request);
        let settings = planted::settings(self.plant, self.settings);
        let Some(process) = &mut self.process else { return };
        let mut env = Env { fleet: &mut process.fleet, settings: &settings, now, word: 0 };
        let step = Turn::start(request, &mut env);
        self.take(id, ask, step);
    }

    /// Goes on with a reply.
    pub(crate) fn resume(&mut self, id: TurnId, reply: Reply) {
        // Any word will do for jitter; one that depends on the request alone keeps equal states equal.
        let (now, word) = (self.now, u64::from(id.0) * 40);
        let settings = planted::settings(self.plant, self.settings);
        let Some(process) = &mut self.process else { return };
        let Some(open) = process.turns.remove(&id) else { return };
        let mut env = Env { fleet: &mut process.fleet, settings: &settings, now, word };
        match open.turn.clone().resume(reply, &mut env) {
            Ok(step) => {
                let left = open.left;
                let before_visible = open.before_visible;
                self.take(id, open.ask, step);
                if let Some(open) = self.process.as_mut().and_then(|p| p.turns.get_mut(&id)) {
                    open.left = left;
                    open.before_visible = before_visible;
                }
            }
            Err(error) => self.fault(error.to_string()),
        }
    }

    /// Takes a step's effect over, and says what the turn does next.
    fn take(&mut self, id: TurnId, ask: Ask, step: Step) {
        let Step { turn, effect, note } = step;
        self.emit(Event::Noted(id, note));
        let effect = match &self.process {
            Some(process) => planted::effect(self.plant, effect, &turn, &process.fleet, self.now),
            None => effect,
        };
        match effect {
            Effect::Dial { account, attempt } => {
                let token = self.token_for(&ask, account);
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
        if let Some(process) = &mut self.process {
            let open = Open { ask, turn, effect, late: None, before_visible: None, left: false };
            process.turns.insert(id, open);
        }
    }

    /// The client leaves. Once the terminal event was read that changes nothing (B15).
    pub(crate) fn hang_up(&mut self, id: TurnId) {
        let now = self.now;
        let Some(process) = &mut self.process else { return };
        let Some(open) = process.turns.get_mut(&id) else { return };
        let settled = open.turn.settled();
        if settled {
            open.left = true;
        } else if let Some(open) = process.turns.remove(&id) {
            if let Some(account) = open.turn.account() {
                planted::blame(self.plant, &mut process.fleet, account, None, now);
            }
            let mut env = Env { fleet: &mut process.fleet, settings: &self.settings, now, word: 0 };
            if self.plant != Some(Plant::LeaksProbe) {
                open.turn.abandon(&mut env);
            }
        }
        self.emit(Event::Left(id, settled));
    }

    /// The turn state of the session that may go along to this account (R7), by who issued it.
    fn token_for(&self, ask: &Ask, account: AccountId) -> Option<AccountId> {
        let (token, issuer) = self.tokens.get(&(ask.tenant, ask.session))?;
        let belongs = self.process.as_ref()?.states.belongs(ask.tenant, token, account);
        (belongs || self.plant == Some(Plant::KeepsForeignToken)).then_some(*issuer)
    }

    /// A success hands the session a new turn state.
    pub(crate) fn issue_token(&mut self, id: TurnId, account: AccountId) {
        let Some(process) = &mut self.process else { return };
        let Some(ask) = process.turns.get(&id).map(|open| open.ask) else { return };
        let token = format!("state-{}", id.0);
        process.states.issued(ask.tenant, &token, account);
        self.tokens.insert((ask.tenant, ask.session), (token, account));
    }

    /// A fault of the driver itself, which is a violation of the machine's contract.
    fn fault(&mut self, text: String) {
        if self.violation.is_none() {
            self.violation = Some(super::Violation { oracle: "CONTRACT", text, step: self.step });
        }
    }

    /// Keys as the store would be asked for a turn.
    pub(crate) fn keys_of(open: &Open) -> Keys {
        open.turn.request().keys
    }

    /// A fleet of a new process: what the operator and the directory say, nothing held against anybody.
    pub(crate) fn new_fleet(&self) -> Fleet {
        let mut fleet = Fleet::new();
        for (account, placed) in &self.placed {
            if *placed != homing_core::fleet::Standing::Gone {
                fleet.set(*account, *placed);
            }
        }
        fleet
    }
}
