use std::{path::Path, sync::Arc};

use clap::{CommandFactory, error::ErrorKind};

use super::*;
use crate::{
    admin::{OwnerSocket, serve_owner, tests::fake::Fake},
    os::{self, Lock},
};

fn parse(words: &[&str]) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(std::iter::once(&"homing").chain(words))
}

/// What a command that succeeds prints.
fn printed(command: &[&str], directory: &Path) -> Result<String, Failure> {
    let file = directory.join("homing.toml");
    let state = directory.display();
    std::fs::write(&file, format!("[state]\ndirectory = \"{state}\"\n[accounts]\ndirectory = \"{state}\"\n")).unwrap();
    let words = [&["--config", file.to_str().unwrap()], command].concat();
    let mut bytes = Vec::new();
    let mut out = print::Out::new(&mut bytes);
    run(&parse(&words).unwrap(), &mut out)?;
    out.finish().unwrap();
    Ok(String::from_utf8(bytes).unwrap())
}

/// A gateway in memory on the socket in `directory`.
fn gateway(directory: &Path) -> smol::Task<()> {
    let lock = Lock::acquire(&directory.join("homing.lock")).unwrap();
    let socket = OwnerSocket::bind(&directory.join("homing.sock"), &lock).unwrap();
    os::spawn(async move { serve_owner(&socket, Arc::new(Fake::default())).await })
}

#[test]
fn help_says_what_there_is() {
    let mut commands = vec![Cli::command().term_width(100)];
    let mut text = String::new();
    while let Some(mut command) = commands.pop() {
        command.build();
        text.push_str(&format!("{}\n----\n", command.render_help()));
        let below: Vec<_> = command.get_subcommands().cloned().collect();
        commands.extend(below.into_iter().rev());
    }
    insta::assert_snapshot!(text);
}

#[test]
fn a_wrong_command_line_is_status_2() {
    for words in [
        &["frobnicate"] as &[&str],
        &[],
        &["users", "create"],
        &["users", "create", "a b"],
        &["users", "create", "-x"],
        &["users", "create", "../../x"],
        &["bindings", "list", "--limit", "0"],
        &["scripted-upstream", "--listen", "here"],
        &["serve", "extra"],
    ] {
        let error = parse(words).unwrap_err();
        assert_eq!(error.exit_code(), 2, "{words:?}");
    }
    let version = parse(&["--version"]).unwrap_err();
    assert_eq!((version.kind(), version.exit_code()), (ErrorKind::DisplayVersion, 0));
    assert!(parse(&["users", "list", "--config", "x.toml"]).unwrap().config.is_some(), "--config is global");
}

#[test]
fn users_are_managed_through_the_socket() {
    let place = tempfile::tempdir().unwrap();
    let _task = gateway(place.path());
    let run = |command: &[&str]| printed(command, place.path());
    assert_eq!(run(&["users", "create", "ann"]).unwrap(), "API key of ann (shown only now):\nhmg_first\n");
    assert_eq!(run(&["users", "reset", "ann"]).unwrap(), "API key of ann (shown only now):\nhmg_second\n");
    assert_eq!(run(&["users", "disable", "ann"]).unwrap(), "ann is disabled\n");
    insta::assert_snapshot!(run(&["users", "list"]).unwrap(), @r"
    NAME  ID  STATE     CREATED                   KEY CREATED
    ann   u1  disabled  2023-11-14T22:13:20.000Z  2023-11-14T22:13:20.000Z
    ");
    let json = run(&["users", "list", "--json"]).unwrap();
    let user: serde_json::Value = serde_json::from_str(json.trim_end()).unwrap();
    assert_eq!(user["disabled"], true);
    assert_eq!(run(&["users", "enable", "ann"]).unwrap(), "ann is enabled\n");
    assert_eq!(run(&["users", "delete", "ann"]).unwrap(), "deleted ann with 3 sessions\n");
    let missing = run(&["users", "delete", "ann"]).unwrap_err();
    assert_eq!(missing.0, "user: \"ann\" does not exist; `homing users list` shows all");
    let out = run(&["accounts", "list"]).unwrap_err();
    assert_eq!(out.0, "the directory is not available now; try again");
}

#[test]
fn bindings_are_listed_whole_or_in_part() {
    let place = tempfile::tempdir().unwrap();
    let _task = gateway(place.path());
    let lines = |command: &[&str]| printed(command, place.path()).unwrap().lines().count();
    assert_eq!(lines(&["bindings", "list", "--json"]), 250);
    assert_eq!(lines(&["bindings", "list", "--json", "--limit", "7"]), 7);
    assert_eq!(lines(&["bindings", "list"]), 251);
}

#[test]
fn a_session_is_explained_without_its_id_on_the_command_line() {
    let place = tempfile::tempdir().unwrap();
    let _task = gateway(place.path());
    let state = place.path().display().to_string();
    let config = Config::within(place.path(), &format!("[state]\ndirectory = \"{state}\"\n")).unwrap();
    let command = args::Bindings::Explain { tenant: "ann".into(), format: args::Format { json: false } };
    let mut bytes = Vec::new();
    let mut out = print::Out::new(&mut bytes);
    manage::bindings(&config, &command, &mut || Ok("s-123".into()), &mut out).unwrap();
    out.finish().unwrap();
    assert_eq!(String::from_utf8(bytes).unwrap(), "5 bytes lead to team-1\n");
}

#[test]
fn an_id_is_taken_as_it_is_but_for_the_line_end() {
    let id = |bytes: &[u8]| one_id(bytes.to_vec()).map_err(|failure| failure.0);
    assert_eq!(id(b"s-1\n").unwrap(), "s-1");
    assert_eq!(id(b"s-1\r\n").unwrap(), "s-1");
    assert_eq!(id(b" s-1 ").unwrap(), " s-1 ");
    assert_eq!(id(b"a\nb\n").unwrap(), "a\nb");
    assert!(id(b"\n").unwrap_err().contains("nothing was read"));
    assert!(id(b"\xff").unwrap_err().contains("not UTF-8"));
}

#[test]
fn check_config_prints_what_holds_and_the_reference() {
    let place = tempfile::tempdir().unwrap();
    let text = printed(&["check-config"], place.path()).unwrap();
    assert!(text.starts_with(&format!("# {}", place.path().join("homing.toml").display())), "{text}");
    assert!(text.contains("homing.toml:2\n") && text.contains("[log]"), "{text}");
    assert_eq!(printed(&["check-config", "--keys"], place.path()).unwrap(), config::reference());
}

#[test]
fn mistakes_in_the_configuration_fail_every_command() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("bad.toml");
    std::fs::write(&file, "[log]\nlevel = \"loud\"\nshape = 1\n").unwrap();
    for command in [&["serve"] as &[&str], &["check-config"], &["users", "list"]] {
        let words = [&["--config", file.to_str().unwrap()], command].concat();
        let failure = run(&parse(&words).unwrap(), &mut print::Out::new(Vec::new())).unwrap_err();
        assert_eq!(failure.0.lines().count(), 2, "{failure}");
        assert!(failure.0.contains("bad.toml:2: log.level"), "{failure}");
    }
}

#[test]
fn a_reader_who_leaves_is_no_failure_and_a_full_disk_is_one() {
    struct Broken(io::ErrorKind);
    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let finish = |kind| {
        let mut out = print::Out::new(Broken(kind));
        out.text(&"x".repeat(100_000));
        assert!(out.is_closed());
        out.finish()
    };
    finish(io::ErrorKind::BrokenPipe).unwrap();
    finish(io::ErrorKind::StorageFull).unwrap_err();
}

#[test]
fn cells_from_outside_cannot_command_the_terminal() {
    let text = print::table(&["A", "B"], &[vec!["\u{1b}[2J".into(), "é".into()]]);
    assert_eq!(text, "A     B\n?[2J  é\n");
}
