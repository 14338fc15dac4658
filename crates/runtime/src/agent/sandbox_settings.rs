//! Parses `sandbox` in the configuration: one word, or a table.

use std::fmt;

use acpd_host::Network;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

/// The sandbox settings of agents and their terminals.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SandboxSettings {
    /// The mode; `None` if not configured, which means `workspace` where possible.
    pub mode: Option<Mode>,
    /// Additional readable paths.
    pub read: Vec<String>,
    /// Additional paths that are readable and writable.
    pub write: Vec<String>,
    /// Folders that are open like the workspace, while no link is on their path. The owner allows them where an agent was denied them.
    pub folders: Vec<String>,
    /// TCP access; `None` if not configured, which allows all of it.
    pub network: Option<Network>,
}

/// Access to the workspace in the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The workspace is readable and writable.
    Workspace,
    /// The workspace is only readable.
    Readonly,
    /// There is no sandbox.
    Off,
}

impl Mode {
    /// Returns the word that the configuration uses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Workspace => "workspace",
            Self::Readonly => "readonly",
            Self::Off => "off",
        }
    }
}

impl SandboxSettings {
    /// Returns an agent's settings, completed by the settings for all agents.
    #[must_use]
    pub fn over(self, all: &Self) -> Self {
        Self {
            mode: self.mode.or(all.mode),
            read: [self.read, all.read.clone()].concat(),
            write: [self.write, all.write.clone()].concat(),
            folders: [self.folders, all.folders.clone()].concat(),
            network: self.network.or_else(|| all.network.clone()),
        }
    }
}

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
#[derive(Default)]
struct Table {
    mode: Option<Mode>,
    read: Vec<String>,
    write: Vec<String>,
    folders: Vec<String>,
    network: Option<NetworkSetting>,
}

impl<'de> Deserialize<'de> for SandboxSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WordOrTable)
    }
}

struct WordOrTable;

impl<'de> Visitor<'de> for WordOrTable {
    type Value = SandboxSettings;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(
            "\"workspace\", \"readonly\", \"off\", or a table with mode, read, write, folders and network",
        )
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Self::Value, E> {
        let mode = Mode::deserialize(StrDeserializer::<E>::new(word));
        let mode = mode.map_err(|_| E::invalid_value(Unexpected::Str(word), &self))?;
        Ok(SandboxSettings {
            mode: Some(mode),
            ..SandboxSettings::default()
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let table = Table::deserialize(MapAccessDeserializer::new(map))?;
        for path in table.read.iter().chain(&table.write).chain(&table.folders) {
            if !(path.starts_with('/') || path == "~" || path.starts_with("~/")) {
                return Err(A::Error::custom(format_args!(
                    "the path {path:?} of a sandbox must begin with \"/\" or \"~/\""
                )));
            }
        }
        Ok(SandboxSettings {
            mode: table.mode,
            read: table.read,
            write: table.write,
            folders: table.folders,
            network: table.network.map(|NetworkSetting(network)| network),
        })
    }
}

struct NetworkSetting(Network);

impl<'de> Deserialize<'de> for NetworkSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WordOrPorts)
    }
}

struct WordOrPorts;

impl<'de> Visitor<'de> for WordOrPorts {
    type Value = NetworkSetting;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("\"on\", \"off\", or a list of ports")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Self::Value, E> {
        match word {
            "on" => Ok(NetworkSetting(Network::On)),
            "off" => Ok(NetworkSetting(Network::Off)),
            _ => Err(E::invalid_value(Unexpected::Str(word), &self)),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut ports = Vec::new();
        while let Some(port) = list.next_element()? {
            ports.push(port);
        }
        Ok(NetworkSetting(Network::Ports(ports)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Holder {
        sandbox: SandboxSettings,
    }

    fn read(text: &str) -> Result<SandboxSettings, String> {
        let read = toml::from_str(text).map(|Holder { sandbox }| sandbox);
        read.map_err(|error| error.message().to_owned())
    }

    #[test]
    fn a_word_or_a_table() {
        let word = read("sandbox = \"readonly\"").unwrap();
        assert_eq!(word.mode, Some(Mode::Readonly));
        let table = "[sandbox]\nread = [\"/data\", \"~/x\"]\nnetwork = [443, 8080]\n";
        let table = read(table).unwrap();
        assert_eq!((table.mode, table.read.len()), (None, 2));
        assert_eq!(table.network, Some(Network::Ports(vec![443, 8080])));
        assert_eq!(
            read("[sandbox]\nnetwork = \"off\"").unwrap().network,
            Some(Network::Off)
        );
        let all = SandboxSettings {
            write: vec!["/all".into()],
            ..word
        };
        let both = table.over(&all);
        assert_eq!(
            (both.mode, both.write.len(), both.read.len()),
            (Some(Mode::Readonly), 1, 2)
        );
        for (wrong, part) in [
            ("sandbox = \"on\"", "\"workspace\", \"readonly\", \"off\""),
            ("sandbox = true", "\"workspace\""),
            ("[sandbox]\nmode = \"on\"", "unknown variant"),
            ("[sandbox]\nwrites = []", "unknown field"),
            ("[sandbox]\nread = [\"data\"]", "must begin with"),
            ("[sandbox]\nfolders = [\"data\"]", "must begin with"),
            ("[sandbox]\nread = [\"~user/x\"]", "must begin with"),
            ("[sandbox]\nnetwork = [70000]", "70000"),
            ("[sandbox]\nnetwork = \"some\"", "a list of ports"),
        ] {
            let error = read(wrong).unwrap_err();
            assert!(error.contains(part), "{wrong}: {error}");
        }
    }
}
