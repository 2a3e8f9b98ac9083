//! `scenario`: stories are told, and compared with their golden transcripts.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::Args;
use homing_sim::plant::Plant;
use homing_sim::scenario::{Golden, Script, compare, path, play};
use serde_json::json;

use super::{BROKEN, HOLDS, INCONCLUSIVE, USAGE, say};

/// Where the stories are, from the root of the repository and from this crate.
const PLACES: [&str; 2] = ["sim/scenarios", "scenarios"];

#[derive(Args, Debug)]
pub(super) struct ScenarioArgs {
    /// Scripts; without any, all of sim/scenarios
    files: Vec<PathBuf>,
    /// Writes the transcripts down as the golden ones
    #[arg(long)]
    bless: bool,
    /// Prints the transcripts
    #[arg(long, short)]
    verbose: bool,
}

pub(super) fn run(args: &ScenarioArgs, plant: Option<Plant>, as_json: bool) -> u8 {
    let files = if args.files.is_empty() { all() } else { Ok(args.files.clone()) };
    let files = match files {
        Ok(files) => files,
        Err(why) => {
            let _ = writeln!(io::stderr(), "{why}");
            return USAGE;
        }
    };
    let told: Vec<Told> = files.iter().map(|file| tell(file, args.bless, plant)).collect();
    for (file, told) in files.iter().zip(&told) {
        report(file, told, args.verbose, as_json);
    }
    if !as_json {
        let held = told.iter().filter(|t| t.status == HOLDS).count();
        say!("{held} of {} stories went as they were written down", told.len());
    }
    // What cannot be read comes before what is broken, and that before what is not known.
    [USAGE, BROKEN, INCONCLUSIVE].into_iter().find(|status| told.iter().any(|t| t.status == *status)).unwrap_or(HOLDS)
}

fn all() -> Result<Vec<PathBuf>, String> {
    let place = PLACES.iter().map(Path::new).find(|place| place.is_dir());
    let place =
        place.ok_or("there is no directory sim/scenarios here: name the scripts, or go to the repository's root")?;
    let entries = fs::read_dir(place).map_err(|error| format!("{}: {error}", place.display()))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|file| file.extension().is_some_and(|e| e == "txt"))
        .collect();
    files.sort();
    if files.is_empty() { Err(format!("there is no script in {}", place.display())) } else { Ok(files) }
}

/// How a story went.
struct Told {
    status: u8,
    says: String,
    transcript: String,
}

fn tell(file: &Path, bless: bool, plant: Option<Plant>) -> Told {
    let unread = |why: String| Told { status: USAGE, says: why, transcript: String::new() };
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => return unread(format!("{}: {error}", file.display())),
    };
    let script = match Script::read(&file.display().to_string(), &text) {
        Ok(script) => script,
        Err(wrong) => return unread(wrong.to_string()),
    };
    let played = play(&script, plant);
    let transcript = played.transcript;
    if let Some(failed) = played.failed {
        return Told { status: BROKEN, says: failed.to_string(), transcript };
    }
    if bless {
        return match fs::write(path(file), &transcript) {
            Ok(()) => Told { status: HOLDS, says: "written down".into(), transcript },
            Err(error) => unread(format!("{}: {error}", path(file).display())),
        };
    }
    let (status, says) = match compare(file, &transcript) {
        Ok(Golden::Same) => (HOLDS, "as written down".into()),
        Ok(Golden::Missing) => (INCONCLUSIVE, "never written down: read it with -v, then --bless it".into()),
        Ok(Golden::Differs(how)) => (BROKEN, format!("not as it was written down (--bless, if this is right):\n{how}")),
        Err(error) => (USAGE, format!("{}: {error}", path(file).display())),
    };
    Told { status, says, transcript }
}

fn report(file: &Path, told: &Told, verbose: bool, as_json: bool) {
    if as_json {
        say!(
            "{}",
            json!({ "file": file.display().to_string(), "status": told.status, "says": told.says,
                    "transcript": told.transcript })
        );
        return;
    }
    if verbose {
        let _ = write!(io::stdout(), "{}", told.transcript);
    }
    let name = file.file_stem().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    say!("{} {name:<42} {}", if told.status == HOLDS { "ok  " } else { "FAIL" }, told.says);
}
