//! Where the planted bugs sit that change what the core is given, what it asks for, or what happens beside it. The ones of the
//! store are where the store is asked.

use std::collections::BTreeMap;

use homing_core::failure::Failure;
use homing_core::fleet::{Fleet, Out, Standing};
use homing_core::ids::{AccountId, Epoch, RowId};
use homing_core::key::Keys;
use homing_core::row::{Change, Row, Scope as Erasure, State, View};
use homing_core::settings::{Caps, Settings};
use homing_core::store::{Answer, Completion, Op, Subject};
use homing_core::table::Table;
use homing_core::time::Time;
use homing_core::turn::{Effect, Outcome, Reason, Request, Turn};

use super::World;
use crate::ask::{Ask, Form};
use crate::event::{Cause, TurnId};
use crate::history::History;
use crate::plant::Plant;

/// The request as the core is given it.
pub(super) fn request(plant: Option<Plant>, ask: &Ask, request: Request) -> Request {
    match plant {
        Some(Plant::SharesTenants) => Request { keys: ask.keys("everyone"), ..request },
        Some(Plant::SoftPins) => Request { pin: None, ..request },
        Some(Plant::DeafToConversations) => Request { conversation: None, ..request },
        Some(Plant::BindsTheNameless) if request.keys.is_empty() => {
            Request { keys: Ask { form: Form::Header, ..*ask }.keys("nobody"), ..request }
        }
        Some(Plant::RepeatsTheUnrepeatable) => Request { repeatable: true, ..request },
        Some(Plant::ForgetsLastHome) => Request { last_seen: None, ..request },
        _ => request,
    }
}

/// The settings as the core is given them.
pub(super) fn settings(plant: Option<Plant>, settings: Settings) -> Settings {
    match plant {
        Some(Plant::IgnoresOffSwitch) => Settings { session_affinity: true, ..settings },
        _ => settings,
    }
}

/// What the upstream said, before anybody hears it.
pub(super) const fn said(plant: Option<Plant>, failure: Failure) -> Failure {
    match (plant, failure) {
        (Some(Plant::BelievesAbsurdResets), Failure::QuotaSpent { .. }) => {
            Failure::QuotaSpent { until: Some(Time::NEVER) }
        }
        (_, failure) => failure,
    }
}

/// What the upstream said, as the core is told.
pub(super) const fn heard(plant: Option<Plant>, failure: Failure) -> Failure {
    match (plant, failure) {
        (Some(Plant::ForgetsQuota), Failure::QuotaSpent { .. } | Failure::RateLimited { .. }) => Failure::Throttled,
        (_, failure) => failure,
    }
}

/// What a failure that is no account's does to the account all the same.
pub(super) fn blame(plant: Option<Plant>, fleet: &mut Fleet, account: AccountId, failure: Option<Failure>, now: Time) {
    let wrong = match (plant, failure) {
        (Some(Plant::RequestFaultBlames), Some(Failure::Request)) | (Some(Plant::HangUpBlames), None) => true,
        (_, Some(_) | None) => false,
    };
    if wrong {
        fleet.failed(account, Failure::Throttled, None, now, now);
    }
}

/// The effect as it is performed.
pub(super) fn effect(plant: Option<Plant>, effect: Effect, turn: &Turn, fleet: &Fleet, now: Time) -> Effect {
    let home = turn.row().filter(|row| row.state == State::Bound).map(|row| row.account);
    match (plant, effect) {
        (Some(Plant::StickyBeforeHealth), Effect::Dial { attempt: 1, .. }) => {
            let off = |id: &AccountId| fleet.get(*id).is_some_and(|a| a.standing == Standing::Disabled);
            home.filter(off).map_or(effect, |account| Effect::Dial { account, attempt: 1 })
        }
        (Some(Plant::PriorityBeforeHome), Effect::Dial { attempt: 1, .. }) if turn.reason() == Reason::Home => {
            let first = fleet.iter().find(|a| a.eligible(turn.request().model, now) && !a.cools(now));
            first.map_or(effect, |account| Effect::Dial { account: account.id, attempt: 1 })
        }
        (Some(Plant::HammersClients), Effect::Done(Outcome::Out(Out::Soon { .. }))) => {
            Effect::Done(Outcome::Out(Out::Soon { retry_after: homing_core::time::Millis(0) }))
        }
        (_, effect) => effect,
    }
}

/// What the store is asked in place of this.
pub(super) const fn op(plant: Option<Plant>, op: Op) -> Op {
    match (plant, op) {
        (Some(Plant::PinMovesHome), Op::Complete { fence, account, seen, ttl, inserts, .. }) => {
            Op::Complete { fence, account, seen, ttl, pinned: false, inserts }
        }
        (_, op) => op,
    }
}

/// What the store answers in place of this.
pub(super) fn answer(
    plant: Option<Plant>,
    answer: Answer,
    request: &Request,
    table: &Table,
    history: &History,
    now: Time,
) -> Answer {
    let Answer::Looked { view, epoch } = answer else { return answer };
    match plant {
        Some(Plant::SharedKeyMelts) if view.is_none() => {
            let leads = |row: &&Row| row.live(now) && row.tenant == request.tenant && shares(row, &request.keys);
            Answer::Looked { view: table.rows().find(leads).map(Row::view), epoch }
        }
        Some(Plant::AliasKeepsOldHome) if request.keys.iter().count() > 1 => {
            let old = |view: View| match former(history, view.fence.id) {
                Some(account) if view.pending.is_none() => View { account, ..view },
                _ => view,
            };
            Answer::Looked { view: view.map(old), epoch }
        }
        _ => answer,
    }
}

fn shares(row: &Row, keys: &Keys) -> bool {
    keys.iter().any(|key| row.keys.has(&key.digest))
}

/// The home a row had before it moved last.
fn former(history: &History, row: RowId) -> Option<AccountId> {
    history.stories.values().rev().find_map(|story| match story.wrote {
        Some((Completion::Moved { from }, _)) if story.life.is_some_and(|(fence, _)| fence.id == row) => Some(from),
        _ => None,
    })
}

/// The table of a new process.
pub(super) fn restored(plant: Option<Plant>, disk: &crate::disk::Disk, caps: Caps) -> (Table, usize) {
    match plant {
        Some(Plant::DropsRowsAtStart) => {
            Table::restore(caps, RowId(disk.last_id().0 + 1), disk.rows().skip(1).cloned(), [])
        }
        _ => disk.restore(caps),
    }
}

/// Whether the change makes a life longer and nothing else.
pub(super) fn only_renews(change: &Change, rows: &BTreeMap<RowId, Row>) -> bool {
    let Change::Put(row) = change else { return false };
    rows.get(&row.id)
        .is_some_and(|was| was.view().fence == row.view().fence && was.pending == row.pending && was.keys == row.keys)
}

impl World {
    /// What happens beside a failed attempt.
    pub(super) fn after_failure(&mut self, id: TurnId, account: AccountId) {
        match self.plant {
            Some(Plant::RenewsOnFailure) => self.renew_anyway(id),
            Some(Plant::LateFailureUnbinds) => self.unbind(id, account),
            _ => {}
        }
    }

    /// The session's row goes, whoever is its home by now.
    fn unbind(&mut self, id: TurnId, failed: AccountId) {
        let Some(request) = self.open(id).map(|open| *open.turn.request()) else { return };
        let wall = self.store_wall();
        let Some(table) = &mut self.store.table else { return };
        let row = table.session(request.tenant, &request.keys, wall).map(|row| (row.id, row.account));
        if let Some((row, _)) = row.filter(|(_, home)| *home != failed) {
            table.erase(Erasure::Row(request.tenant, row));
            self.collect(Cause::Op(id, Op::Look));
        }
    }

    /// What happens beside a look-up.
    pub(super) fn after_look(&mut self, id: TurnId) {
        if self.plant == Some(Plant::ReadsRenew) {
            self.renew_anyway(id);
        }
    }

    /// What happens beside a success: the sessions of the tenant that left the account come back.
    pub(super) fn after_success(&mut self, id: TurnId, account: AccountId) {
        let Some(request) = self.open(id).map(|open| *open.turn.request()) else { return };
        if self.plant != Some(Plant::BouncesBack) {
            return;
        }
        let (wall, ttl) = (self.store_wall(), self.settings.ttl);
        let left = self.history.rows.values().find(|row| {
            row.tenant == request.tenant
                && row.account != account
                && row.live(wall)
                && former(&self.history, row.id) == Some(account)
        });
        let Some(row) = left.cloned() else { return };
        let mut keys = Keys::default();
        row.keys.iter().for_each(|key| keys.add(*key));
        let fence = Some(row.view().fence);
        let op = Op::Complete { fence, account, seen: Epoch(u64::MAX), ttl, pinned: false, inserts: false };
        if let Some(table) = &mut self.store.table {
            table.answer(Subject::new(request.tenant, &keys), op, wall);
            self.collect(Cause::Op(id, op));
        }
    }

    /// What happens when the head of an answer was seen: it counts as the end.
    pub(super) fn after_head(&mut self, id: TurnId) {
        let Some(turn) = self.open(id).map(|open| open.turn.clone()) else { return };
        let (Some(Plant::HeadersAreSuccess), Some(account)) = (self.plant, turn.account()) else { return };
        let (wall, ttl) = (self.store_wall(), self.settings.ttl);
        let fence = turn.row().map(|row| row.fence);
        let op = Op::Complete { fence, account, seen: Epoch(u64::MAX), ttl, pinned: false, inserts: true };
        if let Some(table) = &mut self.store.table
            && !turn.request().keys.is_empty()
        {
            table.answer(Subject::new(turn.request().tenant, &turn.request().keys), op, wall);
            self.collect(Cause::Op(id, op));
        }
    }

    /// What goes beside the expired rows: those whose first life is over, whatever was added to it.
    pub(super) fn purge_too_much(&mut self) {
        if self.plant != Some(Plant::PurgesTheRenewed) {
            return;
        }
        let (wall, ttl) = (self.store_wall(), self.settings.ttl);
        let listed: Vec<Erasure> = self
            .history
            .rows
            .values()
            .filter(|row| row.created.plus(ttl) <= wall && row.live(wall))
            .map(|row| Erasure::Row(row.tenant, row.id))
            .collect();
        let Some(table) = &mut self.store.table else { return };
        for row in listed {
            table.erase(row);
        }
    }
}
