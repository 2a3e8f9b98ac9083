//! What can happen next, benign steps first.

use homing_core::fleet::Standing;
use homing_core::ids::{AccountId, TenantId};
use homing_core::turn::Effect;

use super::flight::writes;
use super::{Open, World};
use crate::action::{Action, Fault, Refreshed};
use crate::ask::{Ask, Form, Oddity};
use crate::event::{ProcessId, TurnId};
use crate::plant::Plant;
use crate::scope::{Draft, SWARM, Scope};

/// Most accounts that come to be by a file that holds another identity.
const REPLACED_MAX: usize = 2;

/// Most API keys a tenant has one after the other.
const KEYS_MAX: u8 = 3;

impl World {
    /// All that can happen now, in an order that depends on the world alone.
    pub fn enabled(&self, out: &mut Vec<Action>) {
        out.clear();
        let Some(scope) = &self.scope else {
            match self.draft.as_ref().and_then(Draft::next) {
                Some(knob) => out.extend(knob.options().iter().map(|value| Action::Draw(knob, *value))),
                None => out.extend((0..=SWARM).map(Action::Setup)),
            }
            return;
        };
        if let Some(urgent) = self.urgent() {
            out.push(urgent);
            return;
        }
        for (id, open) in &self.turns {
            self.push_progress(*id, open, out);
        }
        self.push_recovery(out);
        if self.live().next().is_none() {
            self.push_ticks(scope, out);
            return;
        }
        if !self.racing() && self.store.disk.waiting() > 0 {
            out.push(Action::Commit);
        }
        if self.turns.len() < scope.open && self.left.asks > 0 {
            for (process, _) in self.live() {
                push_asks(scope, process, out);
            }
        }
        self.push_housekeeping(out);
        self.push_ticks(scope, out);
        self.push_mending(out);
        self.push_flying(out);
        if self.left.faults > 0 {
            let benign = out.len();
            for (id, open) in &self.turns {
                self.push_trouble(scope, *id, open, out);
            }
            if scope.operators {
                self.push_operators(scope, out);
            }
            self.push_breakdowns(scope, out);
            let mut at = 0;
            out.retain(|action| {
                at += 1;
                at <= benign || self.left.allows(action)
            });
        }
    }

    /// What may as well happen at once, in scopes that are visited as a whole. On a shared store all that was told is durable, so
    /// that the end of a request comes to the same whenever it goes out; and a process that is down does nothing that one without
    /// requests could not do as well.
    fn urgent(&self) -> Option<Action> {
        let whole = |scope: &&Scope| scope.budget.faults != u32::MAX && !scope.operators;
        self.scope.as_ref().filter(|scope| whole(scope) && self.racing() && self.plant.is_none())?;
        let mut resting = self.turns.iter().filter(|(_, open)| matches!(open.effect, Effect::Commit(_)));
        let mut down = self.processes.iter().filter(|(_, process)| process.is_none());
        let release = resting.next().map(|(id, _)| Action::Release(*id));
        release.or_else(|| down.next().map(|(id, _)| Action::Restart(*id)))
    }

    fn push_ticks(&self, scope: &Scope, out: &mut Vec<Action>) {
        if self.left.ticks > 0 {
            out.extend(scope.spans.iter().copied().map(Action::Tick));
        }
    }

    fn push_progress(&self, id: TurnId, open: &Open, out: &mut Vec<Action>) {
        match open.effect {
            Effect::Store(_) if open.late.is_some() => out.push(Action::Deliver(id)),
            Effect::Store(_) if self.store.away => out.push(Action::TimeOut(id)),
            Effect::Store(_) => out.push(Action::Answer(id)),
            Effect::Dial { .. } => {
                out.push(Action::Serve(id));
                // Visible output makes a difference only where something may still go wrong.
                if self.left.fails > 0 || self.left.leaves > 0 {
                    out.push(Action::Show(id));
                }
            }
            Effect::Stream => out.push(Action::Serve(id)),
            Effect::Wait(_) => out.push(Action::Wake(id)),
            Effect::Refresh(_) => out.push(Action::Refresh(id, Refreshed::Fresh)),
            Effect::Commit(seq) => {
                let early = self.plant == Some(Plant::EndsBeforeDurable);
                if self.racing() || seq <= self.store.disk.durable() || early {
                    out.push(Action::Release(id));
                }
            }
            Effect::Done(_) => {}
        }
    }

    /// What is down comes back; what is new is heard.
    fn push_recovery(&self, out: &mut Vec<Action>) {
        let down = self.processes.iter().filter(|(_, process)| process.is_none());
        out.extend(down.map(|(id, _)| Action::Restart(*id)));
        if self.store.away {
            out.push(Action::Recover);
        }
        out.extend(self.live().filter(|(_, process)| self.has_news(process)).map(|(id, _)| Action::Sync(id)));
    }

    fn push_housekeeping(&self, out: &mut Vec<Action>) {
        let empty = |table: &homing_core::table::Table| table.is_empty() && table.pin_count() == 0;
        if self.store.away || self.store.table.as_deref().is_none_or(empty) {
            return;
        }
        out.push(Action::Purge);
        if !self.racing() {
            out.push(Action::Flush);
        }
    }

    fn push_mending(&self, out: &mut Vec<Action>) {
        for account in self.placed.keys().filter(|account| self.needs_mending(**account)) {
            out.push(Action::Mend(*account));
        }
        if let Some((process, _)) = self.live().next().filter(|_| !self.settings.session_affinity) {
            out.push(Action::Affinity(process, true));
        }
        let talks = self.scope.as_ref().is_some_and(|scope| scope.settings.conversation.is_some());
        if let Some((process, _)) = self.live().next().filter(|_| talks && self.settings.conversation.is_none()) {
            out.push(Action::Talk(process, true));
        }
        if !self.store.away {
            let erasable = self.placed.keys().filter(|account| self.surely_gone(**account));
            out.extend(erasable.map(|account| Action::EraseAccount(*account)));
        }
    }

    /// Whether the account does not stand as it should, in the directory or in a process that has heard all there is to hear.
    pub(crate) fn needs_mending(&self, account: AccountId) -> bool {
        let stands = |fleet: &homing_core::fleet::Fleet| fleet.get(account).map(|a| a.standing);
        let mut heard = self.live().filter(|(_, process)| !process.unheard.contains(&account));
        self.placed.get(&account) != Some(&Standing::Usable)
            || heard.any(|(_, process)| stands(&process.fleet) != Some(Standing::Usable))
    }

    /// Whether the account is absent from every live process, and something of it is left (B11).
    fn surely_gone(&self, account: AccountId) -> bool {
        let gone = |placed: Option<&Standing>| placed.is_none_or(|s| *s == Standing::Gone);
        gone(self.placed.get(&account))
            && self.live().all(|(_, process)| gone(process.placed.get(&account)))
            && (self.live().any(|(_, process)| process.fleet.get(account).is_some())
                || self.history.rows.values().any(|row| row.account == account))
    }

    fn push_flying(&self, out: &mut Vec<Action>) {
        let places = (0_u8..).take(self.store.flying.len());
        out.extend(places.clone().map(Action::Drop));
        if !self.store.away {
            out.extend(places.map(Action::Land));
        }
    }

    fn push_trouble(&self, scope: &Scope, id: TurnId, open: &Open, out: &mut Vec<Action>) {
        match open.effect {
            Effect::Store(op) if open.late.is_none() && !self.store.away => {
                out.extend([Action::Apply(id), Action::LoseRequest(id), Action::LoseReply(id)]);
                if self.may_fly() && writes(&op) {
                    out.push(Action::Linger(id));
                }
            }
            Effect::Dial { .. } => out.extend(scope.fails.iter().map(|fault| Action::Fail(id, *fault))),
            Effect::Stream => out.extend([Fault::CutOff, Fault::Server, Fault::Quota].map(|f| Action::Fail(id, f))),
            Effect::Refresh(_) => {
                out.extend([Refreshed::Refused, Refreshed::Unavailable].map(|r| Action::Refresh(id, r)));
            }
            Effect::Commit(_) if !self.racing() => out.push(Action::GiveUpWaiting(id)),
            Effect::Commit(_) | Effect::Store(_) | Effect::Wait(_) | Effect::Done(_) => {}
        }
        if !open.left {
            out.push(Action::HangUp(id));
        }
    }

    fn push_operators(&self, scope: &Scope, out: &mut Vec<Action>) {
        let room = self.placed.len() < scope.account_ids().count() + REPLACED_MAX;
        for (account, placed) in &self.placed {
            if *placed == Standing::Usable {
                out.push(Action::Disable(*account));
                if scope.pools {
                    out.push(Action::Drain(*account));
                }
            }
            if *placed != Standing::Gone {
                out.push(Action::Vanish(*account));
                if room {
                    out.push(Action::Replace(*account));
                }
            }
            if self.several() && *placed == Standing::Gone && !self.store.away && !self.surely_gone(*account) {
                out.push(Action::RemoveAccount(*account));
            }
        }
        for tenant in scope.tenant_ids() {
            if !self.store.away {
                out.push(Action::EraseTenant(tenant));
                if self.history.rows.values().any(|row| row.tenant == tenant) {
                    out.push(Action::ClearRow(tenant));
                }
            }
            if self.api_keys.get(&tenant).is_none_or(|key| *key < KEYS_MAX) {
                out.push(Action::ResetKey(tenant));
            }
        }
        if scope.pools {
            out.extend(scope.tenant_ids().map(Action::MovePool));
            out.extend((!self.store.away).then_some(Action::ErasePool));
        }
        for (process, _) in self.live().filter(|_| self.settings.conversation.is_some()) {
            out.push(Action::Talk(process, false));
        }
        for (process, _) in self.live().filter(|_| self.settings.session_affinity) {
            out.push(Action::Affinity(process, false));
        }
        let machines = || self.processes.keys().copied();
        out.extend(machines().map(Action::WallBack));
        out.extend(machines().map(Action::WallForth));
        let there = self.placed.iter().filter(|(_, placed)| **placed == Standing::Usable);
        out.extend(there.map(|(account, _)| Action::Garble(*account)));
    }

    fn push_breakdowns(&self, scope: &Scope, out: &mut Vec<Action>) {
        if self.racing() && scope.outages {
            if !self.store.away {
                out.push(Action::Outage);
            }
            out.push(Action::Reboot);
        }
        out.extend(self.live().map(|(process, _)| Action::Crash(process)));
    }
}

fn push_asks(scope: &Scope, process: ProcessId, out: &mut Vec<Action>) {
    for tenant in scope.tenant_ids() {
        for form in scope.forms {
            let sessions = if form.names_session() { scope.sessions } else { 1 };
            for session in 0..sessions {
                out.push(Action::Ask(process, Ask { tenant, session, form: *form, oddity: Oddity::Plain }));
            }
        }
        if scope.anchors {
            push_anchored(scope, process, tenant, out);
        }
        if scope.odd_requests {
            push_odd(scope, process, tenant, out);
        }
    }
}

/// Requests that name ids, and those whose success brings one (R1).
fn push_anchored(scope: &Scope, process: ProcessId, tenant: TenantId, out: &mut Vec<Action>) {
    let ask = |session, form, oddity| Action::Ask(process, Ask { tenant, session, form, oddity });
    for session in 0..scope.sessions {
        for form in [Form::Header, Form::Nothing] {
            out.extend([Oddity::Issues, Oddity::Continues].map(|oddity| ask(session, form, oddity)));
        }
        out.push(ask(session, Form::Header, Oddity::Foreign));
    }
    out.push(ask(0, Form::Header, Oddity::Mixed));
}

fn push_odd(scope: &Scope, process: ProcessId, tenant: TenantId, out: &mut Vec<Action>) {
    let ask = |form, oddity| Action::Ask(process, Ask { tenant, session: 0, form, oddity });
    out.push(ask(Form::Header, Oddity::Model));
    out.push(ask(Form::Header, Oddity::OtherModel));
    out.push(ask(Form::Header, Oddity::Once));
    out.extend(scope.account_ids().map(|account| ask(Form::Header, Oddity::Pinned(account))));
}
