//! The path of a hit: a request whose session has a home allocates nothing, and a turn is small plain data.

use std::hash::Hash;

use homing_core::fleet::{Fleet, Standing};
use homing_core::ids::{AccountId, TenantId};
use homing_core::key::{Keys, SignalKind};
use homing_core::settings::{Caps, Settings};
use homing_core::store::{Answer, Completion, Op, Subject};
use homing_core::table::Table;
use homing_core::time::{Millis, Time};
use homing_core::turn::{Effect, Env, Note, Outcome, Reply, Request, Step, Turn};

const ADA: TenantId = TenantId(1);
const MINUTE: Millis = Millis::secs(60);

struct World {
    table: Table,
    fleet: Fleet,
    settings: Settings,
    now: Time,
}

/// How a request ended, and what its success did to the row.
#[derive(Debug, PartialEq, Eq)]
struct End {
    outcome: Outcome,
    wrote: Option<Completion>,
    streamed: bool,
}

impl World {
    fn new() -> Self {
        let mut fleet = Fleet::new();
        (1..=3).for_each(|id| fleet.set(AccountId(id), Standing::Usable));
        Self { table: Table::new(Caps::default()), fleet, settings: Settings::default(), now: Time(1_000_000) }
    }

    fn env(&mut self) -> Env<'_> {
        Env { fleet: &mut self.fleet, settings: &self.settings, now: self.now, word: 7 }
    }

    /// A whole request, from its signals to its end: visible output first, then the success.
    fn request(&mut self, session: &[u8], cache: &[u8]) -> End {
        let signals = [(SignalKind::SessionHeader, session), (SignalKind::PromptCacheKey, cache)];
        let keys = Keys::session("user:ada", signals);
        let request = Request { keys, ..Request::new(ADA, self.now) };
        let mut end = End { outcome: Outcome::Broken, wrote: None, streamed: false };
        let mut step = Turn::start(request, &mut self.env());
        loop {
            if let Note::Wrote(how) = step.note {
                end.wrote = Some(how);
            }
            let reply = match step.effect {
                Effect::Store(op) => Reply::Store(self.table.answer(Subject::new(ADA, &keys), op, self.now)),
                Effect::Dial { .. } => Reply::Visible,
                Effect::Stream => {
                    end.streamed = true;
                    Reply::Served { issued: false }
                }
                Effect::Commit(_) => Reply::Committed { in_time: true },
                Effect::Done(outcome) => return End { outcome, ..end },
                Effect::Wait(_) | Effect::Refresh(_) => return end,
            };
            step = match step.turn.resume(reply, &mut self.env()) {
                Ok(step) => step,
                Err(_) => return end,
            };
        }
    }
}

#[test]
fn a_hit_allocates_nothing_from_its_signals_to_its_end() {
    let mut world = World::new();
    world.request(b"session-1", b"cache-1");
    world.table.take_changes();
    // Well within a sixteenth of the time to live, so that the renewal is coalesced (B15).
    world.now = world.now.plus(MINUTE);
    let mut end = None;
    let spent = allocation_counter::measure(|| end = Some(world.request(b"session-1", b"cache-1")));
    let hit = End { outcome: Outcome::Served, wrote: Some(Completion::Renewed), streamed: true };
    assert_eq!(end, Some(hit));
    assert_eq!((spent.count_total, spent.bytes_total), (0, 0), "{spent:?}");
    assert!(world.table.take_changes().0.is_empty(), "the renewal was coalesced");
}

#[test]
fn a_miss_does_allocate_so_that_the_counter_is_known_to_count() {
    let mut world = World::new();
    let spent = allocation_counter::measure(|| {
        world.request(b"session-1", b"cache-1");
    });
    assert!(spent.count_total > 0);
}

#[test]
fn looking_for_a_session_that_is_not_there_allocates_nothing() {
    let mut world = World::new();
    world.request(b"session-1", b"cache-1");
    let keys = Keys::session("user:ada", [(SignalKind::SessionHeader, b"session-2".as_slice())]);
    let mut answer = None;
    let spent = allocation_counter::measure(|| {
        answer = Some(world.table.answer(Subject::new(ADA, &keys), Op::Look, world.now))
    });
    assert!(matches!(answer, Some(Answer::Looked { view: None, .. })), "{answer:?}");
    assert_eq!(spent.count_total, 0);
}

/// What enumerating states needs: copied, compared, ordered, hashed.
fn plain<T: Clone + Eq + Ord + Hash>() {}

#[test]
fn the_state_of_requests_and_accounts_can_be_enumerated() {
    plain::<Turn>();
    plain::<Step>();
    plain::<Request>();
    plain::<Effect>();
    plain::<Reply>();
    plain::<Note>();
    plain::<Op>();
    plain::<Answer>();
    plain::<Outcome>();
    plain::<Fleet>();
    plain::<Settings>();
}

#[test]
fn a_turn_fits_nine_cache_lines_and_what_it_says_one() {
    let sizes = [size_of::<Turn>(), size_of::<Effect>(), size_of::<Reply>()];
    assert!(sizes.iter().zip([576, 64, 64]).all(|(size, most)| *size <= most), "{sizes:?} bytes");
}
