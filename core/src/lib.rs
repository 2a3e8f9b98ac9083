//! The affinity state machine of Homing.
#![no_std]
#![deny(missing_docs)]

extern crate alloc;

pub mod failure;
pub mod ids;
pub mod time;
