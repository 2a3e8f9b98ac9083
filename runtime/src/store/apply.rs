//! One batch, one transaction.

use homing_core::ids::{Epoch, RowId};
use homing_core::key::Key;
use homing_core::pin::Pin;
use homing_core::row::{Change, EpochScope, Row, State};
use homing_core::time::Time;
use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior, params};

use super::names::NameChanges;
use super::queue::Batch;

const PUT_ROW: &str = "
INSERT INTO bindings
    (id, tenant_id, account_id, state, generation, pending_account_id, created_ms, renewed_ms, expires_ms, pool_id)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
ON CONFLICT (id) DO UPDATE SET account_id = excluded.account_id, state = excluded.state, generation = excluded.generation,
    pending_account_id = excluded.pending_account_id, renewed_ms = excluded.renewed_ms, expires_ms = excluded.expires_ms";

// A digest has one owner; whoever the table says owns it now takes it over from a row that is on its way out.
const PUT_KEY: &str = "
INSERT INTO binding_keys (digest, binding_id, position, kind) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (digest) DO UPDATE SET binding_id = excluded.binding_id, position = excluded.position, kind = excluded.kind
WHERE binding_id <> excluded.binding_id OR position <> excluded.position OR kind <> excluded.kind";

const DELETE_ROW: &str = "DELETE FROM bindings WHERE id = ?1";

const PUT_EPOCH: &str = "
INSERT INTO epochs (scope_kind, scope_id, epoch) VALUES (?1, ?2, ?3)
ON CONFLICT (scope_kind, scope_id) DO UPDATE SET epoch = max(epoch, excluded.epoch)";

const PUT_PIN: &str = "
INSERT INTO pins (anchor, tenant_id, account_id, expires_ms) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (anchor) DO UPDATE SET tenant_id = excluded.tenant_id, account_id = excluded.account_id,
    expires_ms = excluded.expires_ms";

const DROP_PIN: &str = "DELETE FROM pins WHERE anchor = ?1";

const FREE_IDENTITY: &str = "UPDATE accounts SET identity = 'number ' || id WHERE id = ?1";

const PUT_ACCOUNT: &str = "
INSERT INTO accounts (id, identity, label) VALUES (?1, ?2, ?3)
ON CONFLICT (id) DO UPDATE SET identity = excluded.identity, label = excluded.label";

const PUT_TENANT: &str = "INSERT INTO tenants (id, kind, name, account_id) VALUES (?1, 'account', ?2, ?3)";

const RAISE_NEXT_ID: &str = "UPDATE meta SET value = ?1 WHERE name = 'next_row_id' AND value < ?1";

/// All statements above, for a check that the schema fits them.
pub(super) const STATEMENTS: [&str; 10] =
    [PUT_ROW, PUT_KEY, DELETE_ROW, PUT_EPOCH, PUT_PIN, DROP_PIN, FREE_IDENTITY, PUT_ACCOUNT, PUT_TENANT, RAISE_NEXT_ID];

/// What became of a batch that was committed.
#[derive(Debug, Default)]
pub(super) struct Applied {
    /// Rows and names the schema's checks refused, and what was said of the first. Never expected: one bad row must not keep
    /// all others from becoming durable.
    pub(super) refused: Option<(usize, String)>,
}

/// SQLite's integers are signed; a time beyond them is "never" all the same.
pub(super) fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// Writes the batch, all of it or nothing.
pub(super) fn commit(conn: &mut Connection, batch: &Batch) -> rusqlite::Result<Applied> {
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut applied = Applied::default();
    put_names(&tx, &batch.names, &mut applied)?;
    let mut highest = RowId(0);
    // Deletions first: they free keys.
    for (_, change) in &batch.changes {
        if let Change::Delete(id) = change {
            highest = highest.max(*id);
            applied.note(tx.prepare_cached(DELETE_ROW)?.execute([signed(id.0)]))?;
        }
    }
    for (_, change) in &batch.changes {
        match change {
            Change::Put(row) => {
                highest = highest.max(row.id);
                applied.note(put_row(&tx, row))?;
            }
            Change::Erased(scope, epoch) => applied.note(put_epoch(&tx, *scope, *epoch))?,
            Change::PutPin(pin) => applied.note(put_pin(&tx, pin))?,
            Change::DropPin(anchor) => applied.note(tx.prepare_cached(DROP_PIN)?.execute([anchor.0.as_slice()]))?,
            Change::Delete(_) => {}
        }
    }
    tx.prepare_cached(RAISE_NEXT_ID)?.execute([signed(highest.0.saturating_add(1))])?;
    tx.commit()?;
    Ok(applied)
}

impl Applied {
    /// Goes on past a statement that a check refused; the transaction stands.
    fn note(&mut self, result: rusqlite::Result<usize>) -> rusqlite::Result<()> {
        match result {
            Ok(_) => Ok(()),
            Err(e) if e.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
                self.refused.get_or_insert_with(|| (0, e.to_string())).0 += 1;
                Ok(())
            }
            Err(e) => Err(e),
        }
    }
}

fn put_names(tx: &Transaction<'_>, names: &NameChanges, applied: &mut Applied) -> rusqlite::Result<()> {
    // Two accounts may have passed an identity on: first all give up theirs.
    for id in names.accounts.keys() {
        applied.note(tx.prepare_cached(FREE_IDENTITY)?.execute([id.0]))?;
    }
    for (id, name) in &names.accounts {
        applied.note(tx.prepare_cached(PUT_ACCOUNT)?.execute(params![id.0, &*name.identity, &*name.label]))?;
    }
    for (id, (account, scope)) in &names.tenants {
        applied.note(tx.prepare_cached(PUT_TENANT)?.execute(params![id.0, &**scope, account.0]))?;
    }
    Ok(())
}

fn put_row(tx: &Transaction<'_>, row: &Row) -> rusqlite::Result<usize> {
    let Time(created) = row.created;
    tx.prepare_cached(PUT_ROW)?.execute(params![
        signed(row.id.0),
        row.tenant.0,
        row.account.0,
        match row.state {
            State::Reserved => 0,
            State::Bound => 1,
        },
        row.generation.0,
        row.pending.map(|a| a.0),
        signed(created),
        signed(row.renewed.0),
        signed(row.stored_expires.0),
        row.pool.map(|pool| pool.0),
    ])?;
    let mut put_key = tx.prepare_cached(PUT_KEY)?;
    for (Key { digest, kind }, position) in row.keys.iter().zip(0_u8..) {
        put_key.execute(params![digest.0.as_slice(), signed(row.id.0), position, *kind as u8])?;
    }
    Ok(1)
}

fn put_epoch(tx: &Transaction<'_>, scope: EpochScope, epoch: Epoch) -> rusqlite::Result<usize> {
    let (kind, id) = match scope {
        EpochScope::Account(account) => ("account", account.0),
        EpochScope::Tenant(tenant) => ("tenant", tenant.0),
        EpochScope::Pool(pool) => ("pool", pool.0),
    };
    tx.prepare_cached(PUT_EPOCH)?.execute(params![kind, id, signed(epoch.0)])
}

fn put_pin(tx: &Transaction<'_>, pin: &Pin) -> rusqlite::Result<usize> {
    let Pin { anchor, tenant, account, expires } = pin;
    tx.prepare_cached(PUT_PIN)?.execute(params![anchor.0.as_slice(), tenant.0, account.0, signed(expires.0)])
}
