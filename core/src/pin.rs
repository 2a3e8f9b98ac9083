//! Hard pins (R1): ids that an upstream account issued and that mean something to it alone.

use crate::ids::{AccountId, TenantId};
use crate::key::{Digest, framed, normalise};
use crate::time::{Millis, Time};

/// How long a pin is kept after its id was seen (R1).
pub const PIN_TTL: Millis = Millis::secs(30 * 24 * 3600);

/// Longest accepted id in bytes; a longer one was not issued by the upstream and is no anchor.
pub const ANCHOR_VALUE_MAX: usize = 512;

/// What kind of id pins a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AnchorKind {
    /// `previous_response_id`: the id of a completed response.
    Response,
    /// The id of an uploaded file.
    File,
}

/// The digest of an anchor. It has no scope: an id that another tenant got must be recognised to be answered as not found.
#[must_use]
pub fn anchor_digest(kind: AnchorKind, raw: &[u8]) -> Option<Digest> {
    let value = normalise(raw, ANCHOR_VALUE_MAX)?;
    let class: &[u8] = match kind {
        AnchorKind::Response => b"response",
        AnchorKind::File => b"file",
    };
    Some(framed(&[b"homing key 1", b"anchor", class, value.as_bytes()]))
}

/// One recorded anchor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pin {
    /// The digest of the id.
    pub anchor: Digest,
    /// Who got it through the gateway.
    pub tenant: TenantId,
    /// The account that issued it.
    pub account: AccountId,
    /// When it is forgotten.
    pub expires: Time,
}

impl Pin {
    /// When it was recorded.
    #[must_use]
    pub const fn recorded(&self) -> Time {
        Time(self.expires.0.saturating_sub(PIN_TTL.0))
    }

    /// Whether it still counts.
    #[must_use]
    pub fn live(&self, now: Time) -> bool {
        now < self.expires
    }
}

/// What the anchors of a request say together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pinned {
    /// Nobody recorded any of them: no pin.
    Nowhere,
    /// Those that were recorded belong to one account; `anchor` is the place of the first of them.
    At {
        /// The only account that can serve the request.
        account: AccountId,
        /// The place of the anchor among the request's.
        anchor: u8,
    },
    /// The anchor at this place was recorded for another tenant: it is not found, and never dialled.
    Foreign {
        /// Its place among the request's.
        anchor: u8,
    },
    /// The anchor at this place belongs to another account than one before it: no account can serve both.
    Apart {
        /// Its place among the request's.
        anchor: u8,
    },
}
