//! The conformance suite of stores (T1): random scripts run on the core's [`Table`](homing_core::table::Table), which is the
//! one definition of a store, and on a store, and both must agree after every step.
//!
//! ```text
//! script() ──> Script ──> run(script, store) ──┬──> Model (a Table and the history of its changes)
//!                                              └──> dyn StoreUnderTest
//!                                  after each step: every answer, row, pin, count, epoch and listing
//!                                  after a crash:   what the durable changes say, and no older
//! ```
//!
//! A store is put through it by implementing [`StoreUnderTest`] and running [`run()`] on scripts that [`script()`] makes. To see
//! that the suite bites, the same is done to a store with one fault: [`Broken`] has some that any store may have.
//!
//! # What a store may do differently
//!
//! [`Promises`] says which of these it claims; what it does not claim is compared to the letter.
//!
//! - *A store that races* may answer [`Answer::Raced`](homing_core::store::Answer::Raced) where the model says `Found` or
//!   `Lost`: nothing was written in either case. The turn then looks again, as the machine does, and that answer must agree.
//! - *A store that loses replies* may answer `Unknown` to anything. It then must stand where the model stands with the
//!   operation or where it stood without it; which of the two is read off its rows.
//! - *A store with numbers of its own* may give other row ids, epochs and change numbers, as database sequences do. Ids are
//!   compared up to a renaming that stays the same for the whole script, so that no id is ever used twice; epochs by what they
//!   admit and by their order.
//! - *A store that writes behind* may lose, in a crash, what it did not yet report durable. A row, pin or epoch then stands as
//!   it was at the last durable change or at any later one, but never as it never was.
//! - Operations that really run at once ([`StoreUnderTest::race`]) must answer as *some* order of them on the model would.
//!
//! It is a crate of its own, and not a feature of the core, because a feature would be switched on for the whole workspace as
//! soon as one test asks for it, and the core would no longer be built without `std` there.
#![deny(missing_docs)]

mod agree;
mod broken;
mod candidates;
mod history;
mod model;
mod reference;
mod run;
mod script;
mod store;
mod turns;

pub use broken::{Broken, Fault};
pub use reference::{Manner, Reference};
pub use run::{Disagreement, run};
pub use script::{Act, At, Identity, Script, Step, Who, script};
pub use store::{Call, Observed, Promises, StoreUnderTest, TENANTS};
