//! Going through a run step by step, forth and back, and trying what would have happened otherwise.
//!
//! A [`Session`] holds the world after every step. Worlds are plain data: going back is looking at an earlier one, and another
//! choice there is a fork, which can be undone.

mod branch;
mod command;
mod session;
mod tell;
mod until;

pub use branch::{Branch, Moment};
pub use command::{Command, NotCommand};
pub use session::{Flow, Session};
pub use until::Until;
