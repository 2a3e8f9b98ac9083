//! One process with a table: drives whole requests and says where they went.
#![allow(dead_code, reason = "each test binary uses its part")]

use homing_core::fleet::{Fleet, Standing};
use homing_core::ids::{AccountId, TenantId};
use homing_core::key::{Digest, Keys, SignalKind};
use homing_core::settings::{Caps, Settings};
use homing_core::store::{Answer, Op, Subject};
use homing_core::table::Table;
use homing_core::time::{Millis, Time};
use homing_core::turn::{Effect, Env, Outcome, Reply, Request, Step, Turn};

pub(crate) const ADA: TenantId = TenantId(1);
pub(crate) const BOB: TenantId = TenantId(2);
pub(crate) const START: Time = Time(1_000_000_000);

pub(crate) const fn account(n: u32) -> AccountId {
    AccountId(n)
}

pub(crate) struct Bench {
    pub(crate) table: Table,
    pub(crate) fleet: Fleet,
    pub(crate) settings: Settings,
    pub(crate) now: Time,
    /// What the request under test names, and what its success brings.
    pub(crate) anchors: Vec<Digest>,
    pub(crate) issued: Option<Digest>,
    /// Answers the store gives in place of its own, in order; `None`: its own.
    pub(crate) instead: Vec<Option<Answer>>,
    /// What the next attempts meet, in order; nothing: they serve.
    pub(crate) replies: Vec<Reply>,
    /// Every operation the store was asked for, in order.
    pub(crate) ops: Vec<Op>,
}

impl Bench {
    pub(crate) fn new(accounts: u32) -> Self {
        let mut fleet = Fleet::new();
        for id in 1..=accounts {
            fleet.set(AccountId(id), Standing::Usable);
        }
        Self {
            table: Table::new(Caps::default()),
            fleet,
            settings: Settings::default(),
            now: START,
            anchors: Vec::new(),
            issued: None,
            instead: Vec::new(),
            replies: Vec::new(),
            ops: Vec::new(),
        }
    }

    pub(crate) fn request(&self, session: &str) -> Request {
        let signal = (SignalKind::SessionHeader, session.as_bytes());
        let keys = Keys::session("user:1", (!session.is_empty()).then_some(signal));
        let anchors = u8::try_from(self.anchors.len()).unwrap();
        Request { keys, anchors, ..Request::new(ADA, self.now) }
    }

    pub(crate) fn env(&mut self) -> Env<'_> {
        Env { fleet: &mut self.fleet, settings: &self.settings, now: self.now, word: 7 }
    }

    pub(crate) fn start(&mut self, request: Request) -> Step {
        Turn::start(request, &mut self.env())
    }

    pub(crate) fn resume(&mut self, step: Step, reply: Reply) -> Step {
        step.turn.resume(reply, &mut self.env()).unwrap()
    }

    /// Does what the step asks.
    pub(crate) fn reply(&mut self, step: &Step) -> Reply {
        match step.effect {
            Effect::Store(op) => {
                self.ops.push(op);
                let request = step.turn.request();
                let (keys, tenant) = (&request.keys, request.tenant);
                let subject = Subject { tenant, keys, anchors: &self.anchors, issued: self.issued };
                let own = self.table.answer(subject, op, self.now);
                assert_eq!(self.table.check(), Ok(()), "after {op:?}");
                let instead = if self.instead.is_empty() { None } else { self.instead.remove(0) };
                Reply::Store(instead.unwrap_or(own))
            }
            Effect::Dial { .. } if !self.replies.is_empty() => self.replies.remove(0),
            Effect::Dial { .. } | Effect::Stream => Reply::Served { issued: self.issued.is_some() },
            Effect::Wait(_) => Reply::Waited,
            Effect::Refresh(_) => Reply::Refreshed(homing_core::turn::Renewal::Fresh),
            Effect::Commit(_) => Reply::Committed { in_time: true },
            Effect::Done(_) => unreachable!("an ended turn waits for nothing"),
        }
    }

    /// Drives a request from here to its end; returns the accounts dialled and the outcome.
    pub(crate) fn finish(&mut self, mut step: Step) -> (Vec<u32>, Outcome) {
        let mut dialled = Vec::new();
        loop {
            match step.effect {
                Effect::Done(outcome) => return (dialled, outcome),
                Effect::Dial { account, .. } => dialled.push(account.0),
                _ => {}
            }
            let reply = self.reply(&step);
            step = self.resume(step, reply);
        }
    }

    pub(crate) fn run(&mut self, request: Request) -> (Vec<u32>, Outcome) {
        let step = self.start(request);
        self.finish(step)
    }

    /// One more request of the session, served.
    pub(crate) fn turn(&mut self, session: &str) -> Vec<u32> {
        let request = self.request(session);
        let (dialled, outcome) = self.run(request);
        assert_eq!(outcome, Outcome::Served);
        dialled
    }

    pub(crate) fn wait(&mut self, span: Millis) {
        self.now = self.now.plus(span);
    }
}
