//! What the commands of a group are declared with.

use clap::{Command as Clap, Subcommand};

/// Commands under one heading in the help of `acpd`.
pub trait Group: Subcommand {
    /// The heading.
    const HEADING: &'static str;
    /// Those that work only on the daemon's host, since they use files or processes there.
    const ON_HOST: &'static [&'static str] = &[];
    /// Those that use no daemon.
    const WITHOUT_DAEMON: &'static [&'static str] = &[];
}

/// A group in the help of `acpd`.
#[derive(Debug)]
pub struct Listed {
    pub heading: &'static str,
    /// The names of its commands, in their order.
    pub names: Vec<String>,
    pub on_host: &'static [&'static str],
    without_daemon: &'static [&'static str],
}

impl Listed {
    pub fn of<G: Group>() -> Self {
        let commands = G::augment_subcommands(Clap::new("acpd"));
        Self {
            heading: G::HEADING,
            names: commands
                .get_subcommands()
                .map(|command| command.get_name().to_owned())
                .collect(),
            on_host: G::ON_HOST,
            without_daemon: G::WITHOUT_DAEMON,
        }
    }

    /// Returns the commands that talk to no daemon of another host.
    pub fn local(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.on_host.iter().chain(self.without_daemon).copied()
    }
}

/// Returns the examples of a command, which come first in its help.
pub fn examples<const N: usize>(lines: [&str; N]) -> String {
    format!("Examples:\n  {}", lines.join("\n  "))
}
