//! One request, from its admission to its end: a machine that returns one effect at a time.
//!
//! [`Turn::start`] and [`Turn::resume`] return the next [`Effect`] and the reason for it; the caller performs the effect and
//! resumes with the reply. A turn is plain data: a crash is dropping it, a client that leaves is [`Turn::abandon`].

mod aim;
mod effect;
mod fail;
mod finish;
mod note;
mod pinned;
#[cfg(test)]
mod tests;

pub use effect::{Effect, Outcome, Renewal, Reply};
pub use note::{Note, Reason};

use crate::failure::Failure;
use crate::fleet::{Fleet, Guess, ModelId, Pick, Tried};
use crate::ids::{AccountId, Epoch, PoolId, Revision, Seq, TenantId};
use crate::key::Keys;
use crate::row::View;
use crate::settings::Settings;
use crate::store::{Answer, Op};
use crate::time::{Millis, Time};

/// How often a turn reads again after an unknown outcome before it goes on without memory.
const READS_AGAIN_MAX: u8 = 2;

/// What a request brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Request {
    /// Who asks.
    pub tenant: TenantId,
    /// The pool of the caller.
    pub pool: PoolId,
    /// Its session keys; empty where it has no identity (B1).
    pub keys: Keys,
    /// Its conversation ([`Keys::conversation`]), which counts *instead* where the pool has that policy on (spec §2).
    pub conversation: Option<Keys>,
    /// How many anchors it names (R1). The driver holds their digests and passes them on with [`Op::FindPins`].
    pub anchors: u8,
    /// The model, where exactly one is named.
    pub model: Option<ModelId>,
    /// Whether it may be sent again once bytes of it were sent (R2: Responses calls and GETs).
    pub repeatable: bool,
    /// The only account that can serve it, known without asking: an upstream connection that has shown output (R1).
    pub pin: Option<AccountId>,
    /// The home this process last saw the session at: the preference while no store answers (T3).
    pub last_seen: Option<AccountId>,
    /// When it came.
    pub began: Time,
}

impl Request {
    /// A request without identity, in the default pool, that may be repeated. Set what else is known of it.
    #[must_use]
    pub fn new(tenant: TenantId, began: Time) -> Self {
        Self {
            tenant,
            pool: PoolId::DEFAULT,
            keys: Keys::default(),
            conversation: None,
            anchors: 0,
            model: None,
            repeatable: true,
            pin: None,
            last_seen: None,
            began,
        }
    }
}

/// What a step reads besides its reply: the fleet, the settings as they are now, the time, and a random word.
#[derive(Debug)]
pub struct Env<'a> {
    /// The accounts; a step may hold something against one of them, or turn the round robin.
    pub fleet: &'a mut Fleet,
    /// Read at each step (B16).
    pub settings: &'a Settings,
    /// The process's clock.
    pub now: Time,
    /// Fresh entropy, for jitter.
    pub word: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Phase {
    FindingPins,
    Looking,
    Reserving(Pick),
    Pending(Pick),
    Dialling,
    Waiting,
    Refreshing,
    Streaming,
    Completing,
    Rereading,
    Recording,
    Committing,
    Done,
}

/// One request under way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Turn {
    request: Request,
    phase: Phase,
    /// The session's row as last seen.
    row: Option<View>,
    /// The erasures the plan knew of: those of its first reading, also where it had to read again (B6).
    seen: Option<Epoch>,
    tried: Tried,
    /// The account of the present attempt.
    current: Option<AccountId>,
    probing: bool,
    dialled: Time,
    /// What was known of the account's credential when the present attempt began.
    revision: Option<Revision>,
    attempt: u8,
    /// The present account had its one repeat.
    repeated: bool,
    /// The present account's credential was renewed for this request.
    renewed: bool,
    /// Lost a race it does not follow: goes on without proposing anything.
    detached: bool,
    /// Lost the race to say where it goes; what it reads next is the winner's.
    outrun: bool,
    reads_again: u8,
    /// The time to live under the policy it was admitted with.
    ttl: Millis,
    /// The anchor that pins it, where one does.
    anchor: Option<u8>,
    /// The success brought an anchor that is to be recorded.
    issued: bool,
    /// The change its end rests on so far (B15).
    rests: Seq,
    /// What stands in for its home while no store answers (T3).
    guess: Option<Guess>,
    reason: Reason,
}

/// The next effect and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Step {
    /// The turn, waiting for the effect's reply.
    pub turn: Turn,
    /// What to do.
    pub effect: Effect,
    /// Why.
    pub note: Note,
}

/// A reply that does not answer the effect the turn waits for: a fault of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the reply {reply:?} does not answer a turn that is {waiting_for}")]
pub struct Misuse {
    /// What the turn waits for.
    pub waiting_for: &'static str,
    /// What it got.
    pub reply: Reply,
}

impl Turn {
    /// Admits a request. A conversation counts instead of the session where its policy is on. With the policy off (B16) or no
    /// identity (B1), no row is read or written.
    #[must_use]
    pub fn start(mut request: Request, env: &mut Env<'_>) -> Step {
        if let Some(conversation) = request.conversation.filter(|_| env.settings.conversation.is_some()) {
            request.keys = conversation;
        }
        let ttl = env.settings.ttl_of(request.keys.policy());
        if ttl.is_none() {
            request.keys = Keys::default();
        }
        let mut turn = Self {
            request,
            phase: Phase::Looking,
            row: None,
            seen: None,
            tried: Tried::default(),
            current: None,
            probing: false,
            dialled: env.now,
            revision: None,
            attempt: 0,
            repeated: false,
            renewed: false,
            detached: false,
            outrun: false,
            reads_again: 0,
            ttl: ttl.unwrap_or_default(),
            anchor: None,
            issued: false,
            rests: Seq(0),
            guess: None,
            reason: Reason::NoIdentity,
        };
        if turn.request.pin.is_none() && turn.request.anchors > 0 {
            turn.phase = Phase::FindingPins;
            return turn.step(Effect::Store(Op::FindPins), Note::Anchored);
        }
        turn.look(env)
    }

    /// The session's row comes first, where the request names a session.
    fn look(mut self, env: &mut Env<'_>) -> Step {
        if self.identified() {
            self.phase = Phase::Looking;
            return self.step(Effect::Store(Op::Look), Note::Identified);
        }
        self.aim(env)
    }

    /// Goes on with the reply to the last effect.
    ///
    /// # Errors
    /// [`Misuse`] where the reply does not answer that effect.
    pub fn resume(self, reply: Reply, env: &mut Env<'_>) -> Result<Step, Misuse> {
        let step = match (self.phase, reply) {
            (Phase::FindingPins, Reply::Store(answer)) => self.found_pins(answer, env),
            (Phase::Looking, Reply::Store(answer)) => self.looked(answer, env),
            (Phase::Reserving(pick), Reply::Store(answer)) => self.reserved(pick, answer, env),
            (Phase::Pending(pick), Reply::Store(answer)) => self.pended(pick, answer, env),
            (Phase::Dialling, Reply::Visible) => self.visible(),
            (Phase::Dialling | Phase::Streaming, Reply::Served { issued }) => self.served(issued, env),
            (Phase::Dialling, Reply::Failed(failure)) => self.failed(failure, env),
            (Phase::Streaming, Reply::Failed(failure)) => self.broke_off(failure, env),
            (Phase::Waiting, Reply::Waited) => self.dial_again(env),
            (Phase::Refreshing, Reply::Refreshed(renewal)) => self.refreshed(renewal, env),
            (Phase::Completing, Reply::Store(answer)) => self.completed(answer),
            (Phase::Rereading, Reply::Store(answer)) => self.reread(answer, env),
            (Phase::Recording, Reply::Store(answer)) => self.recorded(answer),
            (Phase::Committing, Reply::Committed { in_time }) => self.committed(in_time),
            (phase, reply) => return Err(Misuse { waiting_for: phase.waiting_for(), reply }),
        };
        Ok(step)
    }

    /// The client left before the terminal event was read (R5): that says nothing about any account, and leaves a
    /// reservation where it is (B4).
    pub fn abandon(mut self, env: &mut Env<'_>) {
        self.end_probe(env);
    }

    /// What came with the request.
    #[must_use]
    pub const fn request(&self) -> &Request {
        &self.request
    }

    /// Why the present attempt went where it went.
    #[must_use]
    pub const fn reason(&self) -> Reason {
        self.reason
    }

    /// The account of the present attempt.
    #[must_use]
    pub const fn account(&self) -> Option<AccountId> {
        self.current
    }

    /// Attempts made so far, repeats among them.
    #[must_use]
    pub const fn attempts(&self) -> u8 {
        self.attempt
    }

    /// The session's row as this turn last saw it.
    #[must_use]
    pub const fn row(&self) -> Option<&View> {
        self.row.as_ref()
    }

    /// Whether the terminal event was read: from here on a client that leaves changes nothing (B15).
    #[must_use]
    pub const fn settled(&self) -> bool {
        matches!(self.phase, Phase::Completing | Phase::Rereading | Phase::Recording | Phase::Committing | Phase::Done)
    }

    const fn identified(&self) -> bool {
        !self.request.keys.is_empty()
    }

    fn step(self, effect: Effect, note: Note) -> Step {
        Step { turn: self, effect, note }
    }

    fn done(mut self, outcome: Outcome, note: Note) -> Step {
        self.phase = Phase::Done;
        self.step(Effect::Done(outcome), note)
    }

    fn end_probe(&mut self, env: &mut Env<'_>) {
        if core::mem::take(&mut self.probing)
            && let Some(account) = self.current
        {
            env.fleet.probed(account);
        }
    }

    /// After an unknown outcome: read again, or go on without memory once that was tried often enough (T3: nothing is bound from
    /// a guess).
    fn look_again(self, env: &mut Env<'_>) -> Step {
        self.look_because(Note::ReadsAgain, env)
    }

    fn look_because(mut self, note: Note, env: &mut Env<'_>) -> Step {
        if self.reads_again >= READS_AGAIN_MAX {
            let word = self.request.keys.iter().next().map(|key| key.digest.word());
            self.guess = word.map(|word| Guess { last_seen: self.request.last_seen, word });
            self.request.keys = Keys::default();
            self.row = None;
            return self.aim(env);
        }
        self.reads_again += 1;
        self.phase = Phase::Looking;
        self.step(Effect::Store(Op::Look), note)
    }

    /// Lost to somebody: what stands is read in a new statement. It counts among the readings, so that a turn that loses for
    /// ever goes on without memory.
    fn look_at_winner(self, env: &mut Env<'_>) -> Step {
        self.look_because(Note::LostRace, env)
    }

    fn looked(mut self, answer: Answer, env: &mut Env<'_>) -> Step {
        let Answer::Looked { view, epoch } = answer else { return self.look_again(env) };
        self.row = view;
        self.seen = self.seen.or(Some(epoch));
        if core::mem::take(&mut self.outrun) {
            // B5: the loser follows what stands where that can serve and was not tried, else goes on without writing.
            self.detached = self.standing_choice(env).is_none();
        }
        self.aim(env)
    }
}

impl Phase {
    const fn waiting_for(self) -> &'static str {
        match self {
            Self::FindingPins => "looking for pins",
            Self::Looking | Self::Rereading => "reading its row",
            Self::Reserving(_) => "reserving",
            Self::Pending(_) => "recording a replacement",
            Self::Dialling => "dialling",
            Self::Waiting => "waiting to try again",
            Self::Refreshing => "refreshing a credential",
            Self::Streaming => "streaming",
            Self::Completing => "writing a success",
            Self::Recording => "recording a pin",
            Self::Committing => "waiting for durability",
            Self::Done => "done",
        }
    }
}

/// What a failure leads to besides the next account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Remedy {
    /// The same account once more, after a short wait.
    Repeat,
    /// A newer credential, then the same account.
    Renew,
    /// The upstream's answer goes to the client.
    Relay,
    /// 502.
    GiveUp,
    /// Hold it against the account and go on.
    Next,
}

impl Turn {
    fn remedy(&self, failure: Failure) -> Remedy {
        let at_home = self.row.is_some_and(|r| r.state == crate::row::State::Bound && Some(r.account) == self.current);
        match failure {
            Failure::Unreachable if self.repeated => Remedy::GiveUp,
            Failure::Unreachable => Remedy::Repeat,
            _ if !self.request.repeatable => Remedy::Relay,
            Failure::Server { retry_after: None } if at_home && !self.repeated => Remedy::Repeat,
            Failure::Unauthorized if !self.repeated => Remedy::Renew,
            Failure::Request | Failure::ForeignCiphertext => Remedy::Relay,
            Failure::Server { .. }
            | Failure::QuotaSpent { .. }
            | Failure::RateLimited { .. }
            | Failure::Throttled
            | Failure::Unauthorized
            | Failure::AccountRefused
            | Failure::Challenge
            | Failure::ModelRefused
            | Failure::CutOff => Remedy::Next,
        }
    }
}
