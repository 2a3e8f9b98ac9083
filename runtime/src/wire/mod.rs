//! What Codex clients and the upstream say: signals, event streams, failures, header rules.
//!
//! Everything here is a pure function over bytes: no I/O, no clock (the time is an argument), no randomness. Hostile bytes are an
//! outcome ("no signal", "opaque", "the request's own fault"), never a panic, and everything that buffers has a bound.

pub mod answer;
pub mod body;
pub mod classify;
pub mod decode;
pub mod headers;
mod json;
pub mod models;
pub mod route;
pub mod signals;
pub mod sse;
pub mod usage;

#[cfg(test)]
mod captures;
