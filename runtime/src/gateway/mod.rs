//! The data plane: accepts client requests, drives the core's turn, relays what the upstream says.
