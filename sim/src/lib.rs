//! A deterministic simulator that drives [`homing_core`] through failures, races, crashes and restarts.
//!
//! ```text
//!   chooser ── picks ──> World::apply(Action) ── Event … ──> oracles, marks, trace
//!      ^                        │
//!      └──── World::enabled ────┘
//! ```
//!
//! - [`world::World`] is one transition system: a gateway process, its store, its accounts, its clients, its clocks. It drives
//!   the very machine the gateway ships and re-implements none of its rules.
//! - [`choose`] picks what happens next: a seed, a recorded list, bytes. Every list of choices is a run.
//! - [`oracle`] holds one file for each rule of the specification that must hold in every run.
//! - [`marks`] are the interesting situations a sweep has to reach before "nothing was found" means anything.
//! - [`trace`] keeps a run in a file, [`picture`] shows it as text, as a diagram and as a page, [`debug`] goes through it.
//! - [`plant`] puts known bugs in, to prove that the oracles bite.
//!
//! ```
//! use homing_sim::{choose::Seeded, run::{Plan, run}};
//! let report = run(&Plan::default(), &mut Seeded::new(7));
//! assert_eq!(report.violation, None);
//! ```

pub mod action;
pub mod ask;
pub mod bugs;
pub mod choose;
pub mod corpus;
pub mod debug;
pub mod disk;
pub mod doctor;
pub mod event;
pub mod explore;
pub mod history;
pub mod marks;
pub mod names;
pub mod oracle;
pub mod picture;
pub mod plant;
pub mod rng;
pub mod run;
pub mod scenario;
pub mod scope;
pub mod shared;
pub mod shrink;
pub mod snapshot;
pub mod sweep;
pub mod timeline;
pub mod trace;
pub mod world;
