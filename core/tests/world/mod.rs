//! One process for tests of whole requests: a table, some accounts, settings, a clock, and what the upstream answers.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::collections::{BTreeMap, VecDeque};

use homing_core::failure::Failure;
use homing_core::fleet::{Fleet, Standing};
use homing_core::ids::{AccountId, Epoch, PoolId, TenantId};
use homing_core::key::{ConversationScope, Digest, Keys, SignalKind};
use homing_core::row::Row;
use homing_core::settings::{Caps, Settings};
use homing_core::store::{Answer, Op, Subject};
use homing_core::table::Table;
use homing_core::time::{Millis, Time};
use homing_core::turn::{Effect, Env, Note, Outcome, Reason, Reply, Request, Step, Turn};

pub(crate) const ADA: TenantId = TenantId(1);
pub(crate) const BOB: TenantId = TenantId(2);
pub(crate) const A: AccountId = AccountId(1);
pub(crate) const B: AccountId = AccountId(2);
pub(crate) const C: AccountId = AccountId(3);
pub(crate) const TTL: Millis = Millis::secs(3_600);
pub(crate) const START: Time = Time(1_000_000);
pub(crate) const SERVER: Failure = Failure::Server { retry_after: None };

pub(crate) struct World {
    pub(crate) table: Table,
    pub(crate) fleet: Fleet,
    pub(crate) settings: Settings,
    pub(crate) now: Time,
    /// The anchors that the request at hand names.
    pub(crate) anchors: Vec<Digest>,
    /// The anchor that its success brings.
    pub(crate) issued: Option<Digest>,
    /// What an account answers next; one that is not named serves.
    pub(crate) script: BTreeMap<AccountId, VecDeque<Reply>>,
}

/// How a request went.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) dialled: Vec<AccountId>,
    pub(crate) outcome: Outcome,
    pub(crate) reason: Reason,
    pub(crate) notes: Vec<Note>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(Caps::default())
    }

    /// Three usable accounts.
    pub(crate) fn with(caps: Caps) -> Self {
        let mut fleet = Fleet::new();
        [A, B, C].iter().for_each(|id| fleet.set(*id, Standing::Usable));
        let settings = Settings { ttl: TTL, ..Settings::default() };
        let (table, anchors, script) = (Table::new(caps), Vec::new(), BTreeMap::new());
        Self { table, fleet, settings, now: START, anchors, issued: None, script }
    }

    pub(crate) fn env(&mut self) -> Env<'_> {
        Env { fleet: &mut self.fleet, settings: &self.settings, now: self.now, word: 7 }
    }

    pub(crate) fn wait(&mut self, span: Millis) {
        self.now = self.now.plus(span);
    }

    pub(crate) fn fails(&mut self, account: AccountId, failures: &[Failure]) {
        self.script.entry(account).or_default().extend(failures.iter().copied().map(Reply::Failed));
    }

    pub(crate) fn start(&mut self, request: Request) -> Step {
        Turn::start(request, &mut self.env())
    }

    pub(crate) fn go(&mut self, step: Step, reply: Reply) -> Step {
        step.turn.resume(reply, &mut self.env()).expect("the reply answers the effect")
    }

    /// The store does what the step asks; its answer.
    pub(crate) fn does(&mut self, step: &Step) -> Answer {
        let Effect::Store(op) = step.effect else { panic!("no store operation: {:?}", step.effect) };
        let request = *step.turn.request();
        let subject =
            Subject { tenant: request.tenant, keys: &request.keys, anchors: &self.anchors, issued: self.issued };
        let answer = self.table.answer(subject, op, self.now);
        assert_eq!(self.table.check(), Ok(()), "after {op:?}");
        answer
    }

    /// The store does what it is asked, until something else comes up.
    pub(crate) fn stored(&mut self, mut step: Step) -> Step {
        while let Effect::Store(_) = step.effect {
            let answer = self.does(&step);
            step = self.go(step, Reply::Store(answer));
        }
        step
    }

    /// Goes on to the end of the request.
    pub(crate) fn finish(&mut self, mut step: Step) -> End {
        let (mut dialled, mut notes) = (Vec::new(), Vec::new());
        loop {
            notes.push(step.note);
            let reply = match step.effect {
                Effect::Store(_) => Reply::Store(self.does(&step)),
                Effect::Dial { account, .. } => {
                    dialled.push(account);
                    let next = self.script.get_mut(&account).and_then(VecDeque::pop_front);
                    next.unwrap_or(Reply::Served { issued: self.issued.is_some() })
                }
                Effect::Stream => Reply::Served { issued: self.issued.is_some() },
                Effect::Wait(_) => Reply::Waited,
                Effect::Refresh(_) => Reply::Refreshed(homing_core::turn::Renewal::Refused),
                Effect::Commit(_) => Reply::Committed { in_time: true },
                Effect::Done(outcome) => return End { dialled, outcome, reason: step.turn.reason(), notes },
            };
            step = self.go(step, reply);
        }
    }

    /// A whole request.
    pub(crate) fn run(&mut self, request: Request) -> End {
        let step = self.start(request);
        self.finish(step)
    }

    pub(crate) fn request(&self, session: &str) -> Request {
        Request { keys: header(session), ..Request::new(ADA, self.now) }
    }

    /// A session bound to an account.
    pub(crate) fn bound(&mut self, keys: &Keys, account: AccountId) {
        let seen = self.table.epoch();
        let op = Op::Complete { fence: None, account, seen, ttl: TTL, pinned: false, inserts: true };
        let answer = self.table.answer(Subject::new(ADA, keys), op, self.now);
        assert!(matches!(answer, Answer::Completed { .. }), "{answer:?}");
    }

    /// A session reserved on an account.
    pub(crate) fn reserved(&mut self, keys: &Keys, account: AccountId) {
        let answer =
            self.table.answer(Subject::new(ADA, keys), Op::Reserve { account, seen: Epoch(9), ttl: TTL }, self.now);
        assert!(matches!(answer, Answer::Reserved(_)), "{answer:?}");
    }

    pub(crate) fn row(&self, keys: &Keys) -> Option<&Row> {
        self.table.session(ADA, keys, self.now)
    }

    pub(crate) fn home(&self, keys: &Keys) -> Option<AccountId> {
        self.row(keys).map(|row| row.account)
    }
}

/// The keys of a session that names itself by its header.
pub(crate) fn header(session: &str) -> Keys {
    Keys::session("user:ada", [(SignalKind::SessionHeader, session.as_bytes())])
}

/// The key of a conversation in a pool.
pub(crate) fn conversation(pool: PoolId, thread: &str) -> Keys {
    let scope = ConversationScope { pool, api_key: "key:1", model: "gpt" };
    Keys::conversation(&scope, &[thread.as_bytes()], &[]).expect("a thread id")
}

/// The account a step dials.
pub(crate) fn dials(step: &Step) -> Option<AccountId> {
    match step.effect {
        Effect::Dial { account, .. } => Some(account),
        _ => None,
    }
}
