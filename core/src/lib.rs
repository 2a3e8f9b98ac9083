//! The affinity state machine of Homing.
#![no_std]
#![deny(missing_docs)]

extern crate alloc;

pub mod failure;
pub mod fleet;
pub mod ids;
pub mod key;
pub mod row;
pub mod settings;
pub mod store;
pub mod table;
pub mod time;
