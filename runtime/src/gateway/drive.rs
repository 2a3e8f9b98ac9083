//! The loop around the machine: perform one effect, resume with its reply.

use std::sync::Arc;

use homing_core::turn::{Effect, Outcome, Reply, Step, Turn};

use super::call::Call;
use crate::clock;
use crate::store::Commit;

/// How the loop ended.
#[derive(Debug)]
pub(super) enum Driven {
    /// The machine came to its end; the turn tells what it did.
    Ended(Outcome, Turn),
    /// The client left before the terminal event was read (R5).
    ClientLeft(Turn),
}

/// Drives one admitted request. Every wait of a request is inside [`perform`].
pub(super) async fn drive(call: &mut Call<'_>, first: Step) -> Driven {
    let mut step = first;
    loop {
        tracing::trace!(effect = ?step.effect, note = ?step.note, "step");
        if let Effect::Done(outcome) = step.effect {
            return Driven::Ended(outcome, step.turn);
        }
        let Some(reply) = perform(call, &step).await else {
            let turn = step.turn.clone();
            call.gateway.step(|env| step.turn.abandon(env));
            return Driven::ClientLeft(turn);
        };
        let turn = step.turn.clone();
        step = match call.gateway.step(|env| step.turn.resume(reply, env)) {
            Ok(next) => next,
            Err(misuse) => {
                // A fault of this file; the request ends as one whose upstream broke.
                tracing::error!(%misuse, "the machine refused a reply");
                return Driven::Ended(Outcome::Broken, turn);
            }
        };
    }
}

/// The reply to the step's effect, or `None` where the client left meanwhile. Once the terminal event was read, a client that
/// leaves changes nothing (B15): commits are not given up for it.
async fn perform(call: &mut Call<'_>, step: &Step) -> Option<Reply> {
    let turn = &step.turn;
    match step.effect {
        Effect::Store(op) => {
            let request = turn.request();
            Some(Reply::Store(call.gateway.store.answer_now(request.tenant, &request.keys, op)))
        }
        Effect::Dial { account, .. } => call.dial(account).await,
        Effect::Wait(span) => {
            let wait = clock::sleep(std::time::Duration::from_millis(span.0));
            call.unless_gone(wait).await.map(|()| Reply::Waited)
        }
        Effect::Refresh(account) => {
            let renewal = super::reload::renew(Arc::clone(call.gateway), account, call.used().cloned());
            call.unless_gone(renewal).await.map(Reply::Refreshed)
        }
        Effect::Stream => call.stream().await,
        Effect::Commit(seq) => {
            let wait = call.gateway.config.affinity.commit_wait;
            let commit = call.gateway.store.commit(seq, wait).await;
            Some(Reply::Committed { in_time: commit == Commit::Committed })
        }
        Effect::Done(_) => None,
    }
}
