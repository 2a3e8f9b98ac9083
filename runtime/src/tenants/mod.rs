//! Who asks: managed users and their API keys, compatibility callers.
