//! When the upstream says to come back: `Retry-After`, resets and sentences.

use homing_core::time::{Millis, Time};

use crate::wire::headers::HeaderSource;

/// Nothing further off than this is believed (field B2: an absurd reset blocked an account for years).
pub const HORIZON: Millis = Millis(366 * 24 * 3_600 * 1_000);

/// A number of seconds since the epoch this large is one of milliseconds: it would be the year 5138.
const MILLIS_FROM: f64 = 1e11;

/// What a `retry-after-ms` or `Retry-After` field asks for: seconds or an HTTP date. `None` where it is absent, repeated in
/// different forms, not positive or beyond [`HORIZON`].
pub fn retry_after<H: HeaderSource + ?Sized>(headers: &H, now: Time) -> Option<Millis> {
    let value = |name| headers.values(name).next().and_then(|v| std::str::from_utf8(v).ok()).map(str::trim);
    let millis = value("retry-after-ms").and_then(|v| v.parse().ok()).and_then(|ms: f64| span(ms));
    millis.or_else(|| after(value("retry-after")?, now))
}

/// A `Retry-After` value: seconds (a fraction is taken) or an HTTP date.
pub(super) fn after(value: &str, now: Time) -> Option<Millis> {
    if value.starts_with(|c: char| c.is_ascii_digit()) {
        return span(value.parse::<f64>().ok()? * 1_000.0);
    }
    until(http_date(value)?, now).map(|time| time.since(now))
}

/// The reset that `resets_at` (seconds or milliseconds since the epoch) or else `resets_in_seconds` names: a time after `now`
/// and within [`HORIZON`], or none.
pub(super) fn reset(at: Option<f64>, in_seconds: Option<f64>, now: Time) -> Option<Time> {
    let absolute = at.and_then(|at| {
        let millis = if at >= MILLIS_FROM { at } else { at * 1_000.0 };
        // The conversion saturates: negative is 1970, and beyond the range of u64 is far beyond the horizon.
        until(Time(millis as u64), now)
    });
    absolute.or_else(|| span(in_seconds? * 1_000.0).map(|span| now.plus(span)))
}

/// The length of time a sentence such as "Please try again in 6m0s." names.
pub(super) fn in_text(message: &str) -> Option<Millis> {
    let lower = message.to_ascii_lowercase();
    ["try again in", "retry in", "retry after"].iter().find_map(|cue| {
        let (_, rest) = lower.split_once(cue)?;
        duration(rest)
    })
}

/// `1.5s`, `6m0s`, `2h`, `500ms`, `1 hour and 2 minutes`, `20 seconds`: numbers with units, until something else comes.
fn duration(text: &str) -> Option<Millis> {
    let mut rest = text;
    let mut total = 0.0;
    loop {
        rest = rest.trim_start_matches([' ', ',', '~']);
        rest = rest.strip_prefix("and ").unwrap_or(rest).trim_start();
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let Ok(amount) = rest[..number].parse::<f64>() else { break };
        rest = rest[number..].trim_start();
        let unit = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let Some(millis) = unit_millis(&rest[..unit]) else { break };
        total += amount * millis;
        rest = &rest[unit..];
    }
    span(total)
}

fn unit_millis(unit: &str) -> Option<f64> {
    Some(match unit {
        "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" => 1.0,
        "s" | "sec" | "secs" | "second" | "seconds" => 1e3,
        "m" | "min" | "mins" | "minute" | "minutes" => 60e3,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3_600e3,
        "d" | "day" | "days" => 86_400e3,
        _ => return None,
    })
}

/// A positive length of time within the horizon.
fn span(millis: f64) -> Option<Millis> {
    (millis > 0.0 && millis <= HORIZON.0 as f64).then(|| Millis(millis.ceil() as u64))
}

/// A time after `now` and within the horizon.
fn until(time: Time, now: Time) -> Option<Time> {
    (time > now && time.since(now) <= HORIZON).then_some(time)
}

/// The three forms of an HTTP date (RFC 9110 §5.6.7).
fn http_date(value: &str) -> Option<Time> {
    use jiff::fmt::strtime::parse;
    let seconds = if let Ok(time) = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(value) {
        time.as_second()
    } else {
        let civil = parse("%A, %d-%b-%y %H:%M:%S GMT", value).or_else(|_| parse("%a %b %e %H:%M:%S %Y", value));
        civil.ok()?.to_datetime().ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_second()
    };
    u64::try_from(seconds).ok().map(|s| Time(s.saturating_mul(1_000)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 December 2026, 00:00:00 UTC.
    const NOW: Time = Time(1_796_083_200_000);
    const NOW_S: f64 = 1_796_083_200.0;

    #[test]
    fn sentences_name_lengths_of_time() {
        for (text, want) in [
            ("Rate limit reached. Please try again in 1.5s.", Some(1_500)),
            ("try again in 6m0s", Some(360_000)),
            ("Try Again In 2h", Some(7_200_000)),
            ("try again in 500ms. Visit", Some(500)),
            ("try again in 1h2m3s", Some(3_723_000)),
            ("try again in 1h 2m 3s", Some(3_723_000)),
            ("try again in 20 seconds", Some(20_000)),
            ("try again in 3 minutes", Some(180_000)),
            ("try again in 1 hour and 5 minutes.", Some(3_900_000)),
            ("try again in 2 days, 3 hours", Some(183_600_000)),
            ("try again in 0.2ms", Some(1)),
            ("You can retry after 4s", Some(4_000)),
            ("try again in 0s", None),
            ("try again in 20", None),
            ("try again in 20 parsecs", None),
            ("try again in a moment", None),
            ("try again in 1.2.3s", None),
            ("try again in 99999999999999999999h", None),
            ("try again in 400 days", None),
            ("try again in", None),
            ("it took 3s", None),
            ("", None),
        ] {
            assert_eq!(in_text(text), want.map(Millis), "{text}");
        }
    }

    #[test]
    fn retry_after_is_seconds_or_a_date_in_any_of_its_forms() {
        for (value, want) in [
            ("45", Some(45_000)),
            (" 2 ", Some(2_000)),
            ("0.25", Some(250)),
            ("0", None),
            ("-3", None),
            ("soon", None),
            ("", None),
            ("99999999999", None),
            ("Tue, 01 Dec 2026 00:01:00 GMT", Some(60_000)),
            ("Tuesday, 01-Dec-26 00:01:00 GMT", Some(60_000)),
            ("Tue Dec  1 00:01:00 2026", Some(60_000)),
            ("Mon, 30 Nov 2026 00:01:00 GMT", None),
            ("Tue, 01 Dec 2099 00:01:00 GMT", None),
        ] {
            let headers: &[(&str, &str)] = &[("Retry-After", value)];
            assert_eq!(retry_after(headers, NOW), want.map(Millis), "{value:?}");
        }
        let headers: &[(&str, &str)] = &[("retry-after", "9"), ("Retry-After-Ms", "1200")];
        assert_eq!(retry_after(headers, NOW), Some(Millis(1_200)));
        let none: &[(&str, &str)] = &[];
        assert_eq!(retry_after(none, NOW), None);
    }

    #[test]
    fn field_b2_a_reset_is_believed_within_366_days_in_seconds_or_milliseconds() {
        let hour = 3_600.0;
        let in_an_hour = Some(NOW.plus(Millis::secs(3_600)));
        for (at, in_seconds, want) in [
            (Some(NOW_S + hour), None, in_an_hour),
            (Some((NOW_S + hour) * 1_000.0), None, in_an_hour),
            (None, Some(hour), in_an_hour),
            (Some(NOW_S * 1e6), Some(hour), in_an_hour),
            (Some(NOW_S - 1.0), None, None),
            (Some(NOW_S + 367.0 * 86_400.0), None, None),
            (Some(1e300), None, None),
            (Some(0.0), None, None),
            (Some(-5.0), Some(-5.0), None),
            (None, Some(0.0), None),
            (None, Some(367.0 * 86_400.0), None),
            (None, None, None),
        ] {
            assert_eq!(reset(at, in_seconds, NOW), want, "{at:?} {in_seconds:?}");
        }
        assert_eq!(reset(None, Some(366.0 * 86_400.0), NOW), Some(NOW.plus(HORIZON)));
    }
}
