//! One step of the world.

use homing_core::failure::Failure;
use homing_core::fleet::Standing;
use homing_core::time::{Millis, Time};
use homing_core::turn::{Effect, Renewal, Reply};

use super::{World, planted};
use crate::action::{Action, Fault, Refreshed};
use crate::event::{Event, ProcessId, TurnId};
use crate::plant::Plant;
use crate::scope::OTHER_POOL;
use crate::scope::{Draft, Knob, SWARM, Scope};

/// How far a wall clock is set back or forth at once, in milliseconds.
const WALL_STEP: i64 = 45_000;

/// A rule that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The oracle that saw it.
    pub oracle: &'static str,
    /// What it saw.
    pub text: String,
    /// At which step.
    pub step: u32,
    /// At which observation of that step, counted from 0.
    pub event: usize,
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} is broken at step {}: {}", self.oracle, self.step, self.text)
    }
}

impl World {
    /// Lets one action happen. An action that is not enabled does nothing.
    pub fn apply(&mut self, action: Action) {
        self.step += 1;
        self.seen.clear();
        self.left.spend(&action);
        self.act_in(self.place_of(&action));
        match action {
            Action::Setup(profile) => self.choose_world(profile),
            Action::Draw(knob, value) => self.draw(knob, value),
            Action::Answer(id) => self.answer(id),
            Action::Apply(id) => self.apply_only(id),
            Action::Deliver(id) => self.deliver(id),
            Action::TimeOut(id) | Action::LoseRequest(id) => self.lose(id, false),
            Action::LoseReply(id) => self.lose(id, true),
            Action::Linger(id) => self.linger(id),
            Action::Serve(id) => self.serve(id),
            Action::Show(id) => self.show(id),
            Action::Wake(id) => self.resume(id, Reply::Waited),
            Action::Refresh(id, how) => self.refreshed(id, how),
            Action::Release(id) => self.release(id, true),
            Action::GiveUpWaiting(id) => self.release(id, false),
            Action::Fail(id, fault) => self.fail(id, fault),
            Action::HangUp(id) => self.hang_up(id),
            Action::Ask(process, ask) => self.ask(process, ask),
            Action::Restart(process) => self.restart(process),
            Action::Crash(process) => self.crash(process),
            Action::Sync(process) => self.sync(process),
            Action::Tick(span) => self.tick(span),
            Action::WallBack(process) => self.set_wall(process, -WALL_STEP),
            Action::WallForth(process) => self.set_wall(process, WALL_STEP),
            _ => self.operate(action),
        }
    }

    /// What happens to the store or is done by an operator.
    fn operate(&mut self, action: Action) {
        match action {
            Action::Commit => self.commit(),
            Action::Purge => self.purge(),
            Action::Flush => self.flush(),
            Action::Drop(place) => self.drop_statement(place),
            Action::Land(place) => self.land(place),
            Action::Outage => self.outage(),
            Action::Recover => self.recover(),
            Action::Reboot => self.reboot(),
            Action::Mend(account) => self.place(account, Standing::Usable),
            Action::Disable(account) => self.place(account, Standing::Disabled),
            Action::Drain(account) => self.place(account, Standing::Draining),
            Action::MovePool(tenant) => self.move_pool(tenant),
            Action::ErasePool => self.erase(homing_core::row::Scope::Pool(OTHER_POOL)),
            Action::Talk(process, on) => self.talk(process, on),
            Action::Vanish(account) => self.place(account, Standing::Gone),
            Action::Replace(account) => self.replace(account),
            Action::Garble(account) => self.garble(account),
            Action::EraseAccount(account) | Action::RemoveAccount(account) => self.erase_account(account),
            Action::EraseTenant(tenant) => self.erase(homing_core::row::Scope::Tenant(tenant)),
            Action::ClearRow(tenant) => self.clear_row(tenant),
            Action::ResetKey(tenant) => self.reset_key(tenant),
            Action::Affinity(process, on) => self.switch(process, on),
            _ => {}
        }
    }

    /// Remembers the accounts of the process the step is about, as its routing sees them now.
    fn act_in(&mut self, process: Option<ProcessId>) {
        let fleet = process.and_then(|id| self.process(id)).map(|process| process.fleet.clone());
        self.acting = (process, fleet.unwrap_or_default());
    }

    /// The process a step is about.
    fn place_of(&self, action: &Action) -> Option<ProcessId> {
        match action {
            Action::Ask(process, _) | Action::Restart(process) | Action::Crash(process) | Action::Sync(process) => {
                Some(*process)
            }
            _ => action.turn().and_then(|id| self.open(id)).map(|open| open.process),
        }
    }

    fn choose_world(&mut self, profile: u8) {
        if self.scope.is_some() || self.draft.is_some() {
            return;
        }
        if profile == SWARM {
            self.draft = Some(Draft::new());
        } else {
            self.set_up(Scope::profile(profile));
        }
    }

    fn draw(&mut self, knob: Knob, value: u32) {
        let Some(draft) = &mut self.draft else { return };
        draft.draw(knob, value);
        if draft.next().is_none()
            && let Some(draft) = self.draft.take()
        {
            self.set_up(draft.scope().clone());
        }
    }

    fn serve(&mut self, id: TurnId) {
        let Some(account) = self.open(id).and_then(|open| open.turn.account()) else { return };
        self.issue_token(id, account);
        self.emit(Event::Served(id, account));
        self.after_success(id, account);
        let issued = self.open(id).is_some_and(|open| open.anchors.issued.is_some());
        self.resume(id, Reply::Served { issued });
    }

    fn show(&mut self, id: TurnId) {
        self.emit(Event::Shown(id));
        self.after_head(id);
        if self.plant == Some(Plant::RetriesAfterVisible)
            && let Some(open) = self.turns.get_mut(&id)
        {
            open.before_visible = Some(open.turn.clone());
        }
        self.resume(id, Reply::Visible);
    }

    fn refreshed(&mut self, id: TurnId, how: Refreshed) {
        let renewal = match how {
            Refreshed::Fresh => Renewal::Fresh,
            Refreshed::Refused => Renewal::Refused,
            Refreshed::Unavailable => Renewal::Unavailable,
        };
        if let Some(account) = self.open(id).and_then(|open| open.turn.account()) {
            self.emit(Event::Renewed(id, account, renewal));
        }
        self.resume(id, Reply::Refreshed(renewal));
    }

    fn release(&mut self, id: TurnId, in_time: bool) {
        self.emit(Event::Released(id, in_time));
        self.resume(id, Reply::Committed { in_time });
    }

    fn fail(&mut self, id: TurnId, fault: Fault) {
        let Some(open) = self.open(id) else { return };
        let Some(account) = open.turn.account() else { return };
        let (process, now) = (open.process, self.clock(open.process));
        let failure = planted::said(self.plant, failure(fault, now));
        let before = (open.effect == Effect::Stream).then(|| open.before_visible.clone()).flatten();
        self.emit(Event::Failed(id, account, failure));
        self.after_failure(id, account);
        if let Some(process) = self.processes.get_mut(&process).and_then(Option::as_mut) {
            planted::blame(self.plant, &mut process.fleet, account, Some(failure), now);
        }
        if let Some(before) = before
            && let Some(open) = self.turns.get_mut(&id)
        {
            open.turn = before;
        }
        self.resume(id, Reply::Failed(planted::heard(self.plant, failure)));
    }

    /// Delivers the store's late answer.
    fn deliver(&mut self, id: TurnId) {
        if let Some(answer) = self.turns.get_mut(&id).and_then(|open| open.late.take()) {
            self.tell(id, answer);
        }
    }
}

/// The failure as the gateway classes it at `now`.
fn failure(fault: Fault, now: Time) -> Failure {
    match fault {
        Fault::Server => Failure::Server { retry_after: None },
        Fault::ServerWait => Failure::Server { retry_after: Some(Millis::secs(20)) },
        Fault::Quota => Failure::QuotaSpent { until: Some(now.plus(Millis::secs(50))) },
        Fault::QuotaOpen => Failure::QuotaSpent { until: None },
        Fault::Limited => Failure::RateLimited { retry_after: Millis::secs(5) },
        Fault::Throttled => Failure::Throttled,
        Fault::Unauthorized => Failure::Unauthorized,
        Fault::Refused => Failure::AccountRefused,
        Fault::Challenge => Failure::Challenge,
        Fault::Model => Failure::ModelRefused,
        Fault::Request => Failure::Request,
        Fault::Ciphertext => Failure::ForeignCiphertext,
        Fault::Unreachable => Failure::Unreachable,
        Fault::CutOff => Failure::CutOff,
    }
}
