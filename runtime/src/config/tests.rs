use std::{collections::BTreeMap, ffi::OsString, os::unix::ffi::OsStringExt, path::Path, time::Duration};

use super::*;

/// Sources with a made-up home, the given variables and no file.
fn sources(variables: &[(&str, &str)]) -> Sources {
    let mut all = BTreeMap::from([("HOME".to_owned(), OsString::from("/home/op"))]);
    all.extend(variables.iter().map(|(name, value)| ((*name).to_owned(), OsString::from(value))));
    Sources { file: None, variables: all, directory: "/srv/homing".into() }
}

fn mistakes(text: &str) -> String {
    sources(&[]).load_text(text).expect_err("the text has mistakes").to_string()
}

#[test]
fn without_a_file_the_defaults_hold() {
    let config = sources(&[]).load().unwrap();
    assert_eq!(config.listen.address.to_string(), "127.0.0.1:8317");
    assert_eq!(config.accounts.directory, Path::new("/home/op/.codex"));
    assert_eq!(config.state.directory, Path::new("/home/op/.local/state/homing"));
    assert_eq!(config.state.database, Path::new("/home/op/.local/state/homing/homing.db"));
    assert_eq!(config.affinity.ttl, Duration::from_secs(86_400));
    assert_eq!(config.limits.body, Size::of(64 << 20));
    assert_eq!(config.upstream.url.as_str(), "https://chatgpt.com/backend-api/codex");
    assert!(config.admin.key.is_none() && config.file.is_none() && config.warnings.is_empty());
}

#[test]
fn every_mistake_is_named_with_its_line_at_once() {
    insta::assert_snapshot!(mistakes(
        r#"address = "127.0.0.1:1"
colour = 1
[listen]
adress = "127.0.0.1:8317"
address = "localhost:8317"
[affinity]
ttl = "10s"
max_rows = 5
max-rows = "many"
session = "yes"
commit-wait = 5
[limits]
body = 67108864
bodies-total = "1 GB"
drain = "1.5h"
idle = 1.5
[admin]
key = "short"
ttl = "1h"
[headers]
pass = ["x-team", "Authorization"]
[upstream]
url = "http://example.com/codex"
ca-file = ""
[accounts]
token-url = "https://me:pass@example.com/token"
directory = "~other/x"
[log]
format = "xml"
[routing]
request-retry = 8
[loging]
level = "info"
"#
    ));
}

#[test]
fn broken_toml_is_named_with_its_line() {
    insta::assert_snapshot!(mistakes("[listen]\naddress = \n[log]\nlevel = \"loud\"\nlevel = \"info\"\nlisten = [\n"));
}

#[test]
fn a_section_that_is_no_table_is_named() {
    insta::assert_snapshot!(mistakes("listen = \"127.0.0.1:8317\"\n"), @"homing.toml:1: `listen` is a table; write [listen] on a line of its own and its keys below");
}

#[test]
fn impossible_combinations_are_named() {
    let long = "x".repeat(120);
    let text = format!(
        r#"[listen]
address = "0.0.0.0:9000"
[admin]
address = "127.0.0.1:9000"
management-on-data-port = true
[affinity]
max-rows = 10
max-rows-per-tenant = 11
[limits]
body = "2MiB"
bodies-total = "1MiB"
[routing]
request-deadline = "20s"
[upstream]
head-timeout = "1m"
url = "http://127.0.0.1:9000/codex"
[state]
directory = "/{long}"
"#
    );
    insta::assert_snapshot!(mistakes(&text));
}

#[test]
fn a_combination_with_a_refused_value_is_not_judged() {
    let text = mistakes(
        "[affinity]\nmax-rows = 0\nmax-rows-per-tenant = 5\n[limits]\nbody = \"1GiB\"\nbodies-total = \"x\"\n",
    );
    assert_eq!(text.lines().count(), 2, "{text}");
}

#[test]
fn a_mistake_that_two_sources_share_names_the_one_that_set_it() {
    let found = sources(&[("HOMING_AFFINITY_MAX_ROWS", "10")]).load().unwrap_err().to_string();
    assert!(found.starts_with("HOMING_AFFINITY_MAX_ROWS: affinity.max-rows-per-tenant 100000 is above"), "{found}");
}

#[test]
fn variables_beat_the_file_and_the_file_beats_the_default() {
    let from = sources(&[
        ("HOMING_AFFINITY_TTL", "2h"),
        ("HOMING_HEADERS_PASS", "X-Team, x-user"),
        ("HOMING_AFFINITY_SESSION", "false"),
        ("HOMING_LOG_LEVEL", ""),
    ]);
    let config = from.load_text("[affinity]\nttl = \"3h\"\nmax-rows = 200_000\n[log]\nlevel = \"debug\"\n").unwrap();
    assert_eq!(config.affinity.ttl, Duration::from_secs(7_200));
    assert_eq!(config.affinity.max_rows, 200_000);
    assert_eq!(config.log.level, Level::Debug, "an empty variable counts as not set");
    assert!(!config.affinity.session);
    assert_eq!(config.headers.pass.iter().collect::<Vec<_>>(), ["x-team", "x-user"]);
}

#[test]
fn wrong_variables_are_named() {
    let mut from = sources(&[
        ("HOMING_AFFINITY_TTL", "24"),
        ("HOMING_LISTEN_ADRESS", "127.0.0.1:1"),
        ("HOMING_LISTN_ADDRESS", "127.0.0.1:1"),
        ("HOMING_ROUTING_REQUEST_RETRY", "-1"),
        ("HOMING_TENANTS_COMPATIBILITY", "on"),
        ("HOMING_PORT_8317_TCP_ADDR", "10.0.0.1"),
        ("HOMING_SERVICE_HOST", "10.0.0.1"),
    ]);
    from.variables.insert("HOMING_LOG_FORMAT".into(), OsString::from_vec(vec![0xff]));
    insta::assert_snapshot!(from.load().unwrap_err());
}

#[test]
fn a_variable_like_no_key_is_a_warning() {
    let config = sources(&[("HOMING_WHATEVER", "1")]).load().unwrap();
    assert_eq!(
        config.warnings,
        ["HOMING_WHATEVER: no setting of homing has this name; unset it if it was meant as one"]
    );
}

#[test]
fn without_a_home_the_paths_must_be_set() {
    let nowhere = Sources { directory: "/srv".into(), ..Sources::default() };
    insta::assert_snapshot!(nowhere.load().unwrap_err());
    let set = Sources {
        variables: BTreeMap::from([
            ("HOMING_STATE_DIRECTORY".into(), "state".into()),
            ("HOMING_ACCOUNTS_DIRECTORY".into(), "/accounts".into()),
        ]),
        ..nowhere
    };
    assert_eq!(set.load().unwrap().state.socket, Path::new("/srv/state/homing.sock"));
}

#[test]
fn the_secret_shows_nowhere() {
    let key = "correct-horse-battery";
    let config = sources(&[("HOMING_ADMIN_KEY", key)]).load().unwrap();
    assert_eq!(config.admin.key.as_ref().map(Secret::expose), Some(key));
    assert!(!format!("{config:?}").contains("horse"));
    let text = effective_text(&config);
    assert!(text.contains("key = \"***\"  # HOMING_ADMIN_KEY") && !text.contains("horse"), "{text}");
    let refused = sources(&[("HOMING_ADMIN_KEY", "correct horse battery")]).load().unwrap_err().to_string();
    assert!(!refused.contains("horse"), "{refused}");
}

#[test]
fn the_effective_text_names_each_origin_and_can_be_read_back() {
    let from = sources(&[("HOMING_LOG_FORMAT", "json")]);
    let config = from.load_text("[headers]\npass = [\"x-team\"]\n[routing]\nhead-hold = \"1500ms\"\n").unwrap();
    let text = effective_text(&config);
    insta::assert_snapshot!(text);
    let again = sources(&[]).load_text(&text).unwrap();
    assert_eq!(format!("{:?}", again.routing), format!("{:?}", config.routing));
    assert_eq!(format!("{:?}", again.state), format!("{:?}", config.state));
}

#[test]
fn the_reference_lists_every_key() {
    insta::assert_snapshot!(reference());
}

#[test]
fn keys_and_variables_are_unique_and_bounds_hold_at_both_ends() {
    let mut variables: Vec<_> = KEYS.iter().map(Key::variable).collect();
    variables.sort();
    variables.dedup();
    assert_eq!(variables.len(), KEYS.len());
    for key in KEYS {
        let Bounds::Range { least, most } = key.bounds else { continue };
        for value in [least, most] {
            // The other keys may conflict; the value itself must be taken.
            let refused = sources(&[(&key.variable(), value)]).load().err().map(|error| error.to_string());
            let named = format!("{}: {}: {value}", key.variable(), key.path());
            assert!(refused.is_none_or(|text| !text.contains(&named)), "{}={value}", key.path());
        }
    }
}

#[test]
fn the_search_takes_the_first_file_there_is() {
    let place = tempfile::tempdir().unwrap();
    let (work, user, other) =
        (place.path().join("work"), place.path().join("user/homing"), place.path().join("other.toml"));
    std::fs::create_dir_all(&work).unwrap();
    std::fs::create_dir_all(&user).unwrap();
    let level = |from: &Sources| from.load().unwrap().log.level;
    let mut from = sources(&[]);
    from.directory = work.clone();
    from.variables.insert("XDG_CONFIG_HOME".into(), place.path().join("user").into());
    std::fs::write(user.join("homing.toml"), "[log]\nlevel = \"error\"\n[accounts]\ndirectory = \"auth\"\n").unwrap();
    assert_eq!(level(&from), Level::Error);
    assert_eq!(from.load().unwrap().accounts.directory, user.join("auth"), "relative to the file");
    std::fs::write(work.join("homing.toml"), "[log]\nlevel = \"warn\"\n").unwrap();
    assert_eq!(level(&from), Level::Warn);
    std::fs::write(&other, "[log]\nlevel = \"debug\"\n").unwrap();
    from.variables.insert("HOMING_CONFIG".into(), other.into());
    assert_eq!(level(&from), Level::Debug);
    from.file = Some("missing.toml".into());
    let refused = from.load().unwrap_err().to_string();
    assert!(refused.starts_with("missing.toml: cannot be opened ("), "{refused}");
    from.file = Some(".".into());
    assert!(from.load().unwrap_err().to_string().contains("cannot be read"));
    std::fs::write(work.join("homing.toml"), b"[log]\n# \xff\n").unwrap();
    from.file = Some("homing.toml".into());
    assert_eq!(from.load().unwrap_err().to_string(), "homing.toml:2: not UTF-8; save the file as UTF-8 text");
    std::fs::write(work.join("homing.toml"), vec![b'#'; (1 << 20) + 1]).unwrap();
    assert!(from.load().unwrap_err().to_string().contains("larger than 1048576 bytes"));
}

#[test]
fn a_key_in_a_file_that_others_may_read_is_a_warning() {
    use std::os::unix::fs::PermissionsExt;
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("homing.toml");
    std::fs::write(&file, "[admin]\nkey = \"correct-horse-battery\"\n").unwrap();
    let mut from = sources(&[]);
    from.directory = place.path().into();
    let warnings = |mode| {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        from.load().unwrap().warnings
    };
    assert!(warnings(0o600).is_empty());
    assert!(warnings(0o644)[0].contains("may be read by other users"));
}

#[test]
fn sizes_and_durations_print_as_they_are_read() {
    for text in ["1ms", "1500ms", "2s", "90m", "36h", "30d"] {
        let config = sources(&[("HOMING_LIMITS_DRAIN", text)]).load();
        let shown = config.map(|config| duration_text(config.limits.drain));
        // What is out of bounds is refused; what is taken prints the same.
        assert!(shown.map_or(["90m", "36h", "30d"].contains(&text), |shown| shown == text), "{text}");
    }
    assert_eq!(Size::of(0).to_string(), "0B");
    assert_eq!(Size::of(1536).to_string(), "1536B");
    assert_eq!(Size::of(3 << 20).to_string(), "3MiB");
    let huge = sources(&[("HOMING_LIMITS_BODY", "99999999999999999999TiB")]).load().unwrap_err().to_string();
    assert!(huge.contains("more than can be counted"), "{huge}");
}

proptest::proptest! {
    #[test]
    fn any_text_is_an_outcome(text in ".{0,200}") {
        let _ = sources(&[]).load_text(&text);
    }

    #[test]
    fn any_value_of_any_key_is_an_outcome(index in 0..KEYS.len(), value in "[^\0]{0,40}") {
        let _ = sources(&[(&KEYS[index].variable(), &value)]).load();
    }
}
