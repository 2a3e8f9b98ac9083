//! Texts and shapes as SVG.

use std::fmt::Write as _;

/// Width of one character of a label, in pixels, rounded up.
const CHARACTER: usize = 7;

/// The text with nothing in it that HTML or SVG would take for markup.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() && c != '\n' && c != '\t' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// A label around a place, moved so that it stays between the two edges, cut where it is wider than that.
pub(super) fn label(class: &str, middle: usize, y: usize, text: &str, (left, right): (usize, usize), out: &mut String) {
    let most = right.saturating_sub(left + 8) / CHARACTER;
    let shown: String = if text.chars().count() > most {
        text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
    } else {
        text.into()
    };
    let half = shown.chars().count() * CHARACTER / 2 + 4;
    let x = middle.min(right.saturating_sub(half)).max(left + half);
    let _ = write!(out, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{}</text>", escape(&shown));
}

/// A text that begins at a place.
pub(super) fn text(class: &str, x: usize, y: usize, text: &str, out: &mut String) {
    let _ = write!(out, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{}</text>", escape(text));
}

/// A straight line.
pub(super) fn line(class: &str, (x1, y1): (usize, usize), (x2, y2): (usize, usize), out: &mut String) {
    let _ = write!(out, "<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>");
}

/// A cross: something ends here that should not.
pub(super) fn cross(x: usize, y: usize, out: &mut String) {
    let _ = write!(
        out,
        "<path class=\"cross\" d=\"M{} {}L{} {}M{} {}L{} {}\"/>",
        x.saturating_sub(5),
        y.saturating_sub(5),
        x + 5,
        y + 5,
        x.saturating_sub(5),
        y + 5,
        x + 5,
        y.saturating_sub(5)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_is_taken_for_markup() {
        assert_eq!(escape("<b a='1' c=\"2\">&\u{7}"), "&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;\u{fffd}");
    }
}
