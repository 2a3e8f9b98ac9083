//! What a gateway of the harness is made of.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use homing::scripted::{AccountSpec, Options, Upstream};

use super::{ADMIN_KEY, Gateway, must, ports};

/// Starts that may fail because another process took the port meanwhile.
const STARTS: u32 = 5;

/// A gateway in the making.
pub struct Builder {
    accounts: Vec<AccountSpec>,
    upstream: Options,
    sections: BTreeMap<String, String>,
}

impl Builder {
    pub(super) fn new(names: &[&str]) -> Self {
        let accounts = names.iter().map(|name| AccountSpec::named(name)).collect();
        Self { accounts, upstream: Options::default(), sections: BTreeMap::new() }
    }

    /// Adds an account that is more than a name.
    #[must_use]
    pub fn account(mut self, spec: AccountSpec) -> Self {
        self.accounts.push(spec);
        self
    }

    /// Starts the upstream so.
    #[must_use]
    pub fn upstream(mut self, options: Options) -> Self {
        self.upstream = options;
        self
    }

    /// Adds lines to a section of `homing.toml`, e.g. `("routing", "request-retry = 1")`. A key that the harness sets
    /// itself (addresses, directories, the admin key) is replaced.
    #[must_use]
    pub fn toml(mut self, section: &str, lines: &str) -> Self {
        let text = self.sections.entry(section.to_owned()).or_default();
        text.push_str(lines);
        text.push('\n');
        self
    }

    /// Writes the files and starts the upstream, but not the gateway.
    pub fn prepare(self) -> Gateway {
        let directory = must(tempfile::tempdir(), "cannot make a temporary directory");
        let upstream = must(Upstream::start(self.upstream.clone()), "cannot start the scripted upstream");
        let mut gateway = Gateway { directory, upstream, addr: ports::free(), admin: ports::free(), child: None };
        must(std::fs::create_dir(gateway.auth_dir()), "cannot make the auth directory");
        for spec in &self.accounts {
            gateway.upstream.add_account(spec.clone());
            gateway.write_auth_file(&spec.name);
        }
        self.write_config(&mut gateway);
        gateway
    }

    /// Writes the files, starts everything, and waits until the gateway answers.
    pub fn start(self) -> Gateway {
        let again = Self { accounts: Vec::new(), upstream: Options::default(), sections: self.sections.clone() };
        let mut gateway = self.prepare();
        for _ in 0..STARTS {
            gateway.spawn();
            let Err(status) = gateway.until_healthy() else { return gateway };
            let taken = gateway.log().contains("cannot be opened");
            assert!(taken, "the gateway ended with {status} instead of starting:\n{}", gateway.log());
            again.write_config(&mut gateway);
        }
        panic!("the gateway found no port:\n{}", gateway.log());
    }

    /// Gives the gateway new ports and writes its configuration.
    fn write_config(&self, gateway: &mut Gateway) {
        (gateway.addr, gateway.admin) = (ports::free(), ports::free());
        let text = self.config(gateway.addr, gateway.admin, &gateway.upstream);
        write(&gateway.config(), &text);
    }

    fn config(&self, addr: std::net::SocketAddr, admin: std::net::SocketAddr, upstream: &Upstream) -> String {
        let own = [
            ("listen", "address", addr.to_string()),
            ("admin", "address", admin.to_string()),
            ("admin", "key", ADMIN_KEY.to_owned()),
            ("state", "directory", "state".to_owned()),
            ("accounts", "directory", "auth".to_owned()),
            ("accounts", "token-url", upstream.token_url()),
            ("upstream", "url", upstream.url()),
        ];
        let mut sections: BTreeMap<&str, String> = BTreeMap::new();
        for (section, lines) in &self.sections {
            sections.insert(section, lines.clone());
        }
        for (section, key, value) in &own {
            let text = sections.entry(section).or_default();
            let is_set = text.lines().any(|line| line.split('=').next().is_some_and(|name| name.trim() == *key));
            if !is_set {
                let _ = writeln!(text, "{key} = \"{value}\"");
            }
        }
        sections.iter().map(|(section, lines)| format!("[{section}]\n{lines}")).collect()
    }
}

fn write(path: &Path, text: &str) {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(path);
    must(file.and_then(|mut file| file.write_all(text.as_bytes())), "cannot write the configuration");
}
