//! Paths: `~`, and where relative ones start.

use std::path::{Path, PathBuf};

use super::setting::{Context, Raw, Setting};

/// Start of a default that lies in the user's state directory.
const STATE_HOME: &str = "$XDG_STATE_HOME/";
/// Start of a default that lies in `state.directory`.
const STATE: &str = "<state>/";

impl Setting for PathBuf {
    const UNIT: &'static str = "path";

    fn parse(raw: &Raw, context: &Context<'_>) -> Result<Self, String> {
        let text = raw.text("~/.codex")?;
        if text.is_empty() {
            return Err("an empty path; name a file or directory, or leave the key out".into());
        }
        if text.contains('\0') {
            return Err("a path with a NUL character; leave it out".into());
        }
        if let Some(rest) = text.strip_prefix(STATE_HOME) {
            let home = context.state_home.as_deref();
            let home = home.ok_or("no default, as neither XDG_STATE_HOME nor HOME is set; set this key")?;
            return Ok(home.join(rest));
        }
        if let Some(rest) = text.strip_prefix(STATE) {
            let state = context.state.ok_or("no default without a state directory; set state.directory")?;
            return Ok(state.join(rest));
        }
        if text == "~" || text.starts_with("~/") {
            let home =
                context.home.ok_or_else(|| format!("{text:?} needs HOME, which is not set; write the whole path"))?;
            return Ok(home.join(text.trim_start_matches(['~', '/'])));
        }
        if text.starts_with('~') {
            return Err(format!("{text:?} names another user's home; write the whole path"));
        }
        Ok(tidy(&context.base.join(text)))
    }

    fn show(&self) -> String {
        format!("{:?}", self.display().to_string())
    }

    fn path(&self) -> Option<&Path> {
        Some(self)
    }
}

/// The path without `.` parts; `..` stays, as only the file system knows where it leads.
fn tidy(path: &Path) -> PathBuf {
    path.components().collect()
}
