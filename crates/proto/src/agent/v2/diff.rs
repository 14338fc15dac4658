//! Changes of files. Version 2 has a patch of several files, and version 1 the text before and after, of one file or a part of it: each hunk
//! becomes a diff. What has no text, such as a file that is moved or not text, becomes a sentence.

use acpd_model::RawJson;

use super::parts::{noted, object_in, objects_in, text_in, text_piece};
use crate::wire::object;

/// The most bytes of diffs for each byte of the original. Each diff has the path of its file, which may be longer than a hunk.
pub(super) const FACTOR: usize = 8;
/// About the bytes of a diff beside its path and its text.
const DIFF_BYTES: usize = 128;
/// What the other pieces of an original have in its place.
const CONTINUES: &str = r#"{"continues":"diff"}"#;

/// The part of a patch that is about one file.
#[derive(Debug, Default, PartialEq, Eq)]
struct Section {
    /// The lines before the first hunk.
    header: String,
    hunks: Vec<Hunk>,
}

/// A part of a file, before and after.
#[derive(Debug, Default, PartialEq, Eq)]
struct Hunk {
    old: String,
    new: String,
}

/// Returns the pieces of content in version 1 that show a `diff` of version 2. The first has the original in its
/// `_meta`.
pub(super) fn pieces(diff: &RawJson) -> Vec<RawJson> {
    let changes = objects_in(diff, "changes").unwrap_or_default();
    let patch = object_in(diff, "patch")
        .filter(|patch| text_in(patch, "format").is_some_and(|format| format == "git_patch"))
        .and_then(|patch| text_in(&patch, "text"));
    let sections = patch.as_deref().map(sections).unwrap_or_default();
    let mut left = diff.get().len().saturating_mul(FACTOR);
    let mut pieces = Vec::new();
    for (at, change) in changes.iter().enumerate() {
        let path = text_in(change, "path").unwrap_or_default();
        // Not every patch has the whole path.
        let same_place = sections.get(at).filter(|_| sections.len() == changes.len());
        let section = sections.iter().find(|section| section.names(&path));
        let section = section
            .or(same_place)
            .or_else(|| sections.iter().find(|section| section.is_about(&path)));
        let hunks = section.map_or(&[][..], |section| section.hunks.as_slice());
        let bytes = |hunk: &Hunk| hunk.old.len() + hunk.new.len() + path.len() + DIFF_BYTES;
        let hunks = match left.checked_sub(hunks.iter().map(bytes).sum()) {
            Some(rest) => {
                left = rest;
                hunks
            }
            // The path is absurdly long.
            None => &[],
        };
        show(&mut pieces, change, &path, hunks);
    }
    let original = format!(r#"{{"diff":{}}}"#, diff.get());
    for (at, piece) in pieces.iter_mut().enumerate() {
        *piece = noted(piece, if at == 0 { &original } else { CONTINUES });
    }
    pieces
}

/// Adds the pieces of one change.
fn show(pieces: &mut Vec<RawJson>, change: &RawJson, path: &str, hunks: &[Hunk]) {
    let operation = text_in(change, "operation").unwrap_or_default();
    match operation.as_str() {
        "add" if !hunks.is_empty() => pieces.push(one(path, None, &after(hunks))),
        "delete" if !hunks.is_empty() => pieces.push(one(path, Some(&before(hunks)), "")),
        "modify" if !hunks.is_empty() => pieces.extend(each(path, hunks)),
        "move" | "copy" => {
            let from = text_in(change, "oldPath").unwrap_or_default();
            let word = if operation == "move" { "Moved" } else { "Copied" };
            pieces.push(text_piece(&format!("{word} {from} to {path}")));
            pieces.extend(each(path, hunks));
        }
        "add" => pieces.push(text_piece(&format!("Added {path}"))),
        "delete" => pieces.push(text_piece(&format!("Deleted {path}"))),
        _ => pieces.push(text_piece(&format!("Changed {path}"))),
    }
}

fn before(hunks: &[Hunk]) -> String {
    hunks.iter().map(|hunk| hunk.old.as_str()).collect()
}

fn after(hunks: &[Hunk]) -> String {
    hunks.iter().map(|hunk| hunk.new.as_str()).collect()
}

fn each(path: &str, hunks: &[Hunk]) -> impl Iterator<Item = RawJson> {
    hunks
        .iter()
        .map(move |hunk| one(path, Some(&hunk.old), &hunk.new))
}

fn one(path: &str, old: Option<&str>, new: &str) -> RawJson {
    object(|out| {
        out.put("type", "diff")
            .put("path", path)
            .put("oldText", &old)
            .large("newText", new);
    })
}

/// Divides a patch in Git's form. Lines of a hunk are counted: they may look like the header of the next file.
fn sections(patch: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut left = (0_usize, 0_usize);
    // The sides that have the last line.
    let mut last = (false, false);
    for line in patch.split_inclusive('\n') {
        let hunk = sections.last_mut().and_then(|section| section.hunks.last_mut());
        if let Some(hunk) = hunk {
            if line.starts_with('\\') {
                // The last line has no line break.
                for (is_last, text) in [(last.0, &mut hunk.old), (last.1, &mut hunk.new)] {
                    if is_last && text.ends_with('\n') {
                        text.pop();
                    }
                }
                continue;
            }
            if left != (0, 0) && hunk.add(line, &mut left, &mut last) {
                continue;
            }
        }
        left = (0, 0);
        let is_next = line.starts_with("diff --git ")
            || line.starts_with("--- ") && sections.last().is_none_or(|section| !section.hunks.is_empty());
        if is_next || sections.is_empty() {
            sections.push(Section::default());
        }
        let Some(section) = sections.last_mut() else {
            continue;
        };
        match counts(line) {
            Some(counts) => {
                left = counts;
                section.hunks.push(Hunk::default());
            }
            None => section.header.push_str(line),
        }
    }
    sections
}

/// Returns the numbers of lines before and after that the header of a hunk names.
fn counts(line: &str) -> Option<(usize, usize)> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let count = |range: &str| match range.split_once(',') {
        Some((_, count)) => count.parse().ok(),
        None => Some(1),
    };
    Some((count(old)?, count(new)?))
}

impl Section {
    /// Returns whether the header has the whole path, perhaps after the letter of a side.
    fn names(&self, path: &str) -> bool {
        let path = path.trim_start_matches('/');
        let before = |line: &str| {
            let before = line.trim_end().strip_suffix(path)?;
            let root = before.strip_suffix('/').unwrap_or(before);
            let side = before.strip_suffix("a/").or(before.strip_suffix("b/"));
            Some(root.ends_with(' ') || side.is_some_and(|side| side.ends_with(' ')))
        };
        !path.is_empty() && self.header.lines().any(|line| before(line).unwrap_or(false))
    }

    /// Returns whether a path of the header ends with this one.
    fn is_about(&self, path: &str) -> bool {
        let path = path.trim_start_matches('/');
        !path.is_empty() && self.header.lines().any(|line| line.trim_end().ends_with(path))
    }
}

impl Hunk {
    /// Adds a line of the patch. Returns whether it is one of the hunk.
    fn add(&mut self, line: &str, left: &mut (usize, usize), last: &mut (bool, bool)) -> bool {
        let (sides, text) = match line.as_bytes().first() {
            Some(b' ') => ((true, true), &line[1..]),
            Some(b'-') => ((true, false), &line[1..]),
            Some(b'+') => ((false, true), &line[1..]),
            // An empty line whose space was removed.
            Some(b'\n') => ((true, true), line),
            _ => return false,
        };
        if sides.0 {
            self.old.push_str(text);
            left.0 = left.0.saturating_sub(1);
        }
        if sides.1 {
            self.new.push_str(text);
            left.1 = left.1.saturating_sub(1);
        }
        *last = sides;
        true
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn shown(changes: &Value, patch: &str) -> Vec<Value> {
        let diff = json!({
            "type": "diff",
            "changes": changes,
            "patch": { "format": "git_patch", "text": patch },
        });
        let pieces = pieces(&diff.into());
        pieces
            .iter()
            .map(|piece| {
                let mut piece: Value = piece.read().unwrap();
                piece.as_object_mut().unwrap().remove("_meta");
                piece
            })
            .collect()
    }

    fn diff(path: &str, old: &Value, new: &str) -> Value {
        json!({ "type": "diff", "path": path, "oldText": old, "newText": new })
    }

    #[test]
    fn each_hunk_is_a_diff() {
        let patch = "diff --git a/w/a b/w/a\n--- a/w/a\n+++ b/w/a\n@@ -1,2 +1,2 @@ fn a\n x\n-old\n+new\n@@ -9 +9,2 @@\n-- a\n+++ b\n+c\n";
        let changes = json!([{ "operation": "modify", "path": "/w/a" }]);
        assert_eq!(
            shown(&changes, patch),
            [
                diff("/w/a", &json!("x\nold\n"), "x\nnew\n"),
                diff("/w/a", &json!("- a\n"), "++ b\nc\n"),
            ]
        );
    }

    #[test]
    fn several_files_of_one_patch_are_told_apart() {
        let patch = "diff --git a/w/a b/w/a\nnew file mode 100644\n--- /dev/null\n+++ b/w/a\n@@ -0,0 +1 @@\n+made\n\\ No newline at end of file\ndiff --git a/w/b b/w/b\ndeleted file mode 100644\n--- a/w/b\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n";
        let add = json!({ "operation": "add", "path": "/w/a" });
        let delete = json!({ "operation": "delete", "path": "/w/b" });
        let both = [
            diff("/w/a", &Value::Null, "made"),
            diff("/w/b", &json!("gone\n"), ""),
        ];
        assert_eq!(shown(&json!([add, delete]), patch), both);
        assert_eq!(shown(&json!([delete]), patch), both[1..]);
    }

    #[test]
    fn hunks_are_those_of_the_path_in_any_order() {
        let section = |path: &str| {
            format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+{path}\n")
        };
        let patch = [section("w/x/a"), section("w/a"), section("w/b")].concat();
        let modify = |path: &str| json!({ "operation": "modify", "path": path });
        for order in [["/w/b", "/w/a", "/w/x/a"], ["/w/a", "/w/x/a", "/w/b"]] {
            let changes = json!(order.map(modify));
            let pieces = shown(&changes, &patch);
            assert_eq!(pieces.len(), 3);
            for (piece, path) in pieces.iter().zip(order) {
                assert_eq!(piece["path"], path);
                assert_eq!(piece["newText"], format!("{}\n", &path[1..]));
            }
        }
        // Paths of the patch that are relative to another folder.
        let patch = [section("a"), section("b")].concat();
        let pieces = shown(&json!([modify("/w/a"), modify("/w/b")]), &patch);
        assert_eq!(pieces[1]["newText"], "b\n");
    }

    #[test]
    fn a_change_without_text_is_a_sentence() {
        let sentence = |text: &str| json!({ "type": "content", "content": { "type": "text", "text": text } });
        for (change, text) in [
            (
                json!({ "operation": "add", "path": "/w/i.png" }),
                "Added /w/i.png",
            ),
            (
                json!({ "operation": "delete", "path": "/w/i.png" }),
                "Deleted /w/i.png",
            ),
            (
                json!({ "operation": "modify", "path": "/w/i.png" }),
                "Changed /w/i.png",
            ),
            (
                json!({ "operation": "_link", "path": "/w/i.png" }),
                "Changed /w/i.png",
            ),
            (
                json!({ "operation": "move", "oldPath": "/w/a", "path": "/w/b" }),
                "Moved /w/a to /w/b",
            ),
        ] {
            assert_eq!(shown(&json!([change]), ""), [sentence(text)], "{change}");
        }
        assert_eq!(shown(&json!([]), "@@ -1 +1 @@\n-a\n+b\n"), Vec::<Value>::new());
    }

    #[test]
    fn a_patch_that_ends_early_shows_what_it_has() {
        let changes = json!([{ "operation": "modify", "path": "/w/a" }]);
        for patch in ["@@ -1,9 +1,9 @@\n-a\n+b\n", "@@ -1,9 +1,9 @@\n-a\n+b\nodd\n"] {
            assert_eq!(
                shown(&changes, patch),
                [diff("/w/a", &json!("a\n"), "b\n")],
                "{patch}"
            );
        }
        assert_eq!(counts("@@ -1,x +1 @@"), None);
    }
}
