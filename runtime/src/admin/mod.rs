//! The management API, served on the admin listener and on the Unix socket of the command line.
