//! The HTML page: one file without scripts, links or external resources. All text is escaped, and pictures are part of the file. A content
//! security policy in the page blocks the effects of an escaping error.

use acpd_model::text::visible;

use super::block::{Block, Page, Part, Span};
use super::fence::{Passage, passages};
use super::text::{clock, readable};

/// Writes HTML.
#[derive(Debug)]
pub struct Html;

/// The classes of blocks that are one line each, with their content below.
const WORK: [&str; 4] = ["tool", "terminal", "file", "permission"];

const STYLE: &str = include_str!("page.css");

/// The SHA-256 of [`STYLE`]: the policy permits no other style.
const STYLE_HASH: &str = "I0XqLESt+Lh88OOJbUQogKevccFwJEj4MNGFHHHIM+w=";

impl Page for Html {
    fn head(&self, out: &mut String, title: &str, facts: &[(&'static str, Vec<Span>)]) {
        out.push_str("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        out.push_str(
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-",
        );
        out.push_str(STYLE_HASH);
        out.push_str("'; img-src data:; base-uri 'none'; form-action 'none'\">\n");
        out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        out.push_str("<meta name=\"color-scheme\" content=\"light dark\">\n");
        out.push_str("<meta name=\"referrer\" content=\"no-referrer\">\n<title>");
        escape(out, title);
        out.push_str("</title>\n<style>");
        out.push_str(STYLE);
        out.push_str("</style>\n</head>\n<body>\n<header>\n<h1>");
        escape(out, title);
        out.push_str("</h1>\n<dl>\n");
        for (name, spans) in facts {
            out.push_str("<dt>");
            escape(out, name);
            out.push_str("</dt><dd>");
            line(out, spans);
            out.push_str("</dd>\n");
        }
        out.push_str("</dl>\n</header>\n<main>\n");
    }

    fn section(&self, out: &mut String, title: &[Span], note: &[Span]) {
        out.push_str("<section>\n<h2>");
        line(out, title);
        out.push_str("</h2>\n");
        if !note.is_empty() {
            out.push_str("<p class=\"note\">");
            line(out, note);
            out.push_str("</p>\n");
        }
    }

    fn block(&self, out: &mut String, block: &Block) {
        out.push_str("<article class=\"");
        escape(out, block.class);
        out.push_str("\">\n");
        let is_folded = block.folded || (WORK.contains(&block.class) && !block.parts.is_empty());
        out.push_str(if is_folded { "<details><summary>" } else { "<h3>" });
        line(out, &block.title);
        out.push_str(" <time>");
        escape(out, &clock(block.at));
        out.push_str("</time>");
        out.push_str(if is_folded { "</summary>\n" } else { "</h3>\n" });
        for part in &block.parts {
            self::part(out, part);
        }
        out.push_str(if is_folded {
            "</details>\n</article>\n"
        } else {
            "</article>\n"
        });
    }

    fn end_section(&self, out: &mut String) {
        out.push_str("</section>\n");
    }

    fn foot(&self, out: &mut String) {
        out.push_str("</main>\n</body>\n</html>\n");
    }
}

fn part(out: &mut String, part: &Part) {
    match part {
        Part::Prose(text) => prose(out, text),
        // HTML drops a line break directly after the tag. With this one, a line break of the text itself stays.
        Part::Verbatim {
            language: "diff",
            text,
        } => {
            out.push_str("<pre>\n");
            diff(out, text);
            out.push_str("</pre>\n");
        }
        Part::Verbatim { text, .. } => {
            out.push_str("<pre>\n");
            escape(out, text);
            out.push_str("</pre>\n");
        }
        Part::Picture(picture) => {
            out.push_str("<p><img src=\"");
            // It has no character to escape, and is long.
            out.push_str(&picture.url());
            out.push_str("\" alt=\"Picture\"></p>\n");
        }
        Part::Line(spans) => {
            out.push_str("<p>");
            line(out, spans);
            out.push_str("</p>\n");
        }
        Part::List(lines) => {
            out.push_str("<ul>\n");
            for spans in lines {
                out.push_str("<li>");
                line(out, spans);
                out.push_str("</li>\n");
            }
            out.push_str("</ul>\n");
        }
        Part::Block(block) => Html.block(out, block),
    }
}

fn line(out: &mut String, spans: &[Span]) {
    for span in spans {
        match span {
            Span::Word(text) => escape(out, text),
            Span::Code(text) => {
                out.push_str("<code>");
                escape(out, &visible(&readable(text)));
                out.push_str("</code>");
            }
        }
    }
}

/// Writes a message: its code in boxes, and its words with code spans and strong words. Other marks stay as they are.
fn prose(out: &mut String, text: &str) {
    let text = readable(text);
    for passage in passages(&text) {
        match passage {
            Passage::Words(lines) => {
                let said = lines.join("\n");
                let said = said.trim_matches('\n');
                if !said.is_empty() {
                    out.push_str("<p class=\"said\">");
                    words(out, said);
                    out.push_str("</p>\n");
                }
            }
            Passage::Code { lines, .. } => {
                out.push_str("<pre>\n");
                escape(out, &lines.join("\n"));
                out.push_str("</pre>\n");
            }
        }
    }
}

/// Writes words with their code spans and strong words, which end on their line. A mark without its partner is text.
fn words(out: &mut String, text: &str) {
    let mut rest = text;
    while let Some(at) = rest.find(['`', '*']) {
        let (before, marked) = rest.split_at(at);
        escape(out, before);
        let spans = [("`", "code"), ("**", "strong")];
        let span = spans.into_iter().find_map(|(mark, tag)| {
            let (inside, after) = marked.strip_prefix(mark)?.split_once(mark)?;
            (!inside.is_empty() && !inside.contains('\n')).then_some((tag, inside, after))
        });
        rest = if let Some((tag, inside, after)) = span {
            out.push_str(&format!("<{tag}>"));
            escape(out, inside);
            out.push_str(&format!("</{tag}>"));
            after
        } else {
            let (mark, after) = marked.split_at(1);
            escape(out, mark);
            after
        };
    }
    escape(out, rest);
}

fn diff(out: &mut String, text: &str) {
    let mut is_in_hunk = false;
    for line in text.split_inclusive('\n') {
        is_in_hunk |= line.starts_with("@@");
        let tag = match line.as_bytes().first() {
            Some(b'+') if is_in_hunk => "ins",
            Some(b'-') if is_in_hunk => "del",
            _ => {
                escape(out, line);
                continue;
            }
        };
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        out.push_str(&format!("<{tag}>"));
        escape(out, line);
        out.push_str(&format!("</{tag}>{end}"));
    }
}

/// Appends text, escaped for an element and for a quoted attribute.
fn escape(out: &mut String, text: &str) {
    for c in readable(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
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
    fn text_is_nothing_but_text() {
        assert_eq!(
            written(|out| escape(out, "<b a=\"x\" c='y'>&\u{0}")),
            "&lt;b a=&quot;x&quot; c=&#39;y&#39;&gt;&amp;\u{fffd}"
        );
    }

    #[test]
    fn a_diff_shows_what_came_and_what_went() {
        assert_eq!(
            written(|out| diff(out, "@@\n-<a>\n+b")),
            "@@\n<del>-&lt;a&gt;</del>\n<ins>+b</ins>"
        );
    }

    #[test]
    fn file_names_do_not_count_as_changed_lines() {
        assert_eq!(
            written(|out| diff(out, "--- a/x\n+++ b/x\n@@ -1 +1 @@\n--- x\n")),
            "--- a/x\n+++ b/x\n@@ -1 +1 @@\n<del>--- x</del>\n"
        );
    }

    #[test]
    fn code_of_a_message_is_in_a_box_and_nothing_else_is_markup() {
        assert_eq!(
            written(|out| prose(
                out,
                "\nIt is **done**:\n\n```rust\nlet a = 1 < 2;\n```\nSee `a<b`.\n"
            )),
            "<p class=\"said\">It is <strong>done</strong>:</p>\n<pre>\nlet a = 1 &lt; 2;</pre>\n<p class=\"said\">See <code>a&lt;b</code>.</p>\n"
        );
        assert_eq!(
            written(|out| prose(out, "`\n` ** `` * <b> # x\n**`</p>**")),
            "<p class=\"said\">`\n<code> ** </code>` * &lt;b&gt; # x\n<strong>`&lt;/p&gt;</strong></p>\n"
        );
        assert_eq!(written(|out| prose(out, "\n\n")), "");
    }

    /// The policy names the style by its hash: if only one of them changes, the page has no style.
    #[test]
    fn the_policy_admits_the_style() {
        use sha2::Digest;
        let hash: [u8; 32] = sha2::Sha256::digest(STYLE).into();
        assert_eq!(base64(&hash), STYLE_HASH);
    }

    fn base64(bytes: &[u8]) -> String {
        const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut out = String::new();
        for chunk in bytes.chunks(3) {
            let at = |k: usize| u32::from(chunk.get(k).copied().unwrap_or(0));
            let bits = at(0) << 16 | at(1) << 8 | at(2);
            for k in 0..4 {
                let letter = LETTERS[(bits >> (18 - 6 * k)) as usize & 63] as char;
                out.push(if k <= chunk.len() { letter } else { '=' });
            }
        }
        out
    }
}
