//! `homing-sim corpus`.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use homing_sim::corpus::{Seed, corpus as make};

use super::{HOLDS, USAGE, say};

#[derive(Args, Debug)]
pub(super) struct CorpusArgs {
    /// The directory; files of it that belong to no situation stay
    directory: PathBuf,
}

pub(super) fn corpus(args: &CorpusArgs) -> u8 {
    let seeds = make();
    if let Err(error) = write(&args.directory, &seeds) {
        let _ = writeln!(std::io::stderr(), "error: cannot write to {}: {error}", args.directory.display());
        return USAGE;
    }
    let bytes: usize = seeds.iter().map(|seed| seed.bytes.len()).sum();
    say!("{} files, {bytes} bytes", seeds.len());
    HOLDS
}

fn write(directory: &Path, seeds: &[Seed]) -> std::io::Result<()> {
    std::fs::create_dir_all(directory)?;
    seeds.iter().try_for_each(|seed| std::fs::write(directory.join(&seed.name), &seed.bytes))
}
