//! TLS to an upstream: rustls with ring, the system's roots, HTTP/1.1 only.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_rustls::TlsConnector;
use futures_rustls::rustls::pki_types::{CertificateDer, InvalidDnsNameError, ServerName};
use futures_rustls::rustls::{self, ClientConfig, RootCertStore, crypto::ring};

/// Why TLS could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The extra CA file cannot be read.
    #[error("cannot read the CA file {path}: {source}; give a readable PEM file")]
    CaFile {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
    /// The extra CA file has no usable certificate.
    #[error("the CA file {0} holds no usable PEM certificate")]
    NoCertificate(PathBuf),
    /// The system has no root certificates and no extra file was given.
    #[error("no root certificates were found; install the system's ca-certificates or set an extra CA file")]
    NoRoots,
    /// rustls refused the set-up.
    #[error("TLS cannot be set up: {0}")]
    Setup(#[from] rustls::Error),
}

/// The TLS side of a connector. Loading the system's roots takes some milliseconds: make one and clone it.
#[derive(Clone)]
pub struct ClientTls(TlsConnector);

impl ClientTls {
    /// Trusts the system's roots, and the certificates of the PEM file `extra_ca` besides.
    ///
    /// # Errors
    /// A CA file that cannot be used, or no root at all.
    pub fn system(extra_ca: Option<&Path>) -> Result<Self, TlsError> {
        let mut roots = RootCertStore::empty();
        // What the system has and rustls cannot read is left out, as every other client does.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if let Some(path) = extra_ca {
            add_file(&mut roots, path)?;
        }
        Self::with_roots(roots)
    }

    /// Trusts the certificates of the PEM file `ca` only.
    ///
    /// # Errors
    /// As `system`.
    pub fn only(ca: &Path) -> Result<Self, TlsError> {
        let mut roots = RootCertStore::empty();
        add_file(&mut roots, ca)?;
        Self::with_roots(roots)
    }

    fn with_roots(roots: RootCertStore) -> Result<Self, TlsError> {
        if roots.is_empty() {
            return Err(TlsError::NoRoots);
        }
        // The provider is named here, so that no other crate's choice of a process-wide one matters.
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self(TlsConnector::from(Arc::new(config))))
    }

    pub(crate) fn connector(&self) -> &TlsConnector {
        &self.0
    }
}

impl std::fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ClientTls")
    }
}

pub(crate) fn server_name(host: &str) -> Result<ServerName<'static>, InvalidDnsNameError> {
    ServerName::try_from(host.to_owned())
}

fn add_file(roots: &mut RootCertStore, path: &Path) -> Result<(), TlsError> {
    let failed = |source| TlsError::CaFile { path: path.to_owned(), source };
    let pem = std::fs::read(path).map_err(failed)?;
    let certificates = rustls_pemfile::certs(&mut pem.as_slice())
        .collect::<Result<Vec<CertificateDer<'static>>, _>>()
        .map_err(failed)?;
    let (added, _) = roots.add_parsable_certificates(certificates);
    if added == 0 {
        return Err(TlsError::NoCertificate(path.to_owned()));
    }
    Ok(())
}
