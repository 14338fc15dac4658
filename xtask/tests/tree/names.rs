//! Names in backquotes in the architecture, the guide for contributors and the decisions exist.
//!
//! A path is written as in the tree, or shortened: without `crates` and `src`, and from any of its folders on. So
//! `server/http/export.rs` is `crates/server/src/http/export.rs`. An identifier occurs in the sources as a word, and a method of a
//! protocol or a file of the data directory as it is written.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue should stop")]

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Names that are not of this repository: a document, its names, and what they are.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    (
        "docs/adr/0001-own-acp-shapes.md",
        "preserve_order",
        "a feature of serde_json",
    ),
    (
        "docs/adr/0007-search-and-deletion.md",
        "src/auth.ts",
        "words of a search",
    ),
    (
        "docs/adr/0016-the-sandbox.md",
        "O_PATH O_NOFOLLOW RESOLVE_NO_SYMLINKS",
        "flags of Linux",
    ),
    (
        "docs/adr/0016-the-sandbox.md",
        "credentials.toml",
        "a file of cargo",
    ),
    (
        "docs/adr/0018-one-request-for-all-clients.md",
        "tokio_unstable",
        "a setting of tokio that is not used",
    ),
    (
        "docs/adr/0022-erasing-in-steps.md",
        "word_idx rebuildPage",
        "a table and a function of SQLite",
    ),
    (
        "docs/adr/0031-no-filter-by-starter.md",
        "startedBy",
        "an alternative that was not chosen",
    ),
    (
        "docs/adr/0034-retention.md",
        "attachmentsRemoved",
        "an alternative that was not chosen",
    ),
    (
        "docs/adr/0038-links-that-share-a-thread.md",
        "acpd_share_ID_SECRET acpd_share_PORT_ID",
        "placeholders",
    ),
    (
        "docs/adr/0038-links-that-share-a-thread.md",
        "Referer",
        "a header of HTTP",
    ),
    (
        "docs/adr/0047-calls-of-agents.md",
        "copy_file_range file_setattr name_to_handle_at file_getattr inotify_init inotify_init1 inotify_add_watch fanotify_init \
         fanotify_mark rt_sigqueueinfo rt_tgsigqueueinfo process_vm_readv process_vm_writev process_mrelease pidfd_getfd \
         perf_event_open get_robust_list mq_open mq_unlink mq_notify mq_timedsend mq_timedreceive mq_getsetattr pivot_root \
         move_mount open_tree open_tree_attr mount_setattr clock_adjtime clock_settime create_module delete_module \
         finit_module init_module kexec_file_load kexec_load lookup_dcookie open_by_handle_at query_module quotactl_fd \
         sched_yield ioprio_get sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval io_uring_setup \
         io_uring_enter io_uring_register io_setup io_submit landlock_add_rule landlock_create_ruleset landlock_restrict_self \
         memfd_secret",
        "system calls of Linux",
    ),
    (
        "docs/adr/0047-calls-of-agents.md",
        "F_SETOWN PR_SCHED_CORE",
        "arguments of system calls",
    ),
    (
        "docs/adr/0047-calls-of-agents.md",
        "pthread_attr_setaffinity_np OMP_PROC_BIND",
        "of other programs",
    ),
    (
        "docs/adr/0048-nothing-of-a-folder-starts-an-agent.md",
        "npm_config_prefix",
        "a variable of npm",
    ),
];

/// Endings of files that documents name.
const ENDINGS: [&str; 12] = [
    "css", "html", "json", "jsonl", "md", "py", "rs", "sh", "snap", "toml", "ts", "tsx",
];

/// Endings of sources. A name with one of these is a file of the tree.
const CODE: [&str; 4] = ["rs", "ts", "tsx", "py"];

/// Folders with sources.
const SOURCES: [&str; 5] = ["crates/", "xtask/", "web/", "clients/", "packaging/"];

/// Folders that are fetched, built or recorded.
const SKIPPED: [&str; 5] = ["node_modules", "dist", "target", "__pycache__", "corpus"];

/// Hidden folders that belong to the repository.
const HIDDEN: [&str; 3] = [".cargo", ".ci", ".config"];

pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn ending(name: &str) -> Option<&str> {
    Path::new(name).extension()?.to_str()
}

/// Adds the files and folders below a folder, relative to the root.
pub fn list(folder: &str, found: &mut Vec<String>) {
    // A folder that another test has made may be gone.
    let Ok(entries) = fs::read_dir(workspace().join(folder)) else {
        return;
    };
    for entry in entries {
        let entry = entry.unwrap();
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_hidden = name.starts_with('.') && !HIDDEN.contains(&name.as_str());
        if is_hidden || SKIPPED.contains(&name.as_str()) {
            continue;
        }
        let path = if folder.is_empty() {
            name
        } else {
            format!("{folder}/{name}")
        };
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            list(&path, found);
        }
        found.push(path);
    }
}

/// Returns the texts of the sources among the files, without this file, which names what does not exist.
fn sources(files: &[String]) -> Vec<String> {
    let is_source = |file: &&String| {
        SOURCES.iter().any(|folder| file.starts_with(*folder))
            && ending(file.as_str())
                .is_some_and(|ending| CODE.contains(&ending) || ["sh", "toml"].contains(&ending))
            && file.as_str() != "xtask/tests/tree/names.rs"
    };
    let texts = files
        .iter()
        .filter(is_source)
        .filter_map(|file| fs::read(workspace().join(file)).ok());
    texts
        .map(|text| String::from_utf8_lossy(&text).into_owned())
        .collect()
}

/// Adds every way to write a path. A module has no ending.
fn add_path(path: &str, paths: &mut BTreeSet<String>) {
    for whole in [path.to_owned(), path.replace("/src/", "/")] {
        let shortened = std::iter::successors(Some(whole.as_str()), |path| Some(path.split_once('/')?.1));
        for path in shortened {
            paths.insert(path.to_owned());
            if let Some(module) = path.strip_suffix(".rs") {
                paths.insert(module.to_owned());
            }
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// What documents may name.
#[derive(Default)]
struct Known<'a> {
    paths: BTreeSet<String>,
    /// The identifiers of the sources.
    words: HashSet<&'a str>,
    /// The words of the sources with `.`, `/` and `-`: methods, and names of files.
    names: HashSet<&'a str>,
}

impl<'a> Known<'a> {
    fn of(files: &[String], texts: &'a [String]) -> Self {
        let mut known = Self::default();
        for file in files {
            add_path(file, &mut known.paths);
        }
        for text in texts {
            known.words.extend(text.split(|c: char| !is_word(c)));
            let names = text.split(|c: char| !is_word(c) && !matches!(c, '.' | '/' | '-'));
            known
                .names
                .extend(names.map(|name| name.trim_matches(['.', '/'])));
        }
        known
    }

    /// Returns whether a word in backquotes exists, or looks like no name.
    fn has(&self, word: &str) -> bool {
        if is_path(word) {
            self.has_path(word)
        } else {
            identifiers(word)
                .into_iter()
                .all(|identifier| self.has_identifier(identifier))
        }
    }

    fn has_path(&self, word: &str) -> bool {
        let path = match word.split_once('*') {
            // Of a pattern, the folder.
            Some((start, _)) => start.rsplit_once('/').map_or("", |(folder, _)| folder),
            None => word.trim_end_matches('/'),
        };
        let is_code = ending(path).is_some_and(|ending| CODE.contains(&ending));
        path.is_empty() || self.paths.contains(path) || (!is_code && self.names.contains(path))
    }

    fn has_identifier(&self, word: &str) -> bool {
        // The names of metrics get this prefix where they are written.
        let metric = word.strip_prefix("acpd_");
        self.words.contains(word) || metric.is_some_and(|name| self.words.contains(name))
    }
}

/// Returns whether a word looks like a path of the tree, a method or the name of a file.
fn is_path(word: &str) -> bool {
    word.starts_with(is_word)
        && word
            .chars()
            .all(|c| is_word(c) || matches!(c, '.' | '/' | '-' | '*'))
        && (word.contains('/') || ending(word).is_some_and(|ending| ENDINGS.contains(&ending)))
}

/// Returns the identifiers of a word that looks like code: with `::`, `_`, `()` or `!`, or in mixed case.
fn identifiers(word: &str) -> Vec<&str> {
    let called = word.strip_suffix("()").or_else(|| word.strip_suffix('!'));
    let name = called.unwrap_or(word);
    let is_mixed =
        name.chars().any(|c| c.is_ascii_uppercase()) && name.chars().any(|c| c.is_ascii_lowercase());
    let is_code = called.is_some() || is_mixed || name.contains("::") || name.contains('_');
    let is_plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| is_word(c) || c == ':');
    if is_code && is_plain {
        name.split("::").collect()
    } else {
        Vec::new()
    }
}

/// Returns what is in backquotes outside of fenced blocks, with the numbers of the lines.
fn quoted(text: &str) -> Vec<(usize, String)> {
    let mut prose = String::new();
    let mut is_block = false;
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        is_block ^= is_fence;
        if !is_block && !is_fence {
            prose.push_str(line);
        }
        prose.push('\n');
    }
    let mut number = 1;
    let mut found = Vec::new();
    for (index, part) in prose.split('`').enumerate() {
        if index % 2 == 1 {
            found.push((number, part.replace('\n', " ")));
        }
        number += part.matches('\n').count();
    }
    found
}

fn is_checked(file: &str) -> bool {
    ["ARCHITECTURE.md", "CONTRIBUTING.md"].contains(&file)
        || (file.starts_with("docs/adr/") && ending(file) == Some("md"))
}

#[test]
fn names_in_backquotes_exist() {
    let mut files = Vec::new();
    list("", &mut files);
    files.sort();
    let texts = sources(&files);
    let known = Known::of(&files, &texts);
    let exceptions: Vec<(&str, &str)> = EXCEPTIONS
        .iter()
        .flat_map(|(document, names, _)| names.split_whitespace().map(move |name| (*document, name)))
        .collect();
    let mut unused = exceptions.clone();
    let mut faults = Vec::new();
    for document in files.iter().map(String::as_str).filter(|file| is_checked(file)) {
        let text = fs::read_to_string(workspace().join(document)).unwrap();
        for (number, word) in quoted(&text) {
            if known.has(&word) {
                continue;
            }
            if exceptions.iter().any(|name| name.0 == document && name.1 == word) {
                unused.retain(|name| name.0 != document || name.1 != word);
            } else {
                faults.push(format!(
                    "{document}:{number}: `{word}` is neither in the tree nor in the sources"
                ));
            }
        }
    }
    for (document, name) in unused {
        faults.push(format!(
            "{document}: the exception `{name}` is not needed: remove it from this test"
        ));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn paths_are_shortened_and_code_is_recognized() {
    let files = ["crates/log/src/sqlite/list.rs", "docs/adr"].map(str::to_owned);
    let texts = ["fn read_page() { Page::new(\"thread/list\", \"seen.json\") }".to_owned()];
    let known = Known::of(&files, &texts);
    for word in [
        "crates/log/src/sqlite/list.rs",
        "log/sqlite/list.rs",
        "sqlite/list",
        "list.rs",
        "docs/adr/*.md",
        "thread/list",
        "seen.json",
        "read_page()",
        "Page::new",
        "acpd_read_page",
        "acpd show",
        "/proc",
        "fork",
        "!",
    ] {
        assert!(known.has(word), "{word}");
    }
    for word in [
        "log/sqlite/lists.rs",
        "log/list.rs",
        "thread/read",
        "read.json",
        "docs/adrs/*.md",
        "write_page()",
        "Page::old",
        "PageOf",
        "no!",
    ] {
        assert!(!known.has(word), "{word}");
    }
    assert_eq!(
        quoted("a `b\nc` d\n```\n`no`\n```\n`e`"),
        [(1, "b c".to_owned()), (6, "e".to_owned())]
    );
}
