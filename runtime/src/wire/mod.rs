//! What Codex clients and the upstream say: signals, event streams, failures, header rules.
