//! Which servers the client believes to be who they say, and what to tell people about one that it does not.

use crate::failure::wrong;
use anyhow::Result;
use evenhand_live::api::read_certificates;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// Whom to trust: the CAs in a file alone, or else those that this machine trusts.
pub fn trusting(ca: Option<&Path>) -> Result<TlsConfig> {
    let named = ca.map(Path::to_owned).or_else(|| std::env::var_os("EVENHAND_CA").map(PathBuf::from));
    let roots = match named {
        Some(file) => read_certificates(&file).map_err(|error| wrong("--ca", error))?,
        // What cannot be read is not trusted; if nothing is left, the server's certificate is refused.
        None => rustls_native_certs::load_native_certs().certs,
    };
    let roots: Vec<_> = roots.iter().map(|root| Certificate::from_der(root).to_owned()).collect();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(TlsConfig::builder()
        .root_certs(RootCerts::Specific(Arc::new(roots)))
        .unversioned_rustls_crypto_provider(provider)
        .build())
}

/// What to do about a connection that came to nothing.
pub fn advice(error: &ureq::Error) -> &'static str {
    match tls_error(error) {
        Some(rustls::Error::InvalidCertificate(_)) => {
            "its certificate is not trusted. Name the CA that issued it with --ca, or use the name that is in it"
        }
        Some(_) => "it does not speak TLS as we do: should it be http://?",
        None if matches!(error, ureq::Error::Protocol(_)) => {
            "it does not speak plain HTTP: should it be https://?"
        }
        None => "is `evenhand serve` running there?",
    }
}

/// What TLS had to say, if it was TLS.
fn tls_error(error: &ureq::Error) -> Option<&rustls::Error> {
    match error {
        ureq::Error::Rustls(error) => Some(error),
        ureq::Error::Io(error) => error.get_ref()?.downcast_ref(),
        _ => None,
    }
}
