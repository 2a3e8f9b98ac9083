//! Reading bindings for people: lists, explanations, counts.

use homing_core::ids::{AccountId, TenantId};
use homing_core::key::Keys;
use homing_core::row::Row;
use homing_core::time::Time;

use super::Store;

/// Most rows one page looks at, whatever the filter leaves of them: the table is held meanwhile.
const LOOKED_AT: usize = 10_000;

/// Part of the bindings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Live rows, in no order that means anything.
    pub rows: Vec<Row>,
    /// Where to go on; `None` at the end. A page may be empty and yet not the last.
    pub next: Option<u32>,
}

impl Store {
    /// Up to `limit` live rows from `cursor` on (0 at first), of one tenant or of all.
    #[must_use]
    pub fn page(&self, tenant: Option<TenantId>, cursor: u32, limit: usize, now: Time) -> Page {
        let table = self.table();
        let mut page = Page { rows: Vec::new(), next: None };
        for (looked, (next, row)) in table.rows_from(cursor, now).enumerate() {
            if tenant.is_none_or(|t| t == row.tenant) {
                page.rows.push(row.clone());
            }
            if page.rows.len() >= limit || looked + 1 >= LOOKED_AT {
                page.next = Some(next);
                break;
            }
        }
        page
    }

    /// The whole row a session has now.
    #[must_use]
    pub fn session(&self, tenant: TenantId, keys: &Keys, now: Time) -> Option<Row> {
        self.table().session(tenant, keys, now).cloned()
    }

    /// The accounts that rows name, each once. Looks at every row: for the start of the process.
    #[must_use]
    pub fn bound_accounts(&self) -> std::collections::BTreeSet<AccountId> {
        let table = self.table();
        table.rows().flat_map(|row| [Some(row.account), row.pending]).flatten().collect()
    }

    /// Rows held, expired ones that were not yet removed among them.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table().len()
    }

    /// Whether no row is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Rows of one tenant: reservations, bindings.
    #[must_use]
    pub fn held_by(&self, tenant: TenantId) -> (usize, usize) {
        self.table().held_by(tenant)
    }
}
