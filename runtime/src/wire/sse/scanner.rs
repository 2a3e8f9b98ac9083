//! The incremental scanner: each byte is looked at a fixed number of times, however the stream is split (field C1).

use super::class::{Class, Held, Terminal};
use super::toplevel::{TypeFinder, Verdict};
use super::{Piece, field};

/// The largest event held back until its type or its end is known, in bytes.
pub const MAX_EVENT: usize = 16 << 20;

pub(super) const BOM: &[u8] = b"\xef\xbb\xbf";

/// A drained buffer above this many bytes is given back, so that one large event does not cost a quiet stream its memory.
const KEEP_CAPACITY: usize = 64 << 10;

/// An event that had to be held back was larger than the bound. The stream cannot be read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the upstream sent an event of more than {limit} bytes whose end or type did not come")]
pub struct TooLarge {
    /// The bound, in bytes.
    pub limit: usize,
}

/// Splits an event stream into [`Piece`]s. Feed it with [`push`](Self::push), then take pieces until there is none.
///
/// An event ends with the CR or LF of its empty line and is given at once. Where a CR's LF comes only with a later push, it is
/// given as a piece of its own, of class [`Held::KeepAlive`], also after a terminal event.
#[derive(Debug)]
pub struct Scanner {
    buf: Vec<u8>,
    /// Bytes before this were given out.
    out: usize,
    /// Bytes before this were scanned.
    pos: usize,
    /// Where the current line starts. Meaningful only while its event's class is unknown: afterwards the bytes may be gone.
    line: usize,
    /// How many bytes of the current line were scanned.
    line_len: usize,
    /// What kind of line the current one is, once that is known.
    kind: Line,
    event: Event,
    finder: TypeFinder,
    /// The next byte, if it is LF, belongs to the CR before it.
    after_cr: bool,
    /// The stream's first bytes were looked at for a byte order mark.
    begun: bool,
    limit: usize,
    /// Bytes looked at by searches, for the test that the work is linear.
    #[cfg(test)]
    pub(super) looked_at: usize,
}

/// What is known of the event being read.
#[derive(Clone, Copy, Debug, Default)]
struct Event {
    /// By the data's type.
    class: Option<Class>,
    /// By the `event:` line; the last one counts.
    named: Option<Class>,
    /// A field line was seen: no longer only comments.
    has_field: bool,
    has_data: bool,
    /// Some of its bytes were given out.
    started: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    /// Too little of it is there to say.
    Unknown,
    Data,
    Event,
    /// Comments, `id`, `retry`, what the format ignores.
    Other,
}

impl Default for Scanner {
    fn default() -> Self {
        Self::new(MAX_EVENT)
    }
}

impl Scanner {
    /// A scanner that holds back at most `limit` bytes ([`MAX_EVENT`] for the data plane).
    pub fn new(limit: usize) -> Self {
        Self {
            buf: Vec::new(),
            out: 0,
            pos: 0,
            line: 0,
            line_len: 0,
            kind: Line::Unknown,
            event: Event::default(),
            finder: TypeFinder::default(),
            after_cr: false,
            begun: false,
            limit,
            #[cfg(test)]
            looked_at: 0,
        }
    }

    /// Adds bytes of the stream, as decoded from the transfer coding.
    pub fn push(&mut self, bytes: &[u8]) {
        self.compact();
        self.buf.extend_from_slice(bytes);
    }

    /// The bytes that were not given out: the start of an event whose type or end has not come. At the end of a stream they
    /// are an unfinished event, which clients drop.
    pub fn pending(&self) -> &[u8] {
        &self.buf[self.out..]
    }

    /// The next piece, or `None` until more bytes come.
    ///
    /// # Errors
    /// [`TooLarge`] once more than the bound had to be held back, and again at each later call.
    pub fn next_piece(&mut self) -> Result<Option<Piece<'_>>, TooLarge> {
        if !self.begin() {
            return Ok(None);
        }
        while self.pos < self.buf.len() {
            if self.after_cr {
                self.after_cr = false;
                if self.buf[self.pos] == b'\n' {
                    self.pos += 1;
                    self.line = self.pos;
                    if !self.event.started && !self.event.has_field && self.pos - self.out == 1 {
                        // The rest of a line end whose event is out already.
                        return Ok(Some(self.give(Class::Held(Held::KeepAlive), true, true)));
                    }
                    continue;
                }
            }
            if let Some(class) = self.scan_line() {
                let starts = !self.event.started;
                self.event = Event::default();
                self.finder.reset();
                return Ok(Some(self.give(class, starts, true)));
            }
        }
        if self.event.class == Some(Class::Visible) && self.out < self.pos {
            let starts = !self.event.started;
            self.event.started = true;
            return Ok(Some(self.give(Class::Visible, starts, false)));
        }
        if self.buf.len() - self.out > self.limit {
            return Err(TooLarge { limit: self.limit });
        }
        Ok(None)
    }

    /// Skips a byte order mark at the start of the stream; false while it cannot be told.
    fn begin(&mut self) -> bool {
        if !self.begun {
            if self.buf.len() < BOM.len() && BOM.starts_with(&self.buf) {
                return false;
            }
            self.begun = true;
            if self.buf.starts_with(BOM) {
                self.pos = BOM.len();
                self.line = self.pos;
            }
        }
        true
    }

    /// Scans on to the end of the current line or of the buffer. Gives the class of an event that this line ended.
    fn scan_line(&mut self) -> Option<Class> {
        let from = self.pos;
        let end = memchr::memchr2(b'\r', b'\n', &self.buf[from..]).map(|at| from + at);
        self.pos = end.unwrap_or(self.buf.len());
        self.line_len += self.pos - from;
        self.note(self.pos - from);
        if self.event.class.is_none() {
            self.read_line(from, end.is_some());
        }
        end.and_then(|end| self.end_line(end))
    }

    /// Reads the bytes of the current line from `from` on, as far as the event's class may depend on them.
    fn read_line(&mut self, from: usize, whole: bool) {
        match self.kind {
            Line::Unknown => {
                let line = &self.buf[self.line..self.pos];
                self.kind = line_kind(line, whole);
                if self.kind == Line::Data {
                    let value = self.line + "data:".len().min(line.len());
                    self.begin_data();
                    self.feed(value, self.pos);
                }
            }
            Line::Data => self.feed(from, self.pos),
            Line::Event | Line::Other => {}
        }
    }

    fn begin_data(&mut self) {
        if self.event.has_data {
            self.finder.feed(b"\n");
        }
        self.event.has_data = true;
    }

    fn feed(&mut self, from: usize, to: usize) {
        if self.event.class.is_none() && self.finder.verdict() == Verdict::Unknown {
            self.finder.feed(&self.buf[from..to]);
            if self.finder.verdict() == Verdict::Found {
                self.event.class = Some(Class::of_type(self.finder.token()));
            }
            self.note(to - from);
        }
    }

    /// Ends the line whose line end starts at `end`. Gives a class where that ends an event, or a comment outside of one.
    fn end_line(&mut self, end: usize) -> Option<Class> {
        let empty = self.line_len == 0;
        let mut comment = false;
        if self.event.class.is_none() && !empty {
            let line = &self.buf[self.line..end];
            comment = line[0] == b':';
            self.event.has_field |= !comment;
            if self.kind == Line::Event {
                self.event.named = field(line, b"event").map(Class::of_type);
            }
        }
        self.after_cr = self.buf[end] == b'\r';
        self.pos = end + 1;
        if self.after_cr && self.buf.get(self.pos) == Some(&b'\n') {
            self.after_cr = false;
            self.pos += 1;
        }
        self.line = self.pos;
        self.line_len = 0;
        self.kind = Line::Unknown;
        if empty {
            return Some(self.ended());
        }
        (comment && !self.event.has_field).then_some(Class::Held(Held::KeepAlive))
    }

    /// The class of an event that is complete.
    fn ended(&self) -> Class {
        let event = &self.event;
        if !event.has_data {
            return Class::Held(Held::KeepAlive);
        }
        let unnamed = if self.finder.has_error { Class::Terminal(Terminal::Error) } else { Class::Visible };
        event.class.or(event.named).unwrap_or(unnamed)
    }

    fn give(&mut self, class: Class, starts: bool, ends: bool) -> Piece<'_> {
        let from = self.out;
        self.out = self.pos;
        Piece { class, bytes: &self.buf[from..self.pos], starts, ends }
    }

    /// Drops what was given out, once that is at least half of the buffer: each byte is moved at most once a doubling.
    fn compact(&mut self) {
        if self.out == 0 || self.out * 2 < self.buf.len() {
            return;
        }
        self.buf.drain(..self.out);
        self.pos -= self.out;
        self.line = self.line.saturating_sub(self.out);
        self.out = 0;
        if self.buf.is_empty() && self.buf.capacity() > KEEP_CAPACITY {
            self.buf = Vec::new();
        }
    }

    #[cfg(test)]
    pub(super) fn buf_len(&self) -> usize {
        self.buf.len()
    }

    #[cfg(test)]
    fn note(&mut self, bytes: usize) {
        self.looked_at += bytes;
    }

    #[cfg(not(test))]
    fn note(&self, _bytes: usize) {}
}

/// What a line is, by its first bytes; `whole` says that nothing more comes.
fn line_kind(line: &[u8], whole: bool) -> Line {
    if line.starts_with(b"data:") || (whole && line == b"data") {
        Line::Data
    } else if line.starts_with(b"event:") || (whole && line == b"event") {
        Line::Event
    } else if !whole && (b"data:".starts_with(line) || b"event:".starts_with(line)) {
        Line::Unknown
    } else {
        Line::Other
    }
}
