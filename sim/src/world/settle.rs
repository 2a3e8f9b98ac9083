//! After the trouble: faults off, everything mended. Every request has to end, every session to settle, every row to go.

use homing_core::ids::{AccountId, PoolId, TenantId};
use homing_core::time::Millis;
use homing_core::turn::Outcome;

use super::World;
use crate::action::{Action, Class};
use crate::ask::{Ask, Form, Oddity};
use crate::event::{Event, ProcessId, TurnId};

/// Most steps a request may take in a world without trouble.
const STEPS_MAX: usize = 40;

impl World {
    /// Heals the world and demands progress. `each` is called after every step, and with no action where only something was
    /// observed: at the healing and at the end.
    pub fn settle(&mut self, each: &mut dyn FnMut(&Self, Option<Action>)) {
        if self.scope.is_none() || self.violation.is_some() {
            return;
        }
        self.left.faults = 0;
        self.seen.clear();
        self.emit(Event::Healed);
        each(self, None);
        let unmet = self.demand(each).err();
        if self.violation.is_none() {
            self.seen.clear();
            self.emit(Event::Settled(unmet));
            each(self, None);
        }
    }

    fn demand(&mut self, each: &mut dyn FnMut(&Self, Option<Action>)) -> Result<(), String> {
        self.heal(each);
        self.drain(each)?;
        self.go(Action::Tick(Millis::secs(400)), each);
        let processes: Vec<ProcessId> = self.processes.keys().copied().collect();
        let tenants: Vec<TenantId> = self.scope.iter().flat_map(|s| s.tenant_ids()).collect();
        for tenant in tenants {
            self.settles(tenant, &processes, each)?;
        }
        for process in processes {
            for account in self.placed.keys().copied().collect::<Vec<_>>() {
                self.pools.insert(TenantId(1), self.pool_of(account));
                self.serves(process, account, each)?;
            }
            self.pools.clear();
            self.takes_turns(process, each)?;
        }
        self.go(Action::Tick(Millis::secs(31 * 24 * 3600)), each);
        self.go(Action::Purge, each);
        let left = self.store.table.as_deref().map_or(0, |table| table.len() + table.pin_count());
        if left > 0 { Err(format!("{left} expired rows or pins are still there after a purge")) } else { Ok(()) }
    }

    /// Everything is up and mended, every process has heard it, and what was left behind has landed.
    fn heal(&mut self, each: &mut dyn FnMut(&Self, Option<Action>)) {
        if self.store.away {
            self.go(Action::Recover, each);
        }
        for process in self.processes.keys().copied().collect::<Vec<_>>() {
            if self.process(process).is_none() {
                self.go(Action::Restart(process), each);
            }
        }
        while !self.store.flying.is_empty() && self.violation.is_none() {
            self.go(Action::Land(0), each);
        }
        self.sync_all(each);
        for account in self.placed.keys().copied().collect::<Vec<_>>() {
            if self.needs_mending(account) {
                self.go(Action::Mend(account), each);
            }
        }
        let first = self.live().next().map(|(process, _)| process);
        if let Some(process) = first.filter(|_| !self.settings.session_affinity) {
            self.go(Action::Affinity(process, true), each);
        }
        let talks = self.scope.as_ref().is_some_and(|scope| scope.settings.conversation.is_some());
        if let Some(process) = first.filter(|_| talks && self.settings.conversation.is_none()) {
            self.go(Action::Talk(process, true), each);
        }
        self.sync_all(each);
    }

    /// A pool the account is in.
    fn pool_of(&self, account: AccountId) -> PoolId {
        let pools = self.scope.as_ref().map_or(&[][..], |scope| scope.pools_of(account));
        pools.first().copied().unwrap_or_default()
    }

    fn sync_all(&mut self, each: &mut dyn FnMut(&Self, Option<Action>)) {
        let behind: Vec<_> = self.live().filter(|(_, p)| self.has_news(p)).map(|(id, _)| id).collect();
        behind.into_iter().for_each(|process| self.go(Action::Sync(process), each));
    }

    fn go(&mut self, action: Action, each: &mut dyn FnMut(&Self, Option<Action>)) {
        if self.violation.is_none() {
            self.apply(action);
            each(self, Some(action));
        }
    }

    /// Lets every open request end.
    fn drain(&mut self, each: &mut dyn FnMut(&Self, Option<Action>)) -> Result<(), String> {
        let mut enabled = Vec::new();
        let open = self.turns.len();
        for _ in 0..=open * STEPS_MAX + self.store.disk.waiting() {
            if self.turns.is_empty() || self.violation.is_some() {
                return Ok(());
            }
            self.enabled(&mut enabled);
            let next = enabled.iter().find(|a| a.class() == Class::Progress).copied();
            let next = next.or_else(|| enabled.iter().find(|a| **a == Action::Commit).copied());
            match next {
                Some(action) => self.go(action, each),
                None => return Err("an open request waits for nothing that can happen".into()),
            }
        }
        Err(format!("{open} requests did not end within {STEPS_MAX} steps each"))
    }

    /// Nothing is held against an account for ever, nor is a probe that nobody makes.
    fn serves(
        &mut self,
        process: ProcessId,
        account: AccountId,
        each: &mut dyn FnMut(&Self, Option<Action>),
    ) -> Result<(), String> {
        let id = TurnId(self.next_turn);
        let ask = Ask { tenant: TenantId(1), session: 0, form: Form::Nothing, oddity: Oddity::Pinned(account) };
        self.go(Action::Ask(process, ask), each);
        self.drain(each)?;
        if self.violation.is_some() {
            return Ok(());
        }
        if self.history.story(id).and_then(|story| story.served) != Some(account) {
            return Err(format!("{account:?} was mended and time has passed, but it does not serve in {process:?}"));
        }
        let known = self.process(process).and_then(|p| p.fleet.get(account));
        match known.filter(|a| a.spent.is_some() || a.limited.is_some() || a.cooling.is_some()) {
            Some(held) => Err(format!("a success did not lift what was held against {held:?}")),
            None => Ok(()),
        }
    }

    /// Requests without identity take turns over the accounts that serve.
    fn takes_turns(&mut self, process: ProcessId, each: &mut dyn FnMut(&Self, Option<Action>)) -> Result<(), String> {
        let first = TurnId(self.next_turn);
        for _ in 0..self.placed.len() {
            let ask = Ask { tenant: TenantId(1), session: 0, form: Form::Nothing, oddity: Oddity::Plain };
            self.go(Action::Ask(process, ask), each);
            self.drain(each)?;
        }
        let served: std::collections::BTreeSet<_> =
            self.history.stories.range(first..).filter_map(|(_, story)| story.served).collect();
        let scope = self.scope.as_ref();
        let in_pool = |account: &&AccountId| {
            let pools = scope.map_or(&[][..], |scope| scope.pools_of(**account));
            pools.is_empty() || pools.contains(&PoolId::DEFAULT)
        };
        if served.len() == self.placed.keys().filter(in_pool).count() || self.violation.is_some() {
            return Ok(());
        }
        Err(format!("requests without identity went only to {served:?}"))
    }

    /// Requests of one session, one behind the other, two at least and one in each process: all are served, by the same account,
    /// at the first attempt.
    fn settles(
        &mut self,
        tenant: TenantId,
        processes: &[ProcessId],
        each: &mut dyn FnMut(&Self, Option<Action>),
    ) -> Result<(), String> {
        let mut homes = Vec::new();
        for process in processes.iter().cycle().take(processes.len().max(2)) {
            let id = TurnId(self.next_turn);
            let ask = Ask { tenant, session: 0, form: Form::Header, oddity: Oddity::Plain };
            self.go(Action::Ask(*process, ask), each);
            self.drain(each)?;
            if self.violation.is_some() {
                return Ok(());
            }
            let Some(story) = self.history.story(id) else { return Err("a request left no trace".into()) };
            if story.ended != Some(Outcome::Served) {
                return Err(format!("with every account able to serve, a request ended as {:?}", story.ended));
            }
            homes.push(story.attempts.iter().map(|a| a.account).collect::<Vec<_>>());
        }
        let settled = homes.iter().all(|went| went.len() == 1 && homes.first() == Some(went));
        if settled { Ok(()) } else { Err(format!("the session did not settle: its requests went to {homes:?}")) }
    }
}
