//! T4: up, down and up again.

use homing_core::ids::Epoch;
use homing_core::row::Scope;
use rusqlite::Connection;

use super::*;
use crate::store::migrate::{Step, migrate, version};
use crate::store::{StoreError, migrate_to, schema};

/// The database's own description of everything in it.
fn description(conn: &Connection) -> Vec<(String, Option<String>)> {
    let mut statement =
        conn.prepare("SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name").unwrap();
    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect()
}

#[test]
fn sqlite_migration_up_down_up() {
    let place = place();
    drop(open(&place.path, START));
    let first = description(&Connection::open(&place.path).unwrap());
    assert!(first.iter().any(|(name, _)| name == "bindings_by_expiry"));
    migrate_to(&place.path, 0).unwrap();
    {
        let conn = Connection::open(&place.path).unwrap();
        assert_eq!(description(&conn), [], "down removes exactly what up added");
        assert_eq!(version(&conn).unwrap(), 0);
    }
    let store = open(&place.path, START);
    serve(&store, T1, &session(T1, "s"), A, START);
    durable(&store);
    drop(store);
    let conn = Connection::open(&place.path).unwrap();
    assert_eq!(description(&conn), first);
    assert_eq!(version(&conn).unwrap(), schema::NEWEST);
    // The bounds hold after the second up.
    let insert = "INSERT INTO binding_keys (digest, binding_id, position, kind) VALUES (?1, 1, ?2, ?3)";
    for (digest, position, kind) in [(vec![0_u8; 31], 0, 0), (vec![1; 32], 8, 0), (vec![2; 32], 0, 6)] {
        conn.execute(insert, (digest, position, kind)).unwrap_err();
    }
    conn.execute("UPDATE bindings SET expires_ms = created_ms - 1", []).unwrap_err();
    conn.execute("UPDATE bindings SET state = 0", []).unwrap_err();
    conn.execute("INSERT INTO tenants (kind, name) VALUES ('account', 'account:x')", []).unwrap_err();
    migrate_to(&place.path, schema::NEWEST + 1).unwrap_err();
}

/// A later step, to see that rows of the step before it come through.
const LATER: Step = Step {
    name: "one more column",
    up: "ALTER TABLE bindings ADD COLUMN extra INTEGER NOT NULL DEFAULT 7 CHECK (extra >= 0);
         CREATE INDEX bindings_by_extra ON bindings (extra);
         CREATE TABLE more (x INTEGER) STRICT;",
    down: "DROP TABLE more; DROP INDEX bindings_by_extra; ALTER TABLE bindings DROP COLUMN extra;",
};

#[test]
fn rows_of_the_older_schema_come_through_up_down_and_up() {
    let place = place();
    let store = open(&place.path, START);
    serve(&store, T1, &session(T1, "s"), A, START);
    durable(&store);
    let before = after_restart(&store);
    drop(store);
    let steps: Vec<Step> = schema::STEPS.iter().copied().chain([LATER]).collect();
    let newest = steps.len() as u32;
    let mut conn = Connection::open(&place.path).unwrap();
    let older = description(&conn);
    assert_eq!(migrate(&mut conn, &steps, newest).unwrap(), newest - 1);
    let newer = description(&conn);
    migrate(&mut conn, &steps, newest - 1).unwrap();
    assert_eq!(description(&conn), older);
    migrate(&mut conn, &steps, newest).unwrap();
    assert_eq!(description(&conn), newer);
    conn.execute("UPDATE bindings SET extra = -1", []).unwrap_err();
    drop(conn);
    // Meanwhile the older program refuses, and after the way back it reads on.
    let found = Store::open(&place.path, CAPS, START).unwrap_err();
    assert!(matches!(found, StoreError::Newer { found, .. } if found == newest), "{found}");
    migrate(&mut Connection::open(&place.path).unwrap(), &steps, newest - 1).unwrap();
    assert_eq!(after_restart(&open(&place.path, START)), before);
}

#[test]
fn conversations_and_pins_go_with_their_step_and_sessions_stay() {
    let place = place();
    let tenant;
    let sessions = {
        let store = open(&place.path, START);
        let account = store.intern_account("acc-1");
        tenant = store.account_tenant(account).unwrap().id;
        let aliases = keys(tenant, &[(SignalKind::SessionHeader, "s"), (SignalKind::PromptCacheKey, "cache")]);
        serve(&store, tenant, &aliases, account, START);
        store.erase(Scope::Account(B));
        let sessions = after_restart(&store);
        serve(&store, tenant, &conversation(tenant, PoolId(1), "c"), account, START);
        store.erase(Scope::Pool(PoolId(9)));
        pin(&store, tenant, "resp_1", account, START);
        durable(&store);
        sessions
    };
    let newest = description(&Connection::open(&place.path).unwrap());
    migrate_to(&place.path, 1).unwrap();
    {
        // What is left is what the older program would have made, and no more.
        let mut older = Connection::open_in_memory().unwrap();
        migrate(&mut older, schema::STEPS, 1).unwrap();
        let conn = Connection::open(&place.path).unwrap();
        assert_eq!(description(&conn), description(&older));
        let counts = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(counts("SELECT count(*) FROM bindings"), 1);
        assert_eq!(counts("SELECT count(*) FROM binding_keys"), 2);
        assert_eq!(counts("SELECT count(*) FROM epochs"), 1);
        assert_eq!(counts("SELECT count(*) FROM pragma_foreign_key_check"), 0);
        conn.execute("UPDATE binding_keys SET kind = 4", []).unwrap_err();
    }
    let store = open(&place.path, START);
    assert_eq!(after_restart(&store), sessions, "T4: rows that the older schema knew come through");
    assert_eq!(store.table().epoch(), Epoch(1));
    assert_eq!(pinned(&store, tenant, "resp_1", START), Pinned::Nowhere);
    serve(&store, tenant, &conversation(tenant, PoolId(1), "c"), A, START);
    pin(&store, tenant, "resp_1", A, START);
    durable(&store);
    let both = after_restart(&store);
    drop(store);
    let conn = Connection::open(&place.path).unwrap();
    assert_eq!(description(&conn), newest);
    conn.execute("UPDATE bindings SET pool_id = -1", []).unwrap_err();
    conn.execute("UPDATE pins SET anchor = x'00'", []).unwrap_err();
    conn.execute("INSERT INTO epochs VALUES ('nobody', 1, 1)", []).unwrap_err();
    drop(conn);
    let store = open(&place.path, START);
    assert_eq!(after_restart(&store), both);
    assert_eq!(pinned(&store, tenant, "resp_1", START), Pinned::At { account: A, anchor: 0 });
}

#[test]
fn a_step_that_fails_changes_nothing() {
    let mut conn = Connection::open_in_memory().unwrap();
    let bad = Step { name: "bad", up: "CREATE TABLE half (x INTEGER); SELECT nonsense;", down: "" };
    migrate(&mut conn, &[bad], 1).unwrap_err();
    assert_eq!(description(&conn), []);
    assert_eq!(version(&conn).unwrap(), 0);
}

#[test]
fn the_indexes_serve_the_statements_they_are_for() {
    let place = place();
    drop(open(&place.path, START));
    let conn = Connection::open(&place.path).unwrap();
    let plan = |sql: &str| -> String {
        let mut statement = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let lines = statement.query_map([1_i64; 1], |row| row.get::<_, String>(3)).unwrap();
        lines.map(Result::unwrap).collect::<Vec<_>>().join("; ")
    };
    let load = plan(crate::store::load::ROWS);
    assert!(load.contains("SCAN b;") && load.contains("COVERING INDEX binding_keys_by_binding"), "{load}");
    assert!(!load.contains("TEMP B-TREE"), "a million rows would be sorted: {load}");
    let expired = plan("SELECT id FROM bindings WHERE expires_ms <= ?1 ORDER BY expires_ms LIMIT 1000");
    assert!(expired.contains("COVERING INDEX bindings_by_expiry") && !expired.contains("TEMP"), "{expired}");
    let pins = plan("SELECT anchor FROM pins WHERE expires_ms <= ?1 ORDER BY expires_ms LIMIT 1000");
    assert!(pins.contains("COVERING INDEX pins_by_expiry") && !pins.contains("TEMP"), "{pins}");
    let key = plan("SELECT binding_id FROM binding_keys WHERE digest = ?1");
    assert!(key.contains("SEARCH binding_keys USING PRIMARY KEY"), "{key}");
}
