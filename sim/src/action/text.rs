//! The one-line text of an action, and its reader. Traces, scripts and schedules of older versions hold these lines, so a text
//! that was given out once keeps its meaning.

use core::fmt;
use core::str::FromStr;

use homing_core::ids::{AccountId, TenantId};
use homing_core::time::Millis;

use super::{Action, FAULTS, Fault, Refreshed};
use crate::ask::Ask;
use crate::event::{FIRST, ProcessId, TurnId};
use crate::scope::{Knob, SWARM};

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = self.verb();
        match self {
            // By name: its number rises with every further profile.
            Self::Setup(SWARM) => write!(f, "{verb} swarm"),
            Self::Setup(world) => write!(f, "{verb} {world}"),
            Self::Draw(knob, value) => write!(f, "{verb} {} {value}", knob.name()),
            Self::Answer(turn)
            | Self::Deliver(turn)
            | Self::TimeOut(turn)
            | Self::Serve(turn)
            | Self::Show(turn)
            | Self::Wake(turn)
            | Self::Release(turn)
            | Self::Apply(turn)
            | Self::HangUp(turn)
            | Self::GiveUpWaiting(turn)
            | Self::LoseRequest(turn)
            | Self::LoseReply(turn)
            | Self::Linger(turn) => write!(f, "{verb} r{}", turn.0),
            Self::Refresh(turn, how) => write!(f, "{verb} r{} {}", turn.0, how.name()),
            Self::Fail(turn, fault) => write!(f, "{verb} r{} {}", turn.0, fault.name()),
            Self::Ask(FIRST, ask) => write!(f, "{verb} {}", ask.name()),
            Self::Ask(process, ask) => write!(f, "{verb} p{} {}", process.0, ask.name()),
            Self::Tick(span) => write!(f, "{verb} {}ms", span.0),
            Self::Mend(account)
            | Self::Disable(account)
            | Self::Drain(account)
            | Self::Vanish(account)
            | Self::Replace(account)
            | Self::Garble(account)
            | Self::EraseAccount(account)
            | Self::RemoveAccount(account) => write!(f, "{verb} a{}", account.0),
            Self::EraseTenant(tenant) | Self::ClearRow(tenant) | Self::ResetKey(tenant) | Self::MovePool(tenant) => {
                write!(f, "{verb} t{}", tenant.0)
            }
            Self::Drop(place) | Self::Land(place) => write!(f, "{verb} {place}"),
            Self::Affinity(process, on) | Self::Talk(process, on) => {
                write!(f, "{verb} {}", if *on { "on" } else { "off" })?;
                if *process == FIRST { Ok(()) } else { write!(f, " p{}", process.0) }
            }
            // The first process goes without saying: a world may have no other.
            Self::Restart(FIRST) | Self::Crash(FIRST) | Self::WallBack(FIRST) | Self::WallForth(FIRST) => {
                f.write_str(verb)
            }
            Self::Restart(process)
            | Self::Crash(process)
            | Self::Sync(process)
            | Self::WallBack(process)
            | Self::WallForth(process) => write!(f, "{verb} p{}", process.0),
            Self::ErasePool
            | Self::Commit
            | Self::Purge
            | Self::Flush
            | Self::Recover
            | Self::Outage
            | Self::Reboot => f.write_str(verb),
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
            Self::TimeOut(_) => "time-out",
            Self::Serve(_) => "serve",
            Self::Show(_) => "show",
            Self::Wake(_) => "wake",
            Self::Refresh(..) => "refresh",
            Self::Release(_) => "release",
            Self::Commit => "commit",
            Self::Ask(..) => "ask",
            Self::Purge => "purge",
            Self::Flush => "flush",
            Self::Restart(_) => "restart",
            Self::Recover => "recover",
            Self::Sync(_) => "sync",
            Self::Tick(_) => "tick",
            Self::Mend(_) => "mend",
            Self::Drop(_) => "drop",
            Self::Land(_) => "land",
            Self::Apply(_) => "apply",
            Self::Fail(..) => "fail",
            Self::HangUp(_) => "hang-up",
            Self::GiveUpWaiting(_) => "give-up-waiting",
            Self::LoseRequest(_) => "lose-request",
            Self::LoseReply(_) => "lose-reply",
            Self::Linger(_) => "linger",
            Self::Disable(_) => "disable",
            Self::Drain(_) => "drain",
            Self::MovePool(_) => "move-pool",
            Self::ErasePool => "erase-pool",
            Self::Talk(..) => "conversations",
            Self::Vanish(_) => "vanish",
            Self::Replace(_) => "replace",
            Self::Garble(_) => "garble",
            Self::EraseAccount(_) => "erase-account",
            Self::RemoveAccount(_) => "remove-account",
            Self::EraseTenant(_) => "erase-tenant",
            Self::ClearRow(_) => "clear-row",
            Self::ResetKey(_) => "reset-key",
            Self::Affinity(..) => "affinity",
            Self::WallBack(_) => "set-back",
            Self::WallForth(_) => "set-forth",
            Self::Outage => "outage",
            Self::Reboot => "reboot",
            Self::Crash(_) => "crash",
        }
    }

    fn read(text: &str) -> Option<Self> {
        let (verb, rest) = text.split_once(' ').map_or((text, ""), |(verb, rest)| (verb, rest.trim()));
        let action = match verb {
            "setup" if rest == "swarm" => Self::Setup(SWARM),
            "setup" => Self::Setup(rest.parse().ok()?),
            "with" => {
                let (knob, value) = rest.split_once(' ')?;
                Self::Draw(Knob::named(knob)?, value.parse().ok()?)
            }
            "answer" => Self::Answer(turn(rest)?),
            "deliver" => Self::Deliver(turn(rest)?),
            "time-out" => Self::TimeOut(turn(rest)?),
            "serve" => Self::Serve(turn(rest)?),
            "show" => Self::Show(turn(rest)?),
            "wake" => Self::Wake(turn(rest)?),
            "release" => Self::Release(turn(rest)?),
            "apply" => Self::Apply(turn(rest)?),
            "hang-up" => Self::HangUp(turn(rest)?),
            "give-up-waiting" => Self::GiveUpWaiting(turn(rest)?),
            "lose-request" => Self::LoseRequest(turn(rest)?),
            "lose-reply" => Self::LoseReply(turn(rest)?),
            "linger" => Self::Linger(turn(rest)?),
            "refresh" => {
                let (id, how) = rest.split_once(' ')?;
                Self::Refresh(turn(id)?, Refreshed::named(how)?)
            }
            "fail" => {
                let (id, fault) = rest.split_once(' ')?;
                Self::Fail(turn(id)?, Fault::named(fault)?)
            }
            "ask" => match rest.split_once(' ').and_then(|(at, ask)| Some((process(at)?, ask))) {
                Some((process, ask)) => Self::Ask(process, Ask::named(ask)?),
                None => Self::Ask(FIRST, Ask::named(rest)?),
            },
            "tick" => Self::Tick(Millis(rest.strip_suffix("ms")?.parse().ok()?)),
            "mend" => Self::Mend(account(rest)?),
            "disable" => Self::Disable(account(rest)?),
            "drain" => Self::Drain(account(rest)?),
            "move-pool" => Self::MovePool(tenant(rest)?),
            "vanish" => Self::Vanish(account(rest)?),
            "replace" => Self::Replace(account(rest)?),
            "garble" => Self::Garble(account(rest)?),
            "erase-account" => Self::EraseAccount(account(rest)?),
            "remove-account" => Self::RemoveAccount(account(rest)?),
            "erase-tenant" => Self::EraseTenant(tenant(rest)?),
            "clear-row" => Self::ClearRow(tenant(rest)?),
            "reset-key" => Self::ResetKey(tenant(rest)?),
            "drop" => Self::Drop(rest.parse().ok()?),
            "land" => Self::Land(rest.parse().ok()?),
            "sync" => Self::Sync(process(rest)?),
            "restart" => Self::Restart(first_or(rest)?),
            "crash" => Self::Crash(first_or(rest)?),
            "set-back" => Self::WallBack(first_or(rest)?),
            "set-forth" => Self::WallForth(first_or(rest)?),
            "affinity" | "conversations" => {
                let (switch, at) = rest.split_once(' ').unwrap_or((rest, ""));
                let on = [("on", true), ("off", false)].into_iter().find(|(name, _)| *name == switch)?.1;
                let at = first_or(at)?;
                if verb == "affinity" { Self::Affinity(at, on) } else { Self::Talk(at, on) }
            }
            "erase-pool" if rest.is_empty() => Self::ErasePool,
            "commit" if rest.is_empty() => Self::Commit,
            "purge" if rest.is_empty() => Self::Purge,
            "flush" if rest.is_empty() => Self::Flush,
            "recover" if rest.is_empty() => Self::Recover,
            "outage" if rest.is_empty() => Self::Outage,
            "reboot" if rest.is_empty() => Self::Reboot,
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

fn process(text: &str) -> Option<ProcessId> {
    text.strip_prefix('p')?.parse().ok().map(ProcessId)
}

/// Where no process is named, the first is meant.
fn first_or(text: &str) -> Option<ProcessId> {
    if text.is_empty() { Some(FIRST) } else { process(text) }
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
            (Action::Setup(SWARM), "setup swarm"),
            (Action::Draw(Knob::Ttl, 110), "with ttl 110"),
            (Action::Ask(FIRST, ask), "ask t2/s1/h+shared"),
            (Action::Ask(ProcessId(2), ask), "ask p2 t2/s1/h+shared"),
            (Action::Ask(FIRST, Ask { oddity: Oddity::Pinned(AccountId(1)), ..ask }), "ask t2/s1/h+shared pin=a1"),
            (Action::Fail(TurnId(12), Fault::CutOff), "fail r12 cut-off"),
            (Action::Refresh(TurnId(0), Refreshed::Fresh), "refresh r0 fresh"),
            (Action::Tick(Millis(61_000)), "tick 61000ms"),
            (Action::EraseTenant(TenantId(1)), "erase-tenant t1"),
            (Action::Affinity(FIRST, false), "affinity off"),
            (Action::WallBack(FIRST), "set-back"),
            (Action::Crash(ProcessId(1)), "crash p1"),
            (Action::Affinity(ProcessId(1), true), "affinity on p1"),
            (Action::Sync(FIRST), "sync p0"),
            (Action::Land(1), "land 1"),
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
