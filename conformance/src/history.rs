//! Every change the model made since the last start: what a crash may leave of it (B15).

use std::collections::BTreeMap;

use homing_core::ids::{Epoch, RowId, Seq};
use homing_core::key::Digest;
use homing_core::pin::Pin;
use homing_core::row::{Change, EpochScope, Row};
use homing_core::time::Time;

/// All that a store keeps for the next process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Image {
    pub(crate) rows: BTreeMap<RowId, Row>,
    pub(crate) pins: BTreeMap<Digest, Pin>,
    pub(crate) epochs: BTreeMap<EpochScope, Epoch>,
}

/// How one thing stood after each change of it; `None`: it was not there.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Versions<T>(Vec<(Seq, Option<T>)>);

impl<T> Default for Versions<T> {
    fn default() -> Self {
        Self(vec![(Seq(0), None)])
    }
}

impl<T: Clone> Versions<T> {
    fn allowed(&self, durable: Seq) -> &[(Seq, Option<T>)] {
        let newer = self.0.iter().filter(|(seq, _)| *seq > durable).count();
        &self.0[self.0.len().saturating_sub(newer + 1)..]
    }

    fn newest(&self) -> Option<&T> {
        self.0.last().and_then(|(_, version)| version.as_ref())
    }
}

/// All versions since the last start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct History {
    rows: BTreeMap<RowId, Versions<Row>>,
    pins: BTreeMap<Digest, Versions<Pin>>,
    epochs: BTreeMap<EpochScope, Versions<Epoch>>,
    /// Row ids below this were in use when everything was durable.
    used: RowId,
}

impl Default for History {
    fn default() -> Self {
        Self::from_image(&Image::default(), RowId(1))
    }
}

impl History {
    /// Begins anew with what a start found; `next_id` is the id its next row will have.
    pub(crate) fn from_image(image: &Image, next_id: RowId) -> Self {
        fn begin<K: Copy + Ord, T: Clone>(found: &BTreeMap<K, T>) -> BTreeMap<K, Versions<T>> {
            found.iter().map(|(key, value)| (*key, Versions(vec![(Seq(0), Some(value.clone()))]))).collect()
        }
        Self { rows: begin(&image.rows), pins: begin(&image.pins), epochs: begin(&image.epochs), used: next_id }
    }

    /// Takes down changes; `last` numbers the last of them.
    pub(crate) fn record(&mut self, changes: Vec<Change>, last: Seq) {
        let first = last.0 + 1 - changes.len() as u64;
        for (change, seq) in changes.into_iter().zip(first..) {
            let seq = Seq(seq);
            match change {
                Change::Put(row) => self.rows.entry(row.id).or_default().0.push((seq, Some(as_kept(row)))),
                Change::Delete(id) => self.rows.entry(id).or_default().0.push((seq, None)),
                Change::PutPin(pin) => self.pins.entry(pin.anchor).or_default().0.push((seq, Some(pin))),
                Change::DropPin(anchor) => self.pins.entry(anchor).or_default().0.push((seq, None)),
                Change::Erased(scope, epoch) => self.epochs.entry(scope).or_default().0.push((seq, Some(epoch))),
            }
        }
    }

    /// What is kept once everything is durable, as a start at `now` finds it.
    pub(crate) fn image(&self, now: Time) -> Image {
        fn newest<K: Copy + Ord, T: Clone>(all: &BTreeMap<K, Versions<T>>) -> BTreeMap<K, T> {
            all.iter().filter_map(|(key, versions)| Some((*key, versions.newest()?.clone()))).collect()
        }
        let mut image = Image { rows: newest(&self.rows), pins: newest(&self.pins), epochs: newest(&self.epochs) };
        image.rows.retain(|_, row| row.live(now));
        image.pins.retain(|_, pin| pin.live(now));
        image
    }

    /// Whether a start at `now` may find this, where everything up to `durable` was reported durable.
    pub(crate) fn allows(&self, durable: Seq, found: &Image, now: Time) -> Result<(), String> {
        allowed("row", &self.rows, &found.rows, durable, |row| row.live(now))?;
        allowed("pin", &self.pins, &found.pins, durable, |pin| pin.live(now))?;
        allowed("epoch", &self.epochs, &found.epochs, durable, |_| true)
    }

    /// Everything is durable now.
    pub(crate) fn synced(&mut self) {
        let there = self.rows.iter().filter(|(_, versions)| versions.newest().is_some()).map(|(id, _)| RowId(id.0 + 1));
        self.used = self.used.max(there.max().unwrap_or(RowId(1)));
    }

    /// The least id that may be given to a new row after a start (B6). Ids of rows that came and went before anything of them
    /// was durable may be given again: who knew of them died with the process.
    pub(crate) fn ids_used(&self) -> RowId {
        self.used
    }
}

/// A row as a start gives it back: with the life that was written, and no change to wait for.
fn as_kept(row: Row) -> Row {
    Row { expires: row.stored_expires, seq: Seq(0), ..row }
}

fn allowed<K: Copy + Ord + std::fmt::Debug, T: Clone + PartialEq + std::fmt::Debug>(
    what: &str,
    known: &BTreeMap<K, Versions<T>>,
    found: &BTreeMap<K, T>,
    durable: Seq,
    lives: impl Fn(&T) -> bool,
) -> Result<(), String> {
    if let Some((key, value)) = found.iter().find(|(key, _)| !known.contains_key(key)) {
        return Err(format!("{what} {key:?} came from nowhere: {value:?}"));
    }
    for (key, versions) in known {
        let after = found.get(key);
        let allowed = versions.allowed(durable);
        let fits = allowed.iter().any(|(_, version)| version.as_ref().filter(|v| lives(v)) == after);
        if !fits {
            return Err(format!(
                "{what} {key:?} with everything up to change {} durable: found {after:?}, not one of {allowed:?}",
                durable.0
            ));
        }
    }
    Ok(())
}
