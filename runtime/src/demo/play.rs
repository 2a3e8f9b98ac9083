//! The steps of the demonstration, each with its promise.

use std::io::Write;

use super::client::Ask;
use super::stage::{ACCOUNTS, DemoError, Stage};
use super::table::{Line, Table};
use crate::scripted::{Behaviour, Rule};

/// A conversation of the play.
struct Talk {
    name: &'static str,
    user: &'static str,
    session: Option<&'static str>,
    home: String,
}

/// Plays all steps.
pub(super) fn play<W: Write>(stage: &mut Stage, table: &mut Table<W>) -> Result<(), DemoError> {
    stage.user("create", "ada")?;
    stage.user("create", "bob")?;
    let mut talks = begin(stage, table)?;
    go_on(stage, table, &talks)?;
    new_key(stage, table, &talks)?;
    spent_quota(stage, table, &mut talks)?;
    crash(stage, table, &talks)?;
    strangers(stage, table, &talks)
}

fn begin<W: Write>(stage: &mut Stage, table: &mut Table<W>) -> Result<Vec<Talk>, DemoError> {
    table.heading("New conversations take the accounts in turn")?;
    let mut talks = Vec::new();
    for (name, session) in [("one", "session-1"), ("two", "session-2"), ("three", "session-3")] {
        let mut talk = Talk { name, user: "ada", session: Some(session), home: String::new() };
        let (served, on) = turn(stage, &talk, "gpt-5.5")?;
        talk.home = on.last().cloned().unwrap_or_default();
        let fresh = talks.iter().all(|t: &Talk| t.home != talk.home);
        table.line(&Line {
            what: format!("conversation {name} begins"),
            account: talk.home.clone(),
            why: "its first turn: this account is its home now".to_owned(),
            kept: served && fresh && ACCOUNTS.contains(&talk.home.as_str()),
        })?;
        talks.push(talk);
    }
    Ok(talks)
}

fn go_on<W: Write>(stage: &mut Stage, table: &mut Table<W>, talks: &[Talk]) -> Result<(), DemoError> {
    table.heading("Every further turn goes home, whatever the model")?;
    for talk in talks {
        home(stage, table, talk, "gpt-5.5", "goes on", "its home serves")?;
    }
    home(stage, table, &talks[0], "gpt-6-sol", "changes its model", "the model is no part of a session")
}

fn new_key<W: Write>(stage: &mut Stage, table: &mut Table<W>, talks: &[Talk]) -> Result<(), DemoError> {
    table.heading("A new API key keeps the conversations")?;
    let old = stage.key("ada")?.to_owned();
    stage.user("reset", "ada")?;
    let ask = Ask { key: &old, session: Some("session-1"), model: "gpt-5.5", text: "hello" };
    let (got, on) = stage.ask(&ask)?;
    table.line(&Line {
        what: "ada's old key is tried".to_owned(),
        account: "none".to_owned(),
        why: format!("answered {}, and nothing went upstream", got.status),
        kept: got.status == 401 && on.is_empty(),
    })?;
    home(stage, table, &talks[0], "gpt-5.5", "goes on with the new key", "sessions belong to the user, not to the key")
}

fn spent_quota<W: Write>(stage: &mut Stage, table: &mut Table<W>, talks: &mut [Talk]) -> Result<(), DemoError> {
    let spent = talks[1].home.clone();
    table.heading(&format!("{spent}'s quota is spent: its conversation moves once, and stays where it went"))?;
    let rule = stage.script(Rule::always(Behaviour::usage_limit(3)).on(&spent));
    let (served, on) = turn(stage, &talks[1], "gpt-5.5")?;
    let moved = on.last().cloned().unwrap_or_default();
    table.line(&Line {
        what: "conversation two goes on".to_owned(),
        account: moved.clone(),
        why: format!("{spent} said 429; the client saw none of it"),
        kept: served && on.len() == 2 && on.first() == Some(&spent) && moved != spent,
    })?;
    talks[1].home = moved;
    home(stage, table, &talks[1], "gpt-5.5", "goes on", "this is its home now")?;
    stage.unscript(rule);
    std::thread::sleep(std::time::Duration::from_millis(3_100));
    home(stage, table, &talks[1], "gpt-5.5", "goes on", &format!("{spent} is back, and moves nothing"))
}

fn crash<W: Write>(stage: &mut Stage, table: &mut Table<W>, talks: &[Talk]) -> Result<(), DemoError> {
    table.heading("The gateway is killed (SIGKILL) and started again: every home holds")?;
    stage.crash()?;
    stage.start()?;
    for talk in talks {
        home(stage, table, talk, "gpt-5.5", "goes on", "its home was on disk before its turn ended")?;
    }
    Ok(())
}

fn strangers<W: Write>(stage: &mut Stage, table: &mut Table<W>, talks: &[Talk]) -> Result<(), DemoError> {
    table.heading("Nobody shares a session, and no identity is made up")?;
    let bindings = stage.bindings()?;
    let bob = Talk { name: "one", user: "bob", session: talks[0].session, home: String::new() };
    let (served, on) = turn(stage, &bob, "gpt-5.5")?;
    let after = stage.bindings()?;
    table.line(&Line {
        what: "bob uses ada's session id".to_owned(),
        account: on.last().cloned().unwrap_or_default(),
        why: "another user: a session of its own".to_owned(),
        kept: served && after == bindings + 1,
    })?;
    home(stage, table, &talks[0], "gpt-5.5", "goes on", "bob changed nothing for ada")?;
    let nobody = Talk { name: "", user: "ada", session: None, home: String::new() };
    let (served, on) = turn(stage, &nobody, "gpt-5.5")?;
    let same = stage.bindings()? == after;
    table.line(&Line {
        what: "a request without any session id".to_owned(),
        account: on.last().cloned().unwrap_or_default(),
        why: "taken in turn; no binding was made".to_owned(),
        kept: served && same,
    })?;
    Ok(())
}

/// A turn that has to go home and nowhere else.
fn home<W: Write>(
    stage: &mut Stage,
    table: &mut Table<W>,
    talk: &Talk,
    model: &str,
    what: &str,
    why: &str,
) -> Result<(), DemoError> {
    let (served, on) = turn(stage, talk, model)?;
    table.line(&Line {
        what: format!("conversation {} {what}", talk.name),
        account: on.last().cloned().unwrap_or_default(),
        why: why.to_owned(),
        kept: served && on == [talk.home.clone()],
    })?;
    Ok(())
}

fn turn(stage: &mut Stage, talk: &Talk, model: &str) -> Result<(bool, Vec<String>), DemoError> {
    let key = stage.key(talk.user)?.to_owned();
    let (got, on) = stage.ask(&Ask { key: &key, session: talk.session, model, text: "hello" })?;
    Ok((got.complete(), on))
}
