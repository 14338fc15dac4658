//! The words that users read are plain English: documents, messages and the web UI use none of the expressions below.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue should stop")]

use std::path::{Path, PathBuf};

/// Expressions that name no actor or no thing, or that the field has a plain word for; and what to write instead. A `*` at the
/// end of a word stands for its other endings.
const EXPRESSIONS: [(&str, &str); 33] = [
    ("whoever", "name the actor: client, editor, agent, user"),
    ("somebody", "name the actor"),
    ("nobody", "no client, no user, no process"),
    ("is told", "receives, is notified"),
    ("are told", "receive, are notified"),
    ("was told", "received, was notified"),
    ("were told", "received, were notified"),
    ("be told", "be notified; cannot be determined"),
    ("what stands", "name the thing"),
    ("who offers", "clients that set"),
    ("stands in", "is in"),
    ("stands at", "is at"),
    ("let go of", "stopped, released, unloaded"),
    ("lets go of", "stops, releases, unloads"),
    ("lend*", "delegate"),
    ("lent", "delegated"),
    ("go on with", "resume"),
    ("goes on with", "resumes"),
    ("went on with", "resumed"),
    ("in force", "effective"),
    ("takes up changes", "applies changes"),
    ("takes changes up", "applies changes"),
    ("what is to be done", "name the task"),
    ("look again", "refresh"),
    ("as the system", "system"),
    ("none that this daemon", "not issued by this daemon"),
    ("are unanswered already", "too many … in flight"),
    ("ends that", "name what ends"),
    ("no rule is about it", "no rule matches"),
    ("this browser has none", "this browser does not support it"),
    ("no sign of life", "sent nothing, no response"),
    ("surroundings", "context"),
    ("lobby", "connection setup"),
];

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The files below `directory` with one of these endings, without generated and fetched ones.
fn files_below(directory: &Path, endings: &[&str], found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if !matches!(
                name.as_str(),
                "node_modules" | "dist" | "tests" | "simulation" | "gallery"
            ) {
                files_below(&path, endings, found);
            }
        } else if endings.iter().any(|ending| name.ends_with(ending))
            && !name.contains(".test.")
            && name != "tests.rs"
        {
            found.push(path);
        }
    }
}

/// A document without code: neither blocks nor what is in backquotes.
fn prose_of_document(text: &str) -> String {
    let mut out = String::new();
    let mut is_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            let outside = line.split('`').step_by(2);
            out.extend(outside.map(|part| format!("{part} ")));
        }
        out.push('\n');
    }
    out
}

/// The string literals of a Rust source that contain a space, without tests; each on the line where it begins.
fn strings_of_rust(text: &str) -> String {
    let product = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut out = String::new();
    for line in product.lines() {
        if !line.trim_start().starts_with("//") {
            let quoted = line.split('"').skip(1).step_by(2);
            out.extend(
                quoted
                    .filter(|part| part.contains(' '))
                    .map(|part| format!("{part} ")),
            );
        }
        out.push('\n');
    }
    out
}

/// A TypeScript source without comments.
fn text_of_typescript(text: &str) -> String {
    let is_comment = |line: &str| {
        ["//", "/*", "*"]
            .iter()
            .any(|begin| line.trim_start().starts_with(begin))
    };
    let lines = text.lines().map(|line| if is_comment(line) { "" } else { line });
    lines.map(|line| format!("{line}\n")).collect()
}

/// The position of `expression` in `line` as whole words.
fn find(line: &str, expression: &str) -> bool {
    let (words, any_end) = match expression.strip_suffix('*') {
        Some(words) => (words, true),
        None => (expression, false),
    };
    let is_word = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    line.match_indices(words).any(|(at, _)| {
        let before = at.checked_sub(1).and_then(|at| line.as_bytes().get(at));
        let after = line.as_bytes().get(at + words.len());
        !is_word(before) && (any_end || !is_word(after))
    })
}

fn check(path: &Path, prose: &str, faults: &mut Vec<String>) {
    for (number, line) in (1..).zip(prose.lines()) {
        let lower = line.to_lowercase();
        for (expression, instead) in EXPRESSIONS {
            if find(&lower, expression) {
                let path = path.strip_prefix(workspace()).unwrap().display();
                faults.push(format!("{path}:{number}: {expression:?} ({instead})"));
            }
        }
    }
}

#[test]
fn what_users_read_is_plain_english() {
    let root = workspace();
    let mut faults = Vec::new();
    let mut documents: Vec<PathBuf> = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]
        .map(|name| root.join(name))
        .into();
    files_below(&root.join("docs"), &[".md"], &mut documents);
    for path in documents {
        check(
            &path,
            &prose_of_document(&std::fs::read_to_string(&path).unwrap()),
            &mut faults,
        );
    }
    let mut sources = Vec::new();
    files_below(&root.join("crates"), &[".rs"], &mut sources);
    for path in sources {
        check(
            &path,
            &strings_of_rust(&std::fs::read_to_string(&path).unwrap()),
            &mut faults,
        );
    }
    let mut pages = Vec::new();
    files_below(&root.join("web/src"), &[".ts", ".tsx"], &mut pages);
    for path in pages {
        check(
            &path,
            &text_of_typescript(&std::fs::read_to_string(&path).unwrap()),
            &mut faults,
        );
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_lint_finds_whole_words_in_prose_only() {
    assert!(find("the client is told of it", "is told"));
    assert!(!find("this tolder", "is told"));
    assert!(find("it lends files", "lend*") && !find("a blend", "lend*"));
    assert_eq!(
        prose_of_document("a `somebody` b\n```\nsomebody\n```").trim(),
        "a   b"
    );
    assert_eq!(
        strings_of_rust("// \"is told x\"\nlet a = \"it is told\"; b(\"x\");").trim(),
        "it is told"
    );
}
