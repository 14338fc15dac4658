//! The addresses on which the daemon listens: whether they are free, and who else has them.
//!
//! In: the configured addresses. Out: findings. Never: connects to an address, or keeps it.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};

use super::report::{Finding, Group};
use super::subject::Subject;

/// What is known about one address.
#[derive(Debug, Clone)]
struct Facts {
    address: SocketAddr,
    /// The setting of the configuration.
    setting: &'static str,
    state: State,
    has_tls: bool,
    /// Whether the configuration allows the network without TLS.
    is_insecure: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Free,
    /// The daemon of this data directory has it.
    Own,
    /// Another process has it; its id and name, if they can be found.
    Taken(Option<(u32, String)>),
    Refused(String),
}

/// Checks the addresses.
pub fn check(subject: &Subject) -> Vec<Finding> {
    let daemon = &subject.settings.daemon;
    let addresses = [
        Some((daemon.address(), "listen")),
        daemon.codex.listen.map(|address| (address, "codex.listen")),
    ];
    let facts = addresses.into_iter().flatten().map(|(address, setting)| Facts {
        address,
        setting,
        state: state(address, subject.daemon_pid()),
        has_tls: daemon.server.tls.is_some(),
        is_insecure: daemon.server.insecure_listen,
    });
    facts.flat_map(|facts| findings(&facts)).collect()
}

fn state(address: SocketAddr, daemon: Option<u32>) -> State {
    match TcpListener::bind(address) {
        Ok(_) => State::Free,
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            let holders = holders(address.port());
            if daemon.is_some_and(|daemon| holders.iter().any(|(pid, _)| *pid == daemon)) {
                return State::Own;
            }
            State::Taken(holders.into_iter().next())
        }
        Err(error) => State::Refused(error.to_string()),
    }
}

/// Returns the processes that listen on a port, as far as this user may see them.
fn holders(port: u16) -> Vec<(u32, String)> {
    let mut sockets = Vec::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let text = std::fs::read_to_string(table).unwrap_or_default();
        sockets.extend(listening(&text, port));
    }
    if sockets.is_empty() {
        return Vec::new();
    }
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let holders = processes.filter(|pid| {
        let files = std::fs::read_dir(format!("/proc/{pid}/fd"))
            .into_iter()
            .flatten()
            .flatten();
        let mut links = files.filter_map(|file| std::fs::read_link(file.path()).ok());
        links.any(|link| sockets.iter().any(|socket| link.as_os_str() == socket.as_str()))
    });
    let name = |pid| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    holders.map(|pid| (pid, name(pid).trim().to_owned())).collect()
}

/// Returns the sockets of a table of the kernel that listen on a port, as links of descriptors name them.
fn listening(table: &str, port: u16) -> Vec<String> {
    const LISTENS: &str = "0A";
    let rows = table.lines().skip(1).filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (_, local_port) = fields.get(1)?.rsplit_once(':')?;
        let is_wanted = u16::from_str_radix(local_port, 16) == Ok(port) && fields.get(3) == Some(&LISTENS);
        is_wanted.then(|| fields.get(9).map(|inode| format!("socket:[{inode}]")))?
    });
    rows.collect()
}

fn findings(facts: &Facts) -> Vec<Finding> {
    let group = Group::Addresses;
    let Facts { address, setting, .. } = facts;
    let another = format!("choose another address with {setting} in the configuration");
    let mut found = vec![match &facts.state {
        State::Free => Finding::ok(group, format!("{address} is free for the daemon")),
        State::Own => Finding::ok(group, format!("the daemon listens on {address}")),
        State::Taken(Some((_, name))) if name == "systemd" => Finding::ok(
            group,
            format!("systemd listens on {address} and starts acpd at the first connection"),
        ),
        State::Taken(Some((pid, name))) if name.starts_with("acpd") => Finding::problem(
            group,
            format!("{address} is in use by an acpd with another data directory (process {pid})"),
        )
        .fix(format!("stop that daemon, or {another}")),
        State::Taken(Some((pid, name))) => Finding::problem(
            group,
            format!("{address} is in use by {name} (process {pid}), so the daemon cannot start"),
        )
        .fix(format!("stop that program, or {another}")),
        State::Taken(None) => Finding::problem(
            group,
            format!("{address} is in use by a program of another user, so the daemon cannot start"),
        )
        .fix(another),
        State::Refused(reason) => {
            Finding::problem(group, format!("the daemon cannot listen on {address}: {reason}")).fix(another)
        }
    }];
    if !address.ip().is_loopback() && !facts.has_tls {
        found.push(if facts.is_insecure {
            Finding::warning(
                group,
                format!("{address} is on the network without TLS: tokens and threads are sent in clear text"),
            )
            .fix("set up [server.tls] and remove insecure_listen")
        } else {
            Finding::problem(
                group,
                format!("{address} is on the network and there is no TLS: the daemon refuses to start"),
            )
            .fix("set up [server.tls], or listen on 127.0.0.1")
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::report::Level;
    use crate::doctor::report::assert_found;

    fn facts(address: &str, state: State) -> Facts {
        Facts {
            address: address.parse().unwrap(),
            setting: "listen",
            state,
            has_tls: false,
            is_insecure: false,
        }
    }

    #[test]
    fn each_state_has_its_finding() {
        let taken = |name: &str| State::Taken(Some((7, name.to_owned())));
        let network = || facts("0.0.0.0:1", State::Free);
        for (facts, level, part) in [
            (facts("127.0.0.1:1", State::Free), Level::Ok, "is free"),
            (facts("127.0.0.1:1", State::Own), Level::Ok, "the daemon listens"),
            (
                facts("127.0.0.1:1", taken("nginx")),
                Level::Problem,
                "by nginx (process 7)",
            ),
            (
                facts("127.0.0.1:1", taken("acpd")),
                Level::Problem,
                "another data directory",
            ),
            (
                facts("127.0.0.1:1", taken("systemd")),
                Level::Ok,
                "first connection",
            ),
            (
                facts("127.0.0.1:1", State::Taken(None)),
                Level::Problem,
                "another user",
            ),
            (
                facts("127.0.0.1:1", State::Refused("denied".to_owned())),
                Level::Problem,
                "denied",
            ),
            (network(), Level::Problem, "refuses to start"),
            (
                Facts {
                    is_insecure: true,
                    ..network()
                },
                Level::Warning,
                "clear text",
            ),
            (
                Facts {
                    has_tls: true,
                    ..network()
                },
                Level::Ok,
                "is free",
            ),
        ] {
            let found = findings(&facts);
            assert_found(&found, level, part);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_process_that_has_a_port_is_found() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let this = std::process::id();
        assert_eq!(state(address, Some(this)), State::Own);
        assert!(matches!(state(address, None), State::Taken(Some((pid, _))) if pid == this));
        drop(listener);
        assert_eq!(state(address, None), State::Free);
    }

    #[test]
    fn a_table_of_the_kernel_is_read() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            \u{20}  0: 0100007F:101F 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4242 1 0 100\n\
            \u{20}  1: 0100007F:101F 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 4343 1 0 100\n";
        assert_eq!(listening(table, 4127), ["socket:[4242]"]);
        assert_eq!(listening(table, 80), [""; 0]);
        assert_eq!(listening("", 80), [""; 0]);
    }
}
