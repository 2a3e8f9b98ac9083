//! What pins a request to one account before anything is chosen (R1).

use super::{Effect, Env, Note, Outcome, Phase, READS_AGAIN_MAX, Step, Turn};
use crate::pin::Pinned;
use crate::store::{Answer, Op};

impl Turn {
    /// What the store knows of the request's anchors. A store that cannot say is no "unknown anchor": the request ends (R1).
    pub(super) fn found_pins(mut self, answer: Answer, env: &mut Env<'_>) -> Step {
        let Answer::Pins { found, epoch } = answer else {
            if self.reads_again >= READS_AGAIN_MAX {
                return self.done(Outcome::PinsUnknown, Note::PinsUnknown);
            }
            self.reads_again += 1;
            return self.step(Effect::Store(Op::FindPins), Note::ReadsAgain);
        };
        self.seen = Some(epoch);
        self.reads_again = 0;
        match found {
            Pinned::Nowhere => self.look(env),
            Pinned::At { account, anchor } => {
                self.request.pin = Some(account);
                self.anchor = Some(anchor);
                self.look(env)
            }
            Pinned::Foreign { anchor } => self.done(Outcome::NotFound { anchor }, Note::AnchorRefused(found)),
            Pinned::Apart { anchor } => self.done(Outcome::Apart { anchor }, Note::AnchorRefused(found)),
        }
    }

    /// Records the anchor that the success brought, where no completion took it along.
    pub(super) fn record(mut self) -> Step {
        let Some(account) = self.current else { return self.done(Outcome::Served, Note::Ends) };
        self.phase = Phase::Recording;
        let op = Op::Record { account, seen: self.seen };
        self.step(Effect::Store(op), Note::Records)
    }

    /// To record once more what is recorded changes nothing: after an unknown outcome it is simply asked again.
    pub(super) fn recorded(mut self, answer: Answer) -> Step {
        match answer {
            Answer::Recorded(seq) => {
                let rests = self.rests.max(seq);
                self.commit(rests, Note::Recorded)
            }
            Answer::Pins { .. }
            | Answer::Looked { .. }
            | Answer::Reserved(_)
            | Answer::Found(_)
            | Answer::Refused(_)
            | Answer::Pended(_)
            | Answer::Lost(_)
            | Answer::Raced
            | Answer::Completed { .. }
            | Answer::Unknown => {
                self.reads_again += 1;
                if self.reads_again > READS_AGAIN_MAX {
                    return self.done(Outcome::Served, Note::EndsUndurable);
                }
                self.record()
            }
        }
    }
}
