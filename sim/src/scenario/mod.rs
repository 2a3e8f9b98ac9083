//! Stories: a script says what happens, step by step, and what has to be seen; its transcript is compared with a golden one.
//!
//! A script is lines. `#` begins a comment. First comes what the world is, then what happens in it:
//!
//! ```text
//! processes 2                      gateway processes p0 and p1 that share a database; without this line, one with its own store
//! accounts 2                       how many there are: account-1, account-2
//! tenants 1                        t1
//! ttl 60s                          time to live of a binding
//! request-retry 3                  further accounts after the first
//! request-deadline 600s
//! caps total 5 tenant 3            bounds of the table
//!
//! client a: ask t1/s0 header       a request named `a`, to p0; to another one: ask p1 t1/s0 header; forms: header,
//!                                  header+shared, header+own, body+shared, own, shared, none; behind the form: model,
//!                                  other-model, once, or pinned account-2
//! answer a                         one step of the world, as traces name it, with `a` for the request; spans such as 61s
//! let a finish                     the request goes on without trouble until it has ended; or until it dials, or rests
//! settle                           trouble ends, and every expectation of the healed world has to hold
//!
//! expect a on account-1            where its last attempt is or was; see `expect` for the others
//! expect binding t1/s0 on account-2 generation 2
//! ```
//!
//! Scripts re-implement nothing: each step is an [`crate::action::Action`] that has to be possible there, and every oracle
//! watches.

mod expect;
mod golden;
mod parse;
mod play;
mod sight;
mod words;

pub use expect::{Expectation, Subject, Unmet};
pub use golden::{Golden, compare, difference, path};
pub use parse::{Line, Script, Statement, Until, Wrong};
pub use play::{Failed, Played, play};
