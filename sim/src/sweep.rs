//! Many runs, one for each seed: the first broken rule, and the situations reached with a seed for each.
//!
//! Seeds are handed out in batches to threads, and the batches are put together in the order of their seeds. What comes out is
//! the same for every number of threads: the first failing seed by number, and marks up to it.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;

use crate::choose::Schedule;
use crate::marks::ALL;
use crate::run::{Plan, Report, run};

/// Seeds handed out at once.
const BATCH: u64 = 32;

/// Which runs to make.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// What each run is like.
    pub plan: Plan,
    /// How a run is made from its seed.
    pub schedule: Schedule,
    /// The first seed.
    pub first: u64,
    /// Most runs.
    pub runs: u64,
    /// Threads; at least one is used.
    pub jobs: usize,
}

/// What a sweep found.
#[derive(Clone, Debug, Default)]
pub struct Swept {
    /// Runs made.
    pub runs: u64,
    /// Steps of all of them, those after the chosen ones included.
    pub steps: u64,
    /// The first run that broke a rule, and its seed.
    pub failed: Option<(u64, Report)>,
    /// How often each mark was reached, and the first seed that reached it.
    pub marks: BTreeMap<&'static str, (u64, u64)>,
}

impl Swept {
    /// The required marks that no run reached.
    #[must_use]
    pub fn missing(&self) -> Vec<&'static str> {
        ALL.iter().filter(|m| m.required && !self.marks.contains_key(m.name)).map(|m| m.name).collect()
    }

    fn add(&mut self, seed: u64, report: Report) {
        self.runs += 1;
        self.steps += u64::from(report.steps);
        for (mark, count) in report.marks.iter().filter(|(_, count)| *count > 0) {
            self.marks.entry(mark.name).or_insert((0, seed)).0 += u64::from(count);
        }
        if report.violation.is_some() {
            self.failed = Some((seed, report));
        }
    }

    /// Takes in what the seeds behind these gave.
    fn append(&mut self, later: Self) {
        self.runs += later.runs;
        self.steps += later.steps;
        for (name, (count, seed)) in later.marks {
            self.marks.entry(name).or_insert((0, seed)).0 += count;
        }
        self.failed = later.failed;
    }
}

impl Sweep {
    /// Makes the runs. `each` sees what came of the seeds so far, every few runs; it may end the sweep there.
    pub fn go(&self, each: &mut dyn FnMut(&Swept) -> ControlFlow<()>) -> Swept {
        let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
        let (send, receive) = mpsc::channel();
        std::thread::scope(|threads| {
            for _ in 0..self.jobs.max(1) {
                let send = send.clone();
                threads.spawn(|| self.work(&next, &stop, send));
            }
            drop(send);
            let swept = in_order(&receive, each);
            stop.store(true, Ordering::Relaxed);
            swept
        })
    }

    fn work(&self, next: &AtomicU64, stop: &AtomicBool, send: mpsc::Sender<(u64, Swept)>) {
        while !stop.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(left) = self.runs.checked_sub(number.saturating_mul(BATCH)).filter(|left| *left > 0) else {
                return;
            };
            let first = self.first.saturating_add(number * BATCH);
            // Nobody listens any more: the sweep has ended.
            if send.send((number, self.batch(first, left.min(BATCH)))).is_err() {
                return;
            }
        }
    }

    /// The seeds of one batch, up to the first that breaks a rule.
    fn batch(&self, first: u64, runs: u64) -> Swept {
        let mut swept = Swept::default();
        for seed in first..first.saturating_add(runs) {
            let mut chooser = self.schedule.chooser(seed, self.plan.steps);
            swept.add(seed, run(&self.plan, chooser.as_mut()));
            if swept.failed.is_some() {
                break;
            }
        }
        swept
    }
}

/// Puts the batches together by number, up to the first with a broken rule.
fn in_order(receive: &mpsc::Receiver<(u64, Swept)>, each: &mut dyn FnMut(&Swept) -> ControlFlow<()>) -> Swept {
    let (mut swept, mut early, mut next) = (Swept::default(), BTreeMap::new(), 0);
    while let Ok((number, batch)) = receive.recv() {
        early.insert(number, batch);
        while let Some(batch) = early.remove(&next) {
            next += 1;
            swept.append(batch);
            if each(&swept).is_break() || swept.failed.is_some() {
                return swept;
            }
        }
    }
    swept
}

/// The runs of the seeds from `first` on, on one thread, by dice in the fixed worlds; `progress` is told the number of runs done
/// after every few.
pub fn sweep(plan: &Plan, first: u64, runs: u64, progress: &mut dyn FnMut(u64)) -> Swept {
    let sweep = Sweep { plan: plan.clone(), schedule: Schedule::Seeded, first, runs, jobs: 1 };
    sweep.go(&mut |swept| {
        progress(swept.runs);
        ControlFlow::Continue(())
    })
}
