//! The embedded SQLite store: schema, lock, writer thread, load at start.
