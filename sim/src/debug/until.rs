//! Where going on stops.

use std::fmt;

use super::branch::Moment;
use crate::marks;
use crate::oracle;

/// A condition on one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Until {
    /// The step reached a situation, by its mark's name.
    Mark(String),
    /// The step broke a rule, by its oracle's name.
    Oracle(String),
    /// Something of a request was observed.
    Turn(String),
    /// A line of the step has this text in it.
    Event(String),
}

impl Until {
    /// Reads a condition. `Err`: what is wrong with it.
    ///
    /// # Errors
    /// A text for the person who typed it.
    pub fn read(text: &str) -> Result<Self, String> {
        let (kind, what) = text.split_once(' ').map_or((text, ""), |(kind, what)| (kind, what.trim()));
        let named = |known: bool, until: Self, list: &str| {
            if known { Ok(until) } else { Err(format!("{what:?} is no {kind}; `homing-sim {list}` lists them")) }
        };
        match kind {
            "mark" => named(marks::ALL.iter().any(|m| m.name == what), Self::Mark(what.into()), "marks"),
            "oracle" => named(oracle::ALL.iter().any(|o| o.id == what), Self::Oracle(what.into()), "oracles"),
            "turn" => {
                let number = what.strip_prefix('r').is_some_and(|n| n.parse::<u32>().is_ok());
                if number {
                    Ok(Self::Turn(what.into()))
                } else {
                    Err(format!("{what:?} is no request; write r0, r1, …"))
                }
            }
            "event" if !what.is_empty() => Ok(Self::Event(what.into())),
            _ => Err(format!("{text:?} is no condition: write mark NAME, oracle NAME, turn rN or event TEXT")),
        }
    }

    /// Whether the step that led to the moment meets it.
    #[must_use]
    pub fn met(&self, before: &Moment, after: &Moment) -> bool {
        let lines = || after.lines(Some(before)).into_iter();
        match self {
            Self::Mark(name) => count(after, name) > count(before, name),
            Self::Oracle(name) => {
                let broken = |moment: &Moment| moment.world.violation().is_some_and(|v| v.oracle == name);
                broken(after) && !broken(before)
            }
            Self::Turn(name) => lines().any(|line| line.who == *name),
            Self::Event(text) => lines().any(|line| line.to_string().contains(text)),
        }
    }
}

fn count(moment: &Moment, name: &str) -> u32 {
    moment.world.marks().iter().find(|(mark, _)| mark.name == name).map_or(0, |(_, count)| count)
}

impl fmt::Display for Until {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mark(name) => write!(f, "mark {name}"),
            Self::Oracle(name) => write!(f, "oracle {name}"),
            Self::Turn(name) => write!(f, "turn {name}"),
            Self::Event(text) => write!(f, "event {text}"),
        }
    }
}
