//! Homing's runtime: everything that touches the world around the pure machine of `homing-core`.
//!
//! Data flows one way: wire -> signals -> plan -> effects -> store/upstream -> wire.

pub mod accounts;
pub mod admin;
pub mod cli;
pub mod clock;
pub mod config;
pub mod demo;
pub mod entropy;
pub mod gateway;
pub mod http;
pub mod logging;
pub mod os;
pub mod outgoing;
pub mod scripted;
pub mod store;
pub mod tenants;
pub mod wire;
