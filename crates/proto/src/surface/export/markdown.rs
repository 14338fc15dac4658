//! The Markdown document.
//!
//! Verbatim text is in a fence that is longer than any run of backticks in it. Names are in code spans made the same
//! way. Words have their punctuation escaped. Messages are quoted, so that their Markdown stays readable and inside the
//! quote. Code in them gets new fences. The `<` of tags and comments is escaped, so that none can swallow the following
//! text. Links and images become inactive and keep their text.

use acpd_model::text::visible;

use super::block::{Block, NEST, Page, Part, Span, word};
use super::fence::{Passage, passages};
use super::text::{moment, readable};

/// The Markdown format.
#[derive(Debug)]
pub struct Markdown;

impl Page for Markdown {
    fn head(&self, out: &mut String, title: &str, facts: &[(&'static str, Vec<Span>)]) {
        out.push_str("# ");
        escape(out, &one_line(title));
        out.push_str("\n\n");
        for (name, spans) in facts {
            out.push_str("- ");
            out.push_str(name);
            out.push_str(": ");
            line(out, spans);
            out.push('\n');
        }
    }

    fn section(&self, out: &mut String, title: &[Span], note: &[Span]) {
        out.push_str("\n## ");
        line(out, title);
        out.push('\n');
        if !note.is_empty() {
            out.push('\n');
            line(out, note);
            out.push('\n');
        }
    }

    fn block(&self, out: &mut String, block: &Block) {
        write_block(out, &[], block);
    }

    fn end_section(&self, _out: &mut String) {}

    fn foot(&self, _out: &mut String) {}
}

/// Writes a block. `before` are the spans before its title. Blocks of a subagent have its name in front of their titles instead of
/// being in a block: Markdown cannot show where that would end.
fn write_block(out: &mut String, before: &[Span], block: &Block) {
    if block.class == NEST {
        let mut before = before.to_vec();
        before.extend(block.title.iter().cloned());
        before.push(word(": "));
        for part in &block.parts {
            if let Part::Block(inner) = part {
                write_block(out, &before, inner);
            }
        }
        return;
    }
    if block.folded {
        // Plain words only: Markdown does not apply inside a line of HTML.
        let title = before.iter().chain(&block.title).map(|span| match span {
            Span::Word(text) => html_text(text),
            Span::Code(text) => html_text(text),
        });
        let title: String = title.collect();
        out.push_str("\n<details>\n<summary>");
        out.push_str(&title);
        out.push_str("</summary>\n");
    } else {
        out.push_str("\n**");
        line(out, before);
        line(out, &block.title);
        out.push_str("** · ");
        out.push_str(&moment(block.at));
        out.push('\n');
    }
    for part in &block.parts {
        out.push('\n');
        match part {
            Part::Prose(text) => prose(out, text),
            Part::Verbatim { language, text } => fence(out, "", language, &readable(text)),
            Part::Picture(picture) => {
                code_span(out, &picture.label());
                out.push('\n');
            }
            Part::Line(spans) => {
                line(out, spans);
                out.push('\n');
            }
            Part::List(lines) => {
                for spans in lines {
                    out.push_str("- ");
                    line(out, spans);
                    out.push('\n');
                }
            }
            Part::Block(inner) => write_block(out, &[], inner),
        }
    }
    if block.folded {
        out.push_str("\n</details>\n");
    }
}

/// Returns `text` in one line.
fn one_line(text: &str) -> String {
    readable(text).replace(['\n', '\t'], " ")
}

fn html_text(text: &str) -> String {
    one_line(text).replace('&', "&amp;").replace('<', "&lt;")
}

fn line(out: &mut String, spans: &[Span]) {
    for span in spans {
        match span {
            Span::Word(text) => escape(out, &one_line(text)),
            Span::Code(text) => code_span(out, &visible(&one_line(text))),
        }
    }
}

/// Escapes characters that could act as markup inside a line.
fn escape(out: &mut String, text: &str) {
    for c in text.chars() {
        if matches!(
            c,
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '&' | '~' | '|' | '#' | '!'
        ) {
            out.push('\\');
        }
        out.push(c);
    }
}

fn code_span(out: &mut String, text: &str) {
    if text.trim().is_empty() {
        out.push_str("(none)");
        return;
    }
    let ticks = "`".repeat(longest_run(text, '`') + 1);
    // Markdown removes one space at each end. It separates backticks of the text from the delimiter.
    let pad = if text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']) {
        " "
    } else {
        ""
    };
    for piece in [&ticks, pad, text, pad, &ticks] {
        out.push_str(piece);
    }
}

fn longest_run(text: &str, of: char) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == of { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// Writes verbatim text between fences that it cannot close. `before` precedes each line.
fn fence(out: &mut String, before: &str, language: &str, text: &str) {
    let ticks = "`".repeat(longest_run(text, '`').max(2) + 1);
    out.push_str(before);
    out.push_str(&ticks);
    out.push_str(language);
    out.push('\n');
    let text = text.strip_suffix('\n').unwrap_or(text);
    for line in text.split('\n') {
        out.push_str(before);
        out.push_str(line);
        out.push('\n');
    }
    out.push_str(before);
    out.push_str(&ticks);
    out.push('\n');
}

/// Writes a message as a quote. The position of code in it is a guess. Both assumed code and other text are therefore
/// written so that they stay inside the quote.
fn prose(out: &mut String, text: &str) {
    let text = readable(text);
    for passage in passages(text.trim_matches('\n')) {
        match passage {
            Passage::Words(lines) => lines.into_iter().for_each(|line| quoted(out, line)),
            Passage::Code { language, lines } => fence(out, "> ", &language, &lines.join("\n")),
        }
    }
}

fn quoted(out: &mut String, line: &str) {
    out.push('>');
    if !line.is_empty() {
        out.push(' ');
    }
    let mut previous = ' ';
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match (previous, c) {
            // A tag, a comment or similar. Before other characters, `<` is only a sign.
            (_, '<')
                if chars
                    .peek()
                    .is_some_and(|c| c.is_ascii_alphabetic() || "/!?".contains(*c)) =>
            {
                out.push_str("&lt;");
            }
            // The target of a link, or of a reference.
            (']', '(') => out.push_str("&#40;"),
            (']', ':') => out.push_str("&#58;"),
            _ => out.push(c),
        }
        previous = c;
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut String)) -> String {
        let mut out = String::new();
        write(&mut out);
        out
    }

    #[test]
    fn a_fence_is_longer_than_any_run_inside() {
        assert_eq!(
            written(|out| fence(out, "", "diff", "a\n```\nb `````\n")),
            "``````diff\na\n```\nb `````\n``````\n"
        );
        assert_eq!(written(|out| fence(out, "> ", "", "")), "> ```\n> \n> ```\n");
    }

    #[test]
    fn a_name_cannot_leave_its_code_span() {
        let span = |text: &str| written(|out| line(out, &[Span::Code(text.to_owned())]));
        assert_eq!(span("a.rs"), "`a.rs`");
        assert_eq!(span("a`b``c"), "```a`b``c```");
        assert_eq!(span("`x`"), "`` `x` ``");
        assert_eq!(span("a\n\n# b"), "`a  # b`");
        assert_eq!(span(" \n"), "(none)");
        assert_eq!(span("rm\u{a0}x\u{200b}"), "`rm\u{fffd}x\u{fffd}`");
    }

    #[test]
    fn words_have_no_markup() {
        assert_eq!(
            written(|out| line(out, &[Span::Word("*a* <b> [c](d) \\".into())])),
            "\\*a\\* \\<b\\> \\[c\\](d) \\\\"
        );
    }

    #[test]
    fn quoted_text_stays_in_its_quote() {
        let said = "# Title\n\n<!-- <details>\n[a](javascript:x) ![b](http://t/p.png)\n[c]: data:x <3\n\n```html\n<b>\n```\n~~~\n```\nend";
        assert_eq!(
            written(|out| prose(out, said)),
            "> # Title\n>\n> &lt;!-- &lt;details>\n> [a]&#40;javascript:x) ![b]&#40;http://t/p.png)\n> [c]&#58; data:x <3\n>\n> ```html\n> <b>\n> ```\n> ````\n> ```\n> end\n> ````\n"
        );
    }
}
