//! A run as arrows between places. Both diagrams are drawn from this.

use std::collections::BTreeMap;

use crate::timeline::Line;
use crate::trace::Trace;

/// A lane, in the order of the lanes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// A client's session, as traces name it.
    Client(String),
    /// A gateway process.
    Process(u8),
    /// The store and its disk.
    Store,
    /// An upstream account.
    Account(u32),
}

impl Place {
    /// What stands above the lane.
    #[must_use]
    pub fn title(&self) -> String {
        match self {
            Self::Client(session) => format!("client {session}"),
            Self::Process(n) => format!("process p{n}"),
            Self::Store => "store".into(),
            Self::Account(n) => format!("account a{n}"),
        }
    }

    /// A short name of letters, digits and underscores.
    #[must_use]
    pub fn id(&self) -> String {
        match self {
            Self::Client(session) => {
                let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
                format!("c_{}", session.chars().map(plain).collect::<String>())
            }
            Self::Process(n) => format!("p{n}"),
            Self::Store => "store".into(),
            Self::Account(n) => format!("a{n}"),
        }
    }
}

/// How an arrow goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Somebody asks.
    Ask,
    /// Somebody answers.
    Answer,
    /// Somebody answers that it failed.
    Failure,
    /// It never arrives.
    Lost,
    /// Nobody waits for it any longer; it may still arrive.
    Adrift,
    /// It arrives, but later: the arrow began with this one of the drawn lines.
    Late(usize),
}

/// What one line of the run looks like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Figure {
    /// An arrow between two lanes.
    Arrow {
        /// Where it begins.
        from: Place,
        /// Where it ends, or would.
        to: Place,
        /// How it goes.
        kind: Kind,
        /// A few words.
        label: String,
    },
    /// Something at one place.
    Point(Place, String),
    /// Something about everything: time passes, trouble ends.
    Band(String),
    /// A process dies.
    Down(Place),
    /// A process comes up.
    Up(Place),
}

/// One drawn line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawn<'a> {
    /// Its step's place in the trace.
    pub at: usize,
    /// Its place among the step's events.
    pub event: usize,
    /// How far down it stands: a step in which nothing was seen takes a row too.
    pub row: usize,
    /// The line.
    pub line: &'a Line,
    /// What it looks like.
    pub figure: Figure,
}

/// A run as a picture: lanes, and one figure for each line.
#[derive(Clone, Debug)]
pub struct Diagram<'a> {
    /// The lanes, from left to right.
    pub lanes: Vec<Place>,
    /// The lines, from top to bottom.
    pub drawn: Vec<Drawn<'a>>,
    /// The first row of each step, and behind them the number of all rows.
    pub rows: Vec<usize>,
}

/// What is known of a request while its lines are drawn.
#[derive(Clone, Debug)]
struct Request {
    client: Place,
    process: Place,
    account: Option<Place>,
    /// The line in which the store did what it asked, while the answer is under way.
    done: Option<(usize, usize)>,
}

impl<'a> Diagram<'a> {
    /// Draws a run.
    #[must_use]
    pub fn of(trace: &'a Trace) -> Self {
        let mut drawing = Drawing { requests: BTreeMap::new(), drawn: Vec::new() };
        let (mut row, mut rows) = (0, Vec::new());
        for (at, step) in trace.steps.iter().enumerate() {
            rows.push(row);
            for (event, line) in step.events.iter().enumerate() {
                let figure = drawing.figure(at, line);
                drawing.drawn.push(Drawn { at, event, row: row + event, line, figure });
            }
            let least = usize::from(step.action.is_some());
            row += step.events.len().max(least);
        }
        rows.push(row);
        Self { lanes: lanes(trace, &drawing.drawn), drawn: drawing.drawn, rows }
    }

    /// The rows of a step: the first, and the one behind the last.
    #[must_use]
    pub fn rows_of(&self, step: usize) -> (usize, usize) {
        let at = |n: usize| self.rows.get(n).copied().unwrap_or_default();
        (at(step), at(step + 1))
    }

    /// A lane's number.
    #[must_use]
    pub fn lane(&self, place: &Place) -> usize {
        self.lanes.iter().position(|lane| lane == place).unwrap_or_default()
    }
}

/// Every place that appears, and every account and process that there is.
fn lanes(trace: &Trace, drawn: &[Drawn<'_>]) -> Vec<Place> {
    let mut all = std::collections::BTreeSet::from([Place::Store]);
    for step in &trace.steps {
        all.extend(step.state.processes.iter().map(|p| Place::Process(p.process)));
        all.extend(step.state.accounts.iter().map(|a| Place::Account(a.account)));
    }
    for drawn in drawn {
        match &drawn.figure {
            Figure::Arrow { from, to, .. } => all.extend([from.clone(), to.clone()]),
            Figure::Point(at, _) | Figure::Down(at) | Figure::Up(at) => {
                all.insert(at.clone());
            }
            Figure::Band(_) => {}
        }
    }
    all.into_iter().collect()
}

struct Drawing<'a> {
    requests: BTreeMap<&'a str, Request>,
    drawn: Vec<Drawn<'a>>,
}

impl<'a> Drawing<'a> {
    fn figure(&mut self, at: usize, line: &'a Line) -> Figure {
        if line.code == "c>" {
            self.requests.insert(&line.who, Request::new(line));
        }
        match self.requests.get(line.who.as_str()).cloned() {
            Some(request) => self.of_request(at, line, &request),
            None => of_world(line),
        }
    }

    fn of_request(&mut self, at: usize, line: &'a Line, request: &Request) -> Figure {
        let Request { client, process, .. } = request.clone();
        let account = line.account.map(Place::Account).or(request.account.clone()).unwrap_or_else(|| process.clone());
        let arrow = |from, to, kind, label: &str| Figure::Arrow { from, to, kind, label: label.into() };
        let (ask, answer) = line.what.split_once(" -> ").unwrap_or((&line.what, &line.what));
        match line.code.as_str() {
            "c>" => arrow(client, process, Kind::Ask, &format!("{} {}", line.who, line.what)),
            "c<" => arrow(process, client, Kind::Answer, &line.what),
            "c!" => arrow(client, process, Kind::Lost, &line.what),
            "s-" => arrow(process, Place::Store, Kind::Lost, &line.what),
            "s=" => {
                let row = self.drawn.len();
                self.change(line, |r| r.done = Some((at, row)));
                arrow(process, Place::Store, Kind::Ask, ask)
            }
            "s_" => arrow(process, Place::Store, Kind::Adrift, &line.what),
            "s!" => arrow(process, Place::Store, self.left_behind(line), ask),
            "s~" => Figure::Point(Place::Store, line.what.clone()),
            "s<" => {
                let kind = self.answered(at, line);
                arrow(Place::Store, process, kind, self.answer_to(request).unwrap_or(answer))
            }
            "s?" if request.done.is_some() => {
                self.change(line, |r| r.done = None);
                arrow(Place::Store, process, Kind::Lost, "the answer is lost")
            }
            "u>" => {
                self.change(line, |r| r.account = Some(account.clone()));
                arrow(process, account, Kind::Ask, &line.what)
            }
            "u~" | "u+" => arrow(account, process, Kind::Answer, &line.what),
            "u!" => arrow(account, process, Kind::Failure, &line.what),
            "d<" => arrow(Place::Store, process, Kind::Answer, &line.what),
            _ => Figure::Point(process, line.what.clone()),
        }
    }

    /// The answer is there: at once, or after something else happened.
    fn answered(&mut self, at: usize, line: &'a Line) -> Kind {
        let done = self.requests.get(line.who.as_str()).and_then(|r| r.done);
        self.change(line, |r| r.done = None);
        match done {
            Some((then, row)) if then != at => Kind::Late(row),
            _ => Kind::Answer,
        }
    }

    /// Where what lands now was left behind.
    fn left_behind(&self, line: &Line) -> Kind {
        let op = line.what.trim_start_matches("late: ").split(" -> ").next().unwrap_or_default();
        let began = |drawn: &Drawn<'_>| {
            drawn.line.who == line.who && drawn.line.code == "s_" && drawn.line.what.starts_with(op)
        };
        self.drawn.iter().rposition(began).map_or(Kind::Ask, Kind::Late)
    }

    /// What the store made of the request's last operation, from the line in which it did it.
    fn answer_to(&self, request: &Request) -> Option<&'a str> {
        let (_, row) = request.done?;
        self.drawn.get(row)?.line.what.split_once(" -> ").map(|(_, answer)| answer)
    }

    fn change(&mut self, line: &'a Line, change: impl FnOnce(&mut Request)) {
        if let Some(request) = self.requests.get_mut(line.who.as_str()) {
            change(request);
        }
    }
}

impl Request {
    fn new(line: &Line) -> Self {
        // "asks t1/s0/h …": tenant and session are whose lane it is.
        let name = line.what.trim_start_matches("asks ");
        let session: Vec<&str> = name.split(['/', ' ']).take(2).collect();
        let process = Place::Process(line.process.unwrap_or_default());
        Self { client: Place::Client(session.join("/")), process, account: None, done: None }
    }
}

/// A line that is no request's.
fn of_world(line: &Line) -> Figure {
    let process = line.process.map(Place::Process);
    match (line.code.as_str(), line.account, process) {
        ("p!", _, Some(process)) => Figure::Down(process),
        ("p+", _, Some(process)) => Figure::Up(process),
        ("d!", ..) => Figure::Down(Place::Store),
        ("d+", ..) => Figure::Up(Place::Store),
        ("o." | "o!", Some(account), Some(process)) => {
            Figure::Point(Place::Account(account), format!("{} for {}", line.what, process.id()))
        }
        ("o." | "o!", Some(account), None) => Figure::Point(Place::Account(account), line.what.clone()),
        ("s~" | "d=", ..) => Figure::Point(Place::Store, line.what.clone()),
        (_, _, Some(process)) => Figure::Point(process, line.what.clone()),
        _ => Figure::Band(line.what.clone()),
    }
}
