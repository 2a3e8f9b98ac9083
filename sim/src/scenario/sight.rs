//! What is seen of the world when a story expects something: from the record of the run, the table and the disk, in words.

use homing_core::fleet::Out;
use homing_core::ids::{AccountId, TenantId};
use homing_core::row::{Row, State};
use homing_core::store::Completion;
use homing_core::table::Table;
use homing_core::turn::{Effect, Outcome};

use super::expect::{Facts, span_text};
use crate::ask::{Anchors, Ask};
use crate::event::TurnId;
use crate::history::Story;
use crate::world::{BEGINNING, World};

fn name(account: AccountId) -> String {
    format!("account-{}", account.0)
}

/// What is known of a request.
pub(super) fn turn(story: &Story, token: Option<AccountId>) -> Facts {
    let last = story.attempts.last();
    let tried: Vec<String> = story.attempts.iter().map(|a| name(a.account)).collect();
    let mut facts = vec![
        ("on", last.map_or_else(|| "nobody".into(), |a| name(a.account))),
        ("tried", if tried.is_empty() { "nobody".into() } else { tried.join(" ") }),
        ("served by", story.served.map_or_else(|| "nobody".into(), name)),
        ("because", last.map_or_else(|| "nothing".into(), |a| a.reason.name().into())),
        ("wrote", story.wrote.map_or("nothing", |(how, _)| wrote(how)).into()),
        ("turn state", if token.is_some() { "with" } else { "without" }.into()),
        ("ended", ended(story).into()),
    ];
    if let Some(in_time) = story.released {
        facts.push(("end", if in_time { "durable" } else { "undurable" }.into()));
    }
    if let Some(Outcome::Out(Out::Soon { retry_after }) | Outcome::PinOut { out: Out::Soon { retry_after }, .. }) =
        story.ended
    {
        facts.push(("retry-after", span_text(retry_after)));
    }
    facts
}

const fn wrote(how: Completion) -> &'static str {
    match how {
        Completion::Confirmed => "confirmed",
        Completion::Moved { .. } => "moved",
        Completion::Renewed => "renewed",
        Completion::Inserted => "inserted",
        Completion::Stale => "stale",
    }
}

const fn ended(story: &Story) -> &'static str {
    match story.ended {
        None if story.gone => "gone",
        None => "open",
        Some(Outcome::Served) => "served",
        Some(Outcome::Relay) => "relay",
        Some(Outcome::Out(Out::Soon { .. })) => "out-soon",
        Some(Outcome::Out(Out::Spent { .. })) => "out-spent",
        Some(Outcome::Out(Out::NoModel)) => "out-no-model",
        Some(Outcome::Out(Out::Later)) => "out-later",
        Some(Outcome::Out(Out::Empty)) => "out-empty",
        Some(Outcome::PinOut { .. }) => "pin-out",
        Some(Outcome::NotFound { .. }) => "not-found",
        Some(Outcome::Apart { .. }) => "apart",
        Some(Outcome::PinsUnknown) => "pins-unknown",
        Some(Outcome::Unreachable) => "unreachable",
        Some(Outcome::Broken) => "broken",
    }
}

fn binding(row: Option<&Row>) -> Facts {
    let Some(row) = row else { return vec![("binding", "none".into())] };
    vec![
        ("binding", format!("row {}", row.id.0)),
        ("on", name(row.account)),
        ("generation", row.generation.0.to_string()),
        ("state", if row.state == State::Bound { "bound" } else { "reserved" }.into()),
        ("pending", row.pending.map_or_else(|| "none".into(), name)),
        ("keys", row.keys.count().to_string()),
        ("ends", span_text(row.expires.since(BEGINNING))),
    ]
}

fn find<'a>(table: &'a Table, world: &World, ask: &Ask) -> Option<&'a Row> {
    let request = ask.request(world.now, world.desk(ask.tenant), &Anchors::default());
    let talks = request.conversation.filter(|_| world.settings.conversation.is_some());
    table.session(request.tenant, &talks.unwrap_or(request.keys), world.store_wall())
}

/// What a request like this one would find now; where nobody is up, nothing.
pub(super) fn session(world: &World, ask: &Ask) -> Facts {
    binding(world.store.table.as_ref().and_then(|table| find(table, world, ask)))
}

/// What it would find after a crash right now and a restart.
pub(super) fn durable_session(world: &World, ask: &Ask) -> Facts {
    let caps = world.scope.as_ref().map(|scope| scope.caps).unwrap_or_default();
    let (table, _) = world.store.disk.restore(caps);
    binding(find(&table, world, ask))
}

/// How many rows are held.
pub(super) fn rows(world: &World, tenant: Option<TenantId>) -> Facts {
    let held = world.store.table.iter().flat_map(|table| table.rows()).filter(|r| tenant.is_none_or(|t| r.tenant == t));
    vec![("rows", held.count().to_string())]
}

/// What a request waits for.
pub(super) fn waits_for(world: &World, turn: TurnId) -> Option<Effect> {
    world.open(turn).map(|open| open.effect)
}
