//! The only file that reads a clock.

use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Milliseconds since the Unix epoch by the wall clock. A clock before 1970 reads 0.
pub fn wall_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX))
}

/// Milliseconds that only go forward, at the pace of real time, whatever is done to the wall clock. They begin at the wall
/// clock's reading at the first call.
pub fn steady_ms() -> u64 {
    static BEGAN: OnceLock<(u64, Instant)> = OnceLock::new();
    let (wall, began) = BEGAN.get_or_init(|| (wall_ms(), monotonic()));
    wall.saturating_add(u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX))
}

/// A point on the monotonic clock, for deadlines and durations.
pub fn monotonic() -> Instant {
    Instant::now()
}

/// Completes after `duration`.
pub async fn sleep(duration: Duration) {
    smol::Timer::after(duration).await;
}

/// The value of `future`, or `None` once `limit` has passed.
pub async fn within<F: Future>(limit: Duration, future: F) -> Option<F::Output> {
    smol::future::or(async { Some(future.await) }, async {
        sleep(limit).await;
        None
    })
    .await
}
