//! What is not one request's business: expired rows go, coalesced renewals are written, a process ends in order (B13, B15).
//!
//! The keeper says what is due; the driver does one chore at a time and reports. It holds no timer: [`Keeper::wakes`] says when
//! to ask again, and everything that may change the answer earlier is a call of the driver's own.
//!
//! ```
//! use homing_core::keeper::{Chore, Done, Keeper, Rules};
//! use homing_core::time::{Millis, Time};
//!
//! let mut keeper = Keeper::new(Rules { sweep_every: Millis::secs(30), drain_for: Millis::secs(60) }, Time(0));
//! assert_eq!(keeper.chore(Time(0)), Some(Chore::Sweep), "a process that starts may find expired rows");
//! keeper.done(Done::Swept { more: false }, Time(0)).unwrap();
//! assert_eq!((keeper.chore(Time(1)), keeper.wakes()), (None, Some(Time(30_000))));
//!
//! keeper.began();
//! keeper.drain(Time(2_000));
//! assert_eq!(keeper.chore(Time(2_000)), None, "one is under way");
//! keeper.ended();
//! assert_eq!(keeper.chore(Time(3_000)), Some(Chore::Flush));
//! keeper.done(Done::Flushed, Time(3_000)).unwrap();
//! assert_eq!(keeper.chore(Time(3_000)), Some(Chore::Close));
//! ```

use crate::time::{Millis, Time};

/// How the keeper goes about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rules {
    /// From the end of one sweep that found nothing more to the next.
    pub sweep_every: Millis,
    /// How long requests under way may go on once the process is to end.
    pub drain_for: Millis,
}

/// One thing to do now. It is answered by [`Keeper::done`] before the next one is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Chore {
    /// Remove one batch of expired rows and pins. Requests go on between batches (B13).
    Sweep,
    /// The drain's time is over: break off the requests that are still under way.
    BreakOff,
    /// Queue every renewal that was coalesced so far, so that an orderly end shortens no life (B15).
    Flush,
    /// Write what is queued, close the store and end.
    Close,
}

/// How a chore went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Done {
    /// A batch went.
    Swept {
        /// Whether more may be expired: the next batch is due at once.
        more: bool,
    },
    /// The sweep failed; it is tried again when the next one is due.
    SweepFailed,
    /// The requests that were under way are no more.
    BrokenOff,
    /// The renewals are queued.
    Flushed,
    /// The store is closed.
    Closed,
}

/// A report that answers no chore under way: a fault of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the report {done:?} does not answer the chore under way: {chore:?}")]
pub struct WrongReport {
    /// What is under way, if anything.
    pub chore: Option<Chore>,
    /// What was reported.
    pub done: Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Stage {
    Open,
    Draining { until: Time },
    BrokenOff,
    Flushed,
    Closed,
}

/// The upkeep of one process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Keeper {
    rules: Rules,
    stage: Stage,
    sweep_at: Time,
    under_way: Option<Chore>,
    open: u32,
}

impl Keeper {
    /// The keeper of a process that starts at `now`. The first sweep is due at once.
    #[must_use]
    pub const fn new(rules: Rules, now: Time) -> Self {
        Self { rules, stage: Stage::Open, sweep_at: now, under_way: None, open: 0 }
    }

    /// A request began. One that comes during the drain, on a connection that was open before, is waited for as well.
    pub const fn began(&mut self) {
        self.open = self.open.saturating_add(1);
    }

    /// A request ended, however it ended.
    pub const fn ended(&mut self) {
        self.open = self.open.saturating_sub(1);
    }

    /// Requests under way.
    #[must_use]
    pub const fn open(&self) -> u32 {
        self.open
    }

    /// The process is to end. Said twice, requests still under way are broken off now.
    pub fn drain(&mut self, now: Time) {
        self.stage = match self.stage {
            Stage::Open => Stage::Draining { until: now.plus(self.rules.drain_for) },
            Stage::Draining { .. } => Stage::Draining { until: now },
            ended @ (Stage::BrokenOff | Stage::Flushed | Stage::Closed) => ended,
        };
    }

    /// Whether the process is ending.
    #[must_use]
    pub fn draining(&self) -> bool {
        self.stage != Stage::Open
    }

    /// What is due now. `None` while a chore is under way, or when nothing is.
    pub fn chore(&mut self, now: Time) -> Option<Chore> {
        if self.under_way.is_some() {
            return None;
        }
        self.under_way = match self.stage {
            Stage::Open => (now >= self.sweep_at).then_some(Chore::Sweep),
            Stage::Draining { until } if self.open > 0 => (now >= until).then_some(Chore::BreakOff),
            Stage::Draining { .. } | Stage::BrokenOff => Some(Chore::Flush),
            Stage::Closed => None,
            Stage::Flushed => Some(Chore::Close),
        };
        self.under_way
    }

    /// The chore under way is done.
    ///
    /// # Errors
    /// [`WrongReport`] where the report answers another chore or none.
    pub fn done(&mut self, done: Done, now: Time) -> Result<(), WrongReport> {
        let next = now.plus(self.rules.sweep_every);
        match (self.under_way, done) {
            (Some(Chore::Sweep), Done::Swept { more }) => self.sweep_at = if more { now } else { next },
            (Some(Chore::Sweep), Done::SweepFailed) => self.sweep_at = next,
            (Some(Chore::BreakOff), Done::BrokenOff) => {
                self.stage = Stage::BrokenOff;
                self.open = 0;
            }
            (Some(Chore::Flush), Done::Flushed) => self.stage = Stage::Flushed,
            (Some(Chore::Close), Done::Closed) => self.stage = Stage::Closed,
            (chore, done) => return Err(WrongReport { chore, done }),
        }
        self.under_way = None;
        Ok(())
    }

    /// When to ask again, if nothing happens before; a time that has passed: now. `None`: a chore is under way, or all is done.
    #[must_use]
    pub const fn wakes(&self) -> Option<Time> {
        match (self.under_way, self.stage) {
            (Some(_), _) | (None, Stage::Closed) => None,
            (None, Stage::Open) => Some(self.sweep_at),
            (None, Stage::Draining { until }) if self.open > 0 => Some(until),
            (None, Stage::Draining { .. } | Stage::BrokenOff | Stage::Flushed) => Some(Time(0)),
        }
    }

    /// Whether everything is done and the process may end.
    #[must_use]
    pub fn closed(&self) -> bool {
        self.stage == Stage::Closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules = Rules { sweep_every: Millis(30), drain_for: Millis(60) };

    fn open() -> Keeper {
        let mut keeper = Keeper::new(RULES, Time(0));
        assert_eq!(keeper.chore(Time(0)), Some(Chore::Sweep));
        keeper.done(Done::Swept { more: false }, Time(0)).unwrap();
        keeper
    }

    #[test]
    fn b13_batches_follow_one_another_until_none_is_left() {
        let mut keeper = open();
        assert_eq!((keeper.chore(Time(29)), keeper.wakes()), (None, Some(Time(30))));
        for _ in 0..3 {
            assert_eq!(keeper.chore(Time(30)), Some(Chore::Sweep));
            assert_eq!((keeper.chore(Time(31)), keeper.wakes()), (None, None), "one chore at a time");
            keeper.done(Done::Swept { more: true }, Time(30)).unwrap();
        }
        assert_eq!(keeper.chore(Time(30)), Some(Chore::Sweep));
        keeper.done(Done::SweepFailed, Time(40)).unwrap();
        assert_eq!((keeper.chore(Time(69)), keeper.chore(Time(70))), (None, Some(Chore::Sweep)));
    }

    #[test]
    fn an_end_waits_for_requests_and_breaks_off_what_takes_too_long() {
        let mut keeper = open();
        keeper.began();
        keeper.drain(Time(100));
        keeper.began();
        assert!(keeper.draining());
        keeper.ended();
        assert_eq!((keeper.open(), keeper.chore(Time(159)), keeper.wakes()), (1, None, Some(Time(160))));
        assert_eq!(keeper.chore(Time(160)), Some(Chore::BreakOff));
        keeper.done(Done::BrokenOff, Time(160)).unwrap();
        assert_eq!((keeper.open(), keeper.wakes()), (0, Some(Time(0))));
        assert_eq!(keeper.chore(Time(500)), Some(Chore::Flush));
        keeper.done(Done::Flushed, Time(500)).unwrap();
        assert_eq!(keeper.chore(Time(500)), Some(Chore::Close));
        assert!(!keeper.closed());
        keeper.done(Done::Closed, Time(500)).unwrap();
        assert_eq!((keeper.closed(), keeper.chore(Time(900)), keeper.wakes()), (true, None, None));
    }

    #[test]
    fn a_second_word_ends_the_wait_and_a_later_one_changes_nothing() {
        let mut keeper = open();
        keeper.began();
        keeper.drain(Time(100));
        keeper.drain(Time(101));
        assert_eq!(keeper.chore(Time(101)), Some(Chore::BreakOff));
        keeper.done(Done::BrokenOff, Time(101)).unwrap();
        keeper.drain(Time(102));
        keeper.ended();
        keeper.ended();
        assert_eq!((keeper.open(), keeper.chore(Time(102))), (0, Some(Chore::Flush)));
    }

    #[test]
    fn a_sweep_under_way_is_waited_for_and_a_wrong_report_is_named() {
        let mut keeper = open();
        assert_eq!(keeper.chore(Time(30)), Some(Chore::Sweep));
        keeper.drain(Time(31));
        assert_eq!(keeper.chore(Time(31)), None);
        let wrong = keeper.done(Done::Flushed, Time(31)).unwrap_err();
        assert_eq!(wrong, WrongReport { chore: Some(Chore::Sweep), done: Done::Flushed });
        keeper.done(Done::Swept { more: true }, Time(31)).unwrap();
        assert_eq!(keeper.chore(Time(31)), Some(Chore::Flush), "what is left is the next process's to sweep");
        assert!(keeper.done(Done::Swept { more: false }, Time(31)).is_err());
    }
}
