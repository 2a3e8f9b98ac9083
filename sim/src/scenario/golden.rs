//! Golden transcripts: what a story looked like when somebody last read it and found it right.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Lines of context around a difference.
const CONTEXT: usize = 3;

/// How a transcript compares with its golden one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Golden {
    /// They are the same.
    Same,
    /// There is none.
    Missing,
    /// They differ; the text shows where.
    Differs(String),
}

/// Where the golden transcript of a script is.
#[must_use]
pub fn path(script: &Path) -> PathBuf {
    script.with_extension("golden")
}

/// Compares a transcript with the golden one of this script.
///
/// # Errors
/// The golden one is there and cannot be read.
pub fn compare(script: &Path, transcript: &str) -> io::Result<Golden> {
    match fs::read_to_string(path(script)) {
        Ok(golden) if golden == transcript => Ok(Golden::Same),
        Ok(golden) => Ok(Golden::Differs(difference(&golden, transcript))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Golden::Missing),
        Err(error) => Err(error),
    }
}

/// The lines that differ, `-` before and `+` after, with some of the same ones around them.
#[must_use]
pub fn difference(before: &str, after: &str) -> String {
    let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let marked = marked(&before, &after);
    let near = |at: usize| {
        let (from, to) = (at.saturating_sub(CONTEXT), (at + CONTEXT + 1).min(marked.len()));
        marked.get(from..to).is_some_and(|around| around.iter().any(|(mark, _)| *mark != ' '))
    };
    let mut out = String::new();
    let mut skipped = false;
    for (at, (mark, line)) in marked.iter().enumerate() {
        if near(at) {
            if skipped {
                out.push_str("  ...\n");
            }
            out.push_str(&format!("{mark} {line}\n"));
        }
        skipped = !near(at);
    }
    out
}

/// Every line of both, in order, with what became of it: the longest common subsequence stays.
fn marked<'a>(before: &[&'a str], after: &[&'a str]) -> Vec<(char, &'a str)> {
    let width = after.len() + 1;
    let mut longest = vec![0_u32; (before.len() + 1) * width];
    let at = |i: usize, j: usize| i * width + j;
    for (i, old) in before.iter().enumerate().rev() {
        for (j, new) in after.iter().enumerate().rev() {
            longest[at(i, j)] = if old == new {
                longest[at(i + 1, j + 1)] + 1
            } else {
                longest[at(i + 1, j)].max(longest[at(i, j + 1)])
            };
        }
    }
    let (mut i, mut j, mut out) = (0, 0, Vec::new());
    while i < before.len() || j < after.len() {
        match (before.get(i), after.get(j)) {
            (Some(old), Some(new)) if old == new => {
                out.push((' ', *old));
                (i, j) = (i + 1, j + 1);
            }
            (Some(old), new) if new.is_none() || longest[at(i + 1, j)] >= longest[at(i, j + 1)] => {
                out.push(('-', *old));
                i += 1;
            }
            (_, Some(new)) => {
                out.push(('+', *new));
                j += 1;
            }
            (_, None) => break,
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_shows_its_lines_and_some_around() {
        let lines =
            |change: &str| (0..20).map(|n| if n == 10 { change.into() } else { n.to_string() }).collect::<Vec<_>>();
        let text = difference(&lines("old").join("\n"), &lines("new").join("\n"));
        assert_eq!(text, "  ...\n  7\n  8\n  9\n- old\n+ new\n  11\n  12\n  13\n");
        assert_eq!(difference("a\nb", "a\nb"), "");
        assert_eq!(difference("", "a"), "+ a\n");
        assert_eq!(difference("a", ""), "- a\n");
    }
}
