//! Takes each key's value from the strongest source that has one.

use std::path::{Path, PathBuf};

use super::{
    KEYS, Key, Mistake, Place, Sources,
    file::Values,
    setting::{Bounds, Context, Raw, Setting},
};

/// A key's value as it holds.
#[derive(Clone, Debug)]
pub struct Effective {
    /// The key.
    pub key: &'static Key,
    /// Its value as it would be written in the file, secrets masked; empty where nothing is set.
    pub value: String,
    /// Where it was set.
    pub place: Place,
}

/// Reads keys one by one and gathers what is wrong with them.
pub(super) struct Reader<'a> {
    sources: &'a Sources,
    file: Option<&'a Path>,
    values: &'a Values,
    /// Directory of the file, where relative paths in it start.
    file_directory: PathBuf,
    /// `state.directory`, once read.
    state: Option<PathBuf>,
    pub(super) mistakes: Vec<Mistake>,
    pub(super) effective: Vec<Effective>,
    /// Keys whose value was refused.
    refused: Vec<(&'static str, &'static str)>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        sources: &'a Sources,
        file: Option<&'a Path>,
        values: &'a Values,
        mistakes: Vec<Mistake>,
    ) -> Self {
        let file_directory =
            file.and_then(Path::parent).map_or(sources.directory.clone(), |parent| sources.directory.join(parent));
        Self {
            sources,
            file,
            values,
            file_directory,
            state: None,
            mistakes,
            effective: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// The value of a key. Where it is refused the default stands in, so that the other keys can be checked too.
    pub(super) fn take<T: Setting>(&mut self, section: &'static str, name: &'static str) -> Option<T> {
        let key = KEYS.iter().find(|key| key.section == section && key.name == name)?;
        let (raw, place) = self.raw(key);
        let value =
            raw.map_or_else(|| T::absent().ok_or_else(String::new), |raw| self.parse::<T>(key.bounds, &raw, &place));
        let value = match value {
            Ok(value) => Some(value),
            Err(problem) => {
                self.mistakes.push(Mistake { place: place.clone(), text: format!("{}: {problem}", key.path()) });
                self.refused.push((section, name));
                let default = Raw::Text(key.default.to_owned());
                self.parse::<T>(key.bounds, &default, &Place::Default).ok().or_else(T::absent)
            }
        };
        if (section, name) == ("state", "directory") {
            // Where even the default fails, the keys below it shall not repeat the complaint.
            let path = value.as_ref().and_then(T::path).unwrap_or(&self.sources.directory);
            self.state = Some(path.to_owned());
        }
        let shown = value.as_ref().map(T::show).unwrap_or_default();
        self.effective.push(Effective { key, value: shown, place });
        value
    }

    /// Where the value of `section.name` was set.
    pub(super) fn place(&self, section: &str, name: &str) -> Place {
        let found = self.effective.iter().find(|entry| entry.key.section == section && entry.key.name == name);
        found.map_or(Place::Default, |entry| entry.place.clone())
    }

    /// Adds a mistake about several keys together, unless one of them is wrong on its own. It is placed where the
    /// first of them that is not a default was set.
    pub(super) fn conflict(&mut self, keys: &[(&'static str, &'static str)], text: String) {
        if keys.iter().any(|key| self.refused.contains(key)) {
            return;
        }
        let places = keys.iter().map(|(section, name)| self.place(section, name));
        let place = places.into_iter().find(|place| *place != Place::Default).unwrap_or(Place::Default);
        self.mistakes.push(Mistake { place, text });
    }

    /// The strongest source's value. A variable that is no text counts as a wrong value.
    fn raw(&self, key: &Key) -> (Option<Raw>, Place) {
        let name = key.variable();
        if let Some(value) = self.sources.variable(&name) {
            let raw = value.to_str().map_or(Raw::Other("text that is not UTF-8"), |text| Raw::Text(text.to_owned()));
            return (Some(raw), Place::Variable(name));
        }
        if let Some((raw, line)) = self.values.get(&(key.section, key.name)) {
            let path = self.file.unwrap_or(Path::new("")).to_owned();
            return (Some(raw.clone()), Place::File { path, line: *line });
        }
        let default = (!key.default.is_empty()).then(|| Raw::Text(key.default.to_owned()));
        (default, Place::Default)
    }

    fn parse<T: Setting>(&self, bounds: Bounds, raw: &Raw, place: &Place) -> Result<T, String> {
        let home = self.sources.directory_of("HOME");
        let state_home = self.sources.directory_of("XDG_STATE_HOME");
        let base = if matches!(place, Place::File { .. }) { &self.file_directory } else { &self.sources.directory };
        let context = Context {
            bounds,
            home: home.as_deref(),
            state_home: state_home.or_else(|| home.as_ref().map(|home| home.join(".local/state"))),
            state: self.state.as_deref(),
            base,
        };
        T::parse(raw, &context)
    }
}
