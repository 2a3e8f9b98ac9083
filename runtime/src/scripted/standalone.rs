//! The upstream as a process of its own.

use std::io::{self, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use serde_json::json;

use super::account::AccountSpec;
use super::upstream::{Options, Upstream};

/// Most accounts that can be made at the start.
const MOST_ACCOUNTS: u16 = 1000;

/// Settings of `homing scripted-upstream`.
#[derive(clap::Args, Clone, Debug)]
pub struct StandaloneArgs {
    /// Address to listen on, loopback only; port 0 takes a free one
    #[arg(long, default_value_t = SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))]
    pub listen: SocketAddr,
    /// Accounts to make, named account-1, account-2, ... (at most 1000)
    #[arg(long, default_value_t = 3)]
    pub accounts: u16,
    /// Directory to write one auth file per account into
    #[arg(long)]
    pub auth_dir: Option<PathBuf>,
    /// Output deltas in each answer; without it one for each word
    #[arg(long)]
    pub deltas: Option<u32>,
    /// Requests the log keeps
    #[arg(long, default_value_t = 100_000)]
    pub log: usize,
    /// Gather the events of a stream in few writes (for benchmarks)
    #[arg(long)]
    pub coalesce: bool,
    /// Serve callers without a valid token as the first account
    #[arg(long)]
    pub open: bool,
}

impl Default for StandaloneArgs {
    /// A free port, three accounts, no files.
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            accounts: 3,
            auth_dir: None,
            deltas: None,
            log: 100_000,
            coalesce: false,
            open: false,
        }
    }
}

/// Why the upstream did not start.
#[derive(Debug, thiserror::Error)]
pub enum StandaloneError {
    /// Too many accounts.
    #[error("{0} accounts were asked for; --accounts takes at most {MOST_ACCOUNTS}")]
    TooManyAccounts(u16),
    /// The address cannot be used.
    #[error("cannot listen on {0}: {1}; choose another --listen")]
    Listen(SocketAddr, io::Error),
    /// An auth file cannot be written.
    #[error("cannot write an auth file into {0}: {1}; choose another --auth-dir")]
    AuthDir(PathBuf, io::Error),
    /// The first line cannot be written.
    #[error("cannot write to the standard output: {0}")]
    Output(io::Error),
}

/// Starts an upstream, prints one JSON line (`url`, `token_url`, `control_url`, `accounts`) and serves until the
/// process is ended.
///
/// # Errors
/// See [`StandaloneError`].
pub fn run_standalone(args: &StandaloneArgs) -> Result<(), StandaloneError> {
    let upstream = begin(args)?;
    upstream.serve_forever();
    Ok(())
}

/// Everything but the serving.
fn begin(args: &StandaloneArgs) -> Result<Upstream, StandaloneError> {
    if args.accounts > MOST_ACCOUNTS {
        return Err(StandaloneError::TooManyAccounts(args.accounts));
    }
    let options = Options {
        listen: args.listen,
        log_capacity: args.log,
        deltas: args.deltas,
        coalesce: args.coalesce,
        open: args.open,
        ..Options::default()
    };
    let upstream = Upstream::start(options).map_err(|e| StandaloneError::Listen(args.listen, e))?;
    let mut names = Vec::new();
    for number in 1..=args.accounts {
        let name = format!("account-{number}");
        let account = upstream.add_account(AccountSpec::named(&name));
        if let Some(dir) = &args.auth_dir {
            let written = account.write_auth_file(dir, &format!("{name}.json"));
            written.map_err(|e| StandaloneError::AuthDir(dir.clone(), e))?;
        }
        names.push(name);
    }
    let line = json!({
        "url": upstream.url(),
        "token_url": upstream.token_url(),
        "control_url": format!("http://{}/_script", upstream.addr()),
        "accounts": names,
    });
    let mut out = io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(StandaloneError::Output)?;
    Ok(upstream)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_makes_the_accounts_and_their_files() {
        let dir = tempfile::tempdir().unwrap();
        let auth_dir = Some(dir.path().join("auth"));
        let upstream = begin(&StandaloneArgs { accounts: 2, auth_dir, ..StandaloneArgs::default() }).unwrap();
        let names: Vec<_> =
            std::fs::read_dir(dir.path().join("auth")).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names.len(), 2);
        assert!(upstream.account("account-2").is_some());
    }

    #[test]
    fn what_stops_it_is_named() {
        let taken = Upstream::start(Options::default()).unwrap();
        let error = begin(&StandaloneArgs { listen: taken.addr(), ..StandaloneArgs::default() }).unwrap_err();
        assert!(error.to_string().contains(&taken.addr().to_string()), "{error}");
        assert!(matches!(
            begin(&StandaloneArgs { accounts: 1001, ..StandaloneArgs::default() }),
            Err(StandaloneError::TooManyAccounts(1001))
        ));
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        let args = StandaloneArgs { auth_dir: Some(file), ..StandaloneArgs::default() };
        assert!(matches!(begin(&args), Err(StandaloneError::AuthDir(..))));
    }
}
