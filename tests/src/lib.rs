//! Shared harness of the black-box tests: starts the real binaries, speaks raw HTTP to them, and cleans up after itself.

pub mod ask;
pub mod capture;
pub mod crowd;
pub mod gateway;
pub mod raw;
