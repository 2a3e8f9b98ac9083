//! A deterministic simulator that drives `homing-core` through failures, races, crashes and restarts.
