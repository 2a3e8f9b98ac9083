//! Calls to the operating system that are neither clock nor randomness: signals, threads, process facts.
