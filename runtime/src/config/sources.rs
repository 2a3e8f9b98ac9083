//! Where a configuration is read from, and in which order.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io::Read,
    path::{Path, PathBuf},
};

use super::{
    Config, KEYS, Mistake, Mistakes, Place, check,
    file::{self, Values},
    keys,
    mistakes::nearest,
    reader::Reader,
};

/// Largest configuration file that is read, in bytes.
const LARGEST_FILE: u64 = 1 << 20;

/// Everything a configuration depends on.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The file that `--config` named.
    pub file: Option<PathBuf>,
    /// The environment: all variables that matter here.
    pub variables: BTreeMap<String, OsString>,
    /// The working directory.
    pub directory: PathBuf,
}

impl Sources {
    /// The sources of this process.
    ///
    /// # Errors
    /// Where the working directory is gone.
    pub fn of_process(file: Option<&Path>) -> Result<Self, Mistakes> {
        let wanted = |name: &str| name.starts_with("HOMING_") || name.starts_with("XDG_") || name == "HOME";
        let variables = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
        let variables = variables.filter(|(name, _)| wanted(name)).collect();
        let directory = std::env::current_dir().map_err(|error| Mistake {
            place: Place::Default,
            text: format!("the working directory cannot be used ({error}); start homing in another"),
        })?;
        Ok(Self { file: file.map(Into::into), variables, directory })
    }

    /// Reads and checks everything.
    ///
    /// # Errors
    /// Every mistake that was found.
    pub fn load(&self) -> Result<Config, Mistakes> {
        let mut mistakes = Vec::new();
        let found = self.find();
        let values = match found.as_deref().map(|path| read_file(&self.directory.join(path), path)) {
            None => Values::default(),
            Some(Ok(text)) => file::parse(&text, found.as_deref().unwrap_or(Path::new("")), &mut mistakes),
            Some(Err(mistake)) => {
                mistakes.push(mistake);
                Values::default()
            }
        };
        self.assemble(found, &values, mistakes)
    }

    /// Reads `text` as if it were the file `homing.toml` in the working directory.
    ///
    /// # Errors
    /// As [`Sources::load`].
    pub fn load_text(&self, text: &str) -> Result<Config, Mistakes> {
        let mut mistakes = Vec::new();
        let path = PathBuf::from("homing.toml");
        let values = file::parse(text, &path, &mut mistakes);
        self.assemble(Some(path), &values, mistakes)
    }

    fn assemble(&self, found: Option<PathBuf>, values: &Values, mistakes: Vec<Mistake>) -> Result<Config, Mistakes> {
        let mut reader = Reader::new(self, found.as_deref(), values, mistakes);
        let config = keys::read(&mut reader);
        let mut warnings = self.unknown_variables(&mut reader.mistakes);
        if let Some(config) = &config {
            check::combinations(config, &mut reader);
            warnings.extend(check::warnings(config, found.as_deref().map(|path| self.directory.join(path)).as_deref()));
        }
        let Reader { mut mistakes, effective, .. } = reader;
        mistakes.sort();
        mistakes.dedup();
        match config {
            Some(config) if mistakes.is_empty() => Ok(Config { file: found, effective, warnings, ..config }),
            _ => Err(Mistakes(mistakes)),
        }
    }

    /// The text of a variable that is set and not empty; one that is no text is treated by [`Reader`].
    pub(super) fn variable(&self, name: &str) -> Option<&OsString> {
        self.variables.get(name).filter(|value| !value.is_empty())
    }

    /// A directory that a variable names by its whole path.
    pub(super) fn directory_of(&self, name: &str) -> Option<PathBuf> {
        self.variable(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    /// The first file of the search that exists; one that was named counts whether it exists or not.
    fn find(&self) -> Option<PathBuf> {
        if let Some(named) = self.file.clone().or_else(|| self.variable("HOMING_CONFIG").map(PathBuf::from)) {
            return Some(named);
        }
        let local = PathBuf::from("homing.toml");
        if self.directory.join(&local).exists() {
            return Some(local);
        }
        let home = self.directory_of("HOME").map(|home| home.join(".config"));
        let user = self.directory_of("XDG_CONFIG_HOME").or(home)?.join("homing/homing.toml");
        user.exists().then_some(user)
    }

    /// Variables that no key owns: a mistake where they begin like one, else a warning.
    fn unknown_variables(&self, mistakes: &mut Vec<Mistake>) -> Vec<String> {
        let names: Vec<String> = KEYS.iter().map(super::Key::variable).collect();
        let mut warnings = Vec::new();
        for name in self.variables.keys() {
            let Some(rest) = name.strip_prefix("HOMING_") else { continue };
            // Kubernetes sets HOMING_PORT... and HOMING_SERVICE... in every pod beside a service named "homing".
            let foreign = rest == "PORT" || rest.starts_with("PORT_") || rest.starts_with("SERVICE_");
            if name == "HOMING_CONFIG" || names.contains(name) || foreign {
                continue;
            }
            // Misspellings are looked for in the keys' own spelling, lower case with dashes.
            let spelled = |name: &String| name.to_lowercase().replace('_', "-");
            let known: Vec<String> = names.iter().map(spelled).collect();
            let hint = nearest(name, known.iter().map(String::as_str));
            let section = KEYS.iter().any(|key| rest.starts_with(&format!("{}_", key.section.to_uppercase())));
            let text = match hint {
                Some(near) => format!("unknown variable; did you mean `{}`?", near.to_uppercase().replace('-', "_")),
                None if section => "unknown variable; `homing check-config --keys` lists all".to_owned(),
                None => {
                    warnings
                        .push(format!("{name}: no setting of homing has this name; unset it if it was meant as one"));
                    continue;
                }
            };
            mistakes.push(Mistake { place: Place::Variable(name.clone()), text });
        }
        warnings
    }
}

impl Config {
    /// A configuration with the user's home in `directory` (so that nothing outside is touched) and `text` as its file,
    /// with the variables ignored: for demonstrations and tests.
    ///
    /// # Errors
    /// As [`Sources::load`].
    pub fn within(directory: &Path, text: &str) -> Result<Self, Mistakes> {
        let variables = BTreeMap::from([("HOME".into(), directory.as_os_str().into())]);
        Sources { file: None, variables, directory: directory.into() }.load_text(text)
    }
}

/// The file's text; `shown` is its name for messages.
fn read_file(path: &Path, shown: &Path) -> Result<String, Mistake> {
    let mistake = |text: String| Mistake { place: Place::File { path: shown.into(), line: 0 }, text };
    let file = std::fs::File::open(path);
    let file =
        file.map_err(|error| mistake(format!("cannot be opened ({error}); name a file that can with --config")))?;
    let mut bytes = Vec::new();
    let read = file.take(LARGEST_FILE + 1).read_to_end(&mut bytes);
    read.map_err(|error| mistake(format!("cannot be read ({error}); name a readable file with --config")))?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(mistake(format!("larger than {LARGEST_FILE} bytes; that is no configuration of homing")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let line =
            error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
        Mistake {
            place: Place::File { path: shown.into(), line },
            text: "not UTF-8; save the file as UTF-8 text".into(),
        }
    })
}
