//! Code in a message: which lines of it are between fences. The position of code is a guess, so pages write both parts as
//! text.

/// Consecutive lines of a message.
#[derive(Debug)]
pub enum Passage<'a> {
    /// Words.
    Words(Vec<&'a str>),
    /// The lines between two fences.
    Code {
        /// The language that the fence names, in harmless characters.
        language: String,
        lines: Vec<&'a str>,
    },
}

/// A fence that is open.
struct Fence<'a> {
    mark: char,
    length: usize,
    language: String,
    lines: Vec<&'a str>,
}

/// Returns the passages of a message. A fence that nothing closes ends with the message.
pub fn passages(text: &str) -> Vec<Passage<'_>> {
    let mut found = Vec::new();
    let mut words = Vec::new();
    let mut open: Option<Fence<'_>> = None;
    for line in text.split('\n') {
        match open.take() {
            Some(fence) if closes(&fence, line) => found.push(code(fence)),
            Some(mut fence) => {
                fence.lines.push(line);
                open = Some(fence);
            }
            None => match opens(line) {
                Some(fence) => {
                    if !words.is_empty() {
                        found.push(Passage::Words(std::mem::take(&mut words)));
                    }
                    open = Some(fence);
                }
                None => words.push(line),
            },
        }
    }
    found.extend(open.map(code));
    if !words.is_empty() {
        found.push(Passage::Words(words));
    }
    found
}

fn code(fence: Fence<'_>) -> Passage<'_> {
    Passage::Code {
        language: fence.language,
        lines: fence.lines,
    }
}

fn opens(line: &str) -> Option<Fence<'_>> {
    let rest = line.trim_start();
    let mark = rest.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let info = rest.trim_start_matches(mark);
    let length = rest.len() - info.len();
    if length < 3 || (mark == '`' && info.contains('`')) {
        return None;
    }
    let word = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '#' | '.' | '_');
    let language = info.trim_start().chars().take_while(word).take(24).collect();
    Some(Fence {
        mark,
        length,
        language,
        lines: Vec::new(),
    })
}

fn closes(fence: &Fence<'_>, line: &str) -> bool {
    let line = line.trim();
    line.len() >= fence.length && line.chars().all(|c| c == fence.mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let one = |passage: &Passage<'_>| match passage {
            Passage::Words(lines) => lines.join("|"),
            Passage::Code { language, lines } => format!("{language}: {}", lines.join("|")),
        };
        passages(text).iter().map(one).collect()
    }

    #[test]
    fn code_is_between_fences_of_one_kind() {
        assert_eq!(shown(""), [""]);
        assert_eq!(shown("a\n```rust\nb\n~~~\n```\nc"), ["a", "rust: b|~~~", "c"]);
        assert_eq!(shown("```\n```\n```x`\n~~~~\nend"), [": ", "```x`", ": end"]);
        assert_eq!(shown("```\"><b>\n"), [": "]);
    }
}
