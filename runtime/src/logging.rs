//! The log: one line an event on standard error, as text or JSON.
//!
//! What is logged never holds tokens, keys or raw session identifiers; that is for the callers to see to.

use std::io::{self, Write};

use tracing_subscriber::{
    EnvFilter, Layer, Registry,
    fmt::{MakeWriter, format::Writer, time::FormatTime},
    layer::SubscriberExt,
    util::{SubscriberInitExt, TryInitError},
};

use crate::config::{Level, Log, LogFormat};

/// Starts the log of the process.
///
/// # Errors
/// Where a log was started before.
pub fn start(log: &Log) -> Result<(), TryInitError> {
    Registry::default().with(layer(log, Output::new(io::stderr))).try_init()
}

/// Messages of Homing from the level on; of the libraries only warnings and errors.
fn filter(level: Level) -> EnvFilter {
    let others = if level == Level::Error { "error" } else { "warn" };
    let word = level.word();
    EnvFilter::new(format!("{others},homing={word},homing_core={word}"))
}

fn layer<S, W>(log: &Log, output: Output<W>) -> Box<dyn Layer<S> + Send + Sync>
where
    S: tracing::Subscriber + for<'a> tracing_subscriber::registry::LookupSpan<'a>,
    Output<W>: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    // The layer would report a failed write on standard error, with a macro that panics when that fails too (C12).
    let layer = tracing_subscriber::fmt::layer().with_timer(Wall).with_writer(output).log_internal_errors(false);
    match log.format {
        LogFormat::Text => layer.with_ansi(false).with_filter(filter(log.level)).boxed(),
        LogFormat::Json => layer.json().flatten_event(true).with_filter(filter(log.level)).boxed(),
    }
}

/// Times as RFC 3339 in UTC, to the millisecond.
struct Wall;

impl FormatTime for Wall {
    fn format_time(&self, writer: &mut Writer<'_>) -> std::fmt::Result {
        let ms = i64::try_from(crate::clock::wall_ms()).unwrap_or(i64::MAX);
        let time = jiff::Timestamp::from_millisecond(ms).unwrap_or_default();
        write!(writer, "{time:.3}")
    }
}

/// Makes writers whose failures nobody hears of: a log that cannot be written must not stop the gateway (C12).
struct Output<W>(W);

impl<W> Output<W> {
    const fn new(make: W) -> Self {
        Self(make)
    }
}

impl<'a, W: Fn() -> T, T: Write + 'a> MakeWriter<'a> for Output<W> {
    type Writer = Deaf<T>;

    fn make_writer(&'a self) -> Self::Writer {
        Deaf((self.0)())
    }
}

/// A writer that takes everything and drops what cannot be written.
struct Deaf<T>(T);

impl<T: Write> Write for Deaf<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.0.write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let _ = self.0.flush();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// What `log` puts out for one event of each kind.
    fn logged(format: LogFormat, level: Level) -> String {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&kept);
        let output = Output::new(move || Sink(Arc::clone(&sink)));
        let subscriber = Registry::default().with(layer(&Log { format, level }, output));
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(account = "team-1", "moved");
            tracing::debug!("detail");
            tracing::info!(target: "async_io", "of a library");
        });
        let bytes = kept.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Both the writer and everything behind it are gone.
    struct Broken;

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }

    #[test]
    fn text_lines_hold_time_level_and_fields() {
        let text = logged(LogFormat::Text, Level::Info);
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.contains("Z  INFO") && text.ends_with("moved account=\"team-1\"\n"), "{text}");
    }

    #[test]
    fn json_lines_are_objects() {
        let text = logged(LogFormat::Json, Level::Debug);
        let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert_eq!((&lines[0]["message"], &lines[0]["account"]), (&"moved".into(), &"team-1".into()));
    }

    #[test]
    fn the_level_leaves_out_what_is_less_severe() {
        assert_eq!(logged(LogFormat::Text, Level::Warn), "");
    }

    #[test]
    fn a_broken_pipe_is_no_failure() {
        let output = Output::new(|| Broken);
        let mut writer = output.make_writer();
        assert_eq!(writer.write(b"line\n").unwrap(), 5);
        writer.flush().unwrap();
        let log = Log { format: LogFormat::Text, level: Level::Info };
        let subscriber = Registry::default().with(layer(&log, output));
        tracing::subscriber::with_default(subscriber, || tracing::info!("nobody hears this"));
    }
}
