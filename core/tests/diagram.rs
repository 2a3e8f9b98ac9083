//! The state diagram of the README is the machine: every step of every small turn is an arrow of it, and every arrow is taken.

use std::collections::{BTreeSet, HashMap};

use homing_core::failure::Failure;
use homing_core::fleet::{Fleet, Standing};
use homing_core::ids::{AccountId, Epoch, Generation, RowId, Seq, TenantId};
use homing_core::key::{Keys, SignalKind};
use homing_core::pin::Pinned;
use homing_core::row::{Fence, State, View};
use homing_core::settings::Settings;
use homing_core::store::{Answer, Completion, Refusal};
use homing_core::time::Time;
use homing_core::turn::{Env, Renewal, Reply, Request, Step, Turn};

const README: &str = include_str!("../README.md");
const TURN: &str = include_str!("../src/turn/mod.rs");
const EFFECT: &str = include_str!("../src/turn/effect.rs");
const A: AccountId = AccountId(1);
const B: AccountId = AccountId(2);
const NOW: Time = Time(1_000);

/// One arrow: the phase before, or `[*]`, and the phase after.
type Arrow = (String, String);

/// A turn that waits for a reply, and the accounts as they are then.
type Waiting = (Turn, Fleet);

/// What was seen of all turns.
#[derive(Default)]
struct Seen {
    arrows: BTreeSet<Arrow>,
    /// The effect that each phase waits for.
    effects: BTreeSet<(String, String)>,
    /// The replies that each effect takes.
    replies: BTreeSet<(String, String)>,
}

/// The name of a variant, without what it carries.
fn variant(value: &impl std::fmt::Debug) -> String {
    let text = format!("{value:?}");
    text.chars().take_while(|c| c.is_alphanumeric()).collect()
}

fn phase(turn: &Turn) -> String {
    let text = format!("{turn:?}");
    let (_, behind) = text.split_once(" phase: ").expect("a turn has a phase");
    behind.chars().take_while(|c| c.is_alphanumeric()).collect()
}

fn answers() -> Vec<Answer> {
    let epoch = Epoch(0);
    let fence = Fence { id: RowId(1), generation: Generation(1) };
    let home = View { fence, account: A, state: State::Bound, pending: None, seq: Seq(1) };
    let (reserved, diverted) = (View { state: State::Reserved, ..home }, View { pending: Some(B), ..home });
    vec![
        Answer::Pins { found: Pinned::Nowhere, epoch },
        Answer::Pins { found: Pinned::At { account: A, anchor: 0 }, epoch },
        Answer::Pins { found: Pinned::Foreign { anchor: 0 }, epoch },
        Answer::Looked { view: None, epoch },
        Answer::Looked { view: Some(home), epoch },
        Answer::Looked { view: Some(reserved), epoch },
        Answer::Reserved(reserved),
        Answer::Found(home),
        Answer::Pended(diverted),
        Answer::Lost(None),
        Answer::Lost(Some(diverted)),
        Answer::Refused(Refusal::Full),
        Answer::Completed { how: Completion::Renewed, seq: Seq(1) },
        Answer::Recorded(Seq(1)),
        Answer::Raced,
        Answer::Unknown,
    ]
}

fn replies() -> Vec<Reply> {
    let failures = [
        Failure::Unreachable,
        Failure::Server { retry_after: None },
        Failure::QuotaSpent { until: None },
        Failure::Unauthorized,
        Failure::Request,
    ];
    let mut all: Vec<_> = answers().into_iter().map(Reply::Store).collect();
    all.extend(failures.map(Reply::Failed));
    all.extend([Renewal::Fresh, Renewal::Refused].map(Reply::Refreshed));
    all.extend([true, false].map(|issued| Reply::Served { issued }));
    all.extend([Reply::Visible, Reply::Waited, Reply::Committed { in_time: true }]);
    all
}

fn starts() -> Vec<Request> {
    let plain = Request::new(TenantId(1), NOW);
    let keys = Keys::session("user:ada", [(SignalKind::SessionHeader, b"s".as_slice())]);
    let identified = Request { keys, ..plain };
    vec![plain, identified, Request { anchors: 1, ..plain }, Request { anchors: 1, ..identified }]
}

/// Small turns, met one by one.
#[derive(Default)]
struct Explorer {
    seen: Seen,
    phases: HashMap<Waiting, String>,
    open: Vec<Waiting>,
}

impl Explorer {
    fn meet(&mut self, from: &str, step: Step, fleet: Fleet) {
        let (effect, waiting) = (step.effect, (step.turn, fleet));
        if let Some(to) = self.phases.get(&waiting) {
            self.seen.arrows.insert((from.into(), to.clone()));
            return;
        }
        let to = phase(&waiting.0);
        self.seen.arrows.insert((from.into(), to.clone()));
        self.seen.effects.insert((to.clone(), variant(&effect)));
        self.open.push(waiting.clone());
        self.phases.insert(waiting, to);
    }

    /// Everything that may come next: each reply, also where an account left meanwhile or the deadline passed.
    fn go_on(&mut self, (turn, fleet): &Waiting, settings: &Settings) {
        let from = phase(turn);
        let mut left = fleet.clone();
        left.set(A, Standing::Gone);
        let meanwhile = [(fleet, NOW), (&left, NOW), (fleet, NOW.plus(settings.request_deadline))];
        for (reply, (fleet, now)) in replies().into_iter().flat_map(|r| meanwhile.map(|m| (r, m))) {
            let mut fleet = fleet.clone();
            let mut env = Env { fleet: &mut fleet, settings, now, word: 0 };
            if let Ok(step) = turn.clone().resume(reply, &mut env) {
                self.seen.replies.insert((from.clone(), variant(&reply)));
                self.meet(&from, step, fleet);
            }
        }
    }
}

/// Two accounts or none, two attempts: every turn that these and every reply can make.
fn explore() -> Seen {
    let settings = Settings { request_retry: 1, ..Settings::default() };
    let mut pair = Fleet::new();
    [A, B].iter().for_each(|id| pair.set(*id, Standing::Usable));
    let mut explorer = Explorer::default();
    for (request, mut fleet) in starts().into_iter().flat_map(|r| [(r, pair.clone()), (r, Fleet::new())]) {
        let step = Turn::start(request, &mut Env { fleet: &mut fleet, settings: &settings, now: NOW, word: 0 });
        explorer.meet("[*]", step, fleet);
    }
    while let Some(waiting) = explorer.open.pop() {
        explorer.go_on(&waiting, &settings);
    }
    explorer.seen
}

/// The arrows of the diagram.
fn drawn() -> BTreeSet<Arrow> {
    let (_, diagram) = README.split_once("stateDiagram-v2\n").expect("the diagram is there");
    let arrows =
        diagram.lines().take_while(|line| !line.starts_with("```")).filter_map(|line| line.split_once(" --> "));
    arrows.map(|(from, to)| (from.trim().into(), to.split(" : ").next().unwrap_or_default().into())).collect()
}

/// The rows of the table of phases: the phase, and what stands in the two columns behind it.
fn tabled() -> Vec<[Vec<String>; 3]> {
    let (_, table) =
        README.split_once("| phase | effect it waits for | replies it takes |\n").expect("the table is there");
    let quoted = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    let rows =
        table.lines().skip(1).take_while(|line| line.starts_with('|')).map(|line| line.trim_matches('|').split('|'));
    rows.map(|mut cells| [0; 3].map(|_| cells.next().map(quoted).unwrap_or_default())).collect()
}

/// The variants of an enum in a source file.
fn variants(source: &str, name: &str) -> BTreeSet<String> {
    let (_, body) = source.split_once(&format!("enum {name} {{\n")).expect("the enum is there");
    let body = body.split("\n}").next().unwrap_or_default();
    let lines =
        body.lines().filter_map(|line| line.strip_prefix("    ")).filter(|line| line.starts_with(char::is_uppercase));
    lines.map(|line| line.chars().take_while(|c| c.is_alphanumeric()).collect()).collect()
}

fn pairs(column: usize) -> BTreeSet<(String, String)> {
    let rows = tabled().into_iter();
    rows.flat_map(|row| row[column].iter().map(|cell| (row[0].concat(), cell.clone())).collect::<Vec<_>>()).collect()
}

#[test]
fn the_diagram_and_the_table_of_phases_are_what_every_small_turn_does() {
    let seen = explore();
    let drawn = drawn();
    let missing: Vec<_> = seen.arrows.difference(&drawn).collect();
    let never: Vec<_> = drawn.difference(&seen.arrows).collect();
    assert!(missing.is_empty() && never.is_empty(), "not drawn: {missing:?}; never taken: {never:?}");
    assert_eq!(pairs(1), seen.effects, "phase and effect");
    assert_eq!(pairs(2), seen.replies, "phase and reply");
}

#[test]
fn no_phase_effect_or_reply_is_left_out() {
    let column = |n: usize| tabled().into_iter().flat_map(|row| row[n].clone()).collect::<BTreeSet<_>>();
    assert_eq!(column(0), variants(TURN, "Phase"));
    assert_eq!(column(1), variants(EFFECT, "Effect"));
    assert_eq!(column(2), variants(EFFECT, "Reply"));
}
