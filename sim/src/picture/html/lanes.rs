//! The run as one drawing: a gutter with steps and times, a lane for each place, a column for each binding.

use std::fmt::Write as _;

use super::super::diagram::{Diagram, Drawn, Figure, Kind, Place};
use super::bars::{Bar, Piece, columns};
use super::svg::{cross, escape, label, line, text};
use crate::timeline::Line;
use crate::trace::{Step, Trace};

/// Height of one line of the run, in pixels.
const ROW: usize = 28;
/// Distance of two lanes.
const LANE: usize = 94;
/// Width of the gutter with step, time and action.
const GUTTER: usize = 200;
/// Distance of two columns of bindings, and the width of a bar in one.
const COLUMN: usize = 74;
const BAR: usize = 68;
/// Height of the lanes' titles.
const HEAD: usize = 44;

/// Where everything is.
pub(super) struct Geometry {
    lanes: usize,
    width: usize,
    height: usize,
}

impl Geometry {
    pub(super) fn of(diagram: &Diagram<'_>, bars: &[Bar]) -> Self {
        let lanes = GUTTER + diagram.lanes.len() * LANE;
        Self {
            lanes,
            width: lanes + columns(bars) * COLUMN + 8,
            height: diagram.rows.last().copied().unwrap_or_default().max(1) * ROW,
        }
    }

    fn lane(&self, diagram: &Diagram<'_>, place: &Place) -> usize {
        GUTTER + diagram.lane(place) * LANE + LANE / 2
    }

    fn column(&self, at: usize) -> usize {
        self.lanes + at * COLUMN
    }

    /// The titles; they stay in sight.
    pub(super) fn header(&self, diagram: &Diagram<'_>, bars: &[Bar], out: &mut String) {
        let _ = write!(out, "<svg id=\"titles\" width=\"{}\" height=\"{HEAD}\" aria-hidden=\"true\">", self.width);
        text("title quiet", 4, 26, "step", out);
        text("title quiet", 42, 26, "time", out);
        text("title quiet", 78, 26, "what was chosen", out);
        for place in &diagram.lanes {
            let x = self.lane(diagram, place);
            let class = match place {
                Place::Account(n) => format!("chip {}", colour(*n)),
                _ => "chip".into(),
            };
            let _ = write!(
                out,
                "<rect class=\"{class}\" x=\"{}\" y=\"8\" width=\"{}\" height=\"28\" rx=\"6\"/>",
                x - LANE / 2 + 3,
                LANE - 6
            );
            label("title", x, 27, &place.title(), (GUTTER, self.lanes), out);
        }
        if !bars.is_empty() {
            text("title quiet", self.lanes, 20, "bindings", out);
            text("small quiet", self.lanes, 34, "#row", out);
        }
        out.push_str("</svg>\n");
    }

    /// The drawing: first what lies behind, then one group for each step.
    pub(super) fn body(&self, trace: &Trace, diagram: &Diagram<'_>, bars: &[Bar], out: &mut String) {
        let _ = writeln!(
            out,
            "<svg id=\"lanes\" xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" role=\"listbox\" tabindex=\"0\" \
             aria-label=\"Steps of the run; arrow keys move\">",
            self.width, self.height
        );
        out.push_str(MARKERS);
        for (at, step) in trace.steps.iter().enumerate() {
            self.ground(at, diagram.rows_of(at), step, out);
        }
        self.lifelines(diagram, out);
        for bar in bars {
            self.bar(bar, self.column(bar.column), out);
        }
        let broken = trace.verdict.broken.as_ref();
        for drawn in &diagram.drawn {
            let breaks = broken.is_some_and(|b| (b.at, b.event) == (drawn.at, drawn.event));
            let class = if breaks { "event breaks" } else { "event" };
            let _ = write!(out, "<g class=\"{class}\" data-at=\"{}\">", drawn.at);
            let _ = write!(out, "<title>{}</title>", escape(&drawn.line.to_string()));
            if let (true, Some(broken)) = (breaks, broken) {
                let y = drawn.row * ROW;
                let _ = write!(
                    out,
                    "<rect class=\"alarm\" x=\"{GUTTER}\" y=\"{y}\" width=\"{}\" height=\"{ROW}\"/>",
                    self.width - GUTTER
                );
                text("alarm-text", GUTTER + 6, y + 18, &format!("✗ {}", broken.oracle), out);
            }
            self.figure(drawn, diagram, out);
            out.push_str("</g>\n");
        }
        out.push_str("</svg>\n");
    }

    /// A step's ground: what is clicked, with its number, time and action.
    fn ground(&self, at: usize, (first, end): (usize, usize), step: &Step, out: &mut String) {
        let (y, height) = (first * ROW, (end - first) * ROW);
        let action = step.action.as_deref().unwrap_or(if at == 0 { "the beginning" } else { "(observed)" });
        let _ = write!(
            out,
            "<g class=\"step {}\" id=\"step-{at}\" data-at=\"{at}\" role=\"option\" aria-selected=\"false\" \
             aria-label=\"step {}: {}\"><rect x=\"0\" y=\"{y}\" width=\"{}\" height=\"{height}\"/>",
            if at.is_multiple_of(2) { "even" } else { "odd" },
            step.step,
            escape(action),
            self.width
        );
        if height > 0 {
            let y = y + 18;
            let chosen = if step.choice.is_some() { "action" } else { "action quiet" };
            let _ = write!(out, "<text class=\"number\" x=\"26\" y=\"{y}\" text-anchor=\"end\">{}</text>", step.step);
            let time = step.state.time_ms / 1_000;
            let _ = write!(out, "<text class=\"time\" x=\"70\" y=\"{y}\" text-anchor=\"end\">+{time}s</text>");
            let mut shown: String = action.chars().take(19).collect();
            if shown.len() < action.len() {
                shown.pop();
                shown.push('…');
            }
            text(chosen, 78, y, &shown, out);
        }
        out.push_str("</g>\n");
    }

    /// A line down from each title; a process's is broken while it is down.
    fn lifelines(&self, diagram: &Diagram<'_>, out: &mut String) {
        for place in &diagram.lanes {
            let x = self.lane(diagram, place);
            let alive = match place {
                Place::Process(_) => "life process",
                Place::Store => "life store",
                Place::Client(_) | Place::Account(_) => "life",
            };
            let (mut since, mut up) = (0, true);
            for drawn in &diagram.drawn {
                let y = drawn.row * ROW + ROW / 2;
                match &drawn.figure {
                    Figure::Down(p) if p == place && up => {
                        line(alive, (x, since), (x, y), out);
                        (since, up) = (y, false);
                    }
                    Figure::Up(p) if p == place && !up => {
                        line("life down", (x, since), (x, y), out);
                        (since, up) = (y, true);
                    }
                    _ => {}
                }
            }
            line(if up { alive } else { "life down" }, (x, since), (x, self.height), out);
        }
    }

    fn bar(&self, bar: &Bar, x: usize, out: &mut String) {
        for piece in &bar.pieces {
            let (y, height) = (piece.from * ROW + 1, (piece.until - piece.from) * ROW - 2);
            let state = if piece.row.state.starts_with("bound") { "bound" } else { "reserved" };
            let faint = if piece.row.state.contains("expired") || piece.only_disk { " faint" } else { "" };
            let _ = write!(
                out,
                "<g class=\"piece {state}{faint} {}\"><title>{}</title>\
                 <rect x=\"{x}\" y=\"{y}\" width=\"{BAR}\" height=\"{height}\" rx=\"4\"/>",
                colour(piece.row.account),
                escape(&piece_title(piece))
            );
            if let Some(pending) = piece.row.pending {
                let _ = write!(
                    out,
                    "<rect class=\"pending {}\" x=\"{}\" y=\"{y}\" width=\"8\" height=\"{height}\" rx=\"4\"/>",
                    colour(pending),
                    x + BAR - 8
                );
            }
            let pending = piece.row.pending.map(|a| format!("→a{a}")).unwrap_or_default();
            let word = if piece.only_disk { "on disk" } else { piece.row.state.split(", ").last().unwrap_or(state) };
            let (first, second) =
                (format!("#{} a{}{pending}", bar.row, piece.row.account), format!("g{} {word}", piece.row.generation));
            text("piece-text strong", x + 4, y + 11, &first, out);
            text("piece-text", x + 4, y + 22, &second, out);
            if height > 2 * ROW - 4 {
                text("piece-text", x + 4, y + 33, &format!("tenant t{}", bar.tenant), out);
            }
            out.push_str("</g>\n");
        }
    }

    fn figure(&self, drawn: &Drawn<'_>, diagram: &Diagram<'_>, out: &mut String) {
        let y = drawn.row * ROW + 21;
        match &drawn.figure {
            Figure::Arrow { from, to, kind, label } if from != to => {
                let ends = (self.lane(diagram, from), self.lane(diagram, to));
                let began = match kind {
                    Kind::Late(at) => diagram.drawn.get(*at).map_or(drawn.row, |began| began.row),
                    _ => drawn.row,
                };
                self.arrow((began * ROW + 24, y), ends, *kind, label, drawn.line, out);
            }
            Figure::Arrow { from: place, label: what, .. } | Figure::Point(place, what) => {
                let x = self.lane(diagram, place);
                let _ = write!(out, "<circle class=\"point\" cx=\"{x}\" cy=\"{}\" r=\"3.5\"/>", y - 1);
                label(point_class(drawn.line), x, y - 9, &named(drawn.line, what), (GUTTER, self.lanes), out);
            }
            Figure::Band(what) => self.band(y, drawn.line, what, out),
            Figure::Down(place) => {
                let x = self.lane(diagram, place);
                cross(x, y - 6, out);
                label("label trouble", x, y - 2, &drawn.line.what, (GUTTER, self.lanes), out);
            }
            Figure::Up(place) => {
                let x = self.lane(diagram, place);
                let _ = write!(out, "<path class=\"up\" d=\"M{} {}l6 -10l6 10z\"/>", x - 6, y);
                label("label", x, y - 2, &drawn.line.what, (GUTTER, self.lanes), out);
            }
        }
    }

    fn arrow(
        &self,
        (began, y): (usize, usize),
        (x1, x2): (usize, usize),
        kind: Kind,
        what: &str,
        of: &Line,
        out: &mut String,
    ) {
        let middle = (x1 + x2) / 2;
        let class = match kind {
            Kind::Ask => "arrow ask",
            Kind::Answer => "arrow answer",
            Kind::Failure => "arrow answer failure",
            Kind::Lost => "arrow lost",
            Kind::Adrift => "arrow adrift",
            Kind::Late(_) => "arrow answer late",
        };
        match kind {
            Kind::Lost => {
                // It ends on the way, three fifths of it done.
                let end = if x2 > x1 { x1 + (x2 - x1) * 3 / 5 } else { x1 - (x1 - x2) * 3 / 5 };
                line(class, (x1, y), (end, y), out);
                cross(end, y, out);
            }
            Kind::Adrift => {
                line(class, (x1, y), (middle, y), out);
                let _ = write!(out, "<circle class=\"point\" cx=\"{middle}\" cy=\"{y}\" r=\"3.5\"/>");
            }
            Kind::Late(_) => line(class, (x1, began), (x2, y), out),
            _ => line(class, (x1, y), (x2, y), out),
        }
        let late = if matches!(kind, Kind::Late(_)) && !what.starts_with("late: ") { "late: " } else { "" };
        let trouble = matches!(kind, Kind::Lost | Kind::Failure | Kind::Late(_) | Kind::Adrift);
        let class = if trouble { "label trouble" } else { "label" };
        label(class, middle, y - 9, &format!("{late}{}", named(of, what)), (GUTTER, self.lanes), out);
    }

    fn band(&self, y: usize, of: &Line, what: &str, out: &mut String) {
        let class = if of.code == "p_" { "band clock" } else { "band" };
        line(class, (GUTTER, y - 6), (self.width, y - 6), out);
        let middle = GUTTER + (self.lanes - GUTTER) / 2;
        let clock = if of.code == "p_" { "clock: " } else { "" };
        label("label band-text", middle, y - 2, &format!("{clock}{what}"), (GUTTER, self.lanes), out);
    }
}

/// A request's line says whose it is.
fn named(line: &Line, what: &str) -> String {
    if line.who == "." || line.code == "s~" || what.starts_with(&format!("{} ", line.who)) {
        what.into()
    } else {
        format!("{} {what}", line.who)
    }
}

fn point_class(line: &Line) -> &'static str {
    match line.code.as_str() {
        "t." => "label decision",
        "s?" | "d?" | "o!" | "p!" => "label trouble",
        "s~" => "label change",
        _ => "label",
    }
}

fn piece_title(piece: &Piece) -> String {
    let disk = if piece.only_disk { ", on disk only: no process is up" } else { "" };
    format!("{}{disk}", super::super::text::row_text(&piece.row))
}

/// The account's colour: six, then they begin again. Everything coloured has the account's name in it too.
fn colour(account: u32) -> String {
    format!("acct-{}", account.wrapping_sub(1) % 6 + 1)
}

/// Arrow heads, and the hatching of reservations.
const MARKERS: &str = "<defs>\
<marker id=\"head\" viewBox=\"0 0 10 10\" refX=\"10\" refY=\"5\" markerWidth=\"6\" markerHeight=\"6\" orient=\"auto\">\
<path d=\"M0 0L10 5L0 10z\"/></marker>\
<marker id=\"open\" viewBox=\"0 0 10 10\" refX=\"10\" refY=\"5\" markerWidth=\"6\" markerHeight=\"6\" orient=\"auto\">\
<path class=\"open\" d=\"M0 0L10 5L0 10\"/></marker>\
</defs>\n";
