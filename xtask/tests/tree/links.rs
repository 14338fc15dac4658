//! The links of the documents lead somewhere, and every document is a page of the book.
//!
//! A link out of the book leads to a file of the sources; `make docs` keeps its text alone.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue should stop")]

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Documents outside of the book.
const OTHERS: [&str; 8] = [
    "clients/python/README.md",
    "crates/client/README.md",
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "web/README.md",
    "web/client/README.md",
];

/// Returns the pages of the book, relative to `docs`.
fn pages(folder: &Path, found: &mut BTreeSet<PathBuf>) {
    let docs = workspace().join("docs");
    for entry in std::fs::read_dir(docs.join(folder)).unwrap() {
        let path = folder.join(entry.unwrap().file_name());
        if docs.join(&path).is_dir() {
            if path != Path::new("dist") {
                pages(&path, found);
            }
        } else if path.extension().is_some_and(|end| end == "md") && path != Path::new("SUMMARY.md") {
            found.insert(path);
        }
    }
}

/// The lines of a document outside of fenced blocks, without what is in backquotes, with their numbers.
fn prose(text: &str) -> Vec<(usize, String)> {
    let mut is_code = false;
    let mut out = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            out.push((number, line.split('`').step_by(2).collect::<Vec<_>>().join("``")));
        }
    }
    out
}

/// Returns the targets of links and pictures in a line.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split(')').next())
}

/// Returns the anchors of a document: its headings, as GitHub and mdbook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut is_code = false;
    for line in text.lines() {
        is_code ^= line.trim_start().starts_with("```");
        let title = line.trim_start_matches('#');
        if !is_code && title.len() < line.len() && title.starts_with(' ') {
            let kept = title
                .trim()
                .chars()
                .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            let anchor: String = kept
                .map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() })
                .collect();
            found.insert(anchor);
        }
    }
    found
}

/// Removes `.` and `..` from a path.
fn normal(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut path, component| {
        match component {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            other => path.push(other),
        }
        path
    })
}

fn check(document: &Path, faults: &mut Vec<String>) {
    let root = workspace();
    let text = std::fs::read_to_string(root.join(document)).unwrap();
    for (number, line) in prose(&text) {
        for target in targets(&line) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let place = format!("{}:{number}: {target}", document.display());
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = if file.is_empty() {
                document.to_owned()
            } else {
                normal(&document.parent().unwrap().join(file))
            };
            let Ok(read) = std::fs::read(root.join(&path)) else {
                if root.join(&path).is_dir() {
                    continue;
                }
                faults.push(format!("{place} does not exist"));
                continue;
            };
            if !anchor.is_empty() && !anchors(&String::from_utf8_lossy(&read)).contains(anchor) {
                faults.push(format!("{place} names no heading"));
            }
        }
    }
}

#[test]
fn every_link_leads_somewhere() {
    let mut documents = BTreeSet::new();
    pages(Path::new(""), &mut documents);
    let mut faults = Vec::new();
    for document in documents
        .iter()
        .map(|page| Path::new("docs").join(page))
        .chain(OTHERS.map(PathBuf::from))
    {
        check(&document, &mut faults);
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_document_is_in_the_book_once() {
    let mut found = BTreeSet::new();
    pages(Path::new(""), &mut found);
    let summary = std::fs::read_to_string(workspace().join("docs/SUMMARY.md")).unwrap();
    let listed: Vec<PathBuf> = summary.lines().flat_map(targets).map(PathBuf::from).collect();
    let once: BTreeSet<PathBuf> = listed.iter().cloned().collect();
    assert_eq!(once.len(), listed.len(), "docs/SUMMARY.md lists a page twice");
    let missing: Vec<_> = found.difference(&once).collect();
    assert!(missing.is_empty(), "docs/SUMMARY.md does not list {missing:?}");
    let gone: Vec<_> = once.difference(&found).collect();
    assert!(
        gone.is_empty(),
        "docs/SUMMARY.md lists {gone:?}, which do not exist"
    );
}

/// A picture that nothing makes shows a product of the past. `make docs-pictures` stores the looks of each one that it takes.
#[test]
fn every_picture_is_taken_by_a_test_and_shown() {
    let root = workspace();
    let mut documents = BTreeSet::new();
    pages(Path::new(""), &mut documents);
    let shown: String = documents
        .iter()
        .map(|page| root.join("docs").join(page))
        .chain(OTHERS.map(|other| root.join(other)))
        .map(|document| std::fs::read_to_string(document).unwrap())
        .collect();
    for entry in std::fs::read_dir(root.join("docs/images")).unwrap() {
        let picture = entry.unwrap().path();
        let name = picture.file_stem().unwrap().to_string_lossy().into_owned();
        assert!(
            root.join(format!("web/e2e/pictures/{name}-looks.txt")).exists(),
            "{}: no test takes it; add it to web/e2e/pictures.test.ts",
            picture.display()
        );
        assert!(
            shown.contains(&format!("images/{name}.png")),
            "{}: no document shows it",
            picture.display()
        );
    }
}

#[test]
fn links_and_anchors_are_found() {
    let text = "# A `b`: C-d\n\n[x](y.md#z) `[no](no.md)`\n```\n# no\n[no](no)\n```\n";
    let lines = prose(text);
    let found: Vec<_> = lines.iter().flat_map(|(_, line)| targets(line)).collect();
    assert_eq!(found, ["y.md#z"]);
    assert_eq!(anchors(text), BTreeSet::from(["a-b-c-d".to_owned()]));
}
