//! Every key of the configuration, in one table.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use super::{
    Effective, HeaderNames, HostNames, Level, LogFormat, Secret, Size, StoreKind, Url,
    reader::Reader,
    setting::{Bounds, Setting},
};

/// One key of the configuration.
#[derive(Debug)]
pub struct Key {
    /// The table of the file it stands in.
    pub section: &'static str,
    /// Its name in that table.
    pub name: &'static str,
    /// What holds where nothing is set, as it would be written; empty: nothing.
    pub default: &'static str,
    /// What kind of value it takes, with the unit.
    pub unit: &'static str,
    /// The least and the greatest value, where there are such.
    pub bounds: Bounds,
    /// What it means.
    pub doc: &'static str,
}

impl Key {
    /// `section.name`, as mistakes and `check-config` call it.
    pub fn path(&self) -> String {
        format!("{}.{}", self.section, self.name)
    }

    /// The environment variable that sets it: `HOMING_<SECTION>_<NAME>`.
    pub fn variable(&self) -> String {
        format!("HOMING_{}_{}", self.section, self.name).replace('-', "_").to_uppercase()
    }

    /// Whether `check-config` hides its value.
    pub fn is_secret(&self) -> bool {
        self.unit == <Secret as Setting>::UNIT
    }
}

/// Declares the sections as structs and the keys as a table, from one list.
macro_rules! settings {
    ($(
        $(#[doc = $section_doc:literal])*
        [$section:ident] $Section:ident {
            $(
                $(#[doc = $doc:literal])*
                $field:ident $name:literal: $kind:ty = $default:literal, $bounds:expr;
            )*
        }
    )*) => {
        $(
            $(#[doc = $section_doc])*
            #[derive(Clone, Debug)]
            pub struct $Section {
                $( $(#[doc = $doc])* pub $field: $kind, )*
            }
        )*

        /// The whole configuration, read and checked.
        #[derive(Clone, Debug)]
        pub struct Config {
            $( $(#[doc = $section_doc])* pub $section: $Section, )*
            /// The file that was read, if any.
            pub file: Option<PathBuf>,
            /// Every key with its value as text (secrets masked) and where it came from, in the table's order.
            pub effective: Vec<Effective>,
            /// What is allowed but probably not meant; logged at start, printed by `check-config`.
            pub warnings: Vec<String>,
        }

        /// Every key, section by section.
        pub static KEYS: &[Key] = &[
            $($(
                Key {
                    section: stringify!($section),
                    name: $name,
                    default: $default,
                    unit: <$kind as Setting>::UNIT,
                    bounds: $bounds,
                    doc: concat!($($doc),*),
                },
            )*)*
        ];

        /// Reads every key. `None` where one has a mistake and its default cannot stand in for it either.
        pub(super) fn read(reader: &mut Reader<'_>) -> Option<Config> {
            $(
                let $section = {
                    $( let $field = reader.take::<$kind>(stringify!($section), $name); )*
                    (|| Some($Section { $( $field: $field?, )* }))()
                };
            )*
            Some(Config { $( $section: $section?, )* file: None, effective: Vec::new(), warnings: Vec::new() })
        }
    };
}

/// No bounds beyond those of the kind.
const ANY: Bounds = Bounds::Any;

/// From `least` to `most`, both allowed.
const fn range(least: &'static str, most: &'static str) -> Bounds {
    Bounds::Range { least, most }
}

settings! {
    /// The data port, where clients connect.
    [listen] Listen {
        /// Address and port for clients. Beyond loopback, put TLS in front.
        address "address": SocketAddr = "127.0.0.1:8317", ANY;
    }

    /// The management API (T5).
    [admin] Admin {
        /// Address and port of the management API; opened only where `admin.key` is set.
        address "address": SocketAddr = "127.0.0.1:8318", ANY;
        /// The admin key, 16 to 512 printable ASCII characters. Without it the management API has no TCP port and is
        /// reached through `state.socket` alone.
        key "key": Option<Secret> = "", ANY;
        /// Names under which the management API may be asked, as behind a proxy, besides addresses and `localhost`.
        hosts "hosts": HostNames = "", ANY;
        /// Serve the management API on the data port too; needs `admin.key`.
        management_on_data_port "management-on-data-port": bool = "false", ANY;
    }

    /// What is kept on disk (T2).
    [state] State {
        /// Directory of the database, the lock and the socket; made (0700) where it is missing.
        directory "directory": PathBuf = "$XDG_STATE_HOME/homing", ANY;
        /// The database file.
        database "database": PathBuf = "<state>/homing.db", ANY;
        /// `sqlite`, or `off`: no binding is made, looked up or remembered, as if every request had no identity. For
        /// comparison only.
        store "store": StoreKind = "sqlite", ANY;
        /// Unix socket of the command line, open to the owner alone; at most 100 bytes long.
        socket "socket": PathBuf = "<state>/homing.sock", ANY;
    }

    /// The upstream accounts.
    [accounts] Accounts {
        /// Directory of the auth files: the `auth.json` of the Codex CLI and flat token files.
        directory "directory": PathBuf = "~/.codex", ANY;
        /// Time between two looks at the directory.
        scan_interval "scan-interval": Duration = "2s", range("100ms", "1h");
        /// Least time between the two scans that must both miss an account before its bindings go (B11).
        removal_grace "removal-grace": Duration = "10s", range("1s", "24h");
        /// Where tokens are refreshed. https, except on loopback.
        token_url "token-url": Url = "https://auth.openai.com/oauth/token", ANY;
        /// How long before its expiry an access token is refreshed.
        refresh_before "refresh-before": Duration = "5m", range("1s", "24h");
    }

    /// The Codex service.
    [upstream] Upstream {
        /// Base address; `/responses`, `/models` and so on are appended. https, except on loopback.
        url "url": Url = "https://chatgpt.com/backend-api/codex", ANY;
        /// PEM file of authorities to trust besides the system's.
        ca_file "ca-file": Option<PathBuf> = "", ANY;
        /// Limit for name look-up, TCP and TLS together.
        connect_timeout "connect-timeout": Duration = "10s", range("100ms", "5m");
        /// Limit from the request's last byte to the answer's first.
        head_timeout "head-timeout": Duration = "300s", range("1s", "1h");
        /// Limit between two pieces of an answer.
        idle_timeout "idle-timeout": Duration = "300s", range("1s", "1h");
        /// `client_version` that is sent for `GET /v1/models` where the client sent none.
        client_version "client-version": String = "0.171.0", ANY;
    }

    /// The memory of sessions (spec §2, §3).
    [affinity] Affinity {
        /// Keep the sessions that clients name on their accounts (B16).
        session "session": bool = "true", ANY;
        /// How long a session is kept after its last success.
        ttl "ttl": Duration = "24h", range("60s", "30d");
        /// Most sessions kept in all (B13).
        max_rows "max-rows": u64 = "1000000", range("1", "100000000");
        /// Most sessions kept of one tenant (B13).
        max_rows_per_tenant "max-rows-per-tenant": u64 = "100000", range("1", "100000000");
        /// How long an answer's end waits for its binding to be on disk (B15).
        commit_wait "commit-wait": Duration = "1s", range("1ms", "1m");
    }

    /// Which account serves (spec §4).
    [routing] Routing {
        /// Most accounts tried after the first.
        request_retry "request-retry": u64 = "3", range("0", "7");
        /// Limit for all attempts of one request, until an answer begins.
        request_deadline "request-deadline": Duration = "10m", range("1s", "1h");
        /// Longest time that the opening of a stream is held back, so that an early failure can still move (R3).
        head_hold "head-hold": Duration = "30s", range("0s", "5m");
        /// Wait before the one quick repeat on a session's home (R2).
        quick_retry_delay "quick-retry-delay": Duration = "250ms", range("0ms", "250ms");
    }

    /// Bounds of the data port.
    [limits] Limits {
        /// Largest request body; past it 413.
        body "body": Size = "64MiB", range("1KiB", "1GiB");
        /// Largest sum of all request bodies kept for a repeat; past it 503.
        bodies_total "bodies-total": Size = "512MiB", range("1KiB", "1TiB");
        /// Most client connections at once.
        connections "connections": u64 = "10000", range("1", "1000000");
        /// Limit for a request's head to arrive.
        head_timeout "head-timeout": Duration = "10s", range("100ms", "10m");
        /// Limit between two pieces of a request body.
        body_idle "body-idle": Duration = "30s", range("100ms", "1h");
        /// How long a kept-alive connection may wait for its next request.
        idle "idle": Duration = "75s", range("0s", "1h");
        /// Limit for a client to take a piece of an answer.
        write_idle "write-idle": Duration = "60s", range("100ms", "1h");
        /// How long running requests may go on at shutdown.
        drain "drain": Duration = "30s", range("0s", "1h");
    }

    /// Who may ask.
    [tenants] Tenants {
        /// Admit callers that present the current access token of a loaded account (spec §1).
        compatibility "compatibility": bool = "true", ANY;
    }

    /// Request headers.
    [headers] Headers {
        /// Names of further request headers that go upstream, beyond the allow-list of R6.
        pass "pass": HeaderNames = "", ANY;
    }

    /// The log, on standard error.
    [log] Log {
        /// `text`, or `json` for one object a line.
        format "format": LogFormat = "text", ANY;
        /// `error`, `warn`, `info`, `debug` or `trace`.
        level "level": Level = "info", ANY;
    }
}
