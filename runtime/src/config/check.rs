//! What is right key by key and still cannot be meant together.

use std::{net::SocketAddr, path::Path};

use super::{Config, Place, duration_text, reader::Reader};

/// Longest path of a Unix socket in bytes that every system takes, with room for the name it is first bound under.
const LONGEST_SOCKET: usize = 100;

/// Adds a mistake for each impossible combination.
pub(super) fn combinations(config: &Config, reader: &mut Reader<'_>) {
    addresses(config, reader);
    amounts(config, reader);
    times(config, reader);
    let socket = config.state.socket.as_os_str().len();
    if socket > LONGEST_SOCKET {
        let keys = [("state", "socket"), ("state", "directory")];
        let text = format!(
            "state.socket: a path of {socket} bytes, and a socket's may have {LONGEST_SOCKET}; set state.socket to a shorter one"
        );
        reader.conflict(&keys, text);
    }
    if config.state.socket == config.state.database {
        let keys = [("state", "socket"), ("state", "database")];
        reader.conflict(&keys, "state.socket and state.database name the same file; choose two".into());
    }
}

fn addresses(config: &Config, reader: &mut Reader<'_>) {
    let (data, admin) = (config.listen.address, config.admin.address);
    if overlap(data, admin) {
        let text = format!("listen.address {data} and admin.address {admin} overlap; choose another port for one");
        reader.conflict(&[("admin", "address"), ("listen", "address")], text);
    }
    if config.admin.management_on_data_port && config.admin.key.is_none() {
        let text = "admin.management-on-data-port is true and admin.key is not set; set a key, as the management API \
                    is never open without one"
            .to_owned();
        reader.conflict(&[("admin", "management-on-data-port"), ("admin", "key")], text);
    }
    let urls = [("upstream", "url", &config.upstream.url), ("accounts", "token-url", &config.accounts.token_url)];
    for (section, name, url) in urls {
        if url.is_loopback() && data.port() != 0 && url.port() == Some(data.port()) {
            let text = format!(
                "{section}.{name} {url:?} is the gateway's own listen.address {data}; name the service behind it"
            );
            reader.conflict(&[(section, name), ("listen", "address")], text);
        }
    }
}

/// Whether two listeners would claim the same port. Port 0 is a free one each time.
fn overlap(a: SocketAddr, b: SocketAddr) -> bool {
    let meets = a.ip() == b.ip() || a.ip().is_unspecified() || b.ip().is_unspecified();
    a.port() != 0 && a.port() == b.port() && meets
}

fn amounts(config: &Config, reader: &mut Reader<'_>) {
    let affinity = &config.affinity;
    if affinity.max_rows_per_tenant > affinity.max_rows {
        let text = format!(
            "affinity.max-rows-per-tenant {} is above affinity.max-rows {}; lower the first or raise the second",
            affinity.max_rows_per_tenant, affinity.max_rows
        );
        reader.conflict(&[("affinity", "max-rows-per-tenant"), ("affinity", "max-rows")], text);
    }
    let limits = &config.limits;
    if limits.body > limits.bodies_total {
        let text = format!(
            "limits.body {} is above limits.bodies-total {}, so the largest bodies could never be served; lower the first or raise the second",
            limits.body, limits.bodies_total
        );
        reader.conflict(&[("limits", "body"), ("limits", "bodies-total")], text);
    }
}

fn times(config: &Config, reader: &mut Reader<'_>) {
    let deadline = config.routing.request_deadline;
    let parts = [
        ("upstream", "connect-timeout", config.upstream.connect_timeout),
        ("upstream", "head-timeout", config.upstream.head_timeout),
        ("routing", "head-hold", config.routing.head_hold),
    ];
    for (section, name, part) in parts {
        // A default is simply cut short by the deadline; a value that was chosen would silently not hold.
        if part > deadline && reader.place(section, name) != Place::Default {
            let text = format!(
                "{section}.{name} {} is longer than routing.request-deadline {}, which holds all attempts; lower the first or raise the second",
                duration_text(part),
                duration_text(deadline)
            );
            reader.conflict(&[(section, name), ("routing", "request-deadline")], text);
        }
    }
}

/// What is allowed but worth a word. `file` is the whole path of the file.
pub(super) fn warnings(config: &Config, file: Option<&Path>) -> Vec<String> {
    let mut warnings = Vec::new();
    let data = config.listen.address;
    if !data.ip().is_loopback() {
        warnings.push(format!("listen.address {data} is not loopback: put TLS in front, keys travel in the clear"));
    }
    let admin = config.admin.address;
    if config.admin.key.is_some() && !admin.ip().is_loopback() {
        warnings.push(format!(
            "admin.address {admin} is not loopback: put TLS in front, the admin key travels in the clear"
        ));
    }
    if let Some(file) = file.filter(|file| config.admin.key.is_some() && readable_by_others(file)) {
        let file = file.display();
        warnings.push(format!("{file} may be read by other users and a key may stand in it: `chmod 600 {file}`"));
    }
    warnings
}

/// Whether the group or others may read the file.
fn readable_by_others(file: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(file).is_ok_and(|facts| facts.mode() & 0o044 != 0)
}
