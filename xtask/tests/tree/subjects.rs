//! Subjects of commits are `area: imperative`, in lower case, with at most 72 characters. Older commits do not count.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue should stop")]

use std::path::Path;
use std::process::Command;

use crate::not_tested::not_tested;

/// Commits after this one have such subjects.
const BASE: &str = "10d5b70c541f598bdecc89e4f9169bb4cbb53a77";

const MAX_CHARS: usize = 72;

/// How git begins the subject of a commit that takes another one back. The rest is that of the other one.
const REVERT: &str = "Revert \"";

/// Words that begin no order.
const ARTICLES: [&str; 8] = ["a", "an", "the", "it", "this", "each", "all", "no"];

/// Endings of verbs that are not imperatives, and imperatives that have such an ending.
const ENDINGS: [(&str, &[&str]); 3] = [
    ("ing", &["bring", "ring", "spring", "string", "swing"]),
    (
        "ed",
        &[
            "embed", "exceed", "feed", "need", "proceed", "seed", "shed", "speed",
        ],
    ),
    ("s", &["focus", "canvas", "bias"]),
];

/// Returns what is wrong with a subject.
fn fault(subject: &str) -> Option<String> {
    if subject.starts_with(REVERT) {
        return None;
    }
    if subject.chars().count() > MAX_CHARS {
        return Some(format!("it has more than {MAX_CHARS} characters"));
    }
    let Some((area, change)) = subject.split_once(": ") else {
        return Some("it has no area".to_owned());
    };
    let is_area = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || " ,-/._".contains(c);
    if area.is_empty() || !area.chars().all(is_area) {
        return Some(format!("the area {area:?} is not in lower case"));
    }
    let verb = change.split([' ', ',', ':']).next().unwrap_or_default();
    if verb.is_empty() || !verb.chars().all(|c| c.is_ascii_lowercase() || c == '-') {
        return Some(format!("{verb:?} is not a verb in lower case"));
    }
    let is_other = |(ending, imperatives): &(&str, &[&str])| {
        verb.ends_with(*ending) && !verb.ends_with("ss") && !imperatives.contains(&verb)
    };
    (ARTICLES.contains(&verb) || ENDINGS.iter().any(is_other))
        .then(|| format!("{verb:?} is not an imperative"))
}

#[test]
fn subjects_of_commits_are_imperatives_with_an_area() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let git = |arguments: &[&str]| Command::new("git").arg("-C").arg(root).args(arguments).output();
    let has_base = git(&["merge-base", "--is-ancestor", BASE, "HEAD"]);
    if !has_base.is_ok_and(|output| output.status.success()) {
        not_tested("the history of git is missing or shallow");
    }
    let log = git(&["log", "--no-merges", "--format=%h %s", &format!("{BASE}..HEAD")]).unwrap();
    assert!(log.status.success(), "{}", String::from_utf8_lossy(&log.stderr));
    let text = String::from_utf8(log.stdout).unwrap();
    let faults: Vec<_> = text
        .lines()
        .filter_map(|line| {
            let why = fault(line.split_once(' ')?.1)?;
            Some(format!("{line}: {why}"))
        })
        .collect();
    assert!(
        faults.is_empty(),
        "write `area: imperative`, such as `acp: bound the in-flight requests`: {faults:#?}"
    );
}

#[test]
fn faults_of_subjects_are_found() {
    for (subject, is_good) in [
        ("acp: bound the in-flight requests", true),
        ("app protocol, docs: bring the schema up to date", true),
        ("web/src: pass the focus", true),
        ("xtask: forbid \"is no x\"", true),
        ("Revert \"acp: bound the in-flight requests\"", true),
        ("Revert the bound of requests", false),
        ("bound the requests", false),
        (": bound the requests", false),
        ("Acp: bound the requests", false),
        ("acp: Bound the requests", false),
        ("acp: bounds the requests", false),
        ("acp: bounded the requests", false),
        ("acp: bounding the requests", false),
        ("acp: the requests are bounded", false),
        ("acp: ", false),
        ("", false),
    ] {
        assert_eq!(fault(subject).is_none(), is_good, "{subject:?}");
    }
    let long = |chars: usize| format!("acp: {}", "b".repeat(chars - 5));
    assert_eq!(fault(&long(MAX_CHARS)), None);
    assert!(fault(&long(MAX_CHARS + 1)).is_some());
    assert_eq!(fault(&format!("Revert \"{}\"", long(MAX_CHARS))), None);
}
