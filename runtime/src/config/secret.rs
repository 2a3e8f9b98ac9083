//! A value that is never shown.

use std::fmt;

use zeroize::Zeroizing;

use super::setting::{Context, Raw, Setting};

/// A secret of the configuration: shown as `***` everywhere, wiped when dropped.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// The secret itself, for comparing and sending, never for showing.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl Setting for Secret {
    const UNIT: &'static str = "secret";

    fn parse(raw: &Raw, _: &Context<'_>) -> Result<Self, String> {
        let text = raw.text("a long random text")?;
        if !(16..=512).contains(&text.len()) {
            return Err(format!(
                "a secret of {} bytes; choose 16 to 512, like `openssl rand -hex 32` gives",
                text.len()
            ));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("a secret with a blank, control or non-ASCII character, which no HTTP header can carry; \
                        choose one without"
                .into());
        }
        Ok(Self(Zeroizing::new(text.into())))
    }

    fn show(&self) -> String {
        "\"***\"".into()
    }
}
