//! A rule: a tool, and a pattern for the tool's subject.
//!
//! In: text. Out: a rule, or an error with its position. A rule is serialized exactly as it was written.
//!
//! | Rule | Matches |
//! |---|---|
//! | `*` | everything |
//! | `Bash`, `Bash(git *)` | commands (ACP kind `execute`) |
//! | `Read`, `Read(src/**)` | reading and searching (`read`, `search`) |
//! | `Search(…)`, also `Grep`, `Glob` | only searching |
//! | `Edit(*.md)`, also `Write`, `MultiEdit`, `NotebookEdit` | creating and changing files (`edit`) |
//! | `Delete(…)`, `Move(…)` | `delete`, `move` |
//! | `WebFetch(domain:example.com)`, `WebFetch(https://example.com/*)` | `fetch` |
//! | `Think`, `SwitchMode`, `Other` | `think`, `switch_mode`, `other` |
//! | `mcp__server__tool`, `mcp__server__*`, `mcp__server`, `mcp__*` | tools of MCP servers |
//! | `Tool(TodoWrite)` | a tool by the programmatic name that the agent sends |
//!
//! ACP's own names of the kinds (`execute`, `fetch` …) are accepted too. A relative path starts at the thread's
//! directory. `*` matches within a segment, and `**` across segments, so that all Markdown files are `Edit(**/*.md)`.
//! In a command, a `*` as a separate word matches any number of words.

use std::fmt;

use acpd_model::limits::RULE_BYTES;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::address::UrlPattern;
use super::path::PathPattern;
use super::pattern::{CommandPattern, Glob};
use super::problem::Problem;

/// A rule of a policy.
#[derive(Clone, PartialEq, Eq)]
pub struct Rule {
    text: String,
    pub(super) about: About,
}

/// The subjects that a rule matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum About {
    Everything,
    Bash(Option<CommandPattern>),
    Read(Option<PathPattern>),
    Search(Option<PathPattern>),
    Edit(Option<PathPattern>),
    Delete(Option<PathPattern>),
    Move(Option<PathPattern>),
    Fetch(Option<UrlPattern>),
    Think,
    SwitchMode,
    Other,
    Mcp(Glob),
    Named(Glob),
}

/// How narrow a rule is. The members are compared in this order; larger is narrower. Any two values are comparable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Specificity {
    /// 0 for `*`, 1 for every MCP tool, 2 for every tool of an MCP server or of a name with a wildcard, 3 for one tool.
    pub tool: u8,
    /// 0 without a pattern, 1 for a pattern with wildcards, 2 for one without.
    pub pattern: u8,
    /// Number of literal characters in the pattern. A path is made absolute first.
    pub literal: usize,
    /// Negated number of wildcards in the pattern, since fewer are narrower: 0 for none, -1 for one, and so on.
    pub wildcards: isize,
}

/// The error for an invalid rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleError {
    /// The rule, shortened if it is very long.
    pub rule: String,
    /// Position of the error in characters, counted from 1.
    pub column: usize,
    /// The error in the rule.
    pub problem: Problem,
}

impl Rule {
    /// Parses a rule.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        let error = |(at, problem): (usize, Problem)| RuleError {
            rule: text.chars().take(200).collect(),
            column: text.get(..at).map_or(0, |before| before.chars().count()) + 1,
            problem,
        };
        let about = about(text).map_err(error)?;
        let text = text.trim().to_owned();
        Ok(Self { text, about })
    }

    /// Returns the rule as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns how narrow the rule is for a thread in `workspace`.
    pub fn specificity(&self, workspace: &str, home: Option<&str>) -> Specificity {
        let (tool, weight) = match &self.about {
            About::Everything => (0, None),
            About::Bash(pattern) => (3, pattern.as_ref().map(CommandPattern::weight)),
            About::Read(pattern)
            | About::Search(pattern)
            | About::Edit(pattern)
            | About::Delete(pattern)
            | About::Move(pattern) => (3, pattern.as_ref().map(|pattern| pattern.weight(workspace, home))),
            About::Fetch(pattern) => (3, pattern.as_ref().map(UrlPattern::weight)),
            About::Think | About::SwitchMode | About::Other => (3, None),
            About::Mcp(name) => match name.weight() {
                (literal, _) if literal <= "mcp__".len() => (1, None),
                (_, 0) => (3, None),
                weight => (2, Some(weight)),
            },
            About::Named(name) => match name.weight() {
                (_, 0) => (3, None),
                weight => (2, Some(weight)),
            },
        };
        let (literal, wildcards) = weight.unwrap_or_default();
        Specificity {
            tool,
            pattern: weight.map_or(0, |(_, wildcards)| if wildcards == 0 { 2 } else { 1 }),
            literal,
            wildcards: -isize::try_from(wildcards).unwrap_or(isize::MAX),
        }
    }
}

/// Parses a rule. An error has its position in bytes.
fn about(text: &str) -> Result<About, (usize, Problem)> {
    if text.len() > RULE_BYTES {
        return Err((RULE_BYTES.min(text.len()), Problem::TooLong));
    }
    let start = text.len() - text.trim_start().len();
    let text = text.trim();
    if text.is_empty() {
        return Err((start, Problem::Empty));
    }
    let (name, pattern) = match text.find('(') {
        None => (text, None),
        Some(open) => {
            let inside = text[open + 1..].strip_suffix(')');
            let inside = inside.ok_or((start + text.len() - 1, Problem::Unclosed))?;
            (&text[..open], Some((start + open + 1, inside)))
        }
    };
    let bare = |about: About| match pattern {
        None => Ok(about),
        Some((at, _)) => Err((at - 1, Problem::NoPattern(name.to_owned()))),
    };
    let path = || match pattern {
        None => Ok(None),
        Some((at, inside)) => PathPattern::parse(inside.trim())
            .map(Some)
            .ok_or((at, Problem::EmptyPattern)),
    };
    let shift = |at: usize| move |(within, problem): (usize, Problem)| (at + within, problem);
    Ok(match name {
        "*" => bare(About::Everything)?,
        "Bash" | "execute" => About::Bash(match pattern {
            None => None,
            Some((at, inside)) => Some(CommandPattern::parse(inside).map_err(shift(at))?),
        }),
        "Read" | "read" => About::Read(path()?),
        "Search" | "Grep" | "Glob" | "search" => About::Search(path()?),
        "Edit" | "Write" | "MultiEdit" | "NotebookEdit" | "edit" => About::Edit(path()?),
        "Delete" | "delete" => About::Delete(path()?),
        "Move" | "move" => About::Move(path()?),
        "WebFetch" | "fetch" => About::Fetch(match pattern {
            None => None,
            Some((at, inside)) => Some(UrlPattern::parse(inside).map_err(shift(at))?),
        }),
        "Think" | "think" => bare(About::Think)?,
        "SwitchMode" | "switch_mode" => bare(About::SwitchMode)?,
        "Other" | "other" => bare(About::Other)?,
        "Tool" => match pattern {
            Some((_, inside)) if !inside.trim().is_empty() => About::Named(Glob::parse(inside.trim())),
            _ => return Err((start + name.len(), Problem::ToolName)),
        },
        _ => match name.strip_prefix("mcp__") {
            Some("" | "__") => return Err((start + name.len(), Problem::McpServer)),
            Some(rest) if rest.starts_with("__") => return Err((start + "mcp__".len(), Problem::McpServer)),
            Some("*") => bare(About::Mcp(Glob::parse("mcp__*")))?,
            // A server alone means all its tools.
            Some(server) if !server.contains("__") => {
                bare(About::Mcp(Glob::parse(&format!("mcp__{server}__*"))))?
            }
            Some(_) => bare(About::Mcp(Glob::parse(name)))?,
            None => return Err((start, Problem::UnknownTool(name.chars().take(60).collect()))),
        },
    })
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the rule {:?} is wrong at character {}: {}",
            self.rule, self.column, self.problem
        )
    }
}

impl std::error::Error for RuleError {}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::str::FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        Self::parse(text)
    }
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}
