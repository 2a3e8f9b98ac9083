//! Files that cannot be used are named, and left as they are (T2).

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rusqlite::Connection;

use super::*;
use crate::store::{StoreError, schema};

/// Opening fails, the text names the file, and not one byte of it changes.
fn refused(path: &Path) -> StoreError {
    let before = fs::read(path).unwrap();
    let error = Store::open(path, CAPS, START).unwrap_err();
    assert_eq!(fs::read(path).unwrap(), before, "the file was changed");
    assert!(error.to_string().contains(path.file_name().unwrap().to_str().unwrap()), "{error}");
    error
}

#[test]
fn t2_a_file_that_is_deleted_while_it_is_open_is_reported() {
    let place = place();
    let store = open(&place.path, START);
    let aside = place.path.with_extension("aside");
    let look = || store.file.as_ref().unwrap().look();
    look();
    assert!(store.health().is_healthy());
    fs::rename(&place.path, &aside).unwrap();
    look();
    let health = store.health();
    assert!(!health.is_healthy() && health.last_error.as_ref().unwrap().contains("homing.db"), "{health:?}");
    fs::write(&place.path, "another").unwrap();
    look();
    assert!(!store.health().is_healthy(), "another file of that name is not ours");
    fs::rename(&aside, &place.path).unwrap();
    look();
    assert!(store.health().is_healthy());
}

#[test]
fn t2_a_file_that_is_deleted_just_before_the_stop_is_reported_by_it() {
    let place = place();
    let store = open(&place.path, START);
    serve(&store, T1, &session(T1, "s"), A, START);
    fs::remove_file(&place.path).unwrap();
    // Nobody looked in between.
    assert!(store.health().is_healthy());
    let health = smol::block_on(store.shutdown());
    assert!(health.last_error.as_ref().is_some_and(|e| e.contains("deleted or replaced")), "{health:?}");
}

fn filled(path: &Path) {
    let store = open(path, START);
    for i in 0..500 {
        serve(&store, T1, &session(T1, &i.to_string()), A, START);
    }
    smol::block_on(store.shutdown());
}

#[test]
fn new_files_are_for_this_user_alone() {
    let place = place();
    let store = open(&place.path, START);
    serve(&store, T1, &session(T1, "s"), A, START);
    durable(&store);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let dir = place.path.parent().unwrap();
    assert_eq!(mode(dir), 0o700);
    let mut files: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    files.sort();
    assert_eq!(files, ["homing.db", "homing.db-wal"]);
    for file in files {
        assert_eq!(mode(&dir.join(file)), 0o600);
    }
    drop(store);
    fs::set_permissions(&place.path, fs::Permissions::from_mode(0o644)).unwrap();
    drop(open(&place.path, START));
    assert_eq!(mode(&place.path), 0o600);
}

#[test]
fn newer_schema_is_refused() {
    let place = place();
    filled(&place.path);
    Connection::open(&place.path).unwrap().pragma_update(None, "user_version", schema::NEWEST + 1).unwrap();
    let error = refused(&place.path);
    assert!(matches!(error, StoreError::Newer { found, .. } if found == schema::NEWEST + 1), "{error}");
}

#[test]
fn damaged_file_is_left_untouched() {
    let place = place();
    filled(&place.path);
    let good = fs::read(&place.path).unwrap();
    // Cut short, at a page's end and within one.
    for length in [good.len() / 2 / 4096 * 4096, good.len() - 100, 4096] {
        fs::write(&place.path, &good[..length]).unwrap();
        let error = refused(&place.path);
        assert!(matches!(error, StoreError::Damaged { .. }), "{length}: {error}");
    }
    fs::write(&place.path, &good[..40]).unwrap();
    let error = refused(&place.path);
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    // Any page overwritten, the first one behind its header.
    for page in 0..good.len() / 4096 {
        let mut bad = good.clone();
        let start = page * 4096 + if page == 0 { 100 } else { 0 };
        bad[start..(page + 1) * 4096].fill(0xa5);
        fs::write(&place.path, &bad).unwrap();
        let error = refused(&place.path);
        assert!(matches!(error, StoreError::Damaged { .. }), "page {page}: {error}");
    }
    fs::write(&place.path, &good).unwrap();
    assert_eq!(open(&place.path, START).len(), 500);
}

#[test]
fn other_files_are_left_untouched() {
    let place = place();
    fs::create_dir_all(place.path.parent().unwrap()).unwrap();
    fs::write(&place.path, "a letter, longer than the header of a database, and with nothing of one in it; ".repeat(4))
        .unwrap();
    assert!(matches!(refused(&place.path), StoreError::NotADatabase { .. }));
    fs::write(&place.path, "short").unwrap();
    assert!(matches!(refused(&place.path), StoreError::NotADatabase { .. }));
    fs::remove_file(&place.path).unwrap();
    Connection::open(&place.path).unwrap().execute_batch("CREATE TABLE theirs (x)").unwrap();
    assert!(matches!(refused(&place.path), StoreError::Foreign { .. }));
    let error = Store::open(place.path.parent().unwrap(), CAPS, START).unwrap_err();
    assert!(matches!(error, StoreError::NotAFile { .. }), "{error}");
}

#[test]
fn a_log_without_its_database_is_not_thrown_away() {
    let place = place();
    filled(&place.path);
    let wal = place.path.with_extension("db-wal");
    fs::remove_file(&place.path).unwrap();
    fs::write(&wal, "what was not yet moved").unwrap();
    let error = Store::open(&place.path, CAPS, START).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert!(!place.path.exists());
    assert_eq!(fs::read(&wal).unwrap(), b"what was not yet moved");
}

#[test]
fn our_schema_with_a_table_missing_is_damage() {
    let place = place();
    filled(&place.path);
    Connection::open(&place.path).unwrap().execute_batch("DROP TABLE epochs").unwrap();
    let error = Store::open(&place.path, CAPS, START).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
}

#[test]
fn two_opens_of_one_file() {
    let place = place();
    let store = open(&place.path, START);
    let error = Store::open(&place.path, CAPS, START).unwrap_err();
    assert!(matches!(error, StoreError::InUse { .. }), "{error}");
    // The first one is none the worse for it.
    serve(&store, T1, &session(T1, "s"), A, START);
    durable(&store);
    // Another process fares the same.
    let said = child("files::child_opens", &place.path).output().unwrap();
    assert!(String::from_utf8_lossy(&said.stdout).contains("in use by another process"), "{said:?}");
    drop(store);
    drop(open(&place.path, START));
}

#[test]
fn read_only_directory_and_file() {
    let place = place();
    filled(&place.path);
    let dir = place.path.parent().unwrap();
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    set(dir.parent().unwrap(), 0o755);
    let says = |path: &Path| {
        let mut child = child("files::child_opens", path);
        if rustix::process::geteuid().is_root() {
            // Permissions do not bind root.
            child.uid(65_534).gid(65_534);
        }
        String::from_utf8_lossy(&child.output().unwrap().stdout).into_owned()
    };
    // A directory that cannot be written: no new file, and no log for an old one.
    set(&place.path, 0o444);
    set(dir, 0o555);
    let fresh = says(&dir.join("fresh.db"));
    assert!(fresh.contains("cannot write the database") && fresh.contains("fresh.db"), "{fresh}");
    let old = says(&place.path);
    assert!(old.contains("cannot write the database") && old.contains("homing.db"), "{old}");
    // No directory can be made there either.
    let deeper = says(&dir.join("deeper").join("x.db"));
    assert!(deeper.contains("cannot create the directory"), "{deeper}");
    // A file in the place of the directory.
    let below = says(&place.path.join("x.db"));
    assert!(below.contains("cannot create the directory"), "{below}");
    set(dir, 0o700);
}

/// This test binary again, running one helper below.
pub(super) fn child(test: &str, path: &Path) -> Command {
    // Not by its path: the user it runs as may not be allowed to walk there.
    let mut command = Command::new("/proc/self/exe");
    let name = format!("store::tests::{test}");
    command.args([&name, "--exact", "--ignored", "--nocapture", "--test-threads=1"]).env("HOMING_TEST_DB", path);
    command
}

pub(super) fn child_path() -> Option<PathBuf> {
    std::env::var_os("HOMING_TEST_DB").map(PathBuf::from)
}

#[test]
#[ignore = "helper process of the tests above"]
fn child_opens() {
    let Some(path) = child_path() else { return };
    match Store::open(&path, CAPS, START) {
        Ok(_) => println!("opened"),
        Err(error) => println!("refused: {error}"),
    }
}
