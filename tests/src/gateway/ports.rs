//! Ports that a gateway can have again after a restart.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU32, Ordering};

/// Below the range from which systems take the ports of outgoing connections: nobody gets one by chance while the
/// gateway is down.
const FIRST: u32 = 12_000;
const COUNT: u32 = 18_000;

/// A loopback address that nobody listens on now. Each call in a process gives another one.
pub(super) fn free() -> SocketAddr {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    for _ in 0..COUNT {
        // Test programs that run at the same time start far from each other.
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        let offset = std::process::id().wrapping_mul(7919).wrapping_add(step) % COUNT;
        let port = u16::try_from(FIRST + offset).unwrap_or(u16::MAX);
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        if TcpListener::bind(address).is_ok() {
            return address;
        }
    }
    panic!("no port is free");
}
