//! HTTP/1.1 on the wire: heads, framing, connections, TLS, the keep-alive pool.
