//! Shared harness of the black-box tests: starts the real binaries, speaks raw HTTP to them, and cleans up after itself.
//!
//! - [`gateway`]: the real `homing` binary as a process of its own, with [`ask`] to send it turns;
//! - [`codex`], [`sdk`]: real clients, installed from their registries into a [`cache`], run as bounded [`process`]es;
//! - [`raw`], [`request`], [`capture`]: requests byte for byte; [`crowd`] sends many at once.

pub mod ask;
pub mod cache;
pub mod capture;
pub mod codex;
pub mod crowd;
pub mod gateway;
pub mod process;
pub mod raw;
pub mod request;
pub mod sdk;
