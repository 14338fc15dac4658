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
        StartError::Tls(wrong) => Hindrance::Tls {
            reason: wrong.to_string(),
        },
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
