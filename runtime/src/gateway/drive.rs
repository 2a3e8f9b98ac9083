//! The loop around the machine: perform one effect, resume with its reply.

use std::sync::Arc;
use std::time::Duration;

use homing_core::store::Subject;
use homing_core::turn::{Effect, Outcome, Reply, Step, Turn};

use super::call::Call;
use crate::clock;
use crate::store::Commit;

/// How the loop ended.
pub(super) enum Driven {
    /// The machine came to its end; the turn tells what it did.
    Ended(Outcome, Turn),
    /// The client left before the terminal event was read (R5).
    ClientLeft(Turn),
    /// The machine refused a reply: a fault of this file. The request ends as one whose upstream broke.
    Fault,
}

/// Drives one admitted request.
pub(super) async fn drive(call: &mut Call<'_>, first: Step) -> Driven {
    let mut step = first;
    loop {
        tracing::trace!(effect = ?step.effect, note = ?step.note, "step");
        if let Effect::Done(outcome) = step.effect {
            return Driven::Ended(outcome, step.turn);
        }
        let Some(reply) = perform(call, &step).await else {
            let left = step.turn.clone();
            call.gateway.step(|env| step.turn.abandon(env));
            return Driven::ClientLeft(left);
        };
        step = match call.gateway.step(|env| step.turn.resume(reply, env)) {
            Ok(next) => next,
            Err(misuse) => {
                tracing::error!(%misuse, "the machine refused a reply");
                return Driven::Fault;
            }
        };
    }
}

/// The reply to the step's effect, or `None` where the client left meanwhile. Once the terminal event was read, a client that
/// leaves changes nothing (B15): commits are not given up for it. Every wait of a request is in here.
async fn perform(call: &mut Call<'_>, step: &Step) -> Option<Reply> {
    match step.effect {
        Effect::Store(op) => {
            let request = step.turn.request();
            let subject = Subject::new(request.tenant, &request.keys);
            Some(Reply::Store(call.gateway.store.answer_now(subject, op)))
        }
        Effect::Dial { account, .. } => call.dial(account).await,
        Effect::Stream => call.stream().await,
        Effect::Wait(span) => {
            let wait = clock::sleep(Duration::from_millis(span.0));
            call.unless_gone(wait).await.map(|()| Reply::Waited)
        }
        Effect::Refresh(account) => {
            let renewal = super::reload::renew(Arc::clone(call.gateway), account, call.used().cloned());
            call.unless_gone(renewal).await.map(Reply::Refreshed)
        }
        Effect::Commit(seq) => {
            let commit = call.gateway.store.commit(seq, call.gateway.config.affinity.commit_wait).await;
            Some(Reply::Committed { in_time: commit == Commit::Committed })
        }
        Effect::Done(_) => None,
    }
}
