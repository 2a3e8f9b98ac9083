//! Upstream accounts: their files, identities, credentials, refresh and reload.
