//! A failed attempt: the same account once more, the next one, or the end (R2, R3).

use super::{Effect, Env, Note, Outcome, Phase, Remedy, Renewal, Step, Turn};
use crate::failure::Failure;
use crate::fleet::Standing;
use crate::ids::AccountId;
use crate::settings::ATTEMPTS_MAX;
use crate::time::Millis;

impl Turn {
    /// Nothing visible reached the client yet.
    pub(super) fn failed(mut self, failure: Failure, env: &mut Env<'_>) -> Step {
        match self.remedy(failure) {
            Remedy::Repeat => {
                self.repeated = true;
                self.phase = Phase::Waiting;
                let wait = Millis(env.word % env.settings.quick_repeat.0.max(1));
                self.step(Effect::Wait(wait), Note::Repeats(failure))
            }
            Remedy::Renew => {
                self.repeated = true;
                self.renewed = true;
                let Some(account) = self.current else { return self.all_out(env) };
                self.phase = Phase::Refreshing;
                self.step(Effect::Refresh(account), Note::Renews)
            }
            Remedy::Relay => {
                // The account answered for itself all the same. Only a refused credential says nothing before it was renewed.
                if failure != Failure::Unauthorized {
                    self.blame(failure, env);
                }
                self.relay(failure, env)
            }
            Remedy::GiveUp => {
                self.end_probe(env);
                self.done(Outcome::Unreachable, Note::HostUnreachable)
            }
            Remedy::Next => {
                self.blame(failure, env);
                self.next(failure, env)
            }
        }
    }

    pub(super) fn refreshed(mut self, renewal: Renewal, env: &mut Env<'_>) -> Step {
        match renewal {
            Renewal::Fresh => self.dial_again(env),
            Renewal::Refused => {
                self.blame(Failure::Unauthorized, env);
                self.next(Failure::Unauthorized, env)
            }
            // The token server's trouble is not the account's: it only comes last for a while.
            Renewal::Unavailable => {
                self.blame(Failure::Server { retry_after: None }, env);
                self.next(Failure::Unauthorized, env)
            }
        }
    }

    /// Visible output reached the client: nothing is retried (R3). A failure the upstream stated still counts.
    pub(super) fn broke_off(mut self, failure: Failure, env: &mut Env<'_>) -> Step {
        self.blame(failure, env);
        self.done(Outcome::Broken, Note::BrokeOff(failure))
    }

    fn blame(&mut self, failure: Failure, env: &mut Env<'_>) {
        // A 401 is final only where a newer credential was asked for; before that the account only comes last for a while.
        let failure = match failure {
            Failure::Unauthorized if !self.renewed => Failure::Server { retry_after: None },
            other => other,
        };
        if let Some(account) = self.current
            && !self.outdated(account, failure, env)
        {
            env.fleet.failed(account, failure, self.request.model, self.dialled, env.now);
        }
        self.end_probe(env);
    }

    /// Whether the failure is about a credential that is not the account's any more: its file or its owner has spoken since.
    fn outdated(&self, account: AccountId, failure: Failure, env: &Env<'_>) -> bool {
        let of_credential = matches!(failure, Failure::Unauthorized | Failure::AccountRefused);
        of_credential && env.fleet.get(account).map(|a| a.revision) != self.revision
    }

    fn relay(mut self, failure: Failure, env: &mut Env<'_>) -> Step {
        self.end_probe(env);
        self.done(Outcome::Relay, Note::Relays(failure))
    }

    fn next(self, failure: Failure, env: &mut Env<'_>) -> Step {
        if self.request.pin.is_some() {
            return self.relay(failure, env);
        }
        if failure == Failure::ModelRefused && self.nobody_serves_model(env) {
            // "Not supported" is more useful to the client than "come back later".
            return self.relay(failure, env);
        }
        self.onward(env)
    }

    /// The next account, if one more may be tried.
    pub(super) fn onward(self, env: &mut Env<'_>) -> Step {
        let most = (usize::from(env.settings.request_retry) + 1).min(ATTEMPTS_MAX);
        if self.tried.count() >= most {
            return self.all_out(env);
        }
        self.aim(env)
    }

    fn nobody_serves_model(&self, env: &Env<'_>) -> bool {
        let mut usable = env.fleet.iter().filter(|a| a.standing == Standing::Usable && a.is_in(self.request.pool));
        usable.all(|a| a.refuses(self.request.model, env.now))
    }
}
