//! The table as the database describes it, at start.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use homing_core::ids::{AccountId, Epoch, Generation, PoolId, RowId, Seq, TenantId};
use homing_core::key::{Digest, Key, SignalKind};
use homing_core::pin::Pin;
use homing_core::row::{EpochScope, Row, RowKeys, State};
use homing_core::settings::Caps;
use homing_core::table::Table;
use homing_core::time::Time;
use rusqlite::{Connection, Rows, params};

use super::apply::signed;
use super::names::{AccountName, Names};

// The outer loop walks bindings in the order of their ids, the inner one an index that holds all it needs in the same
// order: two sequential scans. CROSS JOIN and the unary plus keep the planner from anything cleverer.
pub(super) const ROWS: &str = "
SELECT b.id, b.tenant_id, b.account_id, b.state, b.generation, b.pending_account_id,
       b.created_ms, b.renewed_ms, b.expires_ms, k.digest, k.kind, b.pool_id
FROM bindings b CROSS JOIN binding_keys k ON k.binding_id = b.id
WHERE +b.expires_ms > ?1
ORDER BY b.id, k.position";

const PINS: &str = "SELECT anchor, tenant_id, account_id, expires_ms FROM pins WHERE expires_ms > ?1";

/// Users that were deleted while a crash kept their bindings and pins from going with them (B12).
const ORPHANS: &str = "
DELETE FROM pins WHERE tenant_id IN
    (SELECT id FROM tenants WHERE kind = 'user' AND id NOT IN (SELECT tenant_id FROM users));
DELETE FROM bindings WHERE tenant_id IN
    (SELECT id FROM tenants WHERE kind = 'user' AND id NOT IN (SELECT tenant_id FROM users));
DELETE FROM tenants WHERE kind = 'user' AND id NOT IN (SELECT tenant_id FROM users);
-- Nobody can ask for a tenant that is gone. The newest erasure stays: the count goes on from it.
DELETE FROM epochs WHERE scope_kind = 'tenant' AND scope_id NOT IN (SELECT id FROM tenants)
    AND epoch < (SELECT max(epoch) FROM epochs);";

// Rows in the order a cap takes them, last first: a tenant's longest-lived bindings stay (B13).
const PAST_TENANT_CAP: &str = "
DELETE FROM bindings WHERE id IN (SELECT id FROM (
    SELECT id, row_number() OVER (PARTITION BY tenant_id ORDER BY state DESC, expires_ms DESC, id DESC) AS place
    FROM bindings WHERE expires_ms > ?1) WHERE place > ?2)";
const PAST_RESERVATIONS: &str = "
DELETE FROM bindings WHERE id IN (SELECT id FROM (
    SELECT id, row_number() OVER (PARTITION BY tenant_id ORDER BY expires_ms DESC, id DESC) AS place
    FROM bindings WHERE expires_ms > ?1 AND state = 0) WHERE place > ?2)";
// The highest place is the tenant's that holds most.
const PAST_TOTAL_CAP: &str = "
DELETE FROM bindings WHERE id IN (SELECT id FROM (
    SELECT id, row_number() OVER (PARTITION BY tenant_id ORDER BY state DESC, expires_ms DESC, id DESC) AS place
    FROM bindings WHERE expires_ms > ?1)
    ORDER BY place DESC LIMIT max(0, (SELECT count(*) FROM bindings WHERE expires_ms > ?1) - ?2))";

// Pins in the same way.
const PINS_PAST_TENANT_CAP: &str = "
DELETE FROM pins WHERE anchor IN (SELECT anchor FROM (
    SELECT anchor, row_number() OVER (PARTITION BY tenant_id ORDER BY expires_ms DESC, anchor DESC) AS place
    FROM pins WHERE expires_ms > ?1) WHERE place > ?2)";
const PINS_PAST_TOTAL_CAP: &str = "
DELETE FROM pins WHERE anchor IN (SELECT anchor FROM (
    SELECT anchor, row_number() OVER (PARTITION BY tenant_id ORDER BY expires_ms DESC, anchor DESC) AS place
    FROM pins WHERE expires_ms > ?1)
    ORDER BY place DESC LIMIT max(0, (SELECT count(*) FROM pins WHERE expires_ms > ?1) - ?2))";

/// What the database holds.
pub(super) struct Loaded {
    pub(super) table: Table,
    pub(super) names: Names,
    /// Whether rows or pins had expired by the start and are still in the file.
    pub(super) expired: bool,
}

/// Reads everything. Rows that had expired by `now` are left where they are.
pub(super) fn load(conn: &mut Connection, caps: Caps, now: Time) -> rusqlite::Result<Loaded> {
    conn.execute_batch("BEGIN IMMEDIATE")?;
    conn.execute_batch(ORPHANS)?;
    conn.execute_batch("COMMIT")?;
    let mut table = read_table(conn, caps, now)?;
    if over(&table, caps) {
        trim(conn, caps, now)?;
        table = read_table(conn, caps, now)?;
    }
    let expired = conn.query_row(
        "SELECT EXISTS (SELECT 1 FROM bindings WHERE expires_ms <= ?1) OR EXISTS (SELECT 1 FROM pins WHERE expires_ms <= ?1)",
        [signed(now.0)],
        |row| row.get(0),
    )?;
    Ok(Loaded { table, names: read_names(conn)?, expired })
}

/// Whether the caps were higher when the rows were written.
fn over(table: &Table, caps: Caps) -> bool {
    let tenants: HashSet<TenantId> = table.rows().map(|row| row.tenant).collect();
    let mut pins: HashMap<TenantId, usize> = HashMap::new();
    for pin in table.pins() {
        *pins.entry(pin.tenant).or_default() += 1;
    }
    table.len() > caps.total
        || table.pin_count() > caps.total
        || pins.into_values().any(|held| held > caps.tenant)
        || tenants
            .into_iter()
            .map(|t| table.held_by(t))
            .any(|(reserved, bound)| reserved + bound > caps.tenant || reserved > caps.reservations())
}

fn trim(conn: &mut Connection, caps: Caps, now: Time) -> rusqlite::Result<()> {
    let tx = conn.transaction()?;
    let mut gone = 0;
    let caps = [
        (PAST_RESERVATIONS, caps.reservations()),
        (PAST_TENANT_CAP, caps.tenant),
        (PAST_TOTAL_CAP, caps.total),
        (PINS_PAST_TENANT_CAP, caps.tenant),
        (PINS_PAST_TOTAL_CAP, caps.total),
    ];
    for (sql, cap) in caps {
        gone += tx.execute(sql, params![signed(now.0), signed(cap as u64)])?;
    }
    tx.commit()?;
    tracing::warn!(rows = gone, "bindings and pins beyond the caps were removed: the caps are lower than before");
    Ok(())
}

fn read_table(conn: &Connection, caps: Caps, now: Time) -> rusqlite::Result<Table> {
    let next_id: i64 = conn.query_row(
        "SELECT max((SELECT value FROM meta WHERE name = 'next_row_id'), (SELECT coalesce(max(id), 0) + 1 FROM bindings))",
        [],
        |row| row.get(0),
    )?;
    let erased = read_epochs(conn)?;
    let mut statement = conn.prepare(ROWS)?;
    let mut reader = Reader { rows: statement.query([signed(now.0)])?, open: None, failed: None };
    let (mut table, refused) = Table::restore(caps, RowId(next_id.unsigned_abs()), &mut reader, erased);
    if let Some(error) = reader.failed {
        return Err(error);
    }
    if refused > 0 {
        tracing::warn!(rows = refused, "bindings whose keys another binding holds were left out");
    }
    let mut pins = conn.prepare(PINS)?;
    let pins = pins.query_map([signed(now.0)], pin)?;
    table.restore_pins(pins.collect::<rusqlite::Result<Vec<_>>>()?);
    Ok(table)
}

/// The last erasure of each scope.
pub(super) fn read_epochs(conn: &Connection) -> rusqlite::Result<Vec<(EpochScope, Epoch)>> {
    let mut epochs = conn.prepare("SELECT scope_kind, scope_id, epoch FROM epochs")?;
    let erased = epochs.query_map([], |row| {
        let kind: String = row.get(0)?;
        let id: u32 = row.get(1)?;
        let scope = match kind.as_str() {
            "account" => EpochScope::Account(AccountId(id)),
            "pool" => EpochScope::Pool(PoolId(id)),
            _ => EpochScope::Tenant(TenantId(id)),
        };
        Ok((scope, Epoch(row.get::<_, i64>(2)?.unsigned_abs())))
    })?;
    erased.collect()
}

fn pin(row: &rusqlite::Row<'_>) -> rusqlite::Result<Pin> {
    Ok(Pin {
        anchor: Digest(row.get(0)?),
        tenant: TenantId(row.get(1)?),
        account: AccountId(row.get(2)?),
        expires: Time(row.get::<_, i64>(3)?.unsigned_abs()),
    })
}

/// Rows of the join, put together to bindings one at a time: a million of them never stand in memory twice.
struct Reader<'s> {
    rows: Rows<'s>,
    open: Option<Row>,
    failed: Option<rusqlite::Error>,
}

impl Iterator for Reader<'_> {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        loop {
            match self.step() {
                Ok(Some(row)) => {
                    if let Some(done) = self.open.replace(row) {
                        return Some(done);
                    }
                }
                Ok(None) => return self.open.take(),
                Err(error) => {
                    self.failed = Some(error);
                    self.open = None;
                    return None;
                }
            }
        }
    }
}

impl Reader<'_> {
    /// The next binding with its first key; further keys go to the open one.
    fn step(&mut self) -> rusqlite::Result<Option<Row>> {
        while let Some(row) = self.rows.next()? {
            let id = RowId(row.get::<_, i64>(0)?.unsigned_abs());
            let kind: u8 = row.get(10)?;
            let kind = SignalKind::from_u8(kind).ok_or(rusqlite::Error::IntegralValueOutOfRange(10, kind.into()))?;
            let key = Key { digest: Digest(row.get(9)?), kind };
            if let Some(open) = self.open.as_mut().filter(|open| open.id == id) {
                open.keys.push(key);
                continue;
            }
            return binding(row, id, key).map(Some);
        }
        Ok(None)
    }
}

fn binding(row: &rusqlite::Row<'_>, id: RowId, first: Key) -> rusqlite::Result<Row> {
    let time = |column| row.get::<_, i64>(column).map(|n| Time(n.unsigned_abs()));
    let expires = time(8)?;
    Ok(Row {
        id,
        tenant: TenantId(row.get(1)?),
        pool: row.get::<_, Option<u32>>(11)?.map(PoolId),
        generation: Generation(row.get(4)?),
        account: AccountId(row.get(2)?),
        state: if row.get(3)? { State::Bound } else { State::Reserved },
        pending: row.get::<_, Option<u32>>(5)?.map(AccountId),
        created: time(6)?,
        renewed: time(7)?,
        expires,
        stored_expires: expires,
        // Durable since before this process began to count.
        seq: Seq(0),
        keys: RowKeys::new(first),
    })
}

fn read_names(conn: &Connection) -> rusqlite::Result<Names> {
    let mut names = Names::default();
    let mut accounts = conn.prepare("SELECT id, identity, label FROM accounts")?;
    let mut rows = accounts.query([])?;
    while let Some(row) = rows.next()? {
        let name = AccountName { identity: row.get::<_, Arc<str>>(1)?, label: row.get::<_, Arc<str>>(2)? };
        names.restore_account(AccountId(row.get(0)?), name);
    }
    let mut tenants = conn.prepare("SELECT id, name, account_id FROM tenants")?;
    let mut rows = tenants.query([])?;
    while let Some(row) = rows.next()? {
        names.restore_tenant(
            TenantId(row.get(0)?),
            row.get::<_, Arc<str>>(1)?,
            row.get::<_, Option<u32>>(2)?.map(AccountId),
        );
    }
    // Numbers of names that were deleted are not given again.
    let used = |table: &str| {
        conn.query_row("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = ?1", [table], |row| row.get(0))
    };
    names.used(used("accounts")?, used("tenants")?);
    Ok(names)
}
