//! The data plane: accepts client requests, drives the core's turn, relays what the upstream says.
//!
//! | step | file |
//! | --- | --- |
//! | a connection, its requests, their routes | `connection` |
//! | who asks | `caller` |
//! | signals, keys, model | `admit` |
//! | the loop around the machine | `drive` |
//! | one effect: dial, stream | `call`, `attempt`, `received`, `outgoing` |
//! | the end | `finish`, `local`, `report` |
//!
//! `state` is what all of them share, `open` and `serve` start and stop it, `reload` follows the auth files, `operator` is the
//! management API's view of it.

mod admit;
mod attempt;
mod call;
mod caller;
mod connection;
mod drive;
mod finish;
mod fit;
mod health;
mod keep;
mod local;
mod management;
mod models;
mod open;
mod operator;
mod outgoing;
mod received;
mod reload;
mod report;
mod serve;
mod state;
mod stop;

pub use open::StartError;
pub(crate) use operator::Operator;
pub use serve::serve;
