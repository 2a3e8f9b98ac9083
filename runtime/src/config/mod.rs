//! The configuration: one TOML file, every key also an environment variable.
