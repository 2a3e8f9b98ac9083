//! What the table is asked; the planted bugs of the store sit here.

use homing_core::ids::{Epoch, TenantId};
use homing_core::key::Keys;
use homing_core::pin::Pinned;
use homing_core::row::View;
use homing_core::store::{Answer, Op, Subject};
use homing_core::table::Table;
use homing_core::time::{Millis, Time};

use super::{World, flight::Statement};
use crate::event::{Cause, TurnId};
use crate::plant::Plant;

/// Asks the table at `wall`.
pub(super) fn ask_table(table: &mut Table, plant: Option<Plant>, statement: &Statement, wall: Time) -> Answer {
    let Statement { request, anchors, op, .. } = *statement;
    let (tenant, keys, named) = (request.tenant, request.keys, anchors.list());
    let subject = Subject { tenant, keys: &keys, anchors: &named, issued: anchors.issued };
    match (plant, op) {
        (Some(Plant::IgnoresEpochs), Op::Complete { fence, account, ttl, pinned, inserts, .. }) => {
            let op = Op::Complete { fence, account, seen: Epoch(u64::MAX), ttl, pinned, inserts };
            return table.answer(subject, op, wall);
        }
        (Some(Plant::DropsFence), Op::Complete { account, seen, ttl, pinned, inserts, .. }) => {
            let fence = table.session(tenant, &keys, wall).map(|row| row.view().fence);
            return table.answer(subject, Op::Complete { fence, account, seen, ttl, pinned, inserts }, wall);
        }
        (Some(Plant::RevivesExpired), Op::Look) => {
            let mut rows = table.rows();
            if let Some(row) = rows.find(|r| r.tenant == tenant && keys.iter().any(|k| r.keys.has(&k.digest))) {
                return Answer::Looked { view: Some(row.view()), epoch: table.epoch() };
            }
        }
        (Some(Plant::ForgetsPending), Op::Pend { next, .. }) => {
            if let Some(row) = table.session(tenant, &keys, wall) {
                let mut view = row.view();
                view.pending = Some(next);
                return Answer::Pended(view);
            }
        }
        (Some(Plant::WeakestKeyWins), Op::Look) => {
            let mut weakest = Keys::default();
            keys.iter().last().into_iter().for_each(|k| weakest.add(k));
            return table.answer(Subject { keys: &weakest, ..subject }, op, wall);
        }
        _ => {}
    }
    let tenant_asked = if plant == Some(Plant::SharesTenants) { TenantId(1) } else { tenant };
    let answer = table.answer(Subject { tenant: tenant_asked, ..subject }, op, wall);
    match (plant, answer, op) {
        (Some(Plant::ServesForeignIds), Answer::Pins { found: Pinned::Foreign { .. }, epoch }, _) => {
            Answer::Pins { found: Pinned::Nowhere, epoch }
        }
        (Some(Plant::LoserIgnoresWinner), Answer::Found(view), Op::Reserve { account, .. }) => {
            Answer::Reserved(View { account, ..view })
        }
        _ => answer,
    }
}

impl World {
    /// The planted bug: a failed attempt extends the life of the session's row.
    pub(crate) fn renew_anyway(&mut self, id: TurnId) {
        let (wall, ttl) = (self.store_wall(), self.settings.ttl);
        let Some(open) = self.turns.get(&id) else { return };
        let request = *open.turn.request();
        let Some(view) = open.turn.row().copied() else { return };
        let op = Op::Complete {
            fence: Some(view.fence),
            account: view.account,
            seen: Epoch(u64::MAX),
            ttl: Millis(ttl.0 + 1),
            pinned: false,
            inserts: true,
        };
        if let Some(table) = &mut self.store.table {
            table.answer(Subject::new(request.tenant, &request.keys), op, wall);
            self.collect(Cause::Op(id, op));
        }
    }
}
