//! The command line of the homing binary.
