//! Migrations, forward and back (T4). Each step and the version it leads to are one transaction.

use rusqlite::{Connection, TransactionBehavior};

/// One step of the schema. Its version is its place in the list, counted from 1.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// What it is about.
    pub name: &'static str,
    /// Statements that lead to it.
    pub up: &'static str,
    /// Statements that remove exactly what `up` added.
    pub down: &'static str,
}

/// The schema version in the file's header; 0 where nothing was made yet.
///
/// # Errors
/// What SQLite reports.
pub fn version(conn: &Connection) -> rusqlite::Result<u32> {
    conn.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Takes the database from where it stands to version `to`, up or down; returns the version it stood at.
///
/// Stops at the first step that fails; the steps before it stand, so that a second run goes on there. The caller has
/// made sure that neither `to` nor the present version is beyond the list.
///
/// # Errors
/// What SQLite reports; the step in question changed nothing.
pub fn migrate(conn: &mut Connection, steps: &[Step], to: u32) -> rusqlite::Result<u32> {
    let from = version(conn)?;
    for (step, number) in steps.iter().zip(1_u32..) {
        if from < number && number <= to {
            run(conn, step, step.up, number)?;
        }
    }
    for (number, step) in (1..).zip(steps).collect::<Vec<(u32, _)>>().into_iter().rev() {
        if to < number && number <= from {
            run(conn, step, step.down, number - 1)?;
        }
    }
    Ok(from)
}

fn run(conn: &mut Connection, step: &Step, sql: &str, leads_to: u32) -> rusqlite::Result<()> {
    let tx = conn.transaction_with_behavior(TransactionBehavior::Exclusive)?;
    tx.execute_batch(sql)?;
    tx.pragma_update(None, "user_version", leads_to)?;
    tx.commit()?;
    tracing::info!(step = step.name, schema = leads_to, "database migrated");
    Ok(())
}
