//! A certificate and its key, so that nobody on the way can read tokens and jobs.

use rustls::ServerConfig;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;
use tokio_rustls::TlsAcceptor;

/// What it takes to speak TLS.
#[derive(Clone)]
pub struct Tls {
    pub(super) acceptor: TlsAcceptor,
}

/// Why TLS cannot be spoken with these files.
#[derive(Debug, Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("{} cannot be read: {source}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What came back.
        source: std::io::Error,
    },
    /// A file holds something else.
    #[error("{} has no {what} in it: a PEM file with one is expected", .path.display())]
    Missing {
        /// Which.
        path: PathBuf,
        /// What is looked for.
        what: &'static str,
    },
    /// A file is cut off or garbled.
    #[error("{} cannot be understood as PEM: {reason}", .path.display())]
    Garbled {
        /// Which.
        path: PathBuf,
        /// Where it goes wrong.
        reason: String,
    },
    /// The key is that of another certificate.
    #[error("the key in {} does not belong to the certificate in {}", .key.display(), .certificate.display())]
    Mismatch {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
    },
    /// The certificate or the key is of a kind that is not known.
    #[error("{} and {} cannot be used: {source}", .certificate.display(), .key.display())]
    Unusable {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
        /// What is wrong with them.
        source: rustls::Error,
    },
}

impl Tls {
    /// Speaks TLS 1.2 and 1.3 with the certificate in a file, and with those in it that lead to its CA; its key is in another. Both are PEM.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        let chain = read_certificates(certificate)?;
        let secret = PrivateKeyDer::from_pem_slice(&read(key)?)
            .map_err(|error| not_there(key, "private key", error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let unusable = |source| {
            let (certificate, key) = (certificate.to_owned(), key.to_owned());
            match source {
                rustls::Error::InconsistentKeys(_) => TlsError::Mismatch { certificate, key },
                source => TlsError::Unusable { certificate, key, source },
            }
        };
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, secret))
            .map_err(unusable)?;
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)) })
    }
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The key is in it.
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}

/// All certificates of a PEM file, at least one.
pub fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let what = "certificate";
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read(path)?).collect();
    let found = found.map_err(|error| not_there(path, what, error))?;
    if found.is_empty() {
        return Err(TlsError::Missing { path: path.to_owned(), what });
    }
    Ok(found)
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(path).map_err(|source| TlsError::File { path: path.to_owned(), source })
}

fn not_there(path: &Path, what: &'static str, error: pem::Error) -> TlsError {
    let path = path.to_owned();
    match error {
        pem::Error::NoItemsFound => TlsError::Missing { path, what },
        error => TlsError::Garbled { path, reason: error.to_string() },
    }
}
