//! Light marking of Markdown in answers: headings, code and strong words. The text itself stays as the agent wrote it.

use std::ops::Range;

use super::line::{Line, Tone};

/// Returns the lines of an answer.
pub fn marked(text: &str) -> Vec<Line> {
    let mut in_code = false;
    let lines = text.lines().map(|line| {
        let is_fence = line.trim_start().starts_with("```");
        if is_fence {
            in_code = !in_code;
        }
        if in_code || is_fence {
            return Line::new(Tone::Code, "", line);
        }
        let hashes = line.bytes().take_while(|byte| *byte == b'#').count();
        if (1..=6).contains(&hashes) && line.as_bytes().get(hashes) == Some(&b' ') {
            return Line::new(Tone::Heading, "", line);
        }
        let mut line = Line::new(Tone::Answer, "", line);
        line.marks = spans(&line.text);
        line
    });
    lines.collect()
}

/// Returns the `code` and the **strong words** of a line, with their marks.
fn spans(line: &str) -> Vec<(Range<usize>, Tone)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(begin) = line[at..].find(['`', '*']).map(|begin| at + begin) {
        let (mark, tone) = match &line[begin..] {
            code if code.starts_with('`') => ("`", Tone::Code),
            strong if strong.starts_with("**") => ("**", Tone::Strong),
            _ => {
                at = begin + 1;
                continue;
            }
        };
        let from = begin + mark.len();
        match line[from..].find(mark) {
            Some(len @ 1..) => {
                at = from + len + mark.len();
                found.push((begin..at, tone));
            }
            _ => at = from,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_and_strong_words_are_marked() {
        let marks = |line: &str| -> Vec<_> {
            spans(line)
                .into_iter()
                .map(|(range, tone)| (line[range].to_owned(), tone))
                .collect()
        };
        assert_eq!(
            marks("a `b` **c d** * e ** f"),
            [
                ("`b`".to_owned(), Tone::Code),
                ("**c d**".to_owned(), Tone::Strong)
            ]
        );
        assert!(marks("`` ** x").is_empty());
        let tones: Vec<Tone> = marked("# a\n```\n# b\n```\n#c")
            .iter()
            .map(|line| line.tone)
            .collect();
        assert_eq!(
            tones,
            [Tone::Heading, Tone::Code, Tone::Code, Tone::Code, Tone::Answer]
        );
    }
}
