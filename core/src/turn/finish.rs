//! A success: shown, written down, durable, passed on (B5, B15).

use super::{Effect, Env, Note, Outcome, Phase, READS_AGAIN_MAX, Step, Turn};
use crate::ids::Seq;
use crate::key::Policy;
use crate::row::State;
use crate::store::{Answer, Op};

impl Turn {
    pub(super) fn visible(mut self) -> Step {
        self.phase = Phase::Streaming;
        self.step(Effect::Stream, Note::Shows)
    }

    pub(super) fn served(mut self, issued: bool, env: &mut Env<'_>) -> Step {
        self.issued = issued;
        self.reads_again = 0;
        self.end_probe(env);
        let Some(account) = self.current else { return self.done(Outcome::Served, Note::Ends) };
        env.fleet.succeeded(account, self.dialled);
        match (self.identified(), issued) {
            (true, _) => self.complete(env),
            (false, true) => self.record(),
            (false, false) => self.done(Outcome::Served, Note::Ends),
        }
    }

    fn complete(mut self, env: &Env<'_>) -> Step {
        let Some(account) = self.current else { return self.done(Outcome::Served, Note::Ends) };
        self.phase = Phase::Completing;
        let fence = self.row.map(|row| row.fence);
        let policy = self.request.keys.policy();
        // B8: a conversation whose row expired gets none by an old plan. B16: nor does anything once the policy is off.
        let lapsed = policy == Policy::Conversation && fence.is_some();
        let op = Op::Complete {
            fence,
            account,
            seen: self.seen.unwrap_or_default(),
            ttl: self.ttl,
            pinned: self.request.pin.is_some(),
            inserts: !lapsed && env.settings.ttl_of(policy).is_some(),
        };
        self.step(Effect::Store(op), Note::Succeeded)
    }

    pub(super) fn completed(mut self, answer: Answer) -> Step {
        match answer {
            Answer::Completed { how, seq } => self.commit(seq, Note::Wrote(how)),
            Answer::Refused(_) if self.issued => self.record(),
            Answer::Refused(refusal) => self.done(Outcome::Served, Note::Unwritten(refusal)),
            Answer::Pins { .. }
            | Answer::Recorded(_)
            | Answer::Looked { .. }
            | Answer::Reserved(_)
            | Answer::Found(_)
            | Answer::Pended(_)
            | Answer::Lost(_)
            | Answer::Raced
            | Answer::Unknown => {
                self.reads_again += 1;
                if self.reads_again > READS_AGAIN_MAX {
                    return self.done(Outcome::Served, Note::EndsUndurable);
                }
                self.phase = Phase::Rereading;
                self.step(Effect::Store(Op::Look), Note::ReadsAgain)
            }
        }
    }

    /// After an unknown completion. Under the fence of a row that still stands it is written again: what is done already is
    /// found done, and what is not gets its keys and its life. A row that the plan did not see may be the one the lost write
    /// made; writing again would find it foreign, so the turn only waits for it.
    pub(super) fn reread(mut self, answer: Answer, env: &Env<'_>) -> Step {
        let seen = self.row.map(|row| row.fence.id);
        match answer {
            Answer::Looked { view: Some(view), .. }
                if seen != Some(view.fence.id) && view.state == State::Bound && Some(view.account) == self.current =>
            {
                self.row = Some(view);
                self.rests = view.seq;
                if self.issued { self.record() } else { self.commit(view.seq, Note::Succeeded) }
            }
            Answer::Looked { .. } => self.complete(env),
            Answer::Pins { .. }
            | Answer::Recorded(_)
            | Answer::Reserved(_)
            | Answer::Found(_)
            | Answer::Refused(_)
            | Answer::Pended(_)
            | Answer::Lost(_)
            | Answer::Raced
            | Answer::Completed { .. }
            | Answer::Unknown => self.completed(Answer::Unknown),
        }
    }

    pub(super) fn commit(mut self, seq: Seq, note: Note) -> Step {
        self.phase = Phase::Committing;
        self.step(Effect::Commit(seq), note)
    }

    pub(super) fn committed(self, in_time: bool) -> Step {
        let note = if in_time { Note::Ends } else { Note::EndsUndurable };
        self.done(Outcome::Served, note)
    }
}
