//! Requests: they come, are resumed with replies, hang up, end.

use homing_core::ids::{AccountId, TenantId};
use homing_core::pin::{AnchorKind, anchor_digest};
use homing_core::row::State;
use homing_core::store::{Answer, Op};
use homing_core::turn::{Effect, Env, Outcome, Reply, Step, Turn};

use super::{Open, World, planted};
use crate::ask::{Anchors, Ask, Desk, Oddity};
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
        let desk = self.desk(ask.tenant);
        let anchors = self.anchors_of(id, &ask);
        let mut request = ask.request(now, desk, &anchors);
        let counted = request.conversation.filter(|_| process.settings.conversation.is_some()).unwrap_or(request.keys);
        let strongest = counted.iter().next();
        request.last_seen = strongest.and_then(|key| process.homes.get(&key.digest)).copied();
        // What counts of it, for the record: the conversation instead of the session where its policy is on (spec §2).
        let talks = request.conversation.filter(|_| process.settings.conversation.is_some());
        let counts = homing_core::turn::Request { keys: talks.unwrap_or(request.keys), ..request };
        let affinity = process.settings.ttl_of(counts.keys.policy()).is_some();
        self.next_turn += 1;
        let api_key = desk.api_key;
        self.emit_at(Some(at), Event::Came { turn: id, ask, request: counts, affinity, api_key, anchors });
        let request = planted::request(self.plant, &ask, request);
        let Some(process) = self.processes.get_mut(&at).and_then(Option::as_deref_mut) else { return };
        let settings = planted::settings(self.plant, process.settings);
        let mut env = Env { fleet: &mut process.fleet, settings: &settings, now, word: 0 };
        let step = Turn::start(request, &mut env);
        self.take(at, id, (ask, anchors), step);
    }

    /// Where the tenant's requests come from now.
    pub(crate) fn desk(&self, tenant: TenantId) -> Desk {
        let pool = self.pools.get(&tenant).copied().unwrap_or_default();
        Desk { pool, api_key: self.api_keys.get(&tenant).copied().unwrap_or_default() }
    }

    /// The ids the request names, as its client knows them, and the one its success brings.
    fn anchors_of(&self, id: TurnId, ask: &Ask) -> Anchors {
        let digest = |id: &str| anchor_digest(AnchorKind::Response, id.as_bytes());
        let last = |tenant, session| self.ids.get(&(tenant, session)).copied();
        let issued = digest(&format!("response {}", id.0));
        match ask.oddity {
            Oddity::Issues => Anchors { named: [None; 2], issued },
            Oddity::Continues => {
                let named = last(ask.tenant, ask.session).or_else(|| digest("of nobody"));
                Anchors { named: [named, None], issued }
            }
            Oddity::Foreign => {
                let others = self.ids.iter().find(|((t, s), _)| *t != ask.tenant && *s == ask.session);
                Anchors { named: [others.map(|(_, anchor)| *anchor), None], issued: None }
            }
            Oddity::Mixed => Anchors { named: [last(ask.tenant, 0), last(ask.tenant, 1)], issued: None },
            _ => Anchors::default(),
        }
    }

    /// Goes on with a reply.
    pub(crate) fn resume(&mut self, id: TurnId, reply: Reply) {
        let Some(open) = self.turns.remove(&id).map(Shared::into_inner) else { return };
        // Any word will do for jitter; one that depends on the request alone keeps equal states equal.
        let (now, word) = (self.clock(open.process), u64::from(id.0) * 40);
        let Some(process) = self.processes.get_mut(&open.process).and_then(Option::as_deref_mut) else { return };
        let settings = planted::settings(self.plant, process.settings);
        let mut env = Env { fleet: &mut process.fleet, settings: &settings, now, word };
        match open.turn.resume(reply, &mut env) {
            Ok(step) => {
                self.take(open.process, id, (open.ask, open.anchors), step);
                if let Some(next) = self.turns.get_mut(&id) {
                    next.left = open.left;
                    next.before_visible = open.before_visible;
                }
            }
            Err(error) => self.fault(error.to_string()),
        }
    }

    /// Takes a step's effect over, and says what the turn does next.
    fn take(&mut self, process: ProcessId, id: TurnId, (ask, anchors): (Ask, Anchors), step: Step) {
        let Step { turn, effect, note } = step;
        self.emit(Event::Noted(id, note));
        let effect = match self.process(process) {
            Some(there) => planted::effect(self.plant, effect, &turn, &there.fleet, self.clock(process)),
            None => effect,
        };
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
            if let (Outcome::Served, Some(anchor)) = (outcome, anchors.issued) {
                self.ids.insert((ask.tenant, ask.session), anchor);
            }
            self.emit(Event::Ended(id, outcome));
            return;
        }
        self.turns.insert(
            id,
            Open { process, ask, anchors, turn, effect, late: None, before_visible: None, left: false }.into(),
        );
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
                if let Some(account) = open.turn.account() {
                    planted::blame(self.plant, &mut process.fleet, account, None, now);
                }
                let mut env = Env { fleet: &mut process.fleet, settings: &process.settings, now, word: 0 };
                if self.plant != Some(Plant::LeaksProbe) {
                    open.turn.abandon(&mut env);
                }
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
            let event = self.seen.len();
            self.violation = Some(super::Violation { oracle: "CONTRACT", text, step: self.step, event });
        }
    }
}
