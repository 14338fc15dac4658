//! Tests are linked once, are compiled, run in CI, and those that `faults.md` names exist.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::not_tested::{EXCEPTIONS, may_be_untested};

/// Each program of tests is linked with all that it uses. So `acpd` has one for each subject, and other packages have one.
const BINARIES_OF_ACPD: usize = 7;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Collects the names of all tests below `directory`.
fn tests_below(directory: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let source = || std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy();
        match name.split_once('.').map(|(_, ending)| ending) {
            _ if path.is_dir() => tests_below(&path, found),
            Some("rs") => found.extend(tests_in(&source())),
            Some("test.ts" | "test.tsx") => found.extend(titles_in(&source())),
            _ => {}
        }
    }
}

/// Collects the names of the tests in Rust below `directory`.
fn rust_tests_below(directory: &Path, found: &mut BTreeSet<String>) {
    for path in entries(directory) {
        if path.is_dir() {
            rust_tests_below(&path, found);
        } else if is_rust(&path) {
            found.extend(tests_in(&std::fs::read_to_string(&path).unwrap()));
        }
    }
}

/// Returns the functions that are marked as tests; other attributes such as `#[ignore]` may lie between.
fn tests_in(source: &str) -> Vec<String> {
    let (mut found, mut marked) = (Vec::new(), false);
    for line in source.lines().map(str::trim) {
        let function = line.trim_start_matches("async ").strip_prefix("fn ");
        if let Some(rest) = function {
            if std::mem::take(&mut marked) {
                found.push(rest.split('(').next().unwrap_or_default().to_owned());
            }
        } else if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            marked = true;
        }
    }
    found
}

/// Returns the titles of the tests of a TypeScript file.
fn titles_in(source: &str) -> Vec<String> {
    source
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("test(\""))
        .filter_map(|rest| Some(rest.split_once("\", ")?.0.to_owned()))
        .collect()
}

/// Returns the cells of each row of the table, without its head.
fn rows(text: &str) -> Vec<Vec<&str>> {
    let table = text.lines().filter(|line| line.starts_with('|'));
    table
        .skip(2)
        .map(|row| row.trim_matches('|').split('|').map(str::trim).collect())
        .collect()
}

/// Returns the texts between backquotes.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// Returns the folders and files in a folder, sorted.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut entries: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries
}

fn is_rust(path: &Path) -> bool {
    path.extension() == Some(OsStr::new("rs"))
}

/// Collects the files below the folder of `root`, a `main.rs` or `mod.rs`, that nothing declares as a module: Rust passes
/// them over, and the tests in them.
fn undeclared(root: &Path, found: &mut Vec<PathBuf>) {
    let source = std::fs::read_to_string(root).unwrap();
    for path in entries(root.parent().unwrap()) {
        let inside = path.join("mod.rs");
        if path == root || !(is_rust(&path) || inside.is_file()) {
            continue;
        }
        let name = path.file_stem().unwrap().to_string_lossy();
        let declared = |line: &str| line.trim_start_matches("pub ") == format!("mod {name};");
        if !source.lines().any(declared) {
            found.push(path);
        } else if inside.is_file() {
            undeclared(&inside, found);
        }
    }
}

#[test]
fn tests_are_linked_once_and_all_are_compiled() {
    let packages = entries(&workspace().join("crates")).into_iter();
    let mut forgotten = Vec::new();
    for package in packages.chain([workspace().join("xtask")]) {
        let tests = package.join("tests");
        if !tests.is_dir() {
            continue;
        }
        let entries = entries(&tests).into_iter();
        let binaries: Vec<_> = entries
            .filter(|path| is_rust(path) || path.join("main.rs").is_file())
            .collect();
        let most = if package.ends_with("acpd") {
            BINARIES_OF_ACPD
        } else {
            1
        };
        assert!(
            (1..=most).contains(&binaries.len()),
            "each of these becomes a program, of which {} has at most {most}; make a file a module of a subject: {binaries:#?}",
            tests.display()
        );
        for binary in binaries.iter().map(|binary| binary.join("main.rs")) {
            if binary.is_file() {
                undeclared(&binary, &mut forgotten);
            }
        }
    }
    assert!(forgotten.is_empty(), "no module declares these: {forgotten:#?}");
}

#[test]
fn ci_tests_all_but_what_is_listed() {
    let ci = Some(OsStr::new("true"));
    let unlisted = "the kernel has no Landlock";
    assert!(may_be_untested(unlisted, None));
    assert!(!may_be_untested(unlisted, ci));
    for (reason, why) in EXCEPTIONS {
        assert!(may_be_untested(reason, ci) && !why.is_empty(), "{reason}");
        assert!(!may_be_untested(&format!("{reason}, or else"), ci), "{reason}");
    }
}

#[test]
fn each_test_that_guards_against_a_fault_exists() {
    let mut known = BTreeSet::new();
    for directory in ["crates", "web/e2e", "web/src", "web/test"] {
        tests_below(&workspace().join(directory), &mut known);
    }
    let text = std::fs::read_to_string(workspace().join("xtask/tests/faults.md")).unwrap();
    let rows = rows(&text);
    assert!(rows.len() > 20, "the table is not found: {rows:?}");
    for row in rows {
        let [fault, tests] = row[..] else {
            panic!("a row has two cells: {row:?}");
        };
        let names: Vec<&str> = quoted(tests).collect();
        assert!(!names.is_empty(), "nothing guards against this: {fault}");
        for name in names {
            assert!(
                known.contains(name),
                "there is no test {name}, which is to guard against: {fault}"
            );
        }
    }
}

/// Beginnings and words of names that name no thing. A name is a plain statement: `invalid_json_is_refused`.
const UNNAMED: [&str; 7] = ["what", "whatever", "who", "whoever", "nobody", "somebody", "lent"];

/// Returns whether a name of a test begins with or contains such a word.
fn names_no_thing(name: &str) -> bool {
    let mut words = name.split('_').enumerate();
    words.any(|(place, word)| {
        UNNAMED.contains(&word) && (place == 0 || !matches!(word, "what" | "who" | "whatever"))
    })
}

#[test]
fn names_of_tests_are_plain_statements() {
    let mut known = BTreeSet::new();
    for folder in ["crates", "xtask"] {
        rust_tests_below(&workspace().join(folder), &mut known);
    }
    known.retain(|name| names_no_thing(name));
    assert!(known.is_empty(), "name what must hold: {known:#?}");
    assert!(names_no_thing("what_is_invalid_is_refused") && names_no_thing("it_disturbs_nobody"));
    assert!(!names_no_thing("invalid_json_is_refused") && !names_no_thing("a_user_reads_what_is_shown"));
}

#[test]
fn marks_and_names_are_found() {
    let source = "#[test]\nfn one() {}\nfn helper() {}\n    #[tokio::test(start_paused = true)]\n    #[ignore]\n    async fn two() {}\n#[test]\n";
    assert_eq!(tests_in(source), ["one", "two"]);
    let source = "import { test } from \"vitest\";\n  test(\"one, and two\", async () => {\n  test.each(rows)(\"%s\", () => {\n";
    assert_eq!(titles_in(source), ["one, and two"]);
    let text = "# T\n\nText.\n\n| x | y |\n|---|---|\n| f `f` | `a`, `b`. c |\n";
    let found = rows(text);
    assert_eq!(found, [["f `f`", "`a`, `b`. c"]]);
    assert_eq!(quoted(found[0][1]).collect::<Vec<_>>(), ["a", "b"]);
}
