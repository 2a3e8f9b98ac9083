//! What can happen next, benign steps first.

use homing_core::fleet::Standing;
use homing_core::ids::TenantId;
use homing_core::time::Millis;
use homing_core::turn::Effect;

use super::{Open, Process, World};
use crate::action::{Action, Fault, Refreshed};
use crate::ask::{Ask, Form, Oddity};
use crate::event::TurnId;
use crate::plant::Plant;
use crate::scope::{Draft, SWARM, Scope};

/// The steps the clocks take: shorter than a cooling, longer than one, past half a life, past a whole one.
const TICKS: [Millis; 4] = [Millis::secs(1), Millis::secs(6), Millis::secs(31), Millis::secs(61)];

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
        let Some(process) = &self.process else {
            out.push(Action::Restart);
            self.push_ticks(out);
            return;
        };
        for (id, open) in &process.turns {
            self.push_progress(*id, open, out);
        }
        if self.disk.waiting() > 0 {
            out.push(Action::Commit);
        }
        if process.turns.len() < scope.open && self.asks > 0 {
            push_asks(scope, out);
        }
        if !process.table.is_empty() {
            out.extend([Action::Purge, Action::Flush]);
        }
        self.push_ticks(out);
        self.push_mending(out);
        if self.faults > 0 {
            for (id, open) in &process.turns {
                push_trouble(scope, *id, open, out);
            }
            if scope.operators {
                self.push_operators(scope, process, out);
            }
            out.push(Action::Crash);
        }
    }

    fn push_ticks(&self, out: &mut Vec<Action>) {
        if self.ticks > 0 {
            out.extend(TICKS.map(Action::Tick));
        }
    }

    fn push_progress(&self, id: TurnId, open: &Open, out: &mut Vec<Action>) {
        match open.effect {
            Effect::Store(_) if open.late.is_some() => out.push(Action::Deliver(id)),
            Effect::Store(_) => out.push(Action::Answer(id)),
            Effect::Dial { .. } => out.extend([Action::Serve(id), Action::Show(id)]),
            Effect::Stream => out.push(Action::Serve(id)),
            Effect::Wait(_) => out.push(Action::Wake(id)),
            Effect::Refresh(_) => out.push(Action::Refresh(id, Refreshed::Fresh)),
            Effect::Commit(seq) => {
                if seq <= self.disk.durable() || self.plant == Some(Plant::EndsBeforeDurable) {
                    out.push(Action::Release(id));
                }
            }
            Effect::Done(_) => {}
        }
    }

    fn push_mending(&self, out: &mut Vec<Action>) {
        let Some(process) = &self.process else { return };
        for (account, placed) in &self.placed {
            let stands = process.fleet.get(*account).map(|a| a.standing);
            if *placed != Standing::Usable || stands != Some(Standing::Usable) {
                out.push(Action::Mend(*account));
            }
        }
        if !self.settings.session_affinity {
            out.push(Action::Affinity(true));
        }
        for (account, placed) in &self.placed {
            if *placed == Standing::Gone && process.fleet.get(*account).is_some() {
                out.push(Action::EraseAccount(*account));
            }
        }
    }

    fn push_operators(&self, scope: &Scope, process: &Process, out: &mut Vec<Action>) {
        for (account, placed) in &self.placed {
            if *placed == Standing::Usable {
                out.push(Action::Disable(*account));
            }
            if *placed != Standing::Gone {
                out.push(Action::Vanish(*account));
            }
        }
        for tenant in scope.tenant_ids() {
            out.push(Action::EraseTenant(tenant));
            if process.table.held_by(tenant) != (0, 0) {
                out.push(Action::ClearRow(tenant));
            }
        }
        if self.settings.session_affinity {
            out.push(Action::Affinity(false));
        }
        out.push(Action::WallBack);
    }
}

fn push_asks(scope: &Scope, out: &mut Vec<Action>) {
    for tenant in scope.tenant_ids() {
        for form in scope.forms {
            let sessions = if form.names_session() { scope.sessions } else { 1 };
            for session in 0..sessions {
                out.push(Action::Ask(Ask { tenant, session, form: *form, oddity: Oddity::Plain }));
            }
        }
        if scope.odd_requests {
            push_odd(scope, tenant, out);
        }
    }
}

fn push_odd(scope: &Scope, tenant: TenantId, out: &mut Vec<Action>) {
    let ask = |form, oddity| Action::Ask(Ask { tenant, session: 0, form, oddity });
    out.push(ask(Form::Header, Oddity::Model));
    out.push(ask(Form::Header, Oddity::Once));
    for account in scope.account_ids() {
        out.push(ask(Form::Header, Oddity::Pinned(account)));
    }
}

fn push_trouble(scope: &Scope, id: TurnId, open: &Open, out: &mut Vec<Action>) {
    match open.effect {
        Effect::Store(_) if open.late.is_none() => {
            out.extend([Action::Apply(id), Action::LoseRequest(id), Action::LoseReply(id)]);
        }
        Effect::Dial { .. } => out.extend(scope.fails.iter().map(|fault| Action::Fail(id, *fault))),
        Effect::Stream => out.extend([Fault::CutOff, Fault::Server, Fault::Quota].map(|f| Action::Fail(id, f))),
        Effect::Refresh(_) => {
            out.extend([Refreshed::Refused, Refreshed::Unavailable].map(|r| Action::Refresh(id, r)));
        }
        Effect::Commit(_) => out.push(Action::GiveUpWaiting(id)),
        Effect::Store(_) | Effect::Wait(_) | Effect::Done(_) => {}
    }
    if !open.left {
        out.push(Action::HangUp(id));
    }
}
