//! A run as a file: JSON lines that say what was chosen, what happened and what stood after every step.
//!
//! ```text
//! {"trace":{"format":1,"program":"0.1.0","plant":null,"choices":"1.0.0", … }}
//! {"step":{"step":1,"action":"setup 1","choice":1,"events":[ … ],"state":{ … },"enabled":[ … ]}}
//! {"verdict":{"holds":false,"oracle":"B4","text":"…", … }}
//! ```
//!
//! The texts of the actions stand next to the choices, so that a version that numbers its choices differently can still follow
//! the file ([`follow()`]). Everything a picture shows is in the file: it can be shown without running anything.

mod file;
mod follow;
mod record;

use serde::{Deserialize, Serialize};

pub use file::BadTrace;
pub use follow::{Followed, Parting, follow};
pub use record::record;

use crate::plant::Plant;
use crate::run::Plan;
use crate::scope::Scope;
use crate::snapshot::Snapshot;
use crate::timeline::Line;

/// The newest format this program reads, and the one it writes.
pub const FORMAT: u32 = 1;

/// A recorded run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Where it comes from.
    pub header: Header,
    /// The beginning, then every step.
    pub steps: Vec<Step>,
    /// How it ended.
    pub verdict: Verdict,
}

/// Where a trace comes from: enough to run it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The format of the file.
    pub format: u32,
    /// The version of the program that wrote it.
    pub program: String,
    /// The named scope it ran in; `None`: its first choice names a profile.
    #[serde(default)]
    pub scope: Option<String>,
    /// The planted bug, by name.
    #[serde(default)]
    pub plant: Option<String>,
    /// Whether the world was healed at the end and had to settle.
    #[serde(default)]
    pub settle: bool,
    /// The choices, with dots between.
    pub choices: String,
    /// The one command that shows the run again.
    pub command: String,
}

/// One step: what happened and what stood then.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Step {
    /// Its number; what is only observed has the number of the step before.
    pub step: u32,
    /// The action, as its text; `None` at the beginning, the healing and the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// Which choice it was; `None` where nobody chose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choice: Option<u16>,
    /// What was observed, in order.
    pub events: Vec<Line>,
    /// What stood after it.
    pub state: Snapshot,
    /// What could happen next, in the order of the choices.
    pub enabled: Vec<String>,
}

/// How a run ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether every rule held.
    pub holds: bool,
    /// The broken rule, if one is.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub broken: Option<Broken>,
}

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broken {
    /// Its name.
    pub oracle: String,
    /// Its sentence.
    pub says: String,
    /// What its oracle saw.
    pub text: String,
    /// The step's number.
    pub step: u32,
    /// The step's place in the file: 0 is the beginning.
    pub at: usize,
    /// The observation of that step, counted from 0.
    pub event: usize,
}

impl Trace {
    /// The plan to run it again.
    ///
    /// # Errors
    /// The scope or the planted bug that this version does not have.
    pub fn plan(&self) -> Result<Plan, Unknown> {
        let scope = self.header.scope.as_deref();
        let plant = self.header.plant.as_deref();
        let texts = self.texts();
        Ok(Plan {
            steps: texts.len(),
            scope: scope.map(|name| Scope::named(name).ok_or_else(|| Unknown::Scope(name.into()))).transpose()?,
            plant: plant.map(|name| Plant::named(name).ok_or_else(|| Unknown::Plant(name.into()))).transpose()?,
            settle: self.header.settle,
            trace: true,
        })
    }

    /// The texts of the chosen actions.
    #[must_use]
    pub fn texts(&self) -> Vec<&str> {
        self.steps.iter().filter(|s| s.choice.is_some()).filter_map(|s| s.action.as_deref()).collect()
    }
}

/// Something a trace names that this version does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unknown {
    /// A scope.
    #[error(
        "the trace ran in scope {0:?}, which this version does not have: show it, or replay it with the version that wrote it"
    )]
    Scope(String),
    /// A planted bug.
    #[error(
        "the trace has the planted bug {0:?}, which this version does not have: show it, or replay it with the version that wrote it"
    )]
    Plant(String),
}
