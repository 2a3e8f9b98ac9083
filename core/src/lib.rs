//! The affinity state machine of Homing: pure, without I/O, clock or randomness.
//!
//! ```text
//!   request ── Turn::start ──> Effect ── perform ──> Reply ── Turn::resume ──> Effect … Effect::Done
//!                 │                                               │
//!                 └── reads Env { fleet, settings, now, word } ───┘
//! ```
//!
//! - [`turn::Turn`] is one request: it returns one effect at a time and is resumed with the typed reply.
//! - [`table::Table`] is the one definition of what a store does atomically ([`store`]); the embedded store is a table with a
//!   durable copy.
//! - [`fleet::Fleet`] is the accounts as routing sees them.
//!
//! Time and entropy are inputs. Every step has a typed reason ([`turn::Note`]). The crate is `no_std` with `alloc`.
//!
//! ```
//! use homing_core::{fleet::{Fleet, Standing}, ids::{AccountId, TenantId}, key::{Keys, SignalKind}};
//! use homing_core::{settings::{Caps, Settings}, store::Subject, table::Table, time::Time};
//! use homing_core::turn::{Effect, Env, Outcome, Reply, Request, Turn};
//!
//! let (mut table, mut fleet, settings) = (Table::new(Caps::default()), Fleet::new(), Settings::default());
//! fleet.set(AccountId(1), Standing::Usable);
//! fleet.set(AccountId(2), Standing::Usable);
//! let now = Time(1_000);
//! let keys = Keys::session("user:ada", [(SignalKind::SessionHeader, b"session-1".as_slice())]);
//! let request = Request { keys, ..Request::new(TenantId(1), now) };
//!
//! let mut dialled = Vec::new();
//! for _ in 0..2 {
//!     let mut step = Turn::start(request, &mut Env { fleet: &mut fleet, settings: &settings, now, word: 0 });
//!     loop {
//!         let reply = match step.effect {
//!             Effect::Store(op) => Reply::Store(table.answer(Subject::new(request.tenant, &request.keys), op, now)),
//!             Effect::Dial { account, .. } => { dialled.push(account); Reply::Served { issued: false } }
//!             Effect::Commit(_) => Reply::Committed { in_time: true },
//!             Effect::Done(outcome) => { assert_eq!(outcome, Outcome::Served); break }
//!             Effect::Wait(_) | Effect::Refresh(_) | Effect::Stream => unreachable!("nothing failed"),
//!         };
//!         let mut env = Env { fleet: &mut fleet, settings: &settings, now, word: 0 };
//!         step = step.turn.resume(reply, &mut env).expect("the reply answers the effect");
//!     }
//! }
//! assert_eq!(dialled, [AccountId(1), AccountId(1)], "the session stays where it began");
//! ```
#![no_std]
#![deny(missing_docs)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod failure;
pub mod fleet;
pub mod ids;
pub mod keeper;
pub mod key;
pub mod name;
pub mod pin;
pub mod row;
pub mod settings;
pub mod store;
pub mod table;
pub mod time;
pub mod turn;
pub mod turn_state;
