//! The addresses on which the daemon is to listen.

use std::io;
use std::net::{SocketAddr, TcpListener};

use acpd_server::host_check::AllowedHosts;
use acpd_server::net::listener;

use super::hindrance::Hindrance;
use super::holder::{Holder, processes};
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
    // The first one was free again when the second one was tried.
    if let Some(codex) = addresses.get_mut(1)
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

/// Returns what hinders a daemon that could not listen on an address.
pub fn refused(settings: &Settings, address: SocketAddr, error: &io::Error) -> Hindrance {
    if error.kind() != io::ErrorKind::AddrInUse {
        return Hindrance::AddressRefused {
            address,
            reason: error.to_string(),
            advice: advice(settings, address),
        };
    }
    let holder = if is_twice(settings, address) {
        Holder::Itself
    } else {
        Holder::of(address, processes(address.port()))
    };
    taken(settings, address, holder)
}

fn state(settings: &Settings, address: SocketAddr, daemon: Option<u32>) -> State {
    let error = match TcpListener::bind(address) {
        Ok(_) => return State::Free,
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => error,
        Err(error) => return State::Hindered(refused(settings, address, &error)),
    };
    let processes = processes(address.port());
    if daemon.is_some_and(|daemon| processes.iter().any(|process| process.pid == daemon)) {
        State::Own
    } else if processes.first().is_some_and(|process| process.name == "systemd") {
        State::Systemd
    } else if settings.any_port && address == settings.daemon.address() {
        State::Replaced(listener::taken(address))
    } else {
        State::Hindered(refused(settings, address, &error))
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
        // Where the process can be found, it is this test, whose name begins like that of acpd.
        let holder = if cfg!(target_os = "linux") {
            "another acpd, with another data directory, listens there"
        } else {
            "another program listens there"
        };
        assert!(
            words.starts_with(&format!("cannot listen on {address}: {holder}")),
            "{words}"
        );
        assert!(
            words.contains("; choose another address with --listen, or with listen in"),
            "{words}"
        );
        // The start fails with the same words.
        let error = io::Error::from(io::ErrorKind::AddrInUse);
        assert_eq!(refused(&named, address, &error).to_string(), words);
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
        assert_eq!(refused(&settings, address, &error).to_string(), words);
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
