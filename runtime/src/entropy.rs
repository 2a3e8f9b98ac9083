//! The only file that asks the operating system for randomness.

/// The operating system's random source failed.
#[derive(Debug, thiserror::Error)]
#[error("the operating system gave no random bytes: {0}")]
pub struct NoEntropy(#[from] getrandom::Error);

/// `N` random bytes fit for secrets.
pub fn bytes<const N: usize>() -> Result<[u8; N], NoEntropy> {
    let mut out = [0; N];
    getrandom::fill(&mut out)?;
    Ok(out)
}

/// A random word for jitter; never for secrets (it is 0 where the source fails).
pub fn jitter() -> u64 {
    bytes::<8>().map_or(0, u64::from_le_bytes)
}
