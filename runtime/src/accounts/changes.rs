//! What changed between two looks at the auth directory (B11).

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::directory::{Files, Look};
use super::entry::Entry;
use super::event::{AccountWarning, Event};
use super::file::{AuthFile, FileProblem};
use super::identity::Identity;

/// All that is known of the accounts.
#[derive(Default)]
pub(super) struct State {
    pub(super) files: Files,
    pub(super) entries: BTreeMap<Identity, Entry>,
    /// Accounts with bindings whose file was not seen yet, and when they were first missed.
    pub(super) expected: BTreeMap<Identity, Option<u64>>,
    /// Counts what a refresh changed, so that a look that began before it is not believed.
    pub(super) version: u64,
    /// What is wrong with the directory and was told already.
    told: Vec<AccountWarning>,
}

/// The account that each file holds: of several with one identity the freshest.
type Present = BTreeMap<Identity, (PathBuf, AuthFile)>;

impl State {
    /// Takes over what a look found.
    pub(super) fn take(
        &mut self,
        directory: &Path,
        looked: io::Result<Look>,
        now_ms: u64,
        grace: Duration,
    ) -> Vec<Event> {
        let nothing = |why: String| vec![AccountWarning::Directory { path: directory.to_path_buf(), why }];
        match looked {
            // B11: a directory that is missing or unreadable tells nothing of its files.
            Err(error) => self.trouble(nothing(error.to_string())),
            // Nor does one that is suddenly empty: a mount that is gone looks like that.
            Ok(look) if look.empty && look.files.is_empty() && self.knows_any() => {
                self.trouble(nothing("it is empty all of a sudden".to_owned()))
            }
            Ok(look) => {
                let mut events = self.trouble(look.warnings);
                warnings(&look.files, &mut events);
                let present = freshest(&look.files, &mut events);
                self.files = look.files;
                self.gain(&present, &mut events);
                for (identity, (path, file)) in &present {
                    self.found(identity, path, file, &mut events);
                }
                self.missing(&present, Clock { now_ms, grace }, look.complete, &mut events);
                events
            }
        }
    }

    fn knows_any(&self) -> bool {
        !(self.files.is_empty() && self.entries.is_empty() && self.expected.is_empty())
    }

    /// Each trouble is told once, and again when it comes back.
    fn trouble(&mut self, now: Vec<AccountWarning>) -> Vec<Event> {
        let new = now.iter().filter(|warning| !self.told.contains(warning)).cloned().map(Event::Warning).collect();
        self.told = now;
        new
    }

    /// Accounts whose user id was missing and is there now (spec §1): the same file says so, or there is only one that it
    /// can be. One that is still there as it was gained nothing.
    fn gain(&mut self, present: &Present, events: &mut Vec<Event>) {
        let known = self.entries.keys().chain(self.expected.keys());
        let poor: Vec<Identity> = known.filter(|old| !present.contains_key(*old)).cloned().collect();
        for old in poor {
            let path = self.entries.get(&old).map(|entry| entry.path.clone());
            let is_new = |new: &Identity| !self.entries.contains_key(new) && !self.expected.contains_key(new);
            let rich: Vec<_> = present.iter().filter(|(new, _)| old.gains(new) && is_new(new)).collect();
            let in_place = rich.iter().find(|(_, (at, _))| Some(at) == path.as_ref());
            let only = rich.first().filter(|_| rich.len() == 1);
            let Some((new, _)) = in_place.or(only) else { continue };
            let new = (*new).clone();
            match self.entries.remove(&old) {
                Some(entry) => {
                    self.entries.insert(new.clone(), entry);
                }
                None => {
                    self.expected.insert(new.clone(), None);
                }
            }
            self.expected.remove(&old);
            events.push(Event::Gained { old, new });
        }
    }

    fn found(&mut self, identity: &Identity, path: &Path, file: &AuthFile, events: &mut Vec<Event>) {
        self.expected.remove(identity);
        match self.entries.get_mut(identity) {
            Some(entry) => {
                if entry.update(path, file) | std::mem::take(&mut entry.untold) {
                    events.push(Event::Changed(identity.clone()));
                }
            }
            None => {
                let entry = Entry::new(identity, path, file);
                events.push(Event::Appeared { identity: identity.clone(), label: entry.label.clone() });
                self.entries.insert(identity.clone(), entry);
            }
        }
    }

    /// B11: gone from a directory that was listed: no attempt starts; gone twice, `grace` apart: removed. An account that
    /// was never seen is not known to be gone while some file could not be read: it may be in that one.
    fn missing(&mut self, present: &Present, clock: Clock, complete: bool, events: &mut Vec<Event>) {
        self.entries.retain(|identity, entry| {
            match entry.suspended_ms {
                _ if present.contains_key(identity) => return true,
                None => {
                    entry.suspended_ms = Some(clock.now_ms);
                    events.push(Event::Suspended(identity.clone()));
                }
                Some(since) if clock.is_over(since) => {
                    events.push(Event::Removed(identity.clone()));
                    return false;
                }
                Some(_) => {}
            }
            true
        });
        self.expected.retain(|identity, since| match *since {
            _ if !complete => {
                *since = None;
                true
            }
            None => {
                *since = Some(clock.now_ms);
                true
            }
            Some(since) if clock.is_over(since) => {
                events.push(Event::Removed(identity.clone()));
                false
            }
            Some(_) => true,
        });
    }
}

#[derive(Clone, Copy)]
struct Clock {
    now_ms: u64,
    grace: Duration,
}

impl Clock {
    fn is_over(&self, since_ms: u64) -> bool {
        u128::from(self.now_ms.saturating_sub(since_ms)) >= self.grace.as_millis()
    }
}

/// Files of equal identity are one account: the freshest counts, the others are warned about.
fn freshest(files: &Files, events: &mut Vec<Event>) -> Present {
    let mut present = Present::new();
    for (path, known) in files {
        let Some(file) = &known.good else { continue };
        let Some((other, best)) = present.get(&file.identity) else {
            present.insert(file.identity.clone(), (path.clone(), file.clone()));
            continue;
        };
        let fresher = file.credential.freshness() > best.credential.freshness();
        let (used, ignored) = if fresher { (path, other) } else { (other, path) };
        if known.changed || files.get(other).is_some_and(|other| other.changed) {
            let warning = AccountWarning::Duplicate { used: used.clone(), ignored: ignored.clone() };
            events.push(Event::Warning(warning));
        }
        if fresher {
            present.insert(file.identity.clone(), (path.clone(), file.clone()));
        }
    }
    present
}

fn warnings(files: &Files, events: &mut Vec<Event>) {
    for (path, known) in files.iter().filter(|(_, known)| known.changed) {
        match &known.problem {
            // The auth directory is often Codex's own, with other files in it.
            Some(FileProblem::NoAccount(_)) if path.file_name().is_none_or(|name| name != "auth.json") => {}
            Some(problem) => {
                events.push(Event::Warning(AccountWarning::File { path: path.clone(), problem: problem.clone() }))
            }
            None => {}
        }
        if known.exposed && known.good.is_some() {
            events.push(Event::Warning(AccountWarning::Exposed { path: path.clone() }));
        }
    }
}
