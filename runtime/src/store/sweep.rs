//! Rows and pins that go in the background (B13), and renewals that are written at last.

use std::sync::atomic::Ordering;

use homing_core::table::erase::PURGE_BATCH;
use homing_core::time::Time;

use super::Store;
use super::apply::signed;
use super::error::StoreError;

// Only rows from before the start: a row made since may carry an earlier time, where the clock was set back.
const LEFTOVER: &str = "
DELETE FROM bindings WHERE id IN
    (SELECT id FROM bindings WHERE expires_ms <= ?1 AND id < ?2 ORDER BY expires_ms LIMIT ?3)";

// A pin lives for 30 days whenever it is made: none that was made since a start had ended by then.
const LEFTOVER_PINS: &str = "
DELETE FROM pins WHERE anchor IN (SELECT anchor FROM pins WHERE expires_ms <= ?1 ORDER BY expires_ms LIMIT ?2)";

impl Store {
    /// Removes one batch of what has expired by `now`, at most 1,000; returns how many went. Call again until that is none.
    ///
    /// # Errors
    /// Only of the part that concerns what had already expired at the start, which are in the file alone.
    pub async fn purge_expired(&self, now: Time) -> Result<usize, StoreError> {
        match self.change(|table| table.purge(now)) {
            0 => self.purge_leftover().await,
            gone => Ok(gone),
        }
    }

    async fn purge_leftover(&self) -> Result<usize, StoreError> {
        if !self.has_leftover.load(Ordering::Relaxed) {
            return Ok(0);
        }
        let (below, until) = self.leftover;
        let (until, below, most) = (signed(until.0), signed(below.0), PURGE_BATCH as i64);
        let purge = move |tx: &rusqlite::Transaction<'_>| {
            let rows = tx.prepare_cached(LEFTOVER)?.execute((until, below, most))?;
            Ok(rows + tx.prepare_cached(LEFTOVER_PINS)?.execute((until, most - rows as i64))?)
        };
        let gone = self.writer.call("remove expired bindings", purge, |_| ()).await?;
        if gone == 0 {
            self.has_leftover.store(false, Ordering::Relaxed);
        }
        Ok(gone)
    }

    /// Looks whether the database file is still the one that was opened; health says so from then on.
    pub fn look_at_file(&self) {
        if let Some(file) = &self.file {
            file.look();
        }
    }

    /// Queues every renewal that was coalesced so far (B15); returns how many.
    pub fn flush_renewals(&self) -> usize {
        self.change(homing_core::table::Table::flush)
    }
}
