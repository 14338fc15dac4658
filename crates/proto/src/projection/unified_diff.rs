//! Unified diffs of files.

use std::collections::HashMap;
use std::ops::Range;

use acpd_model::PreviousContent;
use acpd_model::limits::DIFF_BYTES;
use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::{DiffOp, DiffTag};

/// Unchanged lines around a change.
const CONTEXT_LINES: usize = 3;

/// Returns a unified diff with three lines of context; empty if nothing changed. For a file larger than [`DIFF_BYTES`],
/// the result only states the sizes, because a diff would cost too much. If the previous content is unknown, the result
/// says so and shows the new text.
pub fn unified_diff(path: &str, before: &PreviousContent, new: &str) -> String {
    let shown = path.trim_start_matches('/');
    let from = match before {
        PreviousContent::Nothing => "/dev/null".to_owned(),
        PreviousContent::Text(_) | PreviousContent::Unknown => format!("a/{shown}"),
    };
    let head = format!("--- {from}\n+++ b/{shown}\n");
    let (old, unknown) = match before.text() {
        Some(old) if old == new => return String::new(),
        Some(old) => (old, ""),
        None => ("", UNKNOWN_BEFORE),
    };
    if !is_computed(before, new) {
        let replaced = match before.text() {
            Some(old) => format!("{} bytes replaced by ", old.len()),
            None => String::new(),
        };
        return format!("{head}{unknown}\\ {replaced}{} bytes\n", new.len());
    }
    format!("{head}{unknown}{}", changed_lines(old, new))
}

/// Returns whether [`unified_diff`] shows every line that differs.
pub fn is_computed(before: &PreviousContent, new: &str) -> bool {
    before.text().unwrap_or_default().len() <= DIFF_BYTES && new.len() <= DIFF_BYTES
}

/// Replaces the removed lines if the previous content is unknown.
const UNKNOWN_BEFORE: &str =
    "\\ what it replaced cannot be shown: no UTF-8 text, too large, not readable, or written by a client\n";

/// Returns the lines that differ, with their context, as the hunks of a unified diff.
pub fn changed_lines(old: &str, new: &str) -> String {
    let mut out = String::new();
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    for ops in changes(&old, &new).into_grouped_ops(CONTEXT_LINES) {
        let (Some(first), Some(last)) = (ops.first(), ops.last()) else {
            continue;
        };
        let old_range = first.old_range().start..last.old_range().end;
        let new_range = first.new_range().start..last.new_range().end;
        out.push_str(&format!(
            "@@ -{} +{} @@\n",
            numbers(&old_range),
            numbers(&new_range)
        ));
        for op in &ops {
            write_lines(&mut out, op, &old, &new);
        }
    }
    out
}

/// Computes the changes between two lists of lines. Equal lines become equal numbers first: the algorithm compares a line
/// many times.
fn changes(old: &[&str], new: &[&str]) -> Capture {
    let mut known = HashMap::new();
    let mut number = |line| {
        let next = known.len();
        *known.entry(line).or_insert(next)
    };
    let old: Vec<usize> = old.iter().map(|&line| number(line)).collect();
    let new: Vec<usize> = new.iter().map(|&line| number(line)).collect();
    // The algorithm itself rather than "TextDiff", which brings all of the library's algorithms into the binary: 0.5 MB.
    let mut captured = Compact::new(Replace::new(Capture::new()), &old[..], &new[..]);
    let Ok(()) = myers::diff_deadline(
        &mut captured,
        &old[..],
        0..old.len(),
        &new[..],
        0..new.len(),
        None,
    );
    captured.into_inner().into_inner()
}

fn write_lines(out: &mut String, op: &DiffOp, old: &[&str], new: &[&str]) {
    let mut write = |sign: char, lines: &[&str]| {
        for line in lines {
            out.push(sign);
            out.push_str(line);
            if !line.ends_with('\n') {
                out.push_str("\n\\ No newline at end of file\n");
            }
        }
    };
    match op.tag() {
        DiffTag::Equal => write(' ', &old[op.old_range()]),
        DiffTag::Delete | DiffTag::Insert | DiffTag::Replace => {
            write('-', &old[op.old_range()]);
            write('+', &new[op.new_range()]);
        }
    }
}

/// Returns the line numbers of a hunk: first line and count. An empty range is behind the line that it names.
fn numbers(range: &Range<usize>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        len => format!("{},{len}", range.start + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diffs_are_unified() {
        let text = |text: &str| PreviousContent::Text(text.to_owned());
        assert_eq!(
            unified_diff("/w/a", &text("1\n2\n"), "1\n3\n"),
            "--- a/w/a\n+++ b/w/a\n@@ -1,2 +1,2 @@\n 1\n-2\n+3\n"
        );
        assert_eq!(
            unified_diff("/w/a", &PreviousContent::Nothing, "1\n"),
            "--- /dev/null\n+++ b/w/a\n@@ -0,0 +1 @@\n+1\n"
        );
        assert_eq!(unified_diff("/w/a", &text("same"), "same"), "");
        assert_eq!(unified_diff("/w/a", &PreviousContent::Nothing, ""), "");
        assert_eq!(
            unified_diff("/w/a", &PreviousContent::Unknown, "1\n"),
            format!("--- a/w/a\n+++ b/w/a\n{UNKNOWN_BEFORE}@@ -0,0 +1 @@\n+1\n")
        );
        assert_eq!(
            unified_diff("/w/a", &PreviousContent::Unknown, ""),
            format!("--- a/w/a\n+++ b/w/a\n{UNKNOWN_BEFORE}")
        );
        let large = "x".repeat(DIFF_BYTES + 1);
        assert!(unified_diff("/w/a", &text("1"), &large).contains("bytes replaced"));
    }

    /// Returns the content of a new file from its diff.
    fn added(diff: &str) -> String {
        let mut rest = diff.splitn(4, '\n').nth(3).unwrap_or_default();
        let mut text = String::new();
        while let Some(line) = rest.strip_prefix('+') {
            let end = line.find('\n').map_or(line.len(), |at| at + 1);
            text.push_str(&line[..end]);
            rest = &line[end..];
        }
        if rest == "\\ No newline at end of file\n" {
            text.pop();
        }
        text
    }

    proptest::proptest! {
        /// So a write of a new file needs no other record of its content.
        #[test]
        fn the_diff_of_a_new_file_has_its_content(content in "[a+\\\\ \\r\\n-]{0,40}") {
            let diff = unified_diff("/w/a", &PreviousContent::Nothing, &content);
            proptest::prop_assert_eq!(added(&diff), content);
        }

        /// `similar`'s own diff also divides lines at a carriage return, which git and patch do not.
        #[test]
        fn the_lines_are_those_of_the_librarys_diff(old in "([ab+ \\t-]{0,2}\\n?){0,24}", new in "([ab+ \\t-]{0,2}\\n?){0,24}") {
            let hunks = changed_lines(&old, &new);
            let whole = similar::TextDiff::from_lines(&old, &new);
            proptest::prop_assert_eq!(hunks, whole.unified_diff().context_radius(CONTEXT_LINES).to_string());
        }
    }
}
