//! The addresses on which the daemon listens: whether they are free, and who else has them.
//!
//! In: the configured addresses. Out: findings. Never: keeps an address.

use std::net::SocketAddr;

use super::report::{Finding, Group};
use super::subject::Subject;
use crate::client::local::preflight::{Address, AddressState, addresses, unsuitable};
use crate::settings::Settings;

/// Checks the addresses.
pub fn check(subject: &Subject) -> Vec<Finding> {
    let settings = &subject.settings;
    let group = Group::Addresses;
    let mut found: Vec<Finding> = addresses(settings, subject.daemon_pid())
        .iter()
        .map(of_address)
        .collect();
    let hindrances = unsuitable(settings);
    found.extend(
        hindrances
            .iter()
            .map(|hindrance| Finding::hindrance(group, hindrance)),
    );
    found.extend(in_clear_text(settings).map(|address| {
        Finding::warning(
            group,
            format!("{address} is on the network without TLS: tokens and threads are sent in clear text"),
        )
        .fix("set up [server.tls] and remove insecure_listen")
    }));
    found
}

fn of_address(found: &Address) -> Finding {
    let (group, address) = (Group::Addresses, found.address);
    match &found.state {
        AddressState::Free => Finding::ok(group, format!("{address} is free for the daemon")),
        AddressState::Own => Finding::ok(group, format!("the daemon listens on {address}")),
        AddressState::Systemd => Finding::ok(
            group,
            format!("systemd listens on {address} and starts acpd at the first connection"),
        ),
        AddressState::Replaced(taken) => {
            Finding::ok(group, format!("{taken}; the daemon takes another port"))
        }
        AddressState::Hindered(hindrance) => Finding::hindrance(group, hindrance),
        AddressState::Failed(reason) => {
            Finding::problem(group, format!("cannot listen on {address}: {reason}"))
                .fix("remove this cause, which another address has as well, and run \"acpd doctor\" again")
        }
    }
}

/// Returns the addresses beyond loopback that the configuration permits without TLS.
fn in_clear_text(settings: &Settings) -> impl Iterator<Item = SocketAddr> {
    let config = &settings.daemon;
    let is_permitted = config.server.tls.is_none() && config.server.insecure_listen;
    std::iter::once(config.address())
        .chain(config.codex.listen)
        .filter(move |address| is_permitted && !address.ip().is_loopback())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::client::local::preflight::Hindrance;
    use crate::doctor::report::{Level, assert_found};
    use crate::options::Common;

    #[test]
    fn each_state_has_its_finding() {
        let address: SocketAddr = "127.0.0.1:1".parse().unwrap();
        for (state, level, part) in [
            (AddressState::Free, Level::Ok, "127.0.0.1:1 is free"),
            (AddressState::Own, Level::Ok, "the daemon listens on 127.0.0.1:1"),
            (AddressState::Systemd, Level::Ok, "first connection"),
            (
                AddressState::Replaced("it is taken".to_owned()),
                Level::Ok,
                "it is taken; the daemon takes another port",
            ),
            (
                AddressState::Hindered(Hindrance::NoTls(address)),
                Level::Problem,
                "not a loopback address",
            ),
            (
                AddressState::Failed("too many open files".to_owned()),
                Level::Problem,
                "cannot listen on 127.0.0.1:1: too many open files",
            ),
        ] {
            assert_found(&[of_address(&Address { address, state })], level, part);
        }
    }

    #[test]
    fn each_address_is_checked() {
        let dir = tempfile::tempdir().unwrap();
        let config = dir.path().join("acpd.toml");
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        let check = |text: &str| {
            std::fs::write(&config, text).unwrap();
            let common = Common {
                config: Some(config.clone()),
                data_dir: Some(dir.path().join("data")),
                listen: Some("127.0.0.1:0".parse().unwrap()),
                ..Common::default()
            };
            let settings = Settings::load(&common).unwrap().checked().unwrap();
            let unreadable = None;
            check(&Subject { settings, unreadable })
        };
        assert_found(&check(""), Level::Ok, "127.0.0.1:0 is free");
        let codex = check(&format!("[codex]\nlisten = \"{address}\"\n"));
        assert_found(&codex, Level::Problem, &format!("cannot listen on {address}"));
        let network = "[codex]\nlisten = \"0.0.0.0:0\"\n";
        assert_found(&check(network), Level::Problem, "not a loopback address");
        let permitted = format!("{network}[server]\ninsecure_listen = true\n");
        assert_found(&check(&permitted), Level::Warning, "clear text");
        let tls = format!("{network}[server.tls]\nself_signed = true\n");
        assert_found(&check(&tls), Level::Ok, "is free");
        let host = check("[server]\nhosts = [\"https://box.example/\"]\n");
        assert_found(&host, Level::Problem, "in [server] hosts");
    }
}
