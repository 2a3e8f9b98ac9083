//! Who may manage (T5): the admin key, and no browser that another site drives.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use http_types::StatusCode;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::config::Secret;

/// Wrong keys from one address within [`WINDOW`] after which it is not listened to for the rest of it.
const MOST_FAILURES: u32 = 10;
/// How long wrong keys count.
const WINDOW: Duration = Duration::from_secs(60);
/// Most addresses whose failures are counted; beyond, the oldest are forgotten.
const MOST_ADDRESSES: usize = 1024;

/// Decides who may manage.
pub struct Gate {
    /// SHA-256 of the admin key, so that comparing tells nothing of it, not even its length.
    key: [u8; 32],
    /// Names that `Host` may hold, besides addresses and `localhost`; lower case.
    hosts: Vec<String>,
    failures: Mutex<HashMap<IpAddr, Failures>>,
}

struct Failures {
    since: Instant,
    count: u32,
}

/// What a request shows of itself.
#[derive(Clone, Copy)]
pub struct Presented<'a> {
    /// Where it comes from.
    pub peer: IpAddr,
    /// Its `Host`.
    pub host: &'a str,
    /// Its `Origin`, if it has one.
    pub origin: Option<&'a str>,
    /// Every key in it: each `Authorization: Bearer` and `X-Admin-Key`.
    pub keys: &'a [String],
}

/// Why a request is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// A name that someone else may point at this machine (DNS rebinding).
    #[error("Host is not one of this listener's; ask by address or localhost, or add the name to admin.hosts")]
    Host,
    /// A page of another site asks.
    #[error("Origin is another site; ask from the listener's own address")]
    Origin,
    /// No key.
    #[error("the admin key is missing; send it as `Authorization: Bearer` or `X-Admin-Key`")]
    NoKey,
    /// A wrong key, or several.
    #[error("the admin key is wrong; send the one of admin.key, once")]
    WrongKey,
    /// Too many wrong keys.
    #[error("too many wrong admin keys from this address; wait {}s", wait.as_secs())]
    TooMany {
        /// Until it is listened to again.
        wait: Duration,
    },
}

impl Refused {
    /// The status that tells it.
    pub fn status(self) -> StatusCode {
        match self {
            Self::Host => StatusCode::MisdirectedRequest,
            Self::Origin => StatusCode::Forbidden,
            Self::NoKey | Self::WrongKey => StatusCode::Unauthorized,
            Self::TooMany { .. } => StatusCode::TooManyRequests,
        }
    }

    /// The answer that tells it.
    pub fn response(self) -> http_types::Response {
        let kind = match self {
            Self::Host => "wrong_host",
            Self::Origin => "foreign_origin",
            Self::NoKey | Self::WrongKey => "unauthorized",
            Self::TooMany { .. } => "too_many_failures",
        };
        let mut response = super::error_response(self.status(), kind, &self.to_string());
        match self {
            Self::NoKey | Self::WrongKey => response.insert_header("www-authenticate", "Bearer realm=\"homing\""),
            Self::TooMany { wait } => response.insert_header("retry-after", wait.as_secs().max(1).to_string()),
            Self::Host | Self::Origin => None,
        };
        response
    }
}

impl Gate {
    /// A gate for `key`; `hosts` are the names by which it may be asked, besides addresses and `localhost`.
    pub fn new<'a>(key: &Secret, hosts: impl Iterator<Item = &'a str>) -> Self {
        let hosts = hosts.map(str::to_ascii_lowercase).collect();
        Self { key: Sha256::digest(key.expose()).into(), hosts, failures: Mutex::default() }
    }

    /// Whether the request may come in, at the moment `now`.
    ///
    /// # Errors
    /// Why not. Wrong keys are counted for each address (IPv6: each /64).
    pub fn admit(&self, presented: &Presented<'_>, now: Instant) -> Result<(), Refused> {
        if !self.knows_host(presented.host) {
            return Err(Refused::Host);
        }
        if presented.origin.is_some_and(|origin| !same_host(origin, presented.host)) {
            return Err(Refused::Origin);
        }
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let from = network(presented.peer);
        let ends = |entry: &Failures| (entry.since + WINDOW).saturating_duration_since(now);
        // Past the limit a right key is refused as well: else guessing could go on.
        if let Some(entry) = failures.get(&from).filter(|entry| entry.count >= MOST_FAILURES && !ends(entry).is_zero())
        {
            return Err(Refused::TooMany { wait: ends(entry) });
        }
        let [key] = presented.keys else {
            let none = presented.keys.is_empty();
            return Err(if none { Refused::NoKey } else { Refused::WrongKey });
        };
        let digest: [u8; 32] = Sha256::digest(key).into();
        if bool::from(digest.ct_eq(&self.key)) {
            return Ok(());
        }
        if failures.len() >= MOST_ADDRESSES && !failures.contains_key(&from) {
            failures.retain(|_, entry| !ends(entry).is_zero());
            let oldest = failures.iter().min_by_key(|(_, entry)| entry.since).map(|(address, _)| *address);
            if let Some(oldest) = oldest.filter(|_| failures.len() >= MOST_ADDRESSES) {
                failures.remove(&oldest);
            }
        }
        let entry = failures.entry(from).or_insert(Failures { since: now, count: 0 });
        if ends(entry).is_zero() {
            *entry = Failures { since: now, count: 0 };
        }
        entry.count += 1;
        Err(Refused::WrongKey)
    }

    /// Whether `host` cannot be a name that someone else points at this machine. Addresses are never such names; the
    /// port does not matter, as it may be another one behind a port mapping.
    fn knows_host(&self, host: &str) -> bool {
        let Some(name) = name_of(host) else { return false };
        let address = name.trim_start_matches('[').trim_end_matches(']');
        address.parse::<IpAddr>().is_ok() || name == "localhost" || self.hosts.contains(&name)
    }
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gate").field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

/// The host of `host` or `host:port`, in lower case; none where the port is not a number.
fn name_of(host: &str) -> Option<String> {
    let (name, port) = match host.rfind(':') {
        Some(colon) if !host.ends_with(']') => (&host[..colon], &host[colon + 1..]),
        _ => (host, "0"),
    };
    port.parse::<u16>().ok()?;
    Some(name.to_ascii_lowercase())
}

/// Whether `origin` is a page of the very host that is asked.
fn same_host(origin: &str, host: &str) -> bool {
    let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
}

/// The address whose failures are counted together: an IPv6 user owns a /64.
fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((u128::from(address) >> 64 << 64).into()),
        v4 => v4,
    }
}
