//! What a person may type.

use super::until::Until;

/// One command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Nothing was typed.
    Nothing,
    /// Go forth this many steps.
    Step(usize),
    /// Go back this many steps.
    Back(usize),
    /// Go on until a condition, a breakpoint, a broken rule or the end.
    Run(Option<Until>),
    /// Go to a step.
    Goto(u32),
    /// What can happen here.
    List,
    /// Let one of it happen: by its number or its text.
    Do(String),
    /// Let the trouble end here.
    Heal,
    /// Take the last fork back.
    Undo,
    /// Take it again.
    Redo,
    /// What the last step changed.
    Diff,
    /// Everything that stands.
    State,
    /// The bindings.
    Rows,
    /// The requests under way.
    Turns,
    /// The accounts.
    Accounts,
    /// Stop there whenever going on.
    Break(Until),
    /// The breakpoints.
    Breaks,
    /// Forget one of them.
    Unbreak(usize),
    /// Write the whole history to a file.
    Save(String),
    /// The choices and the command that replays them.
    Choices,
    /// The broken rule.
    Verdict,
    /// What can be typed.
    Help,
    /// The end.
    Quit,
}

/// What can be typed, and what it does.
pub(super) const COMMANDS: [(&str, &str); 21] = [
    ("step [n], s", "goes forth n steps and prints them"),
    ("back [n], b", "goes back n steps"),
    ("run [until C], r", "goes on to the condition C, a breakpoint, a broken rule or the end"),
    ("goto N, g", "goes to step N; 0 is the beginning"),
    ("list, l", "what can happen here, with numbers"),
    ("do N, N", "takes number N of the list; do TEXT takes the action with that text"),
    ("heal", "ends the trouble here: everything has to end well"),
    ("undo, u", "takes the last do or heal back"),
    ("redo", "takes it again"),
    ("diff, d", "what the last step changed"),
    ("state", "everything that stands"),
    ("rows", "the bindings, those a crash would leave, the hard pins"),
    ("turns", "the requests under way"),
    ("accounts", "the accounts as the processes see them"),
    ("break C", "stops there whenever going on"),
    ("breaks", "the breakpoints, with numbers"),
    ("unbreak N", "forgets breakpoint N"),
    ("save FILE", "writes the whole history as a trace file"),
    ("choices", "the choices, and the command that replays them"),
    ("verdict, v", "the broken rule"),
    ("help, quit", "this list; the end"),
];

/// A line that is no command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct NotCommand {
    /// What is wrong, for the person who typed it.
    pub why: String,
}

fn wrong(why: impl Into<String>) -> NotCommand {
    NotCommand { why: why.into() }
}

impl Command {
    /// Reads one line.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(line: &str) -> Result<Self, NotCommand> {
        let line = line.trim();
        let (verb, rest) = line.split_once(' ').map_or((line, ""), |(verb, rest)| (verb, rest.trim()));
        let command = match verb {
            "" => Self::Nothing,
            "step" | "s" => Self::Step(count(verb, rest)?),
            "back" | "b" => Self::Back(count(verb, rest)?),
            "run" | "r" => Self::Run(condition(rest)?),
            "goto" | "g" => Self::Goto(number(verb, rest)?),
            "do" if !rest.is_empty() => Self::Do(rest.into()),
            "break" => Self::Break(Until::read(rest).map_err(wrong)?),
            "unbreak" => Self::Unbreak(number(verb, rest)?),
            "save" if !rest.is_empty() => Self::Save(rest.into()),
            "do" | "save" => return Err(wrong(format!("{verb} what? `help` tells"))),
            _ if line.bytes().all(|b| b.is_ascii_digit()) => Self::Do(line.into()),
            _ if !rest.is_empty() => return Err(unknown(line)),
            _ => Self::plain(verb).ok_or_else(|| unknown(line))?,
        };
        Ok(command)
    }

    /// Commands of one word.
    fn plain(verb: &str) -> Option<Self> {
        Some(match verb {
            "list" | "l" => Self::List,
            "heal" => Self::Heal,
            "undo" | "u" => Self::Undo,
            "redo" => Self::Redo,
            "diff" | "d" => Self::Diff,
            "state" => Self::State,
            "rows" => Self::Rows,
            "turns" => Self::Turns,
            "accounts" => Self::Accounts,
            "breaks" => Self::Breaks,
            "choices" => Self::Choices,
            "verdict" | "v" => Self::Verdict,
            "help" | "h" | "?" => Self::Help,
            "quit" | "q" | "exit" => Self::Quit,
            _ => return None,
        })
    }
}

fn unknown(line: &str) -> NotCommand {
    wrong(format!("{line:?} is no command; `help` lists them"))
}

fn count(verb: &str, rest: &str) -> Result<usize, NotCommand> {
    if rest.is_empty() { Ok(1) } else { number(verb, rest) }
}

fn number<T: std::str::FromStr>(verb: &str, rest: &str) -> Result<T, NotCommand> {
    rest.parse().map_err(|_| wrong(format!("{verb} {rest}: give a number, such as {verb} 3")))
}

fn condition(rest: &str) -> Result<Option<Until>, NotCommand> {
    if rest.is_empty() {
        return Ok(None);
    }
    let what = rest.strip_prefix("until ").unwrap_or(rest);
    Until::read(what).map(Some).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read() {
        let read = |line: &str| Command::read(line).unwrap();
        assert_eq!(read("  "), Command::Nothing);
        assert_eq!(read("step"), Command::Step(1));
        assert_eq!(read("s 4"), Command::Step(4));
        assert_eq!(read("7"), Command::Do("7".into()));
        assert_eq!(read("do fail r0 quota"), Command::Do("fail r0 quota".into()));
        assert_eq!(read("run until turn r3"), Command::Run(Some(Until::Turn("r3".into()))));
        assert_eq!(read("break event u! r1"), Command::Break(Until::Event("u! r1".into())));
        assert_eq!(read("quit"), Command::Quit);
    }

    #[test]
    fn what_is_no_command_is_told() {
        let why = |line: &str| Command::read(line).unwrap_err().why;
        assert!(why("dance").contains("help"));
        assert!(why("list all").contains("list all"));
        assert!(why("step far").contains("step 3"));
        assert!(why("break mark nirvana").contains("homing-sim marks"));
        assert!(why("run until oracle B99").contains("homing-sim oracles"));
        assert!(why("run until turn x").contains("r0"));
        assert!(why("run until Tuesday").contains("event TEXT"));
        assert!(why("do").contains("do what"));
    }

    #[test]
    fn every_command_of_the_help_is_one() {
        for (names, _) in COMMANDS {
            let first = names.split([',', ' ']).next().unwrap_or_default();
            let known = Command::read(first).is_ok() || Command::read(&format!("{first} 1")).is_ok();
            assert!(known || first == "break", "{first}");
        }
    }
}
