//! States as text.

use std::collections::BTreeMap;

use crate::picture::binding_text;
use crate::snapshot::{AccountState, RowState, Snapshot, TurnState};

/// The clocks, the processes and the policy.
pub(super) fn facts(state: &Snapshot) -> Vec<String> {
    let mut all = vec![format!("clock: +{} ms", state.time_ms)];
    let off = |name: &str, ms: i64| if ms == 0 { String::new() } else { format!(", its {name} is off by {ms} ms") };
    all.extend(state.processes.iter().map(|p| {
        let (clock, wall) = (off("clock", p.clock_ahead_ms), off("wall clock", p.wall_ahead_ms));
        format!("process p{}: {}{clock}{wall}", p.process, if p.up { "up" } else { "down" })
    }));
    all.push(format!("store: {}", state.store));
    all.extend(state.adrift.iter().map(|what| format!("adrift: {what}")));
    all.push(format!("session policy: {}", if state.policy { "on" } else { "off" }));
    all.push(format!("conversation policy: {}", if state.conversations { "on" } else { "off" }));
    all.push(format!("batches not durable: {}", state.uncommitted));
    all
}

/// The bindings of the store, those that a crash would leave, the hard pins.
pub(super) fn rows(state: &Snapshot) -> Vec<String> {
    let one = |row: &RowState, place: &str| format!("t{} row {}{place}: {}", row.tenant, row.row, binding_text(row));
    let stored = state.rows.iter().map(|row| one(row, ""));
    let durable = state.durable.iter().map(|row| one(row, " on disk"));
    stored.chain(durable).chain(state.pins.iter().cloned()).collect()
}

/// The requests under way.
pub(super) fn turns(state: &Snapshot) -> Vec<String> {
    let one = |turn: &TurnState| {
        let saw = turn.saw.as_ref().map(|saw| format!("; saw {saw}")).unwrap_or_default();
        format!("r{} p{} {}: waits {}{saw}", turn.turn, turn.process, turn.asks, turn.waits)
    };
    state.turns.iter().map(one).collect()
}

/// The accounts.
pub(super) fn accounts(state: &Snapshot) -> Vec<String> {
    let one = |account: &AccountState| {
        let bars = account.bars.iter().map(|bar| format!("; {bar}")).collect::<String>();
        format!("a{} p{}: {}{bars}", account.account, account.process, account.standing)
    };
    state.accounts.iter().map(one).collect()
}

/// Everything.
pub(super) fn everything(state: &Snapshot) -> Vec<String> {
    [facts(state), rows(state), turns(state), accounts(state)].concat()
}

/// What is gone, with a minus, and what is new, with a plus, what belongs together together.
pub(super) fn difference(before: &Snapshot, after: &Snapshot) -> Vec<String> {
    let mut all: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    let (old, new) = (everything(before), everything(after));
    for line in old.iter().filter(|line| !new.contains(line)) {
        all.entry(place(line, &new)).or_default().push(format!("- {line}"));
    }
    for (line, at) in new.iter().zip(0..) {
        if !old.contains(line) {
            all.entry(at).or_default().push(format!("+ {line}"));
        }
    }
    all.into_values().flatten().collect()
}

/// Where a line that is gone would stand among the new ones: by the new line about the same thing, else at the end.
fn place(line: &str, new: &[String]) -> usize {
    let about = |line: &str| line.split(':').next().map(str::to_owned);
    new.iter().position(|n| about(n) == about(line)).unwrap_or(new.len())
}
