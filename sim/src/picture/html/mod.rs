//! One self-contained page: the verdict in plain words, the run as lanes and arrows, the state after every step.

mod bars;
mod data;
mod lanes;
mod summary;
mod svg;

use std::fmt::Write as _;

use self::lanes::Geometry;
use super::diagram::Diagram;
use super::headline;
use crate::trace::Trace;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The page. It loads nothing, and every text in it is escaped.
#[must_use]
pub fn html(trace: &Trace) -> String {
    let diagram = Diagram::of(trace);
    let bars = bars::bars(trace, &diagram);
    let geometry = Geometry::of(&diagram, &bars);
    let title = svg::escape(&format!("homing-sim: {}", headline(trace)));
    let mut out = String::new();
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"
    );
    summary::summary(trace, &mut out);
    out.push_str("<main>\n<section id=\"run\" aria-label=\"The run\">\n<div id=\"scroll\">\n");
    geometry.header(&diagram, &bars, &mut out);
    geometry.body(trace, &diagram, &bars, &mut out);
    out.push_str("</div>\n</section>\n");
    out.push_str(
        "<aside id=\"state\" aria-live=\"polite\" aria-label=\"The state after the step\">\
         <noscript>The state of each step needs JavaScript; the run itself does not.</noscript></aside>\n</main>\n",
    );
    let _ = write!(
        out,
        "<script type=\"application/json\" id=\"data\">{}</script>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        data::data(trace)
    );
    out
}
