//! A scripted Codex upstream on loopback, for the demonstration, tests and benchmarks.
//!
//! It stands in for the real backend as an *independent* peer: its own small HTTP/1.1 server, sharing no code with the
//! gateway's data plane, so that a mistake in one does not hide in the other. It issues accounts and tokens, refuses
//! what the real one refuses, fails on command, and writes down everything it saw.
//!
//! ```no_run
//! use homing::scripted::{AccountSpec, Behaviour, Options, Rule, Upstream};
//! # fn main() -> std::io::Result<()> {
//! let upstream = Upstream::start(Options::default())?;
//! let account = upstream.add_account(AccountSpec::named("amber"));
//! upstream.fail(Rule::always(Behaviour::usage_limit(3600)).on("amber").times(1));
//! println!("{} {}", upstream.url(), account.auth_json());
//! # Ok(())
//! # }
//! ```
//!
//! Other processes script it over HTTP, with [`Rule`]s, [`Behaviour`]s and [`AccountSpec`]s as JSON
//! (`{"account": "amber", "times": 1, "behaviour": {"kind": "usage_limit", "resets_in": 60}}`):
//!
//! | request | body | answer |
//! | --- | --- | --- |
//! | `POST /_script/rules` | a rule or a list of them | `{"ids": [..]}` |
//! | `DELETE /_script/rules` | a rule id, or nothing for all | `{}` |
//! | `GET /_script/log?since=N` | | `{"total": n, "seen": [..]}` |
//! | `POST /_script/accounts` | an account or a list of them | `[{"name", "auth_json", "flat_json"}, ..]` |
//! | `GET /_script/accounts` | | the same for all |
//! | `POST /_script/gates` | `{"release": name}` or `{"hold": name}` | `{"waiting": n}` |
//! | `POST /_script/settings` | any of `reject_foreign_reasoning`, `accept_unknown_previous`, `deltas`, `input_tokens` | `{}` |
//! | `POST /_script/revoke` | `{"access": name}` or `{"refresh": name}` | `{}` |

mod account;
mod answers;
mod auth;
mod behaviour;
mod body;
mod catalogue;
mod connection;
mod control;
mod dispatch;
mod failures;
mod gates;
mod ids;
mod log;
mod oauth;
mod play;
mod prompt;
mod registry;
mod reply;
mod response;
mod rules;
mod server;
mod sse;
mod standalone;
mod state;
mod upstream;

pub use account::{Account, AccountSpec};
pub use behaviour::{Behaviour, Ending, GatePoint};
pub use log::{Outcome, Seen};
pub use rules::{Rule, RuleId};
pub use standalone::{StandaloneArgs, StandaloneError, run_standalone};
pub use upstream::{Options, Upstream};
