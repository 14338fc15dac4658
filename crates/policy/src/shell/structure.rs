//! The order of the parts of a list: which commands, operators and reserved words may follow each other.
//!
//! In: the parts, one after the other. Out: whether each is where the grammar that all shells share has it. Some shells
//! have shorter forms (`if (a) b`, `{ a } always { b }`), in which a word that looks like an argument is a command.

/// A compound command that is not complete.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    If,
    Then,
    Else,
    While,
    For,
    Do,
    Brace,
}

/// What precedes the next part.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// The beginning of a list.
    Nothing,
    /// A command and a separator.
    Separated,
    /// `&&` or `||`.
    Joined,
    /// `|`.
    Piped,
    /// `!`.
    Negated,
    /// `time`.
    Timed,
    /// A simple command.
    Simple,
    /// A compound command.
    Compound,
}

/// The parts of one list so far.
pub struct Structure {
    open: Vec<Open>,
    before: Before,
}

impl Structure {
    pub fn new() -> Self {
        Self {
            open: Vec::new(),
            before: Before::Nothing,
        }
    }

    /// Takes a simple command, or the parentheses of a compound one. Returns whether it may be here, as all of these.
    pub fn command(&mut self, is_simple: bool) -> bool {
        let begins = match self.before {
            Before::Nothing | Before::Separated | Before::Joined | Before::Piped | Before::Negated => true,
            Before::Timed => is_simple,
            Before::Simple | Before::Compound => false,
        };
        self.before = if is_simple {
            Before::Simple
        } else {
            Before::Compound
        };
        begins && self.open.last() != Some(&Open::For)
    }

    /// Takes redirections without a command.
    pub fn redirections(&self) -> bool {
        self.before == Before::Compound
    }

    /// Takes `;` or `&`.
    pub fn separator(&mut self) -> bool {
        let ends = self.has_ended();
        self.before = Before::Separated;
        ends
    }

    /// Takes a line break.
    pub fn line_break(&mut self) -> bool {
        if self.has_ended() {
            self.before = Before::Separated;
        }
        !matches!(self.before, Before::Negated | Before::Timed)
    }

    /// Takes `&&`, `||` or `|`.
    pub fn operator(&mut self, is_pipe: bool) -> bool {
        let ends = self.has_ended();
        self.before = if is_pipe { Before::Piped } else { Before::Joined };
        ends
    }

    /// Takes a reserved word at the beginning of a command.
    pub fn reserved(&mut self, word: &str) -> bool {
        let open = self.open.last().copied();
        let (opened, closed): (Option<Open>, &[Open]) = match word {
            "if" => (Some(Open::If), &[]),
            "while" | "until" => (Some(Open::While), &[]),
            "for" => (Some(Open::For), &[]),
            "{" => (Some(Open::Brace), &[]),
            "then" => (Some(Open::Then), &[Open::If]),
            "elif" => (Some(Open::If), &[Open::Then]),
            "else" => (Some(Open::Else), &[Open::Then]),
            "fi" => (None, &[Open::Then, Open::Else]),
            "do" => (Some(Open::Do), &[Open::While, Open::For]),
            "done" => (None, &[Open::Do]),
            "}" => (None, &[Open::Brace]),
            _ => return self.prefix(word),
        };
        let fits = if closed.is_empty() {
            self.command(false)
        } else {
            self.before == Before::Separated && open.is_some_and(|open| closed.contains(&open))
        };
        if !closed.is_empty() {
            self.open.pop();
        }
        self.open.extend(opened);
        self.before = match (opened, word) {
            (None, _) => Before::Compound,
            // The words of a loop end with a separator, which belongs to them.
            (_, "for") => Before::Separated,
            _ => Before::Nothing,
        };
        fits
    }

    /// Takes `!` or `time`, which stand before a pipeline.
    fn prefix(&mut self, word: &str) -> bool {
        let begins = matches!(self.before, Before::Nothing | Before::Separated | Before::Joined);
        self.before = if word == "!" {
            Before::Negated
        } else {
            Before::Timed
        };
        begins && self.open.last() != Some(&Open::For)
    }

    /// Takes the end of the list. An empty one has no meaning that shells share.
    pub fn end(&self) -> bool {
        self.open.is_empty() && (self.has_ended() || self.before == Before::Separated)
    }

    fn has_ended(&self) -> bool {
        matches!(self.before, Before::Simple | Before::Compound)
    }
}
