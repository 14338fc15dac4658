//! What a command line consists of.

/// One word after quotes are removed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Word {
    /// The text of the word; an expansion is kept as written.
    pub text: String,
    /// Whether the shell would replace the word: a variable, a substitution, file names.
    pub dynamic: bool,
    /// Whether any part was quoted, so that the word is not a reserved word.
    pub quoted: bool,
    /// Whether an expansion may yield several words or none.
    pub splits: bool,
    /// Start of the value, if the word has the form of an assignment.
    pub(super) assigns: Option<usize>,
}

impl Word {
    /// Returns whether the word has only letters, digits and signs that every shell and program treats as text.
    pub fn is_plain(&self) -> bool {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.,:=+@%/-".contains(&byte);
        !self.dynamic && self.text.bytes().all(plain)
    }

    /// Returns a word that is just `text`.
    pub fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }
}

/// A variable set for one command, or for the commands after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// Name of the variable.
    pub name: String,
    /// Value of the variable.
    pub value: Word,
}

/// A command that contains no other command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Simple {
    /// Variables set before the command.
    pub assignments: Vec<Assignment>,
    /// The program and its arguments; empty if there are only assignments.
    pub words: Vec<Word>,
    /// Files that the command reads by redirection.
    pub reads: Vec<Word>,
    /// Whether the command reads text of the command line as input.
    pub fed: bool,
}

/// One effect of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Runs a command.
    Command(Simple),
    /// Writes a file by redirection.
    Write(Word),
}

/// Why a command line cannot be analyzed. It continues the sentence "the command …".
pub type Why = &'static str;

/// For a line, or a program with its arguments, that is longer than [`COMMAND_LINE_BYTES`](acpd_model::limits::COMMAND_LINE_BYTES).
pub const TOO_LONG: Why = "is too long to be looked into";
/// For a line with more than [`COMMAND_PARTS`](acpd_model::limits::COMMAND_PARTS) commands and redirections.
pub const TOO_MANY_PARTS: Why = "has too many parts to be looked into";

/// For what has another meaning in some shell, or no meaning that is known.
pub(super) const DIFFERS: Why = "has a character, or a word, that shells read differently";

/// What the commands are inside of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inside {
    Line,
    Substitution,
    Backticks,
}

/// Where an expansion is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quoting {
    /// Outside of quotes.
    Bare,
    /// In double quotes.
    Quoted,
    /// In the body of a here-document.
    Body,
}

/// A here-document whose body has not begun.
pub(super) struct HereDoc {
    pub(super) end: String,
    pub(super) expands: bool,
    pub(super) strips_tabs: bool,
}

/// Returns whether a character has no place in a command line.
pub(super) fn is_control(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t')
}

/// Returns whether `text` can be the name of a variable.
pub fn is_name(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && text.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}
