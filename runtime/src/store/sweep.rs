//! Rows and pins that go in the background (B13), and renewals that are written at last.

use std::sync::atomic::Ordering;
use std::time::Duration;

use homing_core::table::erase::PURGE_BATCH;
use homing_core::time::Time;

use super::Store;
use super::apply::signed;
use super::error::StoreError;
use crate::clock;

// Only rows from before the start: a row made since may carry an earlier time, where the clock was set back.
const LEFTOVER: &str = "
DELETE FROM bindings WHERE id IN
    (SELECT id FROM bindings WHERE expires_ms <= ?1 AND id < ?2 ORDER BY expires_ms LIMIT ?3)";

// A pin lives for 30 days whenever it is made: none that was made since a start had ended by then.
const LEFTOVER_PINS: &str = "
DELETE FROM pins WHERE anchor IN (SELECT anchor FROM pins WHERE expires_ms <= ?1 ORDER BY expires_ms LIMIT ?2)";

impl Store {
    /// Removes every row and pin that has expired by `now`, in batches of at most 1,000 between which requests go on. Returns how
    /// many went.
    ///
    /// # Errors
    /// Only of the part that concerns what had already expired at the start, which are in the file alone.
    pub async fn purge_expired(&self, now: Time) -> Result<usize, StoreError> {
        let mut gone = 0;
        loop {
            let batch = self.change(|table| table.purge(now));
            gone += batch;
            if batch == 0 {
                break;
            }
            smol::future::yield_now().await;
        }
        Ok(gone + self.purge_leftover().await?)
    }

    async fn purge_leftover(&self) -> Result<usize, StoreError> {
        let mut gone = 0;
        let (below, until) = self.leftover;
        while self.has_leftover.load(Ordering::Relaxed) {
            let (until, below, most) = (signed(until.0), signed(below.0), PURGE_BATCH as i64);
            let purge = move |tx: &rusqlite::Transaction<'_>| {
                let rows = tx.prepare_cached(LEFTOVER)?.execute((until, below, most))?;
                Ok(rows + tx.prepare_cached(LEFTOVER_PINS)?.execute((until, most - rows as i64))?)
            };
            let batch = self.writer.call("remove expired bindings", purge, |_| ()).await?;
            gone += batch;
            if batch == 0 {
                self.has_leftover.store(false, Ordering::Relaxed);
            }
        }
        Ok(gone)
    }

    /// [`Store::purge_expired`] again and again, `every` so often. Never ends.
    pub async fn purge_forever(&self, every: Duration) {
        loop {
            if let Err(error) = self.purge_expired(Time(clock::wall_ms())).await {
                tracing::warn!(%error, "expired bindings stay in the file for now");
            }
            if let Some(file) = &self.file {
                file.look();
            }
            clock::sleep(every).await;
        }
    }

    /// Queues every renewal that was coalesced so far (B15); returns how many.
    pub fn flush_renewals(&self) -> usize {
        self.change(homing_core::table::Table::flush)
    }
}
