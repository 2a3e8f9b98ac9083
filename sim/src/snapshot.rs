//! The state of a world as a person looks at it: short texts and numbers, no parts of the machine.

use homing_core::fleet::{Account, Bar};
use homing_core::pin::Pin;
use homing_core::row::{Row, State};
use homing_core::time::Time;
use homing_core::turn::Effect;
use serde::{Deserialize, Serialize};

use crate::event::{ProcessId, TurnId};
use crate::names::plain;
use crate::timeline::op_text;
use crate::world::{BEGINNING, Open, Statement, World};

/// What stands at one moment. Times are milliseconds since the run began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Snapshot {
    /// The world's clock.
    pub time_ms: u64,
    /// Whether the session policy is on.
    pub policy: bool,
    /// Whether the conversation policy is on.
    pub conversations: bool,
    /// Every process, up or down.
    pub processes: Vec<ProcessState>,
    /// `up`, `away` where it cannot be reached, `down` where it died with its process.
    pub store: String,
    /// What requests asked of the store and wait for no longer: each may still be carried out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub adrift: Vec<String>,
    /// The bindings of the store.
    pub rows: Vec<RowState>,
    /// The bindings that a crash right now would leave.
    pub durable: Vec<RowState>,
    /// The hard pins of the store.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<String>,
    /// Batches of changes that are not durable yet.
    pub uncommitted: usize,
    /// The accounts as each process sees them.
    pub accounts: Vec<AccountState>,
    /// The requests under way.
    pub turns: Vec<TurnState>,
}

/// One gateway process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessState {
    /// Which.
    pub process: u8,
    /// Whether it runs.
    pub up: bool,
    /// How far its clock is ahead of the world's; behind where negative.
    #[serde(skip_serializing_if = "is_zero")]
    pub clock_ahead_ms: i64,
    /// How far the wall clock of its machine is ahead of the world's.
    #[serde(skip_serializing_if = "is_zero")]
    pub wall_ahead_ms: i64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_zero(n: &i64) -> bool {
    *n == 0
}

/// One binding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RowState {
    /// Which row.
    pub row: u64,
    /// Whose.
    pub tenant: u32,
    /// The reserved account or the home.
    pub account: u32,
    /// Where requests agreed to go that had to leave the account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending: Option<u32>,
    /// Raised when the home is confirmed or moves.
    pub generation: u32,
    /// `reserved`, `bound`, or either with `, expired` behind it.
    pub state: String,
    /// How many keys lead to it.
    pub keys: usize,
    /// When it ends.
    pub ends_ms: u64,
}

/// One account in the eyes of one process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AccountState {
    /// In whose eyes.
    pub process: u8,
    /// Which account.
    pub account: u32,
    /// What its owner and its file say; `unknown` to a process that forgot it, or is down.
    pub standing: String,
    /// What is held against it, and until when.
    pub bars: Vec<String>,
}

/// One request under way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnState {
    /// Which request.
    pub turn: u32,
    /// Where it runs.
    pub process: u8,
    /// What the client sent: tenant, session, form.
    pub asks: String,
    /// What it waits for.
    pub waits: String,
    /// The account of its present attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<u32>,
    /// Attempts so far.
    pub attempts: u8,
    /// The row it saw last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saw: Option<String>,
}

const fn since(time: Time) -> u64 {
    time.since(BEGINNING).0
}

impl World {
    /// The state as a person looks at it.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let decides = self.store_wall();
        let rows = self.store.table.as_deref().into_iter().flat_map(homing_core::table::Table::rows);
        let mut rows: Vec<RowState> = rows.map(|row| row_state(row, decides)).collect();
        rows.sort_unstable_by_key(|row| row.row);
        let store = match (&self.store.table, self.store.away) {
            (None, _) => "down",
            (_, true) => "away",
            (_, false) => "up",
        };
        let adrift = |s: &Statement| format!("r{} {}", s.turn.0, plain(&op_text(&s.op)));
        Snapshot {
            time_ms: since(self.now),
            policy: self.settings.session_affinity,
            conversations: self.settings.conversation.is_some(),
            processes: self.processes.keys().map(|id| self.process_state(*id)).collect(),
            store: store.into(),
            adrift: self.store.flying.iter().map(adrift).collect(),
            rows,
            durable: self.store.disk.rows().map(|row| row_state(row, decides)).collect(),
            pins: self.pin_texts(),
            uncommitted: self.store.disk.waiting(),
            accounts: self.processes.keys().flat_map(|id| self.account_states(*id)).collect(),
            turns: self.turns.iter().map(|(id, open)| turn_state(*id, open)).collect(),
        }
    }

    fn pin_texts(&self) -> Vec<String> {
        let decides = self.store_wall();
        let one = |pin: &Pin| {
            let over = if pin.live(decides) { "" } else { ", expired" };
            format!("pin {:?} of t{}: a{}{over}", pin.anchor, pin.tenant.0, pin.account.0)
        };
        let mut pins: Vec<String> = self.store.table.iter().flat_map(|table| table.pins().map(one)).collect();
        pins.sort_unstable();
        pins
    }

    fn process_state(&self, id: ProcessId) -> ProcessState {
        let ahead =
            |time: Time| i64::try_from(time.0).unwrap_or(i64::MAX) - i64::try_from(self.now.0).unwrap_or(i64::MAX);
        ProcessState {
            process: id.0,
            up: self.process(id).is_some(),
            clock_ahead_ms: ahead(self.clock(id)),
            wall_ahead_ms: ahead(self.wall(id)),
        }
    }

    fn account_states(&self, id: ProcessId) -> impl Iterator<Item = AccountState> {
        self.placed.iter().map(move |(account, placed)| {
            let known = self.process(id).and_then(|process| process.fleet.get(*account));
            AccountState { process: id.0, ..account_state(account.0, placed, known, self.clock(id)) }
        })
    }
}

fn row_state(row: &Row, now: Time) -> RowState {
    let state = if row.state == State::Bound { "bound" } else { "reserved" };
    RowState {
        row: row.id.0,
        tenant: row.tenant.0,
        account: row.account.0,
        pending: row.pending.map(|a| a.0),
        generation: row.generation.0,
        state: format!("{state}{}", if row.live(now) { "" } else { ", expired" }),
        keys: row.keys.count(),
        ends_ms: since(row.expires),
    }
}

fn account_state(
    account: u32,
    placed: &homing_core::fleet::Standing,
    known: Option<&Account>,
    now: Time,
) -> AccountState {
    let standing = match known {
        Some(known) if known.standing == *placed => format!("{placed:?}").to_lowercase(),
        Some(known) => format!("{:?} (its owner says {placed:?})", known.standing).to_lowercase(),
        None => format!("unknown (its owner says {placed:?})").to_lowercase(),
    };
    let bar = |what: &str, bar: Option<Bar>| {
        bar.filter(|bar| now < bar.until || what == "quota spent").map(|bar| {
            let over = if now < bar.until { "" } else { ", to be probed" };
            format!("{what} until +{} ms{over}", since(bar.until))
        })
    };
    let bars = known.into_iter().flat_map(|known| {
        [bar("quota spent", known.spent), bar("rate limited", known.limited), bar("cooling", known.cooling)]
    });
    AccountState { process: 0, account, standing, bars: bars.flatten().collect() }
}

fn turn_state(id: TurnId, open: &Open) -> TurnState {
    let late = if open.late.is_some() { ", done; the answer is under way" } else { "" };
    let waits = match open.effect {
        Effect::Store(op) => format!("for the store: {}{late}", op_text(&op)),
        Effect::Dial { account, .. } => format!("for a{} to answer", account.0),
        Effect::Stream => "for the end of a stream the client sees".into(),
        Effect::Wait(span) => format!("{} ms before the same account", span.0),
        Effect::Refresh(account) => format!("for a new credential of a{}", account.0),
        Effect::Commit(seq) => format!("for change {} to be durable", seq.0),
        Effect::Done(outcome) => format!("for nothing: {outcome:?}"),
    };
    TurnState {
        turn: id.0,
        process: open.process.0,
        asks: open.ask.name(),
        waits: plain(&waits),
        account: open.turn.account().map(|a| a.0),
        attempts: open.turn.attempts(),
        saw: open.turn.row().map(crate::timeline::view_text),
    }
}
