//! What hinders the start of a daemon, and what to do about it.
//!
//! In: the settings, facts about this host, and the error of a start. Out: hindrances. Owns: their words, which `acpd serve`,
//! `acpd doctor` and the commands that start a daemon share. Never: changes a file, or keeps an address.

mod address;
mod data;
mod hindrance;
mod holder;
mod secrets;

use std::io;
use std::path::Path;

use acpd_log::LogError;
use acpd_server::StartError;

pub use self::address::{Address, State as AddressState, addresses, unsuitable};
pub use self::data::{Data, Log, State as DataState};
pub use self::hindrance::Hindrance;
pub use self::secrets::unusable;
use super::daemon_file::DaemonFile;
use crate::settings::Settings;

/// Returns the first hindrance with which a daemon is not even started: it would be refused, or damage the log. What may change until
/// the daemon needs it, such as a free address, is known by trying.
pub fn preflight(settings: &Settings) -> Option<Hindrance> {
    let found = Data::of(settings).hindrances().into_iter();
    found.chain(unsuitable(settings)).find(Hindrance::is_certain)
}

/// Returns the same for the data directory alone: a daemon in the background may have options that permit an address.
pub fn preflight_of_data(settings: &Settings) -> Option<Hindrance> {
    Data::of(settings)
        .hindrances()
        .into_iter()
        .find(Hindrance::is_certain)
}

/// Returns what hinders writing to the data directory.
pub fn unwritable(data_dir: &Path) -> Option<Hindrance> {
    data::unwritable(data_dir)
}

/// Adds what hinders writing to an error, if anything does.
pub fn explained(error: anyhow::Error, data_dir: &Path) -> anyhow::Error {
    match unwritable(data_dir) {
        Some(hindrance) => anyhow::anyhow!("{error:#}; {hindrance}"),
        None => error,
    }
}

/// Returns the error of a data directory that could not be created, or is not private.
pub fn data_dir_error(data_dir: &Path, source: &io::Error) -> anyhow::Error {
    match unwritable(data_dir) {
        Some(hindrance) => hindrance.error(),
        None => anyhow::anyhow!(
            "the data directory {} cannot be used: {source}",
            data_dir.display()
        ),
    }
}

/// Returns the error of a start that failed, as what hindered it where that is known.
pub fn explain(error: StartError, settings: &Settings) -> anyhow::Error {
    let data_dir = &settings.daemon.data_dir;
    let hindrance = match &error {
        StartError::NotLoopback(address) => Hindrance::NoTls(*address),
        StartError::Listen { address, source } => match address::refused(settings, *address, source) {
            Some(hindrance) => hindrance,
            None => return error.into(),
        },
        StartError::Host(wrong) => Hindrance::Host {
            reason: wrong.to_string(),
            config: settings.config_path.clone(),
        },
        StartError::Tls(wrong) => {
            let tls = settings.daemon.server.tls.clone().unwrap_or_default();
            let hindrance = Hindrance::of_tls(&tls, wrong);
            // The daemon could not write its own certificate.
            if matches!(hindrance, Hindrance::Tls { is_own: true, .. }) && unwritable(data_dir).is_some() {
                return explained(error.into(), data_dir);
            }
            hindrance
        }
        StartError::Log(LogError::Newer { path, version, known }) => Hindrance::NewerLog {
            path: path.into(),
            version: *version,
            known: *known,
        },
        StartError::Log(LogError::InUse(path)) => Hindrance::LogInUse {
            path: path.into(),
            other: DaemonFile::read(data_dir)
                .ok()
                .map(|notice| (notice.pid, notice.address())),
            stop: settings.own_command("stop"),
        },
        StartError::DataDir { path, source } => return data_dir_error(path, source),
        // The error says itself what to do.
        StartError::Log(LogError::NoSpace { .. }) => return error.into(),
        _ => match (unwritable(data_dir), secrets::of_error(&error, data_dir)) {
            (None, Some(hindrance)) => hindrance,
            _ => return explained(error.into(), data_dir),
        },
    };
    hindrance.error()
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use acpd_server::net::tls::TlsConfig;

    use super::*;
    use crate::options::Common;

    #[test]
    fn the_advice_about_a_certificate_fits_its_maker() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        std::fs::create_dir(&data).unwrap();
        std::fs::set_permissions(&data, Permissions::from_mode(0o700)).unwrap();
        let config = dir.path().join("acpd.toml");
        let explained = |text: &str| {
            std::fs::write(&config, format!("[server.tls]\n{text}")).unwrap();
            let common = Common {
                config: Some(config.clone()),
                data_dir: Some(data.clone()),
                ..Common::default()
            };
            let settings = Settings::load(&common).unwrap().checked().unwrap();
            let tls = settings.daemon.server.tls.clone().unwrap();
            let error = tls.load(&data, &[]).unwrap_err();
            explain(error.into(), &settings).to_string()
        };
        let in_configuration = "correct cert and key of [server.tls] in the configuration";
        let own = "remove tls-cert.pem and tls-key.pem from the data directory: the daemon makes others, with a new fingerprint";
        for half in ["", "cert = 'x'\n", "self_signed = true\ncert = 'x'\nkey = 'y'\n"] {
            let words = explained(half);
            assert!(
                words.contains("requires cert and key, or self_signed = true"),
                "{words}"
            );
            assert!(words.ends_with(in_configuration), "{words}");
        }
        let words = explained("cert = 'x'\nkey = 'y'\n");
        assert!(words.ends_with(in_configuration), "{words}");
        let made = TlsConfig {
            self_signed: true,
            ..TlsConfig::default()
        };
        made.load(&data, &[]).unwrap();
        let cert = data.join("tls-cert.pem");
        let key = data.join("tls-key.pem");
        let open = |mode: u32| std::fs::set_permissions(&key, Permissions::from_mode(mode)).unwrap();
        open(0o644);
        let words = explained("self_signed = true\n");
        assert!(words.contains("chmod 600") && words.ends_with(own), "{words}");
        open(0o600);
        let pem = std::fs::read(&cert).unwrap();
        for damaged in [&b""[..], &pem[..pem.len() / 2]] {
            std::fs::write(&cert, damaged).unwrap();
            let words = explained("self_signed = true\n");
            assert!(words.contains("tls-cert.pem cannot be used for TLS"), "{words}");
            assert!(words.ends_with(own), "{words}");
        }
        // A directory that cannot be used explains it, and not what the daemon made there.
        std::fs::set_permissions(&data, Permissions::from_mode(0o755)).unwrap();
        let words = explained("self_signed = true\n");
        assert!(words.contains("chmod 700"), "{words}");
        assert!(!words.contains("remove tls-cert.pem"), "{words}");
    }
}
