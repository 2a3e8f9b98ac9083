//! The one-line text of an action, and its reader. Traces, scripts and schedules of older versions hold these lines, so a text
//! that was given out once keeps its meaning.

use core::fmt;
use core::str::FromStr;

use homing_core::ids::{AccountId, TenantId};
use homing_core::time::Millis;

use super::{Action, FAULTS, Fault, Refreshed};
use crate::ask::Ask;
use crate::event::TurnId;
use crate::scope::Knob;

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = self.verb();
        match self {
            Self::Setup(world) => write!(f, "{verb} {world}"),
            Self::Draw(knob, value) => write!(f, "{verb} {} {value}", knob.name()),
            Self::Answer(turn)
            | Self::Deliver(turn)
            | Self::Serve(turn)
            | Self::Show(turn)
            | Self::Wake(turn)
            | Self::Release(turn)
            | Self::Apply(turn)
            | Self::HangUp(turn)
            | Self::GiveUpWaiting(turn)
            | Self::LoseRequest(turn)
            | Self::LoseReply(turn) => write!(f, "{verb} r{}", turn.0),
            Self::Refresh(turn, how) => write!(f, "{verb} r{} {}", turn.0, how.name()),
            Self::Fail(turn, fault) => write!(f, "{verb} r{} {}", turn.0, fault.name()),
            Self::Ask(ask) => write!(f, "{verb} {}", ask.name()),
            Self::Tick(span) => write!(f, "{verb} {}ms", span.0),
            Self::Mend(account) | Self::Disable(account) | Self::Vanish(account) | Self::EraseAccount(account) => {
                write!(f, "{verb} a{}", account.0)
            }
            Self::EraseTenant(tenant) | Self::ClearRow(tenant) => write!(f, "{verb} t{}", tenant.0),
            Self::Affinity(on) => write!(f, "{verb} {}", if *on { "on" } else { "off" }),
            Self::Commit | Self::Purge | Self::Flush | Self::Restart | Self::WallBack | Self::Crash => {
                f.write_str(verb)
            }
        }
    }
}

impl Action {
    /// The first word of its text.
    #[must_use]
    pub const fn verb(&self) -> &'static str {
        match self {
            Self::Setup(_) => "setup",
            Self::Draw(..) => "with",
            Self::Answer(_) => "answer",
            Self::Deliver(_) => "deliver",
            Self::Serve(_) => "serve",
            Self::Show(_) => "show",
            Self::Wake(_) => "wake",
            Self::Refresh(..) => "refresh",
            Self::Release(_) => "release",
            Self::Commit => "commit",
            Self::Ask(_) => "ask",
            Self::Purge => "purge",
            Self::Flush => "flush",
            Self::Restart => "restart",
            Self::Tick(_) => "tick",
            Self::Mend(_) => "mend",
            Self::Apply(_) => "apply",
            Self::Fail(..) => "fail",
            Self::HangUp(_) => "hang-up",
            Self::GiveUpWaiting(_) => "give-up-waiting",
            Self::LoseRequest(_) => "lose-request",
            Self::LoseReply(_) => "lose-reply",
            Self::Disable(_) => "disable",
            Self::Vanish(_) => "vanish",
            Self::EraseAccount(_) => "erase-account",
            Self::EraseTenant(_) => "erase-tenant",
            Self::ClearRow(_) => "clear-row",
            Self::Affinity(_) => "affinity",
            Self::WallBack => "set-back",
            Self::Crash => "crash",
        }
    }

    fn read(text: &str) -> Option<Self> {
        let (verb, rest) = text.split_once(' ').map_or((text, ""), |(verb, rest)| (verb, rest.trim()));
        let action = match verb {
            "setup" => Self::Setup(rest.parse().ok()?),
            "with" => {
                let (knob, value) = rest.split_once(' ')?;
                Self::Draw(Knob::named(knob)?, value.parse().ok()?)
            }
            "answer" => Self::Answer(turn(rest)?),
            "deliver" => Self::Deliver(turn(rest)?),
            "serve" => Self::Serve(turn(rest)?),
            "show" => Self::Show(turn(rest)?),
            "wake" => Self::Wake(turn(rest)?),
            "release" => Self::Release(turn(rest)?),
            "apply" => Self::Apply(turn(rest)?),
            "hang-up" => Self::HangUp(turn(rest)?),
            "give-up-waiting" => Self::GiveUpWaiting(turn(rest)?),
            "lose-request" => Self::LoseRequest(turn(rest)?),
            "lose-reply" => Self::LoseReply(turn(rest)?),
            "refresh" => {
                let (id, how) = rest.split_once(' ')?;
                Self::Refresh(turn(id)?, Refreshed::named(how)?)
            }
            "fail" => {
                let (id, fault) = rest.split_once(' ')?;
                Self::Fail(turn(id)?, Fault::named(fault)?)
            }
            "ask" => Self::Ask(Ask::named(rest)?),
            "tick" => Self::Tick(Millis(rest.strip_suffix("ms")?.parse().ok()?)),
            "mend" => Self::Mend(account(rest)?),
            "disable" => Self::Disable(account(rest)?),
            "vanish" => Self::Vanish(account(rest)?),
            "erase-account" => Self::EraseAccount(account(rest)?),
            "erase-tenant" => Self::EraseTenant(tenant(rest)?),
            "clear-row" => Self::ClearRow(tenant(rest)?),
            "affinity" if rest == "on" => Self::Affinity(true),
            "affinity" if rest == "off" => Self::Affinity(false),
            "commit" if rest.is_empty() => Self::Commit,
            "purge" if rest.is_empty() => Self::Purge,
            "flush" if rest.is_empty() => Self::Flush,
            "restart" if rest.is_empty() => Self::Restart,
            "set-back" if rest.is_empty() => Self::WallBack,
            "crash" if rest.is_empty() => Self::Crash,
            _ => return None,
        };
        Some(action)
    }
}

impl FromStr for Action {
    type Err = NotAction;

    /// Reads what [`fmt::Display`] writes.
    fn from_str(text: &str) -> Result<Self, NotAction> {
        Self::read(text.trim()).ok_or_else(|| NotAction(text.to_owned()))
    }
}

/// A text that is no action of this version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no action: write it as a trace does, such as \"ask t1/s0/h\", \"fail r0 quota\" or \"tick 6000ms\"")]
pub struct NotAction(pub String);

fn turn(text: &str) -> Option<TurnId> {
    text.strip_prefix('r')?.parse().ok().map(TurnId)
}

fn account(text: &str) -> Option<AccountId> {
    text.strip_prefix('a')?.parse().ok().map(AccountId)
}

fn tenant(text: &str) -> Option<TenantId> {
    text.strip_prefix('t')?.parse().ok().map(TenantId)
}

impl Fault {
    /// Its name in traces and scripts.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::ServerWait => "server-wait",
            Self::Quota => "quota",
            Self::QuotaOpen => "quota-open",
            Self::Limited => "limited",
            Self::Throttled => "throttled",
            Self::Unauthorized => "unauthorized",
            Self::Refused => "refused",
            Self::Challenge => "challenge",
            Self::Model => "model",
            Self::Request => "request",
            Self::Ciphertext => "ciphertext",
            Self::Unreachable => "unreachable",
            Self::CutOff => "cut-off",
        }
    }

    /// The fault with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        FAULTS.into_iter().find(|fault| fault.name() == name)
    }
}

impl Refreshed {
    const ALL: [Self; 3] = [Self::Fresh, Self::Refused, Self::Unavailable];

    /// Its name in traces and scripts.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Refused => "refused",
            Self::Unavailable => "unavailable",
        }
    }

    /// The end with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|how| how.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::{Form, Oddity};

    /// Texts in trace files that are out there: they have to be read for ever.
    #[test]
    fn the_texts_are_these() {
        let ask = Ask { tenant: TenantId(2), session: 1, form: Form::HeaderAndShared, oddity: Oddity::Plain };
        let texts = [
            (Action::Setup(3), "setup 3"),
            (Action::Draw(Knob::Ttl, 110), "with ttl 110"),
            (Action::Ask(ask), "ask t2/s1/h+shared"),
            (Action::Ask(Ask { oddity: Oddity::Pinned(AccountId(1)), ..ask }), "ask t2/s1/h+shared pin=a1"),
            (Action::Fail(TurnId(12), Fault::CutOff), "fail r12 cut-off"),
            (Action::Refresh(TurnId(0), Refreshed::Fresh), "refresh r0 fresh"),
            (Action::Tick(Millis(61_000)), "tick 61000ms"),
            (Action::EraseTenant(TenantId(1)), "erase-tenant t1"),
            (Action::Affinity(false), "affinity off"),
            (Action::WallBack, "set-back"),
        ];
        for (action, text) in texts {
            assert_eq!(action.to_string(), text);
            assert_eq!(text.parse(), Ok(action));
        }
    }

    #[test]
    fn what_is_no_action_is_told() {
        for text in ["", "ask", "answer 3", "fail r1", "fail r1 boredom", "crash now", "affinity", "ask t1/s0/h/x"] {
            assert_eq!(text.parse::<Action>(), Err(NotAction(text.into())), "{text:?}");
        }
        let said = NotAction("jump".into()).to_string();
        assert!(said.contains("jump") && said.contains("ask t1/s0/h"), "{said}");
    }
}
