//! One bound for all request bodies together (W5), and the bodies that count against it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The bound would be passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{wanted} more bytes of request bodies would pass the limit of {limit} bytes")]
pub struct BudgetExceeded {
    /// Bytes asked for.
    pub wanted: usize,
    /// The limit of all bodies together, in bytes.
    pub limit: usize,
}

/// A counter of bytes with a limit, shared by all connections. Cloning gives another handle of the same counter.
#[derive(Debug, Clone)]
pub struct MemoryBudget(Arc<Counter>);

#[derive(Debug)]
struct Counter {
    used: AtomicUsize,
    limit: usize,
}

impl MemoryBudget {
    /// A budget of `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self(Arc::new(Counter { used: AtomicUsize::new(0), limit }))
    }

    /// Bytes reserved now.
    pub fn used(&self) -> usize {
        self.0.used.load(Ordering::Relaxed)
    }

    /// The limit in bytes.
    pub fn limit(&self) -> usize {
        self.0.limit
    }

    /// A reservation of nothing yet.
    pub fn reservation(&self) -> Reservation {
        Reservation { counter: Arc::clone(&self.0), bytes: 0 }
    }
}

/// Bytes held from a [`MemoryBudget`], given back on drop.
#[derive(Debug)]
pub struct Reservation {
    counter: Arc<Counter>,
    bytes: usize,
}

impl Reservation {
    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Holds at least `bytes` in all.
    ///
    /// # Errors
    /// [`BudgetExceeded`] when that would pass the limit; what is held stays held.
    pub fn grow_to(&mut self, bytes: usize) -> Result<(), BudgetExceeded> {
        let Some(more) = bytes.checked_sub(self.bytes) else { return Ok(()) };
        let limit = self.counter.limit;
        self.counter
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                used.checked_add(more).filter(|sum| *sum <= limit)
            })
            .map_err(|_| BudgetExceeded { wanted: more, limit })?;
        self.bytes = bytes;
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.counter.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// A request body and the memory it counts for. Keep it as long as the request may be repeated.
pub struct Body {
    bytes: Vec<u8>,
    held: Reservation,
}

impl Body {
    pub(crate) fn new(bytes: Vec<u8>, held: Reservation) -> Self {
        Self { bytes, held }
    }

    /// Bytes that this body holds from the budget.
    pub fn reserved(&self) -> usize {
        self.held.bytes()
    }
}

impl std::ops::Deref for Body {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Body({} bytes)", self.bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reservations_share_the_limit_and_give_back_on_drop() {
        let budget = MemoryBudget::new(100);
        let mut a = budget.reservation();
        let mut b = budget.reservation();
        a.grow_to(60).unwrap();
        a.grow_to(10).unwrap();
        assert_eq!(a.bytes(), 60, "a reservation never shrinks");
        assert_eq!(b.grow_to(41), Err(BudgetExceeded { wanted: 41, limit: 100 }));
        b.grow_to(40).unwrap();
        assert_eq!(budget.used(), 100);
        drop(a);
        assert_eq!(budget.used(), 40);
        assert!(b.grow_to(usize::MAX).is_err());
        drop(b);
        assert_eq!(budget.used(), 0);
    }
}
