//! The management API (T5), served on the admin listener and on the Unix socket of the command line.
//!
//! [`Control`] is what the API needs of the gateway; [`handle()`] answers requests with it and knows neither sockets nor
//! keys; [`Gate`] decides who may ask; `serve_async_h1` is the only file that serves with async-h1, behind
//! `guard`, which lets nothing through that its decoder mistakes.

pub mod client;
mod control;
mod gate;
mod guard;
mod handle;
mod owner_socket;
mod serve_async_h1;
mod stamp;

#[cfg(test)]
pub(crate) mod tests;

pub use control::{
    Account, Binding, BindingState, Control, ControlError, CreatedUser, DeletedUser, ExplainRequest, Explanation,
    Health, HealthStatus, NewUser, Page, PageRequest, ShownKey, User, Verdict,
};
pub use gate::{Gate, Presented, Refused};
pub use handle::{PREFIX, USER_NAME_RULE, error_response, handle, is_user_name};
pub use owner_socket::{OwnerSocket, SocketError};
pub use serve_async_h1::{ListenError, listen, serve, serve_owner};
pub use stamp::Stamp;
