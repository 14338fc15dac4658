//! Documents, messages, doc comments and the web UI are in plain English: they use none of the expressions below.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue should stop")]

use std::path::{Path, PathBuf};

use crate::tokens::{is_comment, pieces};

/// Expressions that name no actor or no thing, or that the field has a plain word for; and what to write instead. A `*` at the
/// end of a word stands for its other endings.
const EXPRESSIONS: [(&str, &str); 30] = [
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
    ("go on", "continue, keep running"),
    ("goes on", "continues, keeps running"),
    ("went on", "continued, resumed"),
    ("in force", "effective"),
    ("takes up changes", "applies changes"),
    ("takes changes up", "applies changes"),
    ("what is to be done", "name the task"),
    ("none that this daemon", "not issued by this daemon"),
    ("are unanswered already", "too many … in flight"),
    ("no rule is about it", "no rule matches"),
    ("this browser has none", "this browser does not support it"),
    ("no sign of life", "sent nothing, no response"),
    ("surroundings", "context"),
    ("lobby", "connection setup"),
];

/// Expressions that are wrong only where they are a message or a label.
const LABELS: [(&str, &str); 3] = [
    ("look again", "refresh"),
    ("as the system", "system"),
    ("ends that", "name what ends"),
];

/// What to write instead of "x is no y", and of "y is required, and x is none".
const DENIALS: [(&str, &str); 2] = [
    ("no", "\"invalid x\", \"x is not a y\""),
    ("none", "say what it is, or that it is not one"),
];

/// Words behind "is no" that deny no noun.
const COMPARED: [&str; 10] = [
    "longer", "more", "less", "larger", "smaller", "later", "earlier", "better", "worse", "newer",
];

/// Documents beside those in `docs`.
const DOCUMENTS: [&str; 8] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "clients/python/README.md",
    "crates/client/README.md",
    "web/README.md",
    "web/client/README.md",
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

/// Writes what `pick` takes from the pieces of a Rust source without its tests, each on the line where it begins.
fn of_rust(text: &str, mut pick: impl FnMut(&str, &mut String)) -> String {
    let product = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut out = String::new();
    let mut end = 0;
    for (at, piece) in pieces(product) {
        out.extend(product[end..at].chars().filter(|c| *c == '\n'));
        let begin = out.len();
        pick(piece, &mut out);
        let written = out[begin..].matches('\n').count();
        let lines = piece.matches('\n').count();
        out.extend(std::iter::repeat_n('\n', lines.saturating_sub(written)));
        end = at + piece.len();
    }
    out
}

/// The string literals of a Rust source that contain a space. A literal that continues on the next line is one text.
fn strings_of_rust(text: &str) -> String {
    of_rust(text, |piece, out| {
        let quoted = piece.split_once('"').filter(|_| !is_comment(piece));
        if let Some((begin, content)) = quoted.filter(|(_, content)| content.contains(' ')) {
            let is_raw = begin.contains('r');
            for (number, line) in content.lines().enumerate() {
                if number > 0 {
                    out.push('\n');
                }
                let line = if is_raw {
                    line
                } else {
                    line.strip_suffix('\\').unwrap_or(line)
                };
                out.push_str(line.trim());
            }
            out.push_str(" | ");
        }
    })
}

/// The doc comments of a Rust source, without what is in backquotes.
fn docs_of_rust(text: &str) -> String {
    of_rust(text, |piece, out| {
        if let Some(doc) = piece.strip_prefix("///").or(piece.strip_prefix("//!")) {
            out.extend(doc.trim().split('`').step_by(2));
        }
    })
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

/// Returns the positions of `expression` in `text` as whole words.
fn find(text: &str, expression: &str) -> Vec<usize> {
    let (words, any_end) = match expression.strip_suffix('*') {
        Some(words) => (words, true),
        None => (expression, false),
    };
    let is_word = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let found = text.match_indices(words).filter(|(at, _)| {
        let before = at.checked_sub(1).and_then(|at| text.as_bytes().get(at));
        let after = text.as_bytes().get(at + words.len());
        !is_word(before) && (any_end || !is_word(after))
    });
    found.map(|(at, _)| at).collect()
}

/// Returns the positions of a denial such as "is no" or "are none" in `text`. "There is no" names what is missing.
fn find_denials(text: &str, word: &str) -> Vec<usize> {
    let is_end = |c: char| !c.is_alphanumeric();
    let mut found = find(text, word);
    found.retain(|at| {
        let before = text[..*at].strip_suffix(' ').unwrap_or_default();
        if before.ends_with(is_end) {
            return false;
        }
        let mut words = before.rsplit(is_end).filter(|word| !word.is_empty());
        let verb = words.next().unwrap_or_default();
        // "There will be no".
        let subject = words.nth(usize::from(verb == "be")).unwrap_or_default();
        let noun = text[*at + word.len()..].trim_start();
        let noun = noun.split(is_end).next().unwrap_or_default();
        matches!(verb, "is" | "are" | "was" | "were" | "be")
            && subject != "there"
            && !COMPARED.contains(&noun)
    });
    found
}

/// Adds the faults of a text to `faults`. `prose` has the lines of the file.
fn check(path: &Path, prose: &str, is_message: bool, faults: &mut Vec<String>) {
    let lower = prose.to_ascii_lowercase().replace('\n', " ");
    let mut add = |at: usize, expression: &str, instead: &str| {
        let number = 1 + prose[..at].matches('\n').count();
        let path = path.strip_prefix(workspace()).unwrap().display();
        faults.push(format!("{path}:{number}: {expression:?} ({instead})"));
    };
    let labels = LABELS.iter().filter(|_| is_message);
    for (expression, instead) in EXPRESSIONS.iter().chain(labels) {
        for at in find(&lower, expression) {
            add(at, expression, instead);
        }
    }
    for (word, instead) in DENIALS {
        for at in find_denials(&lower, word) {
            add(at, &format!("is {word}"), instead);
        }
    }
}

#[test]
fn texts_are_plain_english() {
    let root = workspace();
    let mut faults = Vec::new();
    let mut documents: Vec<PathBuf> = DOCUMENTS.map(|name| root.join(name)).into();
    files_below(&root.join("docs"), &[".md"], &mut documents);
    for path in documents {
        let text = std::fs::read_to_string(&path).unwrap();
        check(&path, &prose_of_document(&text), true, &mut faults);
    }
    let mut sources = Vec::new();
    files_below(&root.join("crates"), &[".rs"], &mut sources);
    for path in sources {
        let text = std::fs::read_to_string(&path).unwrap();
        check(&path, &strings_of_rust(&text), true, &mut faults);
        check(&path, &docs_of_rust(&text), false, &mut faults);
    }
    let mut pages = Vec::new();
    for folder in ["web/src", "web/client/src"] {
        files_below(&root.join(folder), &[".ts", ".tsx"], &mut pages);
    }
    for path in pages {
        let text = std::fs::read_to_string(&path).unwrap();
        check(&path, &text_of_typescript(&text), true, &mut faults);
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn whole_words_are_found_in_prose_only() {
    assert_eq!(find("the client is told of it", "is told"), [11]);
    assert!(find("this tolder", "is told").is_empty());
    assert!(!find("it lends files", "lend*").is_empty() && find("a blend", "lend*").is_empty());
    assert_eq!(
        prose_of_document("a `somebody` b\n```\nsomebody\n```").trim(),
        "a   b"
    );
    let source = "// \"is told x\"\nlet a = \"it is told\"; b(\"x\", 'c', \"\\\"d\\\" is \\\n   no e\");\n/// F `g h`\n/// i\n";
    assert_eq!(
        strings_of_rust(source),
        "\nit is told\" | \\\"d\\\" is\nno e\" | \n\n"
    );
    assert_eq!(docs_of_rust(source), "\n\n\nF \ni");
}

#[test]
fn denials_are_found_with_the_line_of_their_noun() {
    for (text, found) in [
        ("{x} is no path", 1),
        ("an address, and it is none", 1),
        ("these are none of a, b", 1),
        ("it would be no error", 1),
        ("there is no path", 0),
        ("(there will be no path", 0),
        ("Error(\"there is no path", 0),
        ("it is: no path", 0),
        ("if there are none", 0),
        ("it is no longer used", 0),
        ("it has no path", 0),
        ("this nothing", 0),
    ] {
        let count = find_denials(text, "no").len() + find_denials(text, "none").len();
        assert_eq!(count, found, "{text}");
    }
    let (path, mut faults) = (workspace().join("a.md"), Vec::new());
    check(&path, "a\nb is\nno c\n", true, &mut faults);
    assert_eq!(faults, ["a.md:3: \"is no\" (\"invalid x\", \"x is not a y\")"]);
}
