//! The addresses on which the daemon is to listen.

use std::io;
use std::net::{SocketAddr, TcpListener};

use acpd_server::host_check::AllowedHosts;
use acpd_server::net::listener;
use rustix::io::Errno;

use super::hindrance::Hindrance;
use super::holder::{Holder, processes};
use crate::exit::without_numbers;
use crate::settings::Settings;

/// An address of the daemon.
#[derive(Debug)]
pub struct Address {
    pub address: SocketAddr,
    pub state: State,
}

/// Whether the daemon can listen on an address.
#[derive(Debug)]
pub enum State {
    Free,
    /// The daemon of this data directory has it.
    Own,
    /// systemd has it, and starts the daemon at the first connection.
    Systemd,
    /// Another program has it, as this says, and the daemon takes another port, since nothing names this one.
    Replaced(String),
    Hindered(Hindrance),
    /// The attempt to listen failed for this reason, which is not about the address.
    Failed(String),
}

/// Tries the addresses. `daemon` is the process of the daemon that runs on the data directory.
pub fn addresses(settings: &Settings, daemon: Option<u32>) -> Vec<Address> {
    let config = &settings.daemon;
    let found = std::iter::once(config.address()).chain(config.codex.listen);
    let mut addresses: Vec<Address> = found
        .map(|address| Address {
            address,
            state: state(settings, address, daemon),
        })
        .collect();
    // The first one was free again when the second one was tried. A daemon that listens on the second one has another port as its first.
    if let Some(codex) = addresses.get_mut(1)
        && !matches!(codex.state, State::Own)
        && is_twice(settings, codex.address)
    {
        codex.state = State::Hindered(taken(settings, codex.address, Holder::Itself));
    }
    addresses
}

/// Returns what hinders a daemon that would listen there, whether the addresses are free or not.
pub fn unsuitable(settings: &Settings) -> Vec<Hindrance> {
    let config = &settings.daemon;
    let server = &config.server;
    let mut found = Vec::new();
    if server.tls.is_none() && !server.insecure_listen {
        let addresses = std::iter::once(config.address()).chain(config.codex.listen);
        let exposed = addresses.filter(|address| !address.ip().is_loopback());
        found.extend(exposed.map(Hindrance::NoTls));
    }
    if let Err(wrong) = AllowedHosts::new(&server.hosts) {
        found.push(Hindrance::Host {
            reason: wrong.to_string(),
            config: settings.config_path.clone(),
        });
    }
    found
}

/// Returns what hinders a daemon that could not listen on an address. Returns `None` if the error is not about the address, such as that
/// of a process with too many open files.
pub fn refused(settings: &Settings, address: SocketAddr, error: &io::Error) -> Option<Hindrance> {
    if error.kind() == io::ErrorKind::AddrInUse {
        let holder = if is_twice(settings, address) {
            Holder::Itself
        } else {
            Holder::of(address, processes(address))
        };
        return Some(taken(settings, address, holder));
    }
    is_about_address(error).then(|| Hindrance::AddressRefused {
        address,
        reason: error.to_string(),
        advice: advice(settings, address),
    })
}

/// Returns whether a daemon with another address may not have the error.
fn is_about_address(error: &io::Error) -> bool {
    use io::ErrorKind::{AddrNotAvailable, PermissionDenied};
    matches!(error.kind(), AddrNotAvailable | PermissionDenied)
        // A host without IPv6.
        || Errno::from_io_error(error) == Some(Errno::AFNOSUPPORT)
}

fn state(settings: &Settings, address: SocketAddr, daemon: Option<u32>) -> State {
    let error = match TcpListener::bind(address) {
        Ok(_) => return State::Free,
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => error,
        Err(error) => return failed(settings, address, &error),
    };
    let processes = processes(address);
    if daemon.is_some_and(|daemon| processes.iter().any(|process| process.pid == daemon)) {
        State::Own
    } else if processes.first().is_some_and(|process| process.name == "systemd") {
        State::Systemd
    } else if settings.any_port && address == settings.daemon.address() {
        State::Replaced(listener::taken(address))
    } else {
        failed(settings, address, &error)
    }
}

fn failed(settings: &Settings, address: SocketAddr, error: &io::Error) -> State {
    match refused(settings, address, error) {
        Some(hindrance) => State::Hindered(hindrance),
        None => State::Failed(without_numbers(&error.to_string())),
    }
}

fn taken(settings: &Settings, address: SocketAddr, holder: Holder) -> Hindrance {
    Hindrance::AddressTaken {
        address,
        holder,
        advice: advice(settings, address),
    }
}

/// Returns whether both settings name the same address.
fn is_twice(settings: &Settings, address: SocketAddr) -> bool {
    let config = &settings.daemon;
    address.port() != 0 && address == config.address() && config.codex.listen == Some(address)
}

/// Says how to choose another address.
fn advice(settings: &Settings, address: SocketAddr) -> String {
    let is_main = address == settings.daemon.address() && !is_twice(settings, address);
    let file = settings.config_file.as_ref().map(|file| file.display());
    match (is_main, file) {
        (false, Some(file)) => format!("choose another address with codex.listen in {file}"),
        (false, None) => "choose another address with codex.listen".to_owned(),
        (true, Some(file)) => format!("choose another address with --listen, or with listen in {file}"),
        (true, None) => {
            "choose another address with --listen, or name none: then acpd takes the next free port"
                .to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use acpd_server::StartError;

    use super::super::explain;
    use super::*;
    use crate::options::Common;

    fn settings(dir: &tempfile::TempDir, text: &str, listen: Option<SocketAddr>) -> Settings {
        let config = dir.path().join("acpd.toml");
        std::fs::write(&config, text).unwrap();
        let common = Common {
            config: Some(config),
            data_dir: Some(dir.path().join("data")),
            listen,
            ..Common::default()
        };
        Settings::load(&common).unwrap().checked().unwrap()
    }

    #[test]
    fn a_program_that_has_an_address_hinders() {
        let dir = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let found = |settings: &Settings, daemon: Option<u32>| addresses(settings, daemon).remove(0).state;
        let mut named = settings(&dir, "", Some(address));
        let State::Hindered(hindrance) = found(&named, None) else {
            panic!("it hinders");
        };
        let words = hindrance.to_string();
        assert!(
            words.starts_with(&format!(
                "cannot listen on {address}: another program listens there"
            )),
            "{words}"
        );
        assert!(
            words.contains("; choose another address with --listen, or with listen in"),
            "{words}"
        );
        // The start fails with the same words.
        let error = io::Error::from(io::ErrorKind::AddrInUse);
        assert_eq!(refused(&named, address, &error).unwrap().to_string(), words);
        // Only a daemon for which nothing names an address takes another one.
        named.any_port = true;
        assert!(
            matches!(found(&named, None), State::Replaced(words) if words.contains("is taken by another program"))
        );
        named.any_port = false;
        if cfg!(target_os = "linux") {
            assert!(
                words.contains(&format!("process {}", std::process::id())),
                "{words}"
            );
            assert!(matches!(found(&named, Some(std::process::id())), State::Own));
        }
        drop(listener);
        assert!(matches!(found(&named, None), State::Free));
    }

    #[test]
    fn an_address_that_is_named_twice_hinders() {
        let dir = tempfile::tempdir().unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let settings = settings(&dir, &format!("[codex]\nlisten = \"{address}\"\n"), Some(address));
        let found = addresses(&settings, None);
        let State::Hindered(hindrance) = &found[1].state else {
            panic!("{found:?}");
        };
        let words = hindrance.to_string();
        assert!(
            words.contains("the daemon itself listens there; choose another address with codex.listen"),
            "{words}"
        );
        let error = io::Error::from(io::ErrorKind::AddrInUse);
        assert_eq!(refused(&settings, address, &error).unwrap().to_string(), words);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_daemon_with_a_remembered_port_has_the_usual_one_for_codex() {
        let dir = tempfile::tempdir().unwrap();
        let codex = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = codex.local_addr().unwrap();
        // The settings name the usual address, though the daemon listens on its remembered one.
        let mut settings = settings(&dir, &format!("[codex]\nlisten = \"{address}\"\n"), Some(address));
        settings.any_port = true;
        let found = addresses(&settings, Some(std::process::id()));
        assert!(matches!(found[1].state, State::Own), "{found:?}");
    }

    #[test]
    fn an_address_that_the_system_refuses_hinders() {
        let dir = tempfile::tempdir().unwrap();
        // An address for documents, which no host has.
        let address = "192.0.2.1:1".parse().unwrap();
        let settings = settings(&dir, "", Some(address));
        assert!(matches!(
            &addresses(&settings, None)[0].state,
            State::Hindered(Hindrance::AddressRefused { .. })
        ));
        for errno in [Errno::ADDRNOTAVAIL, Errno::ACCESS, Errno::AFNOSUPPORT] {
            let words = refused(&settings, address, &errno.into()).unwrap().to_string();
            assert!(words.contains("choose another address with"), "{words}");
        }
    }

    #[test]
    fn an_error_that_another_address_has_too_is_no_reason_to_choose_one() {
        let dir = tempfile::tempdir().unwrap();
        let address = "127.0.0.1:1".parse().unwrap();
        let settings = settings(&dir, "", Some(address));
        for errno in [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM] {
            assert!(refused(&settings, address, &errno.into()).is_none(), "{errno}");
            let State::Failed(reason) = failed(&settings, address, &errno.into()) else {
                panic!("{errno}");
            };
            assert!(!reason.contains("os error"), "{reason}");
        }
        let source = Errno::MFILE.into();
        let error = explain(StartError::Listen { address, source }, &settings).to_string();
        assert!(error.starts_with("cannot listen on 127.0.0.1:1: "), "{error}");
        assert!(!error.contains("choose another address"), "{error}");
    }

    #[test]
    fn secrets_in_clear_text_and_wrong_names_hinder() {
        let dir = tempfile::tempdir().unwrap();
        let words = |text: &str, listen: Option<&str>| -> Vec<String> {
            let settings = settings(&dir, text, listen.map(|listen| listen.parse().unwrap()));
            unsuitable(&settings).iter().map(ToString::to_string).collect()
        };
        assert_eq!(words("", None), [""; 0]);
        let exposed = words("", Some("0.0.0.0:1"));
        assert_eq!(exposed.len(), 1);
        assert!(
            exposed[0].contains("0.0.0.0:1 is not a loopback address"),
            "{exposed:?}"
        );
        assert!(exposed[0].contains("[server.tls]"), "{exposed:?}");
        let codex = words("[codex]\nlisten = \"0.0.0.0:2\"\n", None);
        assert!(
            codex[0].contains("0.0.0.0:2 is not a loopback address"),
            "{codex:?}"
        );
        for fine in [
            "[server]\ninsecure_listen = true\n",
            "[server.tls]\nself_signed = true\n",
        ] {
            assert_eq!(words(fine, Some("0.0.0.0:1")), [""; 0], "{fine}");
        }
        let wrong = words("[server]\nhosts = [\"https://box.example/\"]\n", None);
        assert!(
            wrong[0].contains("\"https://box.example/\" in [server] hosts"),
            "{wrong:?}"
        );
        assert!(wrong[0].contains("correct hosts of [server] in"), "{wrong:?}");
    }
}
