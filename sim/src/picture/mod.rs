//! A recorded run as a person sees it: a time line in text, a mermaid diagram, a page to click through. Everything comes from
//! the [`Trace`]; nothing is run. The same trace gives the same bytes.

mod diagram;
mod explain;
mod html;
mod mermaid;
mod text;

pub use diagram::{Diagram, Figure, Kind, Place};
pub use explain::{Matter, matters};
pub use html::html;
pub use mermaid::mermaid;
pub(crate) use text::binding_text;
pub use text::text;

use crate::trace::Trace;

/// The headline: what the run is about, in one sentence.
#[must_use]
pub fn headline(trace: &Trace) -> String {
    match &trace.verdict.broken {
        Some(broken) => format!("{} is broken at step {}", broken.oracle, broken.step),
        None => "every rule held".into(),
    }
}
