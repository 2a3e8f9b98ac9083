//! The demonstration: scripted upstream, real gateway, a crash and a restart, in one table.
