//! Trust in one certificate by its fingerprint, regardless of its issuer.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, SignatureScheme};

/// SHA-256 of a certificate, as `acpd serve` prints it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

/// Error for a text that is not a fingerprint.
#[derive(Debug, thiserror::Error)]
#[error("a fingerprint is sha256: and 64 hexadecimal digits, as \"acpd serve\" prints it")]
pub struct BadFingerprint;

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", acpd_server::auth::owner_token::hex(&self.0))
    }
}

impl FromStr for Fingerprint {
    type Err = BadFingerprint;

    /// Also accepts the format of openssl: upper case, with colons.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim().to_ascii_lowercase();
        let text = text.strip_prefix("sha256:").unwrap_or(&text);
        let digits: Vec<u8> = text
            .chars()
            .filter(|c| *c != ':')
            .map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
            .collect::<Option<_>>()
            .ok_or(BadFingerprint)?;
        let bytes: Vec<u8> = digits
            .chunks(2)
            .map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit))
            .collect();
        if digits.len() != 64 {
            return Err(BadFingerprint);
        }
        bytes.try_into().map(Self).map_err(|_| BadFingerprint)
    }
}

/// Accepts exactly one certificate, for any server name. The handshake signature still proves that the server owns the
/// key.
#[derive(Debug)]
pub struct Pinned {
    pin: Fingerprint,
    provider: Arc<CryptoProvider>,
}

impl Pinned {
    /// Accepts only the certificate with this fingerprint.
    pub fn new(pin: Fingerprint, provider: Arc<CryptoProvider>) -> Self {
        Self { pin, provider }
    }
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let shown = acpd_server::net::tls::fingerprint(end_entity);
        match shown.parse() {
            Ok(parsed) if self.pin == parsed => Ok(ServerCertVerified::assertion()),
            _ => Err(Error::General(format!(
                "its certificate has the fingerprint {shown}, not {}",
                self.pin
            ))),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(
            message,
            cert,
            dss,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(
            message,
            cert,
            dss,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_read_however_it_is_written() {
        let plain = "ab".repeat(32);
        let fingerprint: Fingerprint = format!("sha256:{plain}").parse().unwrap();
        assert_eq!(fingerprint, Fingerprint([0xab; 32]));
        let colons = vec!["AB"; 32].join(":");
        for text in [&plain, &colons, &format!("SHA256:{colons}")] {
            assert_eq!(text.parse::<Fingerprint>().unwrap(), fingerprint, "{text}");
            assert_eq!(fingerprint.to_string(), format!("sha256:{plain}"));
        }
        for text in [
            "",
            "sha256:",
            &plain[1..],
            &format!("{plain}a"),
            &format!("{plain}ab"),
            &"x".repeat(64),
        ] {
            assert!(text.parse::<Fingerprint>().is_err(), "{text}");
        }
    }
}
