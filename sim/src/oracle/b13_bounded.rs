//! B13 and the bounds of B4.

use homing_core::ids::TenantId;
use homing_core::row::{Row, State};
use homing_core::table::Table;
use homing_core::table::erase::PURGE_BATCH;

use super::{Oracle, Verdict, must};
use crate::event::{Cause, Event};
use crate::world::Moment;

pub(super) const ORACLE: Oracle = Oracle {
    id: "B13",
    says: "Rows stay within the caps, a tenant's own reservations and then its soonest bindings go first, a tenant below its fair share loses none, and a purge takes all that expired and nothing else.",
    see,
};

fn see(event: &Event, moment: &Moment<'_>) -> Verdict {
    let Some(table) = moment.table else { return Ok(()) };
    match event {
        Event::Did { .. } | Event::Landed { .. } | Event::Erased(..) | Event::Restarted(_) | Event::Rebooted(_) => {
            within(table, moment)
        }
        Event::Purged(gone) => {
            let left = table.rows().filter(|row| !row.live(moment.store_now)).count();
            must(left == 0 || *gone >= PURGE_BATCH, || format!("{left} expired rows are left after a purge"))
        }
        Event::Row { cause: Cause::Purge, before: Some(before), after: None } => {
            must(!before.live(moment.store_now), || format!("{before:?} was purged alive"))
        }
        Event::Row { cause: Cause::Op(turn, _), before: Some(before), after: None } => {
            let by = moment.history.story(*turn).map_or(before.tenant, |s| s.request.tenant);
            if before.live(moment.store_now) { evicted(before, by, table, moment) } else { Ok(()) }
        }
        _ => Ok(()),
    }
}

fn within(table: &Table, moment: &Moment<'_>) -> Verdict {
    table.check().map_err(str::to_owned)?;
    let caps = moment.scope.caps;
    must(table.rows().count() <= caps.total, || format!("{} rows, cap {}", table.len(), caps.total))?;
    for tenant in moment.scope.tenant_ids() {
        let own = || table.rows().filter(|row| row.tenant == tenant);
        must(own().count() <= caps.tenant, || format!("{tenant:?} has {} rows", own().count()))?;
        let reserved = own().filter(|row| row.state == State::Reserved).count();
        must(reserved <= (caps.tenant / 10).max(1), || format!("{tenant:?} has {reserved} reservations"))?;
    }
    Ok(())
}

fn evicted(row: &Row, by: TenantId, table: &Table, moment: &Moment<'_>) -> Verdict {
    let caps = moment.scope.caps;
    let rows = &moment.history.rows;
    let held = |t: TenantId| rows.values().filter(|r| r.tenant == t).count();
    let reserved = rows.values().filter(|r| r.tenant == row.tenant && r.state == State::Reserved).count();
    let own_cap = row.tenant == by && (held(by) >= caps.tenant || reserved >= (caps.tenant / 10).max(1));
    must(own_cap || rows.len() >= caps.total, || format!("{row:?} was evicted though there was room"))?;
    let active = moment.scope.tenant_ids().filter(|t| held(*t) > 0 || *t == by).count();
    let fair = own_cap || row.tenant == by || held(row.tenant) * active >= caps.total;
    must(fair, || format!("{:?} lost {:?} below its fair share", row.tenant, row.id))?;
    let stayed = || table.rows().filter(|r| r.tenant == row.tenant && rows.contains_key(&r.id));
    let better = stayed().find(|r| match (row.state, r.state) {
        (State::Bound, State::Reserved) => true,
        (State::Reserved, State::Bound) => false,
        (State::Bound, State::Bound) | (State::Reserved, State::Reserved) => r.expires < row.expires,
    });
    must(better.is_none(), || format!("{row:?} was evicted before {better:?}"))
}
