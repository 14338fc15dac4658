//! A policy as it is configured: three lists of rules and a default, optionally based on a preset.

use std::fmt;
use std::sync::LazyLock;

use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::rule::Rule;

/// Rules in one list of a permission policy.
const POLICY_RULES: usize = 1024;

/// The result of a decision, from the mildest to the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// The request is allowed.
    Allow,
    /// The user is asked.
    Ask,
    /// The request is denied.
    Deny,
}

/// A list of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum List {
    /// Rules that deny, even if other rules allow.
    Deny,
    /// Rules that ask the user.
    Ask,
    /// Rules that allow.
    Allow,
}

/// The named policies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// Everything is allowed: no rules, default allow. For agents in a sandbox of their own.
    Permissive,
    /// Reading and searching files of the thread's directory, and thinking, are allowed. Everything else (changes,
    /// commands, reading elsewhere, the network, MCP tools, mode changes) needs an answer.
    Standard,
    /// Like `standard`, but the user is asked only about commands and changes to files of the thread's directory, and
    /// about calls that may be one. The rest (files elsewhere, the network, MCP tools, other tools) is denied by
    /// default.
    Restricted,
    /// Reading and searching files of the thread's directory, and thinking, are allowed. Changes to files, commands and
    /// MCP tools are denied by rule, so that no own list and no other layer can allow them. Everything else is denied
    /// by default.
    Readonly,
}

/// A policy. Written as a preset's name, or as an object.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Policy {
    /// The preset that the policy is based on. The policy's own lists come first, and its own default replaces the
    /// preset's. A deny of the preset always applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<Preset>,
    /// Rules that deny.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<Rule>,
    /// Rules that ask the user.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ask: Vec<Rule>,
    /// Rules that allow.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<Rule>,
    /// Effect on requests without a matching rule; `None` uses the default of the base, then of the next outer layer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Effect>,
}

impl Policy {
    /// Returns one of the lists.
    pub fn list(&self, list: List) -> &[Rule] {
        match list {
            List::Deny => &self.deny,
            List::Ask => &self.ask,
            List::Allow => &self.allow,
        }
    }
}

impl From<Preset> for Policy {
    fn from(preset: Preset) -> Self {
        Self {
            base: Some(preset),
            ..Self::default()
        }
    }
}

impl Preset {
    /// All presets.
    pub const ALL: [Self; 4] = [Self::Permissive, Self::Standard, Self::Restricted, Self::Readonly];

    /// Returns the name of the preset, as in a configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Permissive => "permissive",
            Self::Standard => "standard",
            Self::Restricted => "restricted",
            Self::Readonly => "readonly",
        }
    }

    /// Returns the preset with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.name() == name)
    }

    /// Returns the policy that the preset stands for.
    pub fn policy(self) -> &'static Policy {
        static ALL: LazyLock<[Policy; 4]> = LazyLock::new(|| Preset::ALL.map(Preset::spelled_out));
        let [permissive, standard, restricted, readonly] = &*ALL;
        match self {
            Self::Permissive => permissive,
            Self::Standard => standard,
            Self::Restricted => restricted,
            Self::Readonly => readonly,
        }
    }

    fn spelled_out(self) -> Policy {
        // An invalid rule below would be missing; a test counts them.
        let rules = |rules: &[&str]| rules.iter().filter_map(|rule| Rule::parse(rule).ok()).collect();
        let reading: &[&str] = &["Read(./**)", "Think"];
        let (deny, ask, allow, default): (&[&str], &[&str], &[&str], _) = match self {
            Self::Permissive => (&[], &[], &[], Effect::Allow),
            Self::Standard => (&[], &[], reading, Effect::Ask),
            Self::Restricted => (
                &[],
                &["Edit(./**)", "Delete(./**)", "Move(./**)", "Bash"],
                reading,
                Effect::Deny,
            ),
            Self::Readonly => (
                &["Edit", "Delete", "Move", "Bash", "mcp__*"],
                &[],
                reading,
                Effect::Deny,
            ),
        };
        Policy {
            base: None,
            deny: rules(deny),
            ask: rules(ask),
            allow: rules(allow),
            default: Some(default),
        }
    }
}

/// The object form, before its rules are parsed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default, alias = "preset")]
    base: Option<Preset>,
    #[serde(default)]
    deny: Vec<String>,
    #[serde(default)]
    ask: Vec<String>,
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default, alias = "defaultMode")]
    default: Option<Effect>,
}

fn read_list<E: de::Error>(name: &str, list: &[String]) -> Result<Vec<Rule>, E> {
    if list.len() > POLICY_RULES {
        return Err(E::custom(format!("`{name}` has more than {POLICY_RULES} rules")));
    }
    let read = |(number, text): (usize, &String)| {
        Rule::parse(text).map_err(|error| E::custom(format!("{name}[{number}]: {error}")))
    };
    list.iter().enumerate().map(read).collect()
}

impl<'de> Deserialize<'de> for Policy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Policy;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "the name of a preset, or an object with `base`, `deny`, `ask`, `allow` and `default`",
                )
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Policy, E> {
                Preset::named(name).map(Policy::from).ok_or_else(|| {
                    let names = Preset::ALL.map(Preset::name).join(", ");
                    E::custom(format!("there is no policy preset {name:?}; known are {names}"))
                })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Policy, A::Error> {
                let written = Written::deserialize(de::value::MapAccessDeserializer::new(map))?;
                Ok(Policy {
                    base: written.base,
                    deny: read_list("deny", &written.deny)?,
                    ask: read_list("ask", &written.ask)?,
                    allow: read_list("allow", &written.allow)?,
                    default: written.default,
                })
            }
        }

        deserializer.deserialize_any(Either)
    }
}
