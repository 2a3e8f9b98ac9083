//! The schema, step by step (T4). A `CHECK` restates each bound of the contract, so that no other program breaks it unseen.
//!
//! Bindings name their account and tenant by number without a foreign key: the table in memory is the authority, and a
//! row it holds must never be refused for want of another row. Keys do hang on their binding, users on their tenant.

use super::migrate::Step;

/// Stands in the header of every database of this program: "HOMG".
pub const APPLICATION_ID: i32 = 0x484f_4d47;

/// All steps, oldest first. A released step is never edited: what changes is a further step.
pub const STEPS: &[Step] = &[
    Step { name: "session affinity", up: UP_1, down: DOWN_1 },
    Step { name: "conversations and hard pins", up: UP_2, down: DOWN_2 },
];

/// The newest schema this program knows.
pub const NEWEST: u32 = STEPS.len() as u32;

const UP_1: &str = "
-- One number for each stable identity of an account (spec section 1), for ever.
CREATE TABLE accounts (
    id       INTEGER PRIMARY KEY AUTOINCREMENT CHECK (id BETWEEN 1 AND 4294967295),
    identity TEXT NOT NULL UNIQUE CHECK (length(identity) >= 1),
    label    TEXT NOT NULL DEFAULT ''
) STRICT;

-- One number for each tenant, for ever. `name` is the stable scope of its keys (K2): it never changes, also when the
-- account behind a compatibility caller gains a user id.
CREATE TABLE tenants (
    id         INTEGER PRIMARY KEY AUTOINCREMENT CHECK (id BETWEEN 1 AND 4294967295),
    kind       TEXT NOT NULL CHECK (kind IN ('user', 'account')),
    name       TEXT NOT NULL UNIQUE CHECK (length(name) >= 1),
    account_id INTEGER UNIQUE CHECK (account_id BETWEEN 1 AND 4294967295),
    CHECK ((kind = 'account') = (account_id IS NOT NULL))
) STRICT;

-- Managed users, one active key each. The key itself is stored nowhere.
CREATE TABLE users (
    tenant_id      INTEGER PRIMARY KEY REFERENCES tenants (id),
    user_id        TEXT NOT NULL UNIQUE CHECK (user_id GLOB 'usr_?*'),
    name           TEXT NOT NULL UNIQUE
                   CHECK (length(name) BETWEEN 1 AND 64 AND name NOT GLOB '*[^A-Za-z0-9._@-]*'),
    key_hash       BLOB NOT NULL UNIQUE CHECK (length(key_hash) = 32),
    key_hint       TEXT NOT NULL CHECK (length(key_hint) = 4),
    disabled       INTEGER NOT NULL DEFAULT 0 CHECK (disabled IN (0, 1)),
    created_ms     INTEGER NOT NULL CHECK (created_ms >= 0),
    key_created_ms INTEGER NOT NULL CHECK (key_created_ms >= 0)
) STRICT;

-- state: 0 reserved, 1 bound. Times: milliseconds since the Unix epoch.
CREATE TABLE bindings (
    id                 INTEGER PRIMARY KEY CHECK (id >= 1),
    tenant_id          INTEGER NOT NULL CHECK (tenant_id BETWEEN 0 AND 4294967295),
    account_id         INTEGER NOT NULL CHECK (account_id BETWEEN 0 AND 4294967295),
    state              INTEGER NOT NULL CHECK (state IN (0, 1)),
    generation         INTEGER NOT NULL CHECK (generation BETWEEN 0 AND 4294967295),
    pending_account_id INTEGER CHECK (pending_account_id BETWEEN 0 AND 4294967295),
    created_ms         INTEGER NOT NULL CHECK (created_ms >= 0),
    renewed_ms         INTEGER NOT NULL CHECK (renewed_ms >= created_ms),
    expires_ms         INTEGER NOT NULL CHECK (expires_ms >= renewed_ms),
    CHECK ((state = 0) = (generation = 0))
) STRICT;
CREATE INDEX bindings_by_expiry ON bindings (expires_ms, id);

-- SHA-256 digests (K2), never the identifiers. kind: the strongest place seen; position: the order in which they came,
-- at most eight of a session (B10).
CREATE TABLE binding_keys (
    digest     BLOB PRIMARY KEY CHECK (length(digest) = 32),
    binding_id INTEGER NOT NULL REFERENCES bindings (id) ON DELETE CASCADE,
    position   INTEGER NOT NULL CHECK (position BETWEEN 0 AND 7),
    kind       INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 3)
) STRICT, WITHOUT ROWID;
CREATE INDEX binding_keys_by_binding ON binding_keys (binding_id, position, kind);

-- The last erasure of each scope (B6).
CREATE TABLE epochs (
    scope_kind TEXT NOT NULL CHECK (scope_kind IN ('account', 'tenant')),
    scope_id   INTEGER NOT NULL CHECK (scope_id BETWEEN 0 AND 4294967295),
    epoch      INTEGER NOT NULL CHECK (epoch >= 1),
    PRIMARY KEY (scope_kind, scope_id)
) STRICT, WITHOUT ROWID;

-- next_row_id: beyond every binding id that was ever written (B6).
CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO meta (name, value) VALUES ('next_row_id', 1);
";

const DOWN_1: &str = "
DROP TABLE meta;
DROP TABLE epochs;
DROP TABLE binding_keys;
DROP TABLE bindings;
DROP TABLE users;
DROP TABLE tenants;
DROP TABLE accounts;
";

// A CHECK cannot be changed, so two tables are made anew. Each is copied into the new one from the old one under another
// name: a table that is itself renamed would be described otherwise than one that was made so.
const UP_2: &str = "
-- The pool a conversation lives in; a session has none.
ALTER TABLE bindings ADD COLUMN pool_id INTEGER CHECK (pool_id BETWEEN 0 AND 4294967295);

-- kind: 4 and 5 are the two headers of the conversation policy.
DROP INDEX binding_keys_by_binding;
ALTER TABLE binding_keys RENAME TO binding_keys_1;
CREATE TABLE binding_keys (
    digest     BLOB PRIMARY KEY CHECK (length(digest) = 32),
    binding_id INTEGER NOT NULL REFERENCES bindings (id) ON DELETE CASCADE,
    position   INTEGER NOT NULL CHECK (position BETWEEN 0 AND 7),
    kind       INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 5)
) STRICT, WITHOUT ROWID;
INSERT INTO binding_keys SELECT digest, binding_id, position, kind FROM binding_keys_1;
DROP TABLE binding_keys_1;
CREATE INDEX binding_keys_by_binding ON binding_keys (binding_id, position, kind);

ALTER TABLE epochs RENAME TO epochs_1;
CREATE TABLE epochs (
    scope_kind TEXT NOT NULL CHECK (scope_kind IN ('account', 'tenant', 'pool')),
    scope_id   INTEGER NOT NULL CHECK (scope_id BETWEEN 0 AND 4294967295),
    epoch      INTEGER NOT NULL CHECK (epoch >= 1),
    PRIMARY KEY (scope_kind, scope_id)
) STRICT, WITHOUT ROWID;
INSERT INTO epochs SELECT scope_kind, scope_id, epoch FROM epochs_1;
DROP TABLE epochs_1;

-- Who got an id of an upstream account through the gateway (R1). The digest of the id, never the id.
CREATE TABLE pins (
    anchor     BLOB PRIMARY KEY CHECK (length(anchor) = 32),
    tenant_id  INTEGER NOT NULL CHECK (tenant_id BETWEEN 0 AND 4294967295),
    account_id INTEGER NOT NULL CHECK (account_id BETWEEN 0 AND 4294967295),
    expires_ms INTEGER NOT NULL CHECK (expires_ms >= 0)
) STRICT, WITHOUT ROWID;
CREATE INDEX pins_by_expiry ON pins (expires_ms);
";

// What the older schema has no words for goes: conversations, erasures of pools, pins.
const DOWN_2: &str = "
DROP TABLE pins;

DELETE FROM binding_keys WHERE binding_id IN (SELECT id FROM bindings WHERE pool_id IS NOT NULL);
DELETE FROM bindings WHERE pool_id IS NOT NULL;
ALTER TABLE bindings DROP COLUMN pool_id;

DROP INDEX binding_keys_by_binding;
ALTER TABLE binding_keys RENAME TO binding_keys_2;
CREATE TABLE binding_keys (
    digest     BLOB PRIMARY KEY CHECK (length(digest) = 32),
    binding_id INTEGER NOT NULL REFERENCES bindings (id) ON DELETE CASCADE,
    position   INTEGER NOT NULL CHECK (position BETWEEN 0 AND 7),
    kind       INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 3)
) STRICT, WITHOUT ROWID;
INSERT INTO binding_keys SELECT digest, binding_id, position, kind FROM binding_keys_2;
DROP TABLE binding_keys_2;
CREATE INDEX binding_keys_by_binding ON binding_keys (binding_id, position, kind);

ALTER TABLE epochs RENAME TO epochs_2;
CREATE TABLE epochs (
    scope_kind TEXT NOT NULL CHECK (scope_kind IN ('account', 'tenant')),
    scope_id   INTEGER NOT NULL CHECK (scope_id BETWEEN 0 AND 4294967295),
    epoch      INTEGER NOT NULL CHECK (epoch >= 1),
    PRIMARY KEY (scope_kind, scope_id)
) STRICT, WITHOUT ROWID;
INSERT INTO epochs SELECT scope_kind, scope_id, epoch FROM epochs_2 WHERE scope_kind <> 'pool';
DROP TABLE epochs_2;
";
