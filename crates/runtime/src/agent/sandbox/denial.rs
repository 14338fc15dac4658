//! Denials of the sandbox that an agent or a command reports in its own words.
//!
//! In: a text, and what the sandbox grants. Out: the first path that the text says was denied, and the sandbox does not grant.
//! Never: believes the text: a path that is granted, that the daemon's user cannot use, or that is acpd's own is not reported.

use std::path::{Path, PathBuf};

use acpd_host::{Grants, Reserved, Walks};
use acpd_model::limits::PATH_BYTES;

use super::SandboxState;
use crate::agent::config::AgentConfig;
use crate::agent::mcp::ServerCommand;
use crate::host::denial::{DIRECTORIES, Denial, START_IN};

/// Words of programs for EACCES and EPERM, in lower case.
const DENIALS: [&str; 4] = ["eacces", "eperm", "permission denied", "operation not permitted"];

/// The part of a text in which denials are looked for, from its end.
const TEXT_BYTES: usize = 16 << 10;

/// How many paths of a text are looked up.
const PATHS: usize = 16;

/// Returns the paths that a text says were denied; empty for most texts.
pub fn denied_paths(text: &str) -> Vec<PathBuf> {
    let mut from = text.len().saturating_sub(TEXT_BYTES);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let mut is_continued = false;
    let lines = text[from..].lines().filter(|line| {
        let line = line.to_lowercase();
        let is_denial = DENIALS.iter().any(|denial| line.contains(denial));
        // A long path can be on a line of its own.
        let is_path = std::mem::replace(&mut is_continued, is_denial && line.trim_end().ends_with(':'));
        is_denial || is_path
    });
    lines.flat_map(paths_of).take(PATHS).collect()
}

/// Returns the absolute paths in a line. Quoted ones may contain spaces.
fn paths_of(line: &str) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    let mut before = ' ';
    let mut rest = line.char_indices();
    while let Some((at, c)) = rest.next() {
        let is_url = line[at..].starts_with("//");
        let starts = c == '/' && !is_url && !before.is_alphanumeric() && !"/.~_-$}".contains(before);
        before = c;
        if !starts {
            continue;
        }
        let quote = line[..at].chars().next_back().filter(|c| "'\"`".contains(*c));
        let text = &line[at..];
        let end = match quote {
            Some(quote) => text.find(quote),
            None => text.find(|c: char| c.is_whitespace() || "'\"`,;:()[]{}<>|".contains(c)),
        };
        let path = text[..end.unwrap_or(text.len())].trim_end_matches(['.', '/']);
        if (2..=PATH_BYTES).contains(&path.len()) {
            paths.push(PathBuf::from(path));
        }
        let behind = at + end.unwrap_or(text.len());
        while rest.clone().next().is_some_and(|(next, _)| next < behind) {
            rest.next();
        }
    }
    paths
}

impl AgentConfig {
    /// Returns the denial among `paths`, which a process of the agent has reported, for a session with these parameters.
    pub fn denial(
        &self,
        reserved: &Reserved,
        workspace: &[PathBuf],
        servers: &[ServerCommand],
        paths: &[PathBuf],
    ) -> Option<Denial> {
        let SandboxState::Confined(mode) = self.sandbox_state() else {
            return None;
        };
        let start = self.start_directory.as_deref().and_then(real);
        let in_start = |path: &&PathBuf| {
            start
                .as_ref()
                .zip(real(path))
                .is_some_and(|(start, path)| path.starts_with(start))
        };
        if let Some(path) = paths.iter().find(in_start) {
            return Some(Denial {
                path: path.clone(),
                setting: START_IN,
                is_secret: false,
                folder: None,
            });
        }
        let grants = self.grants(mode, reserved, workspace, servers);
        let found = paths.iter().find_map(|path| denial(&grants, path))?;
        let is_secret = self.touches_secrets(&grants.walks, &found.path);
        grants.walks.check().ok()?;
        Some(Denial { is_secret, ..found })
    }

    /// Describes a path that acpd has denied the agent, because it is outside of the thread's directories.
    pub fn outside(&self, path: PathBuf) -> Denial {
        Denial {
            is_secret: self.touches_secrets(&Walks::default(), &path),
            setting: DIRECTORIES,
            folder: None,
            path,
        }
    }
}

/// Returns the denial of one path, if the sandbox has caused it.
pub(super) fn denial(grants: &Grants, path: &Path) -> Option<Denial> {
    let real = real(path)?;
    let is_in = |list: &[PathBuf]| {
        let mut granted = list.iter().filter_map(|granted| grants.walks.along(granted));
        granted.any(|granted| real.starts_with(granted.real()))
    };
    let is_own = grants
        .withheld
        .iter()
        .any(|own| real.starts_with(grants.walks.real(own)));
    let may_write = is_in(&grants.write) || !grants.readonly && is_in(&grants.workspace);
    let may_read = is_in(&grants.read) || is_in(&grants.spared) || is_in(&grants.workspace);
    if is_own || may_write || grants.readonly && is_in(&grants.workspace) || !is_usable(path, may_read) {
        return None;
    }
    let setting = if may_read || !path.exists() {
        "write"
    } else {
        "read"
    };
    Some(Denial {
        path: path.to_owned(),
        setting,
        is_secret: false,
        folder: None,
    })
}

/// Returns a path without links, even if its end does not exist.
pub(super) fn real(path: &Path) -> Option<PathBuf> {
    let there = path.ancestors().find(|path| path.exists())?;
    let rest = path.strip_prefix(there).ok()?;
    let there = there.canonicalize().ok()?;
    // Joined with nothing, a path would end with a slash.
    Some(if rest.as_os_str().is_empty() {
        there
    } else {
        there.join(rest)
    })
}

/// Returns whether the daemon's user can use the path, so that only the sandbox can have denied it.
fn is_usable(path: &Path, writes: bool) -> bool {
    use rustix::fs::{Access, access};
    match path.ancestors().find(|path| path.exists()) {
        Some(there) if there == path && !writes => access(there, Access::READ_OK).is_ok(),
        Some(there) => access(there, Access::WRITE_OK).is_ok(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_in_the_words_of_programs() {
        for (line, expected) in [
            (
                "Error: EACCES: permission denied, mkdir '/home/u/.cache/copilot'",
                &["/home/u/.cache/copilot"][..],
            ),
            (
                "PermissionError: [Errno 13] Permission denied: '/home/u/my data/x'",
                &["/home/u/my data/x"],
            ),
            (
                "sh: 1: cannot create /home/u/x: Permission denied",
                &["/home/u/x"],
            ),
            ("cat: /home/u/.notes: Permission denied", &["/home/u/.notes"]),
            (
                "EPERM: operation not permitted, open '/a/b' -> \"/c d/e\"",
                &["/a/b", "/c d/e"],
            ),
            (
                "PermissionError: [Errno 13] Permission denied: \n'/home/u/a b/.x'\n/not/this",
                &["/home/u/a b/.x"],
            ),
            ("Error: EACCES https://x.example/a ./b c/d ~/e $X/f", &[]),
            ("all is well in /home/u", &[]),
            ("permission denied", &[]),
        ] {
            let expected: Vec<_> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(denied_paths(line), expected, "{line}");
        }
        let long = format!(
            "EACCES: permission denied, open '{}'",
            "/x/..".repeat(PATH_BYTES / 2)
        );
        assert!(denied_paths(&long).is_empty());
    }

    #[test]
    fn only_what_the_sandbox_does_not_grant_is_its_denial() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for made in ["work", "write", "read", "own", "other"] {
            std::fs::create_dir(root.join(made)).unwrap();
        }
        let grants = Grants {
            workspace: vec![root.join("work")],
            read: vec![root.join("read")],
            write: vec![root.join("write")],
            withheld: vec![root.join("own")],
            ..Grants::default()
        };
        for (path, setting) in [
            ("work/x", None),
            ("write/x", None),
            ("own/x", None),
            ("read/x", Some("write")),
            ("other", Some("read")),
            ("other/x", Some("write")),
            ("missing/a/b", Some("write")),
        ] {
            let found = denial(&grants, &root.join(path));
            assert_eq!(found.map(|found| found.setting), setting, "{path}");
        }
        assert_eq!(
            denial(&grants, Path::new("/no/such/place")).is_some(),
            is_usable(Path::new("/"), true)
        );
    }

    #[test]
    fn denials_in_the_start_directory_name_their_own_setting() {
        let dir = tempfile::tempdir().unwrap();
        let config = AgentConfig {
            command: "sh".into(),
            start_directory: Some(dir.path().join("start")),
            ..AgentConfig::default()
        };
        config.make_start_directory();
        let path = dir.path().join("start/.agent");
        let found = config.denial(&Reserved::default(), &[], &[], std::slice::from_ref(&path));
        // Without a sandbox, nothing is said about any path.
        let Some(found) = found else {
            assert!(!matches!(config.sandbox_state(), SandboxState::Confined(_)));
            return;
        };
        assert_eq!((&found.path, found.setting), (&path, "start_in"));
        assert!(
            found
                .advice("a", "THREAD")
                .contains("[agents.a] start_in = \"workspace\"")
        );
        assert!(found.message().contains("an empty directory"));
    }

    #[test]
    fn no_setting_is_advised_for_keys() {
        let mut denial = Denial {
            path: "/home/u/.ssh/id".into(),
            setting: "read",
            is_secret: false,
            folder: None,
        };
        assert!(denial.advice("a", "THREAD").contains("[agents.a] sandbox = "));
        denial.is_secret = true;
        assert!(!denial.advice("a", "THREAD").contains("sandbox"));
    }

    #[test]
    fn the_folder_is_advised_as_a_word_of_a_shell() {
        let mut denial = Denial {
            path: "/home/u/it's $(evil)/x".into(),
            setting: "write",
            is_secret: false,
            folder: Some("/home/u/it's $(evil)".to_owned()),
        };
        let command = r"acpd add-dir THREAD '/home/u/it'\''s $(evil)'";
        let advice = denial.advice("a", "THREAD");
        assert!(
            advice.contains(command) && advice.contains("[agents.a] sandbox = "),
            "{advice}"
        );
        assert!(
            denial
                .message()
                .contains("acpd's sandbox lets this agent write only")
        );
        denial.setting = DIRECTORIES;
        let advice = denial.advice("a", "THREAD");
        assert!(
            advice.contains(command) && !advice.contains("sandbox"),
            "{advice}"
        );
        assert_eq!(denial.code(), "outsideWorkspace");
        denial.is_secret = true;
        assert!(!denial.advice("a", "THREAD").contains("add-dir"));
    }
}
