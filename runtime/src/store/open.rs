//! Opening the file: everything is checked before anything is written (T2).
//!
//! The connection holds SQLite's own exclusive lock for as long as it lives (`locking_mode=EXCLUSIVE`). The table in
//! memory is the authority, so a write by anybody else would be lost or, worse, half seen; and without shared memory the
//! database needs no `-shm` file. The price: `sqlite3` on the command line cannot read the file of a running gateway.
//! `homing bindings list` can, through the running gateway.
//!
//! Nothing in this process may open an existing database file but SQLite: when any descriptor of a file is closed, POSIX
//! drops every lock the process has on it, SQLite's too.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::error::StoreError;
use super::{migrate, schema};

/// Up to this size every page is checked at start; beyond it what is read (all bindings, keys and users) has to do.
const CHECKED_MAX: u64 = 256 << 20;
/// How long an open waits for somebody else's lock: long enough for a process that is just ending.
const BUSY: Duration = Duration::from_millis(250);

/// The database at `path`, created if it is not there, checked, migrated to the newest schema and locked.
pub(super) fn open(path: &Path) -> Result<Connection, StoreError> {
    prepare_file(path)?;
    let mut conn = open_checked(path)?;
    let fail = |action| move |e: rusqlite::Error| StoreError::sqlite(path, action, &e);
    restrict(path)?;
    configure(&conn).map_err(fail("set up"))?;
    migrate::migrate(&mut conn, schema::STEPS, schema::NEWEST).map_err(fail("migrate"))?;
    conn.pragma_update(None, "foreign_keys", true).map_err(fail("set up"))?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false).map_err(fail("set up"))?;
    Ok(conn)
}

/// Takes the schema of a database that nobody has open to version `to`, up or down (T4).
///
/// # Errors
/// As [`super::Store::open`], and where there is no such version.
pub fn migrate_to(path: &Path, to: u32) -> Result<(), StoreError> {
    if to > schema::NEWEST {
        return Err(StoreError::NoSuchVersion { to, known: schema::NEWEST });
    }
    prepare_file(path)?;
    let mut conn = open_checked(path)?;
    let fail = |action| move |e: rusqlite::Error| StoreError::sqlite(path, action, &e);
    configure(&conn).map_err(fail("set up"))?;
    migrate::migrate(&mut conn, schema::STEPS, to).map_err(fail("migrate"))?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false).map_err(fail("set up"))?;
    conn.close().map_err(|(_, e)| StoreError::sqlite(path, "close", &e))
}

/// Makes the directory (0700) and an empty file (0600) where there is none; an existing one is only looked at from outside.
fn prepare_file(path: &Path) -> Result<(), StoreError> {
    let dir = path.parent().filter(|d| !d.as_os_str().is_empty()).unwrap_or(Path::new("."));
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(|source| StoreError::Directory { path: dir.to_path_buf(), source })?;
    let lone_wal = wal_of(path).metadata().is_ok_and(|m| m.len() > 0);
    match path.metadata() {
        Err(e) if e.kind() == ErrorKind::NotFound => {}
        Err(e) => return Err(StoreError::io(path, "open", &e)),
        Ok(meta) if !meta.is_file() => return Err(StoreError::NotAFile { path: path.to_path_buf() }),
        Ok(meta) if meta.len() > 0 => return Ok(()),
        Ok(_) => {}
    }
    if lone_wal {
        // SQLite would throw the log away: it holds what the missing file does not.
        let detail = format!("it is missing or empty, but its log {:?} is not", wal_of(path));
        return Err(StoreError::Damaged { path: path.to_path_buf(), detail });
    }
    let created = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    match created.and_then(|_| File::open(dir)?.sync_all()) {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => Err(StoreError::io(path, "create", &e)),
        _ => Ok(()),
    }
}

fn wal_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

/// A locked connection to a database that is ours, whole, and of a schema we know. Only reads, and on an error leaves the
/// file as it was: closing does not even move the log into it.
fn open_checked(path: &Path) -> Result<Connection, StoreError> {
    let fail = |action| move |e: rusqlite::Error| StoreError::sqlite(path, action, &e);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags).map_err(fail("open"))?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(fail("open"))?;
    conn.busy_timeout(BUSY).map_err(fail("open"))?;
    conn.pragma_update(None, "locking_mode", "EXCLUSIVE").map_err(fail("lock"))?;
    if conn.is_readonly("main").map_err(fail("open"))? {
        let reason = "it can only be read".to_owned();
        return Err(StoreError::NotWritable { path: path.to_path_buf(), reason });
    }
    let objects: i64 =
        conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(fail("read"))?;
    let application: i32 = conn.pragma_query_value(None, "application_id", |row| row.get(0)).map_err(fail("read"))?;
    let found = migrate::version(&conn).map_err(fail("read"))?;
    let empty = objects == 0 && application == 0 && found == 0;
    if !empty && application != schema::APPLICATION_ID {
        return Err(StoreError::Foreign { path: path.to_path_buf(), application });
    }
    if found > schema::NEWEST {
        return Err(StoreError::Newer { path: path.to_path_buf(), found, known: schema::NEWEST });
    }
    if path.metadata().is_ok_and(|m| m.len() <= CHECKED_MAX) {
        quick_check(path, &conn)?;
    }
    Ok(conn)
}

fn quick_check(path: &Path, conn: &Connection) -> Result<(), StoreError> {
    let said: String = conn
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(|e| StoreError::sqlite(path, "check", &e))?;
    if said == "ok" { Ok(()) } else { Err(StoreError::Damaged { path: path.to_path_buf(), detail: said }) }
}

/// Nobody else reads users and bindings: an existing file with a wider mode is narrowed.
fn restrict(path: &Path) -> Result<(), StoreError> {
    let mode = path.metadata().map_err(|e| StoreError::io(path, "open", &e))?.permissions().mode();
    if mode & 0o077 != 0 {
        tracing::warn!(?path, mode = format!("{:o}", mode & 0o777), "the database was open to others; now it is 0600");
        std::fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(|e| StoreError::io(path, "open", &e))?;
    }
    Ok(())
}

/// WAL with a sync at every commit (B15), and the exclusive lock taken now rather than at the first write.
fn configure(conn: &Connection) -> rusqlite::Result<()> {
    let mode: String = conn.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    if mode != "wal" {
        tracing::warn!(mode, "the database cannot use a write-ahead log here; commits are slower");
    }
    conn.pragma_update(None, "synchronous", "FULL")?;
    // After a burst the log shrinks back to this.
    conn.pragma_update(None, "journal_size_limit", 64 << 20)?;
    conn.pragma_update(None, "cache_size", -32 * 1024)?;
    conn.set_prepared_statement_cache_capacity(32);
    conn.execute_batch("BEGIN EXCLUSIVE; COMMIT")?;
    let application: i32 = conn.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if application != schema::APPLICATION_ID {
        conn.pragma_update(None, "application_id", schema::APPLICATION_ID)?;
    }
    Ok(())
}
