//! B12 and the epochs of B6.

use homing_core::row::{Row, Scope as Erasure};

use super::{Oracle, Verdict, must};
use crate::event::{Cause, Event};
use crate::world::Moment;

pub(super) const ORACLE: Oracle = Oracle {
    id: "B12",
    says: "What was erased stays erased: no plan from before writes it back, and no restart brings it back once that is durable.",
    see,
};

fn see(event: &Event, moment: &Moment<'_>) -> Verdict {
    match event {
        Event::Erased(scope, _) => {
            let left = moment.table.into_iter().flat_map(|t| t.rows()).find(|row| names(scope, row));
            must(left.is_none(), || format!("{left:?} survived {scope:?}"))
        }
        Event::Row { cause: Cause::Op(turn, _), before: None, after: Some(after) } => {
            let planned = moment.history.story(*turn).and_then(|s| s.planned).unwrap_or(u64::MAX);
            let tenant = |scope: &Erasure| match scope {
                Erasure::Tenant(t) | Erasure::Row(t, _) => *t == after.tenant,
                Erasure::Pool(pool) => after.pool == Some(*pool),
                Erasure::Account(_) => false,
            };
            let erased = moment.history.erased_since(planned, tenant);
            must(!erased, || format!("{turn:?} made {:?} though its tenant was erased since its plan", after.id))
        }
        Event::Row { cause: Cause::Restart, after: Some(after), .. } => {
            let mut erased = moment.history.erased.iter().filter(|e| e.durable && after.id <= e.last_id);
            let back = erased.find(|e| names(&e.scope, after));
            must(back.is_none(), || format!("{after:?} came back after {back:?}"))
        }
        _ => Ok(()),
    }
}

fn names(scope: &Erasure, row: &Row) -> bool {
    match scope {
        Erasure::Tenant(tenant) => row.tenant == *tenant,
        Erasure::Row(tenant, id) => row.tenant == *tenant && row.id == *id,
        Erasure::Pool(pool) => row.pool == Some(*pool),
        Erasure::Account(_) => false,
    }
}
