//! The certificate that the daemon shows to clients of the network.

use std::path::PathBuf;

use tokio::sync::watch;

use crate::net::tls::{Certified, TlsConfig, TlsError};

/// The source of the certificate, and the certificate in use.
#[derive(Debug)]
pub(super) struct Certificate {
    config: TlsConfig,
    data_dir: PathBuf,
    /// The names for a self-signed certificate.
    names: Vec<String>,
    in_use: watch::Sender<Certified>,
}

impl Certificate {
    /// Reads the certificate, or makes one for these names.
    pub fn load(config: TlsConfig, names: Vec<String>, data_dir: PathBuf) -> Result<Self, TlsError> {
        let certified = config.load(&data_dir, &names)?;
        Ok(Self {
            config,
            data_dir,
            names,
            in_use: watch::channel(certified).0,
        })
    }

    /// Reads it again, for new connections. If that fails, the old one stays in use.
    pub fn reload(&self) -> Result<(), TlsError> {
        let certified = self.config.load(&self.data_dir, &self.names)?;
        self.in_use.send_replace(certified);
        Ok(())
    }

    /// Returns the certificate in use, and changes of it.
    pub fn subscribe(&self) -> watch::Receiver<Certified> {
        self.in_use.subscribe()
    }

    /// Returns the fingerprint of the certificate in use.
    pub fn fingerprint(&self) -> String {
        self.in_use.borrow().fingerprint.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_that_cannot_be_used_leaves_the_old_one_in_use() {
        let dir = tempfile::tempdir().unwrap();
        let config = TlsConfig {
            self_signed: true,
            ..TlsConfig::default()
        };
        let names = vec!["localhost".to_owned()];
        let certificate = Certificate::load(config, names, dir.path().to_owned()).unwrap();
        let (shown, first) = (certificate.subscribe(), certificate.fingerprint());
        let path = dir.path().join("tls-cert.pem");
        std::fs::write(&path, "no certificate").unwrap();
        assert!(certificate.reload().is_err());
        assert_eq!(certificate.fingerprint(), first);
        assert!(!shown.has_changed().unwrap());

        // A new one is made in the place of one that was removed.
        std::fs::remove_file(&path).unwrap();
        certificate.reload().unwrap();
        assert_ne!(certificate.fingerprint(), first);
        assert_eq!(shown.borrow().fingerprint, certificate.fingerprint());
    }
}
