//! Patterns for commands and names. Path patterns are in `path`, URL patterns in `address`.

use super::path::{PathPattern, escaped};
use super::problem::Problem;
use super::shell::{Word, is_name};
use super::wrapper::base_name;

/// Text in which `*` matches any number of characters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Glob {
    /// The text between the stars. There is one more piece than there are stars.
    pieces: Vec<String>,
}

impl Glob {
    /// Parses `text`. Every `*` is a wildcard.
    pub fn parse(text: &str) -> Self {
        let pieces = text.split('*').map(str::to_owned).collect();
        Self { pieces }
    }

    /// Returns the pattern as a path pattern, if it contains a slash.
    fn as_path(&self) -> Option<PathPattern> {
        let pieces: Vec<_> = self.pieces.iter().map(|piece| escaped(piece)).collect();
        let text = pieces.join("*");
        text.contains('/').then(|| PathPattern::parse(&text)).flatten()
    }

    /// Returns whether `text` matches.
    pub fn fits(&self, text: &str) -> bool {
        let (Some(first), Some(last)) = (self.pieces.first(), self.pieces.last()) else {
            return text.is_empty();
        };
        if self.pieces.len() == 1 {
            return text == first;
        }
        let Some(rest) = text.strip_prefix(first.as_str()) else {
            return false;
        };
        let Some(mut rest) = rest.strip_suffix(last.as_str()) else {
            return false;
        };
        for piece in &self.pieces[1..self.pieces.len() - 1] {
            let Some(at) = rest.find(piece.as_str()) else {
                return false;
            };
            rest = &rest[at + piece.len()..];
        }
        true
    }

    /// Returns the number of literal characters and of wildcards.
    pub fn weight(&self) -> (usize, usize) {
        let literal = self.pieces.iter().map(|piece| piece.chars().count()).sum();
        (literal, self.pieces.len().saturating_sub(1))
    }

    fn literal(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }
}

/// One word of a command pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PatternWord {
    /// A `*` as a separate word: any number of words.
    Any,
    /// Exactly one word.
    One(Glob),
}

/// A pattern for a simple command, word by word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandPattern {
    words: Vec<PatternWord>,
    /// Location of the program, if the pattern names it by a path.
    program: Option<PathPattern>,
}

impl CommandPattern {
    /// Parses a pattern: words with shell quoting, in which an unquoted `*` is a wildcard. `:*` at the end means the
    /// same as ` *`. An error has its position in `text`, in bytes.
    pub fn parse(text: &str) -> Result<Self, (usize, Problem)> {
        let prefix = text
            .strip_suffix(":*")
            .filter(|rest| !rest.is_empty() && !rest.ends_with([' ', '\\']));
        let mut words = pattern_words(prefix.unwrap_or(text))?;
        if prefix.is_some() {
            words.push(PatternWord::Any);
        }
        match words.first() {
            None => return Err((0, Problem::EmptyPattern)),
            Some(PatternWord::One(first)) => {
                let begin = first.pieces.first().map(String::as_str).unwrap_or_default();
                if begin.split_once('=').is_some_and(|(name, _)| is_name(name)) {
                    return Err((0, Problem::AssignmentFirst));
                }
            }
            Some(PatternWord::Any) => {}
        }
        // Two in a row mean the same as one, and would only make the pattern appear more specific.
        words.dedup_by(|a, b| *a == PatternWord::Any && *b == PatternWord::Any);
        let program = match words.first() {
            Some(PatternWord::One(glob)) => glob.as_path(),
            Some(PatternWord::Any) | None => None,
        };
        Ok(Self { words, program })
    }

    /// Returns the path of the program, if the pattern names it by a path without wildcards.
    pub fn program(&self, workspace: &str, home: Option<&str>) -> Option<String> {
        self.program.as_ref()?.literal(workspace, home)
    }

    /// Returns whether the command matches for every possible expansion. A program that is named by a path matches only
    /// a pattern with a path, and `is_there` returns whether it is the same program.
    pub fn surely_fits(&self, command: &[Word], is_there: impl Fn(&PathPattern) -> bool) -> bool {
        let program = |glob: &Glob, name: &str| {
            if name.contains('/') {
                self.program.as_ref().is_some_and(&is_there)
            } else {
                glob.fits(name)
            }
        };
        self.walk(command, false, &program)
    }

    /// Returns whether the command matches, and whether it could match for some expansion. The program may be named
    /// with or without a path, or by a link to one of the `called` names.
    pub fn may_fit(
        &self,
        command: &[Word],
        called: &[&str],
        is_there: impl Fn(&PathPattern) -> bool,
    ) -> (bool, bool) {
        let program = |glob: &Glob, name: &str| {
            let by_path =
                || called.iter().any(|name| glob.fits(name)) || self.program.as_ref().is_some_and(&is_there);
            glob.fits(name)
                || base_name(name).is_some_and(|name| glob.fits(name))
                || (name.contains('/') && by_path())
        };
        (
            self.walk(command, false, &program),
            self.walk(command, true, &program),
        )
    }

    /// Tracks the pattern positions that the words so far can reach. `program` returns whether the first word matches.
    fn walk(&self, command: &[Word], loose: bool, program: &dyn Fn(&Glob, &str) -> bool) -> bool {
        let end = self.words.len();
        let mut at = vec![false; end + 1];
        at[0] = true;
        self.skip_any(&mut at);
        for (number, word) in command.iter().enumerate() {
            let mut next = vec![false; end + 1];
            for position in (0..=end).filter(|position| at[*position]) {
                if word.dynamic && loose {
                    // The expansion may become any number of words.
                    next[position..].fill(true);
                    break;
                }
                match self.words.get(position) {
                    None => {}
                    Some(PatternWord::Any) => next[position] = true,
                    Some(PatternWord::One(_)) if word.dynamic => {}
                    Some(PatternWord::One(glob)) => {
                        next[position + 1] |= if number == 0 {
                            program(glob, &word.text)
                        } else {
                            glob.fits(&word.text)
                        };
                    }
                }
            }
            self.skip_any(&mut next);
            at = next;
        }
        at[end]
    }

    fn skip_any(&self, at: &mut [bool]) {
        for (position, word) in self.words.iter().enumerate() {
            at[position + 1] |= at[position] && *word == PatternWord::Any;
        }
    }

    /// Returns whether `text`, an unreadable command, contains the name of the pattern's program as a word.
    pub fn is_named_in(&self, text: &str) -> bool {
        let name = match self.words.first() {
            Some(PatternWord::One(glob)) => glob.literal().and_then(base_name),
            Some(PatternWord::Any) | None => return true,
        };
        let Some(name) = name else { return false };
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        text.match_indices(name).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let behind = text[at + name.len()..].chars().next();
            !before.is_some_and(is_part) && !behind.is_some_and(is_part)
        })
    }

    /// Returns the number of literal characters and of wildcards.
    pub fn weight(&self) -> (usize, usize) {
        let weights = self.words.iter().map(|word| match word {
            PatternWord::Any => (0, 1),
            PatternWord::One(glob) => glob.weight(),
        });
        // The space between two words counts as a literal character.
        weights.fold((self.words.len() - 1, 0), |sum, one| {
            (sum.0 + one.0, sum.1 + one.1)
        })
    }
}

fn pattern_words(text: &str) -> Result<Vec<PatternWord>, (usize, Problem)> {
    let mut words = Vec::new();
    let mut pieces: Option<Vec<String>> = None;
    let mut quoted = false;
    let mut characters = text.char_indices();
    let mut flush = |pieces: &mut Option<Vec<String>>, quoted: &mut bool| {
        if let Some(pieces) = pieces.take() {
            let any = !*quoted && pieces.len() == 2 && pieces.iter().all(String::is_empty);
            words.push(if any {
                PatternWord::Any
            } else {
                PatternWord::One(Glob { pieces })
            });
        }
        *quoted = false;
    };
    let literal = |pieces: &mut Option<Vec<String>>, character: Option<char>| {
        let pieces = pieces.get_or_insert_with(|| vec![String::new()]);
        if let (Some(last), Some(character)) = (pieces.last_mut(), character) {
            last.push(character);
        }
    };
    while let Some((at, character)) = characters.next() {
        match character {
            ' ' | '\t' => flush(&mut pieces, &mut quoted),
            '*' => pieces
                .get_or_insert_with(|| vec![String::new()])
                .push(String::new()),
            '\\' => match characters.next() {
                Some((_, escaped)) => literal(&mut pieces, Some(escaped)),
                None => return Err((at, Problem::OpenQuote)),
            },
            '\'' | '"' => {
                quoted = true;
                literal(&mut pieces, None);
                loop {
                    match characters.next() {
                        Some((_, end)) if end == character => break,
                        Some((_, '\\')) if character == '"' => match characters.next() {
                            Some((_, escaped)) => literal(&mut pieces, Some(escaped)),
                            None => return Err((at, Problem::OpenQuote)),
                        },
                        Some((_, inside)) => literal(&mut pieces, Some(inside)),
                        None => return Err((at, Problem::OpenQuote)),
                    }
                }
            }
            ';' | '&' | '|' | '<' | '>' | '(' | ')' | '\n' => return Err((at, Problem::Operator(character))),
            '$' | '`' => return Err((at, Problem::Expansion)),
            _ => literal(&mut pieces, Some(character)),
        }
    }
    flush(&mut pieces, &mut quoted);
    Ok(words)
}
