//! The text of a prompt, parsed into a list of steps.
//!
//! Steps are separated by newlines or `;`. Each is `word [word...] [key=value...]`, and its first word names an entry
//! of [`TABLE`]. Words are quoted as in a shell: `'...'` is literal, `"..."` supports `\n`, `\t`, `\"` and `\\`;
//! outside of quotes a backslash makes the next character literal. A quote counts only at the start of a word or after
//! `=`. The closing one must end the word, so that plain English stays intact. A bare word after `key=value` belongs to
//! that value.
//!
//! Users also chat with the demo. So text whose first step does not fit the table is not a script, unless it has a
//! `key=` that the scenario knows: then it is an invalid script.

use crate::scenarios::args::Args;
use crate::scenarios::{Scenario, TABLE};

/// The words after a scenario's name, besides its keys.
#[derive(Debug, Clone, Copy)]
pub enum Words {
    /// No words.
    None,
    /// Exactly one word.
    One,
    /// At least one word.
    Some,
    /// One of these words, or none.
    Maybe(&'static [&'static str]),
    /// The rest of the step, unchanged and with spaces; if it is quoted as a whole, it may contain newlines and `;`.
    Text,
}

/// One parsed step.
#[derive(Debug)]
pub struct Step {
    /// The scenario to run.
    pub scenario: &'static Scenario,
    /// The scenario's arguments.
    pub args: Args,
}

/// The kind of a prompt's text.
#[derive(Debug)]
pub enum Script {
    /// Plain text, not a script.
    Talk,
    /// A valid script.
    Steps(Vec<Step>),
    /// An invalid script, and why.
    Faulty(String),
}

/// Keys whose values are numbers.
const NUMBERS: [&str; 10] = [
    "n", "ms", "after", "bytes", "code", "used", "size", "cost", "line", "limit",
];

/// Parses the text of a prompt.
pub fn parse(text: &str) -> Script {
    let mut steps = Vec::new();
    for source in split(text) {
        match step(source) {
            Ok(step) => steps.push(step),
            Err(fault) if steps.is_empty() && !fault.meant => return Script::Talk,
            Err(fault) => return Script::Faulty(fault.message),
        }
    }
    if steps.is_empty() {
        Script::Talk
    } else {
        Script::Steps(steps)
    }
}

/// The reason why a step is invalid.
struct Fault {
    message: String,
    /// Whether the text is unlikely to be plain English.
    meant: bool,
}

fn step(source: &str) -> Result<Step, Fault> {
    let name = source.split_whitespace().next().unwrap_or_default();
    let Some(scenario) = TABLE.iter().find(|scenario| scenario.name == name) else {
        return Err(Fault {
            message: format!("no step {name:?}; see --help"),
            meant: false,
        });
    };
    let rest = source[name.len()..].trim();
    let args = if matches!(scenario.words, Words::Text) {
        Args {
            words: whole(rest).into_iter().collect(),
            values: Vec::new(),
        }
    } else {
        arguments(rest, scenario.keys)
    };
    let fits = match scenario.words {
        Words::None => args.words.is_empty(),
        Words::One => args.words.len() == 1,
        Words::Some | Words::Text => !args.words.is_empty(),
        Words::Maybe(words) => {
            args.words.len() <= 1 && args.words.iter().all(|word| words.contains(&word.as_str()))
        }
    };
    let bad = args
        .values
        .iter()
        .find(|(key, value)| NUMBERS.contains(&key.as_str()) && value.parse::<f64>().is_err());
    if fits && bad.is_none() {
        return Ok(Step { scenario, args });
    }
    Err(Fault {
        message: format!("usage: {} {}", scenario.name, scenario.usage),
        meant: !args.values.is_empty(),
    })
}

/// Returns the text of a [`Words::Text`] scenario.
fn whole(rest: &str) -> Option<String> {
    if let Some(quote @ ('"' | '\'')) = rest.chars().next()
        && closing(&rest[1..], quote) == Some(rest.len() - 2)
    {
        return Some(unquote(&rest[1..rest.len() - 1], quote));
    }
    (!rest.is_empty()).then(|| rest.to_owned())
}

fn arguments(rest: &str, keys: &[&str]) -> Args {
    let mut args = Args::default();
    for (word, quoted) in words(rest) {
        let pair = word
            .split_once('=')
            .filter(|(key, _)| !quoted && keys.contains(key));
        match (pair, args.values.last_mut()) {
            (Some((key, value)), _) => args.values.push((key.to_owned(), value.to_owned())),
            (None, Some((_, value))) => {
                value.push(' ');
                value.push_str(&word);
            }
            (None, None) => args.words.push(word),
        }
    }
    args
}

/// Splits a text into its steps, without the empty ones.
fn split(text: &str) -> Vec<&str> {
    let mut steps = Vec::new();
    let (mut start, mut at) = (0, 0);
    let mut before = ' ';
    while let Some(char) = text[at..].chars().next() {
        let mut next = at + char.len_utf8();
        match char {
            '\n' | ';' if before != '\\' => {
                steps.push(&text[start..at]);
                start = next;
            }
            '"' | '\'' if opens(before) => {
                if let Some(length) = closing(&text[next..], char) {
                    next += length + 1;
                }
            }
            _ => {}
        }
        before = char;
        at = next;
    }
    steps.push(&text[start..]);
    steps
        .into_iter()
        .map(str::trim)
        .filter(|step| !step.is_empty())
        .collect()
}

/// Splits a step into words, each with whether it started with a quote.
fn words(step: &str) -> Vec<(String, bool)> {
    let mut words = Vec::new();
    let mut rest = step.trim_start();
    while let Some(first) = rest.chars().next() {
        let mut word = String::new();
        let quoted = matches!(first, '"' | '\'') && closing(&rest[1..], first).is_some();
        let mut before = ' ';
        while let Some(char) = rest.chars().next().filter(|char| !char.is_whitespace()) {
            rest = &rest[char.len_utf8()..];
            match char {
                '"' | '\'' if opens(before) && closing(rest, char).is_some() => {
                    let length = closing(rest, char).unwrap_or_default();
                    word.push_str(&unquote(&rest[..length], char));
                    rest = &rest[length + 1..];
                }
                '\\' => {
                    if let Some(taken) = rest.chars().next() {
                        word.push(taken);
                        rest = &rest[taken.len_utf8()..];
                    }
                }
                _ => word.push(char),
            }
            before = char;
        }
        words.push((word, quoted));
        rest = rest.trim_start();
    }
    words
}

/// Returns whether a quote may open after this character.
fn opens(before: char) -> bool {
    before.is_whitespace() || matches!(before, '=' | ';')
}

/// Returns the position at which the quote before `rest` closes; `None` if it does not close at the end of a word.
fn closing(rest: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (at, char) in rest.char_indices() {
        let end = rest[at + char.len_utf8()..].chars().next();
        if char == quote && !escaped && end.is_none_or(|next| next.is_whitespace() || next == ';') {
            return Some(at);
        }
        escaped = char == '\\' && !escaped && quote == '"';
    }
    None
}

/// Returns the text between two quotes, with escapes resolved.
fn unquote(inner: &str, quote: char) -> String {
    if quote == '\'' {
        return inner.to_owned();
    }
    let mut text = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(char) = chars.next() {
        match (char, if char == '\\' { chars.next() } else { None }) {
            ('\\', Some('n')) => text.push('\n'),
            ('\\', Some('t')) => text.push('\t'),
            ('\\', Some(taken @ ('"' | '\\'))) => text.push(taken),
            ('\\', Some(other)) => text.extend(['\\', other]),
            (char, _) => text.push(char),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(text: &str) -> Vec<Step> {
        match parse(text) {
            Script::Steps(steps) => steps,
            other => panic!("{text:?} is {other:?}"),
        }
    }

    fn only(text: &str) -> Args {
        let mut steps = steps(text);
        assert_eq!(steps.len(), 1, "{text:?}");
        steps.remove(0).args
    }

    #[test]
    fn steps_are_cut_at_newlines_and_semicolons() {
        let names = |text: &str| {
            steps(text)
                .iter()
                .map(|step| step.scenario.name)
                .collect::<Vec<_>>()
        };
        assert_eq!(names("plan\n tool ;; think n=2;"), ["plan", "tool", "think"]);
        assert_eq!(names("terminal sh -c 'a; b'; cwd"), ["terminal", "cwd"]);
        assert_eq!(names("say it's; say that's"), ["say", "say"]);
    }

    #[test]
    fn words_are_quoted_as_in_a_shell() {
        assert_eq!(
            only(r#"terminal sh -c "echo \"hi\n\"" a\ b"#).words,
            ["sh", "-c", "echo \"hi\n\"", "a b"]
        );
        assert_eq!(
            only("terminal printf '%s\\n' x=1").words,
            ["printf", "%s\\n", "x=1"]
        );
        assert_eq!(only("terminal echo don't").words, ["echo", "don't"]);
        assert_eq!(only("terminal echo ''").words, ["echo", ""]);
    }

    #[test]
    fn values_run_to_the_next_key() {
        let args = only("tool kind=read title=Read all of it id=X");
        assert_eq!(
            (args.get("kind"), args.get("title"), args.get("id")),
            (Some("read"), Some("Read all of it"), Some("X"))
        );
        let args = only(r#"write path=a.txt text="one\ntwo  a=b""#);
        assert_eq!(args.get("text"), Some("one\ntwo  a=b"));
        assert_eq!(only("stream n=5").number("n", 20), 5);
        assert_eq!(only("stream").number("n", 20), 20);
    }

    #[test]
    fn text_is_taken_as_it_is() {
        assert_eq!(only("say  two  spaces, it's n=1").word(), "two  spaces, it's n=1");
        assert_eq!(only(r#"say " a;\nb ""#).word(), " a;\nb ");
        assert_eq!(only(r#"say "a" and "b""#).word(), r#""a" and "b""#);
        assert_eq!(only("say äöü").word(), "äöü");
    }

    #[test]
    fn plain_text_is_not_a_script() {
        for text in [
            "",
            "hello",
            "Say hi",
            "plan my week",
            "read the docs",
            "write a poem; stop",
            "say",
            ";",
        ] {
            assert!(matches!(parse(text), Script::Talk), "{text:?}");
        }
        for text in [
            "stream n=x",
            "say a; what",
            "write path=a; stop now",
            "plan more n=1; plan",
        ] {
            assert!(!matches!(parse(text), Script::Steps(_)), "{text:?}");
        }
        assert!(matches!(parse("say a; what"), Script::Faulty(_)));
        assert!(matches!(parse("stream n=x"), Script::Faulty(_)));
    }
}
