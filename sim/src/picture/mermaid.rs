//! The run as a mermaid sequence diagram, for an issue or a README.

use std::fmt::Write as _;

use super::diagram::{Diagram, Drawn, Figure, Kind, Place};
use super::headline;
use crate::trace::Trace;

/// Longest text in the diagram, in characters.
const LONGEST: usize = 100;

/// The diagram's source.
#[must_use]
pub fn mermaid(trace: &Trace) -> String {
    let diagram = Diagram::of(trace);
    let mut out = format!("%% {}\nsequenceDiagram\n", one_line(&trace.header.command));
    for lane in &diagram.lanes {
        let kind = if matches!(lane, Place::Client(_)) { "actor" } else { "participant" };
        let _ = writeln!(out, "    {kind} {} as {}", lane.id(), safe(&lane.title()));
    }
    let broken = trace.verdict.broken.as_ref();
    for drawn in &diagram.drawn {
        draw(drawn, &diagram, &mut out);
        if let Some(broken) = broken.filter(|b| (b.at, b.event) == (drawn.at, drawn.event)) {
            alert(&diagram, &format!("{}: {}", headline(trace), broken.text), &mut out);
        }
    }
    out
}

fn draw(drawn: &Drawn<'_>, diagram: &Diagram<'_>, out: &mut String) {
    let _ = match &drawn.figure {
        Figure::Arrow { from, to, kind, label } => {
            let (line, late) = match kind {
                Kind::Ask => ("->>", ""),
                Kind::Answer => ("-->>", ""),
                Kind::Failure => ("--x", ""),
                // Late answers arrive, behind what happened in between.
                Kind::Late(_) if label.starts_with("late: ") => ("->>", ""),
                Kind::Late(_) => ("-->>", "late: "),
                Kind::Lost => ("-x", ""),
                Kind::Adrift => ("--)", ""),
            };
            let who =
                if label.starts_with(&drawn.line.who) { String::new() } else { format!("{} ", safe(&drawn.line.who)) };
            writeln!(out, "    {}{line}{}: {who}{late}{}", from.id(), to.id(), safe(label))
        }
        Figure::Point(place, text) if drawn.line.who != "." && drawn.line.code != "s~" => {
            writeln!(out, "    Note over {}: {} {}", place.id(), safe(&drawn.line.who), safe(text))
        }
        Figure::Point(place, text) => writeln!(out, "    Note over {}: {}", place.id(), safe(text)),
        Figure::Band(text) => writeln!(out, "    Note over {}: {}", ends(diagram), safe(text)),
        Figure::Down(process) | Figure::Up(process) => {
            writeln!(out, "    Note over {}: {}", process.id(), safe(&drawn.line.what))
        }
    };
}

/// The first and the last lane: a note over both spans all.
fn ends(diagram: &Diagram<'_>) -> String {
    let ids: Vec<String> = [diagram.lanes.first(), diagram.lanes.last()].into_iter().flatten().map(Place::id).collect();
    ids.join(",")
}

/// The broken rule: a note over everything, on red ground.
fn alert(diagram: &Diagram<'_>, text: &str, out: &mut String) {
    let _ = writeln!(out, "    rect rgb(220, 60, 60)\n    Note over {}: alert! {}\n    end", ends(diagram), safe(text));
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

/// A text that mermaid takes as text: no separators, no entities, no tags, not endless.
fn safe(text: &str) -> String {
    let mut out = String::new();
    for c in one_line(text).chars().take(LONGEST) {
        match c {
            ';' => out.push_str("#59;"),
            '#' => out.push_str("#35;"),
            '<' => out.push_str("#lt;"),
            '>' => out.push_str("#gt;"),
            c => out.push(c),
        }
    }
    if text.chars().count() > LONGEST {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_is_taken_for_syntax() {
        assert_eq!(safe("a; b # c\n<b>"), "a#59; b #35; c #lt;b#gt;");
        assert_eq!(safe(&"x".repeat(300)).chars().count(), LONGEST + 1);
    }
}
