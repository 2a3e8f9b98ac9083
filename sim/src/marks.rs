//! Interesting situations. A sweep that found nothing means something only if it went through these.

use homing_core::failure::Failure;
use homing_core::pin::Pinned;
use homing_core::row::State;
use homing_core::store::{Answer, Completion, Op, Refusal};
use homing_core::turn::{Note, Reason};

use crate::event::{Cause, Event};
use crate::world::Moment;

/// One kind of situation.
#[derive(Debug)]
pub struct Mark {
    /// What it is called.
    pub name: &'static str,
    /// What has to happen.
    pub says: &'static str,
    /// Whether a sweep has to reach it.
    pub required: bool,
}

const fn required(name: &'static str, says: &'static str) -> Mark {
    Mark { name, says, required: true }
}

/// All marks, in the order of [`Marks`].
pub const ALL: [Mark; 56] = [
    required("failover", "a home moved to another account"),
    required("converged", "a request followed the replacement another one had proposed"),
    required("lost-race", "a first request found that another one had made the reservation meanwhile"),
    required("reservation-joined", "an attempt went where another request's reservation said"),
    required("pend-lost", "a request that had to leave lost the race to say where"),
    required("stale-completion", "a success came after the row had moved on and changed nothing"),
    required("renewed", "a success under the home's generation extended its life"),
    required("expiry-mid-turn", "a row expired while an attempt of its session was under way"),
    required("new-row-after-expiry", "a success made a new row because its own had expired"),
    required("crash-uncommitted", "the process died with changes that were not durable"),
    required("restart-with-rows", "a new process found rows on disk"),
    required("cap-eviction", "a live row went because a cap was reached"),
    required("evicted-by-other-tenant", "a row went for another tenant's sake at the total cap"),
    required("alias-join", "a request joined a row through a key that is not its strongest"),
    required("alias-refused", "a request was kept off a row that its weaker key leads to"),
    required("keys-attached", "a success brought its session another key"),
    required("hang-up-dialling", "a client left while its attempt was under way"),
    required("hang-up-settled", "a client left after the terminal event was read"),
    required("unknown-reply", "the outcome of a store operation stayed unknown"),
    required("late-answer", "something happened between what the store did and its answer"),
    required("undurable-end", "a client saw its end before it was durable, after commit-wait"),
    required("refused-erased", "a success was refused because of an erasure since its plan"),
    required("probe", "an attempt found out whether a spent account serves again"),
    required("warm-up", "a cooling account was tried because nothing else was left"),
    required("all-out-soon", "all accounts were out and one was expected back"),
    required("all-out-spent", "all accounts were out for want of quota"),
    required("pinned", "an attempt went to a hard pin"),
    required("broke-off", "an attempt failed after visible output"),
    required("clock-set-back", "the wall clock was set back while rows were held"),
    required("credential-renewed", "an attempt was repeated with a new credential"),
    required("raced-reserve", "a first request was told that it lost the race for its reservation, and nothing else"),
    required("raced-pend", "a request that had to leave was told that it lost the race to say where, and nothing else"),
    required("joined-across", "an attempt went where a request of another process had reserved"),
    required("converged-across", "a request followed the replacement that one of another process had proposed"),
    required("hop", "a session went home from another process than the one that wrote its row last"),
    required("landed", "a write was carried out after its turn had been told that nothing is known of it"),
    required("landed-too-late", "a write that was left behind met a row, a race or an erasure that it must not pass"),
    required("landed-orphan", "a write was carried out after its process had died"),
    required("stale-read", "a turn was told of a row that had changed since it was read"),
    required("crash-beside", "a process died while requests of another one went on"),
    required("outage", "the outcome of a store operation stayed unknown because the store was away"),
    required("pinned-by-id", "a request went to the account that an id it names pins it to"),
    required("id-not-found", "a request named an id of another tenant"),
    required("ids-apart", "a request named ids of two accounts"),
    required("pin-out", "the account a request is pinned to could not serve"),
    required("conversation-home", "a conversation came home"),
    required("pool-left", "a session left a home that is not in its tenant's pool"),
    required("draining-home", "an account that drains served a session at home there"),
    required("guessed", "an attempt went where its process guessed, for want of a store"),
    required("rebooted", "a shared store began again with the rows it had committed"),
    required("clock-off", "a row was used that by its process's clock had ended or not begun"),
    required("clock-set-forth", "the wall clock was set forth while rows were held"),
    required(
        "unheard",
        "an attempt went to an account that was switched off or gone, where its process had not heard it",
    ),
    required("identity-changed", "a session left an account whose file holds another identity"),
    required("key-reset", "a session went home under another API key than it last came with"),
    required("model-changed", "a session went home for another model than it last came for"),
];

/// How often each situation was reached in one run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Marks {
    counts: [u32; ALL.len()],
}

impl Default for Marks {
    fn default() -> Self {
        Self { counts: [0; ALL.len()] }
    }
}

impl Moment<'_> {
    /// Whether the account is outside the pool of the request.
    fn leaves_pool(&self, turn: crate::event::TurnId, account: homing_core::ids::AccountId) -> bool {
        let pool = self.history.story(turn).map(|story| story.request.pool);
        pool.is_some_and(|pool| self.fleet.get(account).is_some_and(|a| !a.is_in(pool)))
    }
}

impl Marks {
    /// Every mark with its count.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Mark, u32)> + '_ {
        ALL.iter().zip(self.counts)
    }

    /// How often the mark with this name was reached.
    #[must_use]
    pub fn count(&self, name: &str) -> u32 {
        self.iter().find(|(mark, _)| mark.name == name).map_or(0, |(_, count)| count)
    }

    fn hit(&mut self, name: &'static str) {
        if let Some((_, count)) = ALL.iter().zip(&mut self.counts).find(|(mark, _)| mark.name == name) {
            *count += 1;
        }
    }

    /// Looks at one event; the record in the moment ends before it.
    pub fn see(&mut self, event: &Event, moment: &Moment<'_>) {
        match event {
            Event::Did { op, answer, turn } => self.did(op, answer.as_ref(), *turn, moment),
            Event::Row { cause, before, after } => {
                if let (Some(before), None, Cause::Op(turn, _)) = (before, after, cause)
                    && before.live(moment.store_now)
                {
                    self.hit("cap-eviction");
                    let by = moment.history.story(*turn).map(|s| s.request.tenant);
                    if by != Some(before.tenant) {
                        self.hit("evicted-by-other-tenant");
                    }
                }
                if let (Some(before), Some(after), Cause::Op(..)) = (before, after, cause)
                    && after.keys.count() > before.keys.count()
                {
                    self.hit("keys-attached");
                }
            }
            Event::Told { turn, answer, op } => self.told(*turn, op, answer, moment),
            Event::Noted(turn, note) => self.noted(*turn, note, moment),
            Event::Dial { turn, account, reason, .. } => self.dial(*turn, *account, *reason, moment),
            Event::Left(turn, settled) => {
                let dialling = moment.history.story(*turn).is_some_and(|s| s.attempting().is_some());
                match settled {
                    true => self.hit("hang-up-settled"),
                    false if dialling => self.hit("hang-up-dialling"),
                    false => {}
                }
            }
            Event::Ticked(span) => {
                let before = homing_core::time::Time(moment.store_now.0.saturating_sub(span.0));
                let died = |row: &&homing_core::row::Row| row.live(before) && !row.live(moment.store_now);
                let open = moment.history.stories.values().filter(|s| s.attempting().is_some());
                let ids: Vec<_> = open.filter_map(|s| s.last_view()).map(|v| v.fence.id).collect();
                if moment.history.rows.values().filter(died).any(|row| ids.contains(&row.id)) {
                    self.hit("expiry-mid-turn");
                }
            }
            Event::Crashed(lost) => self.crashed(*lost, moment),
            Event::Landed { turn, answer: Some(answer), .. } => self.landed(*turn, answer, moment),
            Event::Rebooted(_) if moment.disk.rows().next().is_some() => self.hit("rebooted"),
            Event::Restarted(_) if moment.disk.rows().next().is_some() => self.hit("restart-with-rows"),
            Event::SetBack(_) if !moment.history.rows.is_empty() => self.hit("clock-set-back"),
            Event::SetForth(_) if !moment.history.rows.is_empty() => self.hit("clock-set-forth"),
            Event::Released(_, false) => self.hit("undurable-end"),
            _ => {}
        }
    }

    fn crashed(&mut self, lost: usize, moment: &Moment<'_>) {
        if lost > 0 {
            self.hit("crash-uncommitted");
        }
        if moment.history.stories.values().any(|story| story.open() && Some(story.process) != moment.process) {
            self.hit("crash-beside");
        }
    }

    fn landed(&mut self, turn: crate::event::TurnId, answer: &Answer, moment: &Moment<'_>) {
        match answer {
            Answer::Raced | Answer::Refused(_) | Answer::Completed { how: Completion::Stale, .. } => {
                self.hit("landed-too-late");
            }
            _ => self.hit("landed"),
        }
        if moment.history.story(turn).is_some_and(|story| story.died) {
            self.hit("landed-orphan");
        }
    }

    fn did(&mut self, op: &Op, answer: Option<&Answer>, turn: crate::event::TurnId, moment: &Moment<'_>) {
        let Some(story) = moment.history.story(turn) else { return };
        match (op, answer) {
            (Op::Look, Some(Answer::Looked { view, .. })) => {
                let row = view.and_then(|v| moment.row(&v));
                let first = story.request.keys.iter().next();
                if row.is_some_and(|row| moment.now >= row.expires || moment.now < row.created) {
                    self.hit("clock-off");
                }
                match (row, first) {
                    (Some(row), Some(first)) if !row.keys.has(&first.digest) => self.hit("alias-join"),
                    (None, Some(_)) => {
                        let leads =
                            |r: &homing_core::row::Row| story.request.keys.iter().any(|k| r.keys.has(&k.digest));
                        let mut rows = moment.table.into_iter().flat_map(|t| t.rows());
                        if rows.any(|r| r.live(moment.store_now) && leads(r)) {
                            self.hit("alias-refused");
                        }
                    }
                    _ => {}
                }
            }
            (Op::Complete { fence: Some(_), .. }, Some(Answer::Completed { how: Completion::Inserted, .. })) => {
                self.hit("new-row-after-expiry");
            }
            _ => {}
        }
    }

    fn told(&mut self, turn: crate::event::TurnId, op: &Op, answer: &Answer, moment: &Moment<'_>) {
        match answer {
            Answer::Found(view) if view.state == State::Reserved => self.hit("lost-race"),
            Answer::Lost(_) => self.hit("pend-lost"),
            Answer::Raced if matches!(op, Op::Pend { .. }) => self.hit("raced-pend"),
            Answer::Raced => self.hit("raced-reserve"),
            Answer::Looked { view: Some(view), .. } if moment.row(view).is_none_or(|row| row.view() != *view) => {
                self.hit("stale-read");
            }
            Answer::Unknown if moment.outage => self.hit("outage"),
            Answer::Unknown => self.hit("unknown-reply"),
            Answer::Refused(Refusal::Erased) if matches!(op, Op::Complete { .. }) => self.hit("refused-erased"),
            Answer::Completed { how, .. } => match how {
                Completion::Moved { .. } => self.hit("failover"),
                Completion::Stale => self.hit("stale-completion"),
                Completion::Renewed => self.hit("renewed"),
                Completion::Confirmed | Completion::Inserted => {}
            },
            _ => {}
        }
        // A late answer differs from one at once by what came in between: another turn's event.
        let story = moment.history.story(turn);
        if story.is_some_and(|s| s.did == Some(*answer) && s.did_at + 2 < moment.history.events && *op != Op::Look) {
            self.hit("late-answer");
        }
    }

    fn noted(&mut self, turn: crate::event::TurnId, note: &Note, moment: &Moment<'_>) {
        match note {
            Note::Diverts { from, .. } if moment.history.replaced.contains(from) => self.hit("identity-changed"),
            Note::Diverts { from, .. } if moment.leaves_pool(turn, *from) => self.hit("pool-left"),
            Note::AnchorRefused(Pinned::Foreign { .. }) => self.hit("id-not-found"),
            Note::AnchorRefused(_) => self.hit("ids-apart"),
            Note::PinOut(_) => self.hit("pin-out"),
            Note::BrokeOff(_) => self.hit("broke-off"),
            Note::AllOut(homing_core::fleet::Out::Soon { .. }) => self.hit("all-out-soon"),
            Note::AllOut(homing_core::fleet::Out::Spent { .. }) => self.hit("all-out-spent"),
            _ => {}
        }
    }

    fn dial(
        &mut self,
        turn: crate::event::TurnId,
        account: homing_core::ids::AccountId,
        reason: Reason,
        moment: &Moment<'_>,
    ) {
        match reason {
            Reason::Converged => self.hit("converged"),
            Reason::Joined => self.hit("reservation-joined"),
            Reason::Pinned => self.hit("pinned"),
            Reason::Guessed => self.hit("guessed"),
            _ => {}
        }
        let Some(story) = moment.history.story(turn) else { return };
        self.dial_behind(story, reason, moment);
        if moment.directory.get(&account) != Some(&homing_core::fleet::Standing::Usable)
            && moment.placed.get(&account) == Some(&homing_core::fleet::Standing::Usable)
        {
            self.hit("unheard");
        }
        let known = moment.fleet.get(account);
        if reason == Reason::Pinned && story.request.pin.is_none() {
            self.hit("pinned-by-id");
        }
        if reason == Reason::Home && story.request.keys.pool().is_some() {
            self.hit("conversation-home");
        }
        if reason == Reason::Home && known.is_some_and(|a| a.standing == homing_core::fleet::Standing::Draining) {
            self.hit("draining-home");
        }
        if known.and_then(|a| a.spent).is_some_and(|bar| bar.until <= moment.now) {
            self.hit("probe");
        }
        if known.is_some_and(|a| a.cools(moment.now)) && !story.tried(account) {
            self.hit("warm-up");
        }
        if story.failures.last().is_some_and(|(a, f)| *a == account && *f == Failure::Unauthorized) {
            self.hit("credential-renewed");
        }
    }

    /// What an attempt owes to whoever wrote its row before.
    fn dial_behind(&mut self, story: &crate::history::Story, reason: Reason, moment: &Moment<'_>) {
        let row = story.last_view().map(|view| view.fence.id);
        let Some(writer) = row.and_then(|id| moment.history.writers.get(&id)) else { return };
        let across = writer.process != story.process;
        match reason {
            Reason::Joined if across => self.hit("joined-across"),
            Reason::Converged if across => self.hit("converged-across"),
            Reason::Home => {
                let changed = [
                    ("hop", across),
                    ("key-reset", writer.api_key != story.api_key),
                    ("model-changed", writer.model != story.request.model),
                ];
                changed.into_iter().filter(|(_, is)| *is).for_each(|(name, _)| self.hit(name));
            }
            _ => {}
        }
    }
}
