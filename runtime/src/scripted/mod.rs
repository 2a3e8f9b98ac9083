//! A scripted Codex upstream on loopback, for the demonstration, tests and benchmarks.
