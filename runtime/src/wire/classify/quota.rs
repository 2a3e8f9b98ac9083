//! The quota windows an answer's headers describe, where its body names no reset.

use homing_core::time::Time;

use super::retry;
use crate::wire::headers::HeaderSource;

/// The limit every account has; others meter one family of models.
const MAIN_LIMIT: &str = "codex";

const PRIMARY: [&str; 3] =
    ["x-codex-primary-used-percent", "x-codex-primary-reset-at", "x-codex-primary-reset-after-seconds"];
const SECONDARY: [&str; 3] =
    ["x-codex-secondary-used-percent", "x-codex-secondary-reset-at", "x-codex-secondary-reset-after-seconds"];

/// When the exhausted windows are all reset. A window with quota left says nothing about it (field B20: the weekly reset of a
/// half-used window turned a burst into hours).
pub(super) fn exhausted_reset<H: HeaderSource + ?Sized>(headers: &H, now: Time) -> Option<Time> {
    [PRIMARY, SECONDARY]
        .into_iter()
        .filter(|[used, ..]| number(headers, used).is_some_and(|used| used >= 100.0))
        .filter_map(|[_, at, after]| retry::reset(number(headers, at), number(headers, after), now))
        .max()
}

/// Whether the limit that was hit meters one family of models only, and the account's own windows are known to have room: the
/// account still serves every other model (field B12).
pub(super) fn other_family<H: HeaderSource + ?Sized>(headers: &H) -> bool {
    let Some(active) = headers.values("x-codex-active-limit").next() else { return false };
    if active.trim_ascii().is_empty() || active.trim_ascii().eq_ignore_ascii_case(MAIN_LIMIT.as_bytes()) {
        return false;
    }
    let mut used = [PRIMARY, SECONDARY].into_iter().filter_map(|[used, ..]| number(headers, used)).peekable();
    used.peek().is_some() && used.all(|used| used < 100.0)
}

fn number<H: HeaderSource + ?Sized>(headers: &H, name: &'static str) -> Option<f64> {
    std::str::from_utf8(headers.values(name).next()?).ok()?.trim().parse().ok().filter(|n: &f64| n.is_finite())
}
