//! What changes in a file without a letter of it: the ends of lines, and a byte order mark.

use std::borrow::Cow;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Returns the unified diff of one file for readers. A line in front of the first hunk, with `\` as its sign, says that line
/// ends or a byte order mark have changed. Carriage returns are written as `␍`: they hide no text, and those at the ends of
/// lines are left out if all lines have one. Without the head of a hunk, every line with a sign belongs to the file.
pub fn shown_diff(diff: &str) -> Cow<'_, str> {
    if !diff.contains(['\r', BYTE_ORDER_MARK]) {
        return Cow::Borrowed(diff);
    }
    let (head, body) = diff.split_at(head_bytes(diff));
    let ends = Ends::of(body);
    let mut shown = written(head);
    for note in ends.notes() {
        shown.push_str(&format!("\\ {note}\n"));
    }
    for line in body.split_inclusive('\n') {
        match line.strip_suffix("\r\n") {
            Some(line) if !ends.are_marked() => {
                shown.push_str(&written(line));
                shown.push('\n');
            }
            _ => shown.push_str(&written(line)),
        }
    }
    Cow::Owned(shown)
}

/// Returns the length of the lines in front of the file's lines, in bytes.
fn head_bytes(diff: &str) -> usize {
    let has_hunks = diff.starts_with("@@") || diff.contains("\n@@");
    let is_head = |line: &&str| {
        if has_hunks {
            !line.starts_with("@@")
        } else {
            !line.starts_with([' ', '+', '-'])
        }
    };
    diff.split_inclusive('\n').take_while(is_head).map(str::len).sum()
}

fn written(text: &str) -> String {
    text.replace('\r', "␍").replace(BYTE_ORDER_MARK, "⟨U+FEFF⟩")
}

/// The ends of a file's lines before and after a change, as far as a diff shows them.
#[derive(Default)]
struct Ends {
    before: Kinds,
    after: Kinds,
    /// Whether a removed line has a byte order mark, and whether an added one has.
    marks: (bool, bool),
    /// Whether a last line without an end has a carriage return, which is then inside it.
    has_stray: bool,
}

/// The kinds of ends that lines have.
#[derive(Default, Clone, Copy)]
struct Kinds {
    lf: bool,
    crlf: bool,
}

impl Kinds {
    fn add(&mut self, is_crlf: bool) {
        self.crlf |= is_crlf;
        self.lf |= !is_crlf;
    }

    fn name(self) -> Option<&'static str> {
        match (self.lf, self.crlf) {
            (true, true) => Some("mixed"),
            (true, false) => Some("LF"),
            (false, true) => Some("CRLF"),
            (false, false) => None,
        }
    }
}

impl Ends {
    fn of(body: &str) -> Self {
        let mut ends = Self::default();
        let mut lines = body.split('\n').peekable();
        while let Some(line) = lines.next() {
            let mut text = line.chars();
            let Some(sign @ (' ' | '+' | '-')) = text.next() else {
                continue;
            };
            let text = text.as_str();
            let has_mark = text.starts_with(BYTE_ORDER_MARK);
            ends.marks.0 |= has_mark && sign == '-';
            ends.marks.1 |= has_mark && sign == '+';
            let is_crlf = text.ends_with('\r');
            if lines.peek().is_some_and(|next| next.starts_with('\\')) {
                ends.has_stray |= is_crlf;
                continue;
            }
            if sign != '+' {
                ends.before.add(is_crlf);
            }
            if sign != '-' {
                ends.after.add(is_crlf);
            }
        }
        ends
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let (Some(from), Some(to)) = (self.before.name(), self.after.name())
            && from != to
        {
            notes.push(format!("line ends changed from {from} to {to}"));
        }
        match self.marks {
            (false, true) => notes.push("byte order mark added".to_owned()),
            (true, false) => notes.push("byte order mark removed".to_owned()),
            _ => {}
        }
        notes
    }

    /// Returns whether the carriage returns at the ends of lines are shown.
    fn are_marked(&self) -> bool {
        let has_lf = self.before.lf || self.after.lf;
        let has_crlf = self.before.crlf || self.after.crlf;
        self.has_stray || (has_lf && has_crlf)
    }
}

#[cfg(test)]
mod tests {
    use super::shown_diff;

    #[test]
    fn changed_line_ends_are_said_and_marked() {
        for (lines, shown) in [
            (
                "-a\n-b\n+a\r\n+b\r\n",
                "\\ line ends changed from LF to CRLF\n-a\n-b\n+a␍\n+b␍\n",
            ),
            ("-a\r\n+a\n", "\\ line ends changed from CRLF to LF\n-a␍\n+a\n"),
            (
                " a\r\n-b\r\n+b\n",
                "\\ line ends changed from CRLF to mixed\n a␍\n-b␍\n+b\n",
            ),
            (" a\r\n b\n-c\n+d\n", " a␍\n b\n-c\n+d\n"),
            (" a\r\n-b\r\n+c\r\n", " a\n-b\n+c\n"),
            ("+a\r\n+b\r\n", "+a\n+b\n"),
            // A last line without an end has none to compare.
            (
                " a\r\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n",
                " a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n",
            ),
            (
                " a\r\n+b\r\n\\ No newline at end of file\n",
                " a␍\n+b␍\n\\ No newline at end of file\n",
            ),
        ] {
            assert_eq!(shown_diff(lines), shown, "{lines:?}");
            let head = "--- a/x\n+++ b/x\n";
            let hunk = "@@ -1,2 +1,2 @@\n";
            let whole = shown_diff(&format!("{head}{hunk}{lines}")).into_owned();
            let (notes, rest) = whole.split_once(hunk).unwrap();
            assert_eq!(format!("{notes}{rest}"), format!("{head}{shown}"), "{lines:?}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_said() {
        assert_eq!(
            shown_diff("/w/x\n-a\n+\u{feff}a\n"),
            "/w/x\n\\ byte order mark added\n-a\n+⟨U+FEFF⟩a\n"
        );
        assert_eq!(
            shown_diff("@@ -1 +1 @@\n-\u{feff}a\n+b\n"),
            "\\ byte order mark removed\n@@ -1 +1 @@\n-⟨U+FEFF⟩a\n+b\n"
        );
        assert_eq!(shown_diff("-\u{feff}a\n+\u{feff}b\n"), "-⟨U+FEFF⟩a\n+⟨U+FEFF⟩b\n");
    }

    #[test]
    fn a_carriage_return_inside_of_a_line_stays_there() {
        assert_eq!(shown_diff("-ls\n+rm -rf ~\r-ls\n"), "-ls\n+rm -rf ~␍-ls\n");
        // The end of a cut text is no end of a line.
        assert_eq!(shown_diff("+a\r\n+b\r"), "+a\n+b␍");
    }
}
