//! What can be wrong with a rule.

use std::fmt;

use acpd_model::limits::RULE_BYTES;

/// The error in a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// The rule is empty.
    Empty,
    /// The rule is longer than [`RULE_BYTES`].
    TooLong,
    /// No tool has this name.
    UnknownTool(String),
    /// The pattern's closing parenthesis is missing, or something follows it.
    Unclosed,
    /// The parentheses are empty.
    EmptyPattern,
    /// This tool has no patterns.
    NoPattern(String),
    /// A quote is not closed.
    OpenQuote,
    /// The pattern contains a shell operator. A pattern is for one simple command.
    Operator(char),
    /// The pattern contains a variable or substitution, which no pattern can match.
    Expansion,
    /// The pattern starts with an assignment, which is removed from commands before matching.
    AssignmentFirst,
    /// The text after `domain:` is not a domain.
    Domain,
    /// The server name after `mcp__` is missing.
    McpServer,
    /// The name for `Tool` is missing.
    ToolName,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("a rule cannot be empty"),
            Self::TooLong => write!(f, "a rule cannot be longer than {RULE_BYTES} bytes"),
            Self::UnknownTool(name) => write!(
                f,
                "there is no tool {name:?}; known are Bash, Read, Search, Edit, Write, Delete, Move, WebFetch, Think, \
                 SwitchMode, Other, mcp__server__tool, Tool(name) and *"
            ),
            Self::Unclosed => f.write_str("the rule must end with the closing parenthesis of its pattern"),
            Self::EmptyPattern => f.write_str("the parentheses are empty; leave them out to mean every use of the tool"),
            Self::NoPattern(name) => write!(f, "{name} takes no pattern"),
            Self::OpenQuote => f.write_str("a quote or backslash here is not completed"),
            Self::Operator(operator) => write!(
                f,
                "{operator:?} is an operator of the shell; a pattern is for one simple command, and each command of a \
                 line is looked at by itself (put it in quotes to mean the character)"
            ),
            Self::Expansion => f.write_str(
                "what a variable or substitution stands for is not known, so no pattern can match it (put it in single \
                 quotes to mean the characters)",
            ),
            Self::AssignmentFirst => f.write_str("assignments in front are taken off a command, so this never matches"),
            Self::Domain => f.write_str("`domain:` must be followed by a host such as example.com or *.example.com"),
            Self::McpServer => f.write_str("after `mcp__` comes a server, as in mcp__server__tool, or `*`"),
            Self::ToolName => f.write_str("`Tool` needs the tool's name in parentheses"),
        }
    }
}
