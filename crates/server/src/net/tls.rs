//! Certificates: those of the configuration, or one that the daemon makes for itself.

use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use acpd_model::limits::CERTIFICATE_BYTES;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::auth::owner_token::hex;
use crate::http::host_check::AllowedHosts;
use acpd_runtime::private_file;

/// Where certificate and key come from (`[server.tls]`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TlsConfig {
    /// The certificate and those that vouch for it, as PEM.
    pub cert: Option<PathBuf>,
    /// Its key, as PEM.
    pub key: Option<PathBuf>,
    /// Instead: one that the daemon makes, for development or to be pinned.
    pub self_signed: bool,
}

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The configuration says both, or half.
    #[error("[server.tls] wants cert and key, or self_signed = true")]
    Config,
    /// A file cannot be used.
    #[error("{path} cannot be used for TLS: {reason}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

/// A certificate in use.
#[derive(Debug, Clone)]
pub struct Certified {
    /// What connections are accepted with.
    pub config: Arc<ServerConfig>,
    /// SHA-256 of the certificate, as a client may pin it.
    pub fingerprint: String,
}

/// The fingerprint of a certificate: `sha256:` and 64 hexadecimal digits.
pub fn fingerprint(certificate: &[u8]) -> String {
    format!("sha256:{}", hex(&Sha256::digest(certificate)))
}

impl TlsConfig {
    /// The files that certificate and key are read from.
    pub fn files(&self, data_dir: &Path) -> Result<(PathBuf, PathBuf), TlsError> {
        match (&self.cert, &self.key, self.self_signed) {
            (Some(cert), Some(key), false) => Ok((cert.clone(), key.clone())),
            (None, None, true) => Ok((data_dir.join("tls-cert.pem"), data_dir.join("tls-key.pem"))),
            _ => Err(TlsError::Config),
        }
    }

    /// Reads them. A self-signed certificate is made when there is none, for this machine's names and `names`.
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
    let made = rcgen::generate_simple_self_signed(all).map_err(|error| fail(cert)(&error))?;
    // The key first: a certificate alone is of no use, and is made anew.
    private_file::replace(key, made.signing_key.serialize_pem().as_bytes())
        .map_err(|error| fail(key)(&error))?;
    private_file::replace(cert, made.cert.pem().as_bytes()).map_err(|error| fail(cert)(&error))
}

/// `own`: the key is the daemon's, so nobody else may have it; who may have a configured one is not ours to say.
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
    // What is wrong with a key is told without any of it.
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

/// The names that a self-signed certificate has besides this machine's own.
pub fn names(hosts: &AllowedHosts, listen: IpAddr) -> Vec<String> {
    let mut names: Vec<String> = hosts
        .hosts()
        .map(|host| host.trim_matches(['[', ']']).to_owned())
        .collect();
    if !listen.is_unspecified() {
        names.push(listen.to_string());
    }
    names
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
    fn what_is_half_or_broken_is_said_without_the_key() {
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
