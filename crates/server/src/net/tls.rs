//! Certificates: configured ones, and self-signed ones that the daemon creates.

use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::auth::owner_token::hex;
use acpd_files::data_files::{TLS_CERT, TLS_KEY};
use acpd_files::private_file;

/// Largest certificate chain, or private key, in bytes.
const CERTIFICATE_BYTES: u64 = 1 << 20;

/// The source of the certificate and the key (`[server.tls]`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TlsConfig {
    /// The path of the certificate chain, as PEM.
    pub cert: Option<PathBuf>,
    /// The path of the key, as PEM.
    pub key: Option<PathBuf>,
    /// Replaces `cert` and `key` by a self-signed certificate, for development or for pinning.
    pub self_signed: bool,
}

/// An error of setting up TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The configuration has both kinds of certificate, or only a part of one.
    #[error("[server.tls] requires cert and key, or self_signed = true")]
    Config,
    /// A file cannot be used.
    #[error("{path} cannot be used for TLS: {reason}")]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The reason, without any content of a key.
        reason: String,
    },
}

/// A certificate in use.
#[derive(Debug, Clone)]
pub struct Certified {
    /// The configuration of new connections.
    pub config: Arc<ServerConfig>,
    /// The SHA-256 of the certificate, which a client can pin.
    pub fingerprint: String,
}

/// Returns the fingerprint of a certificate: `sha256:` and 64 hexadecimal digits.
pub fn fingerprint(certificate: &[u8]) -> String {
    format!("sha256:{}", hex(&Sha256::digest(certificate)))
}

impl TlsConfig {
    /// Returns the paths of the certificate and the key.
    pub fn files(&self, data_dir: &Path) -> Result<(PathBuf, PathBuf), TlsError> {
        match (&self.cert, &self.key, self.self_signed) {
            (Some(cert), Some(key), false) => Ok((cert.clone(), key.clone())),
            (None, None, true) => Ok((TLS_CERT.path(data_dir), TLS_KEY.path(data_dir))),
            _ => Err(TlsError::Config),
        }
    }

    /// Loads the certificate and the key. Creates a missing self-signed certificate for the names of this host and `names`.
    pub fn load(&self, data_dir: &Path, names: &[String]) -> Result<Certified, TlsError> {
        let (cert, key) = self.files(data_dir)?;
        if self.self_signed && !(cert.exists() && key.exists()) {
            make(&cert, &key, names)?;
        }
        read(&cert, &key, self.self_signed)
    }
}

fn fail(path: &Path) -> impl FnOnce(&dyn std::fmt::Display) -> TlsError {
    move |reason| TlsError::File {
        path: path.to_owned(),
        reason: reason.to_string(),
    }
}

fn make(cert: &Path, key: &Path, names: &[String]) -> Result<(), TlsError> {
    let mut all = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    all.extend(names.iter().cloned());
    all.sort_unstable();
    all.dedup();
    let made = rcgen::generate_simple_self_signed(all).map_err(|error| fail(cert)(&error))?;
    // The key first. A certificate without its key is unusable, and the next start creates both again.
    private_file::replace(key, made.signing_key.serialize_pem().as_bytes())
        .map_err(|error| fail(key)(&error))?;
    private_file::replace(cert, made.cert.pem().as_bytes()).map_err(|error| fail(cert)(&error))
}

/// With `own`, the daemon has created the key, so no other user may have access to it. Users decide on the access to a
/// configured key.
fn read(cert: &Path, key: &Path, own: bool) -> Result<Certified, TlsError> {
    let bytes = |path: &Path| {
        let size = std::fs::metadata(path).map_err(|error| fail(path)(&error))?;
        if size.len() > CERTIFICATE_BYTES {
            return Err(fail(path)(&"it is too large"));
        }
        std::fs::read(path).map_err(|error| fail(path)(&error))
    };
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&bytes(cert)?)
        .collect::<Result<_, _>>()
        .map_err(|error| fail(cert)(&error))?;
    let Some(first) = chain.first() else {
        return Err(fail(cert)(&"it holds no certificate"));
    };
    let fingerprint = fingerprint(first);
    if std::fs::metadata(key).is_ok_and(|key| key.mode() & 0o007 != 0) {
        tracing::warn!(path = %key.display(), "every user of this machine can reach the key of the certificate");
    }
    // Errors about a key must not contain any part of the key.
    let secret = if own {
        let secret = private_file::read(key, CERTIFICATE_BYTES).map_err(|error| fail(key)(&error))?;
        secret.ok_or_else(|| fail(key)(&"it is gone"))?
    } else {
        bytes(key)?
    };
    let secret = PrivateKeyDer::from_pem_slice(&secret).map_err(|_| fail(key)(&"it holds no private key"))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, secret))
        .map_err(|error| fail(cert)(&error))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Certified {
        config: Arc::new(config),
        fingerprint,
    })
}

/// Returns the names for a self-signed certificate, in addition to the names of this host.
pub fn names<'a>(
    hosts: impl Iterator<Item = &'a str>,
    addresses: impl Iterator<Item = IpAddr>,
) -> Vec<String> {
    let hosts = hosts.map(|host| host.trim_matches(['[', ']']).to_owned());
    let addresses = addresses.filter(|address| !address.is_unspecified());
    hosts
        .chain(addresses.map(|address| address.to_string()))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn one_is_made_once_and_its_key_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let config = TlsConfig {
            self_signed: true,
            ..TlsConfig::default()
        };
        let first = config.load(dir.path(), &["box.example".to_owned()]).unwrap();
        let again = config.load(dir.path(), &[]).unwrap();
        assert_eq!(first.fingerprint, again.fingerprint);
        assert_eq!(first.fingerprint.len(), "sha256:".len() + 64);
        for name in ["tls-cert.pem", "tls-key.pem"] {
            let mode = std::fs::metadata(dir.path().join(name))
                .unwrap()
                .permissions()
                .mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
    }

    #[test]
    fn an_incomplete_certificate_is_reported_without_the_key() {
        let dir = tempfile::tempdir().unwrap();
        let own = TlsConfig {
            self_signed: true,
            ..TlsConfig::default()
        };
        own.load(dir.path(), &[]).unwrap();
        let (cert, key) = own.files(dir.path()).unwrap();
        let given = |cert: &Path, key: &Path| TlsConfig {
            cert: Some(cert.to_owned()),
            key: Some(key.to_owned()),
            self_signed: false,
        };
        given(&cert, &key).load(dir.path(), &[]).unwrap();
        for both in [
            TlsConfig::default(),
            TlsConfig {
                self_signed: true,
                ..given(&cert, &key)
            },
        ] {
            assert!(matches!(both.load(dir.path(), &[]), Err(TlsError::Config)));
        }
        let swapped = given(&key, &cert).load(dir.path(), &[]).unwrap_err().to_string();
        assert!(
            swapped.contains("tls-key.pem") && swapped.contains("no certificate"),
            "{swapped}"
        );
        std::fs::write(
            &key,
            "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n",
        )
        .unwrap();
        let broken = given(&cert, &key).load(dir.path(), &[]).unwrap_err().to_string();
        assert!(!broken.contains("c2VjcmV0"), "{broken}");
    }
}
