//! `tests/versions.mk` has the versions of third-party agents and SDKs. Manifests, documents and the included registry repeat
//! them, and `make newer` lists newer ones.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::names::{list, workspace};

const VERSIONS: &str = "tests/versions.mk";

/// Manifests that repeat the versions of SDKs, since their locks need them.
const MANIFESTS: [&str; 3] = [
    "tests/node/package.json",
    "tests/interop/requirements.txt",
    "tests/interop/rust/Cargo.toml",
];

/// What is between a package and its version, in manifests, commands and documents.
const BETWEEN: [&str; 7] = [
    "@",
    "==",
    "[http]==",
    "` ",
    "\": \"",
    "\": \"^",
    " = { version = \"=",
];

fn read(file: &str) -> String {
    fs::read_to_string(workspace().join(file)).unwrap()
}

/// Returns the variables of the file.
fn variables(text: &str) -> BTreeMap<&str, &str> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(" := ")).collect()
}

/// Returns the packages of these groups, such as `SDKS`, each with its versions.
fn pins<'t>(variables: &BTreeMap<&'t str, &'t str>, groups: &[&str]) -> BTreeMap<&'t str, BTreeSet<&'t str>> {
    let mut found: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for registry in ["NPM", "PYPI", "CRATES"] {
        for group in groups {
            let names = variables.get(format!("{registry}_{group}").as_str());
            for name in names.copied().unwrap_or_default().split_whitespace() {
                for pin in variables[format!("{name}_PACKAGES").as_str()].split_whitespace() {
                    let separator = if registry == "PYPI" { "==" } else { "@" };
                    let (package, version) = pin.rsplit_once(separator).unwrap();
                    let package = package.split('[').next().unwrap();
                    found.entry(package).or_default().insert(version);
                }
            }
        }
    }
    found
}

/// Returns the versions that a text has behind the name of a package.
fn versions_in<'t>(text: &'t str, package: &str) -> Vec<&'t str> {
    let in_name = |c: char| c.is_ascii_alphanumeric() || "@/-_.".contains(c);
    let mut found = Vec::new();
    for (at, _) in text.match_indices(package) {
        // In npm's name for a package with another name, the colon is before it.
        if text[..at].ends_with(in_name) {
            continue;
        }
        let rest = &text[at + package.len()..];
        let versions = BETWEEN.iter().filter_map(|between| rest.strip_prefix(between));
        for version in versions.filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
            let end = version.find(|c: char| !c.is_ascii_alphanumeric() && !".-".contains(c));
            found.push(version[..end.unwrap_or(version.len())].trim_end_matches('.'));
        }
    }
    found
}

#[test]
fn each_repeated_version_is_the_pinned_one() {
    let text = read(VERSIONS);
    let variables = variables(&text);
    let all = pins(&variables, &["AGENTS", "SDKS", "SCHEMAS"]);
    assert!(all.len() > 20, "{VERSIONS} has {}", all.len());
    let mut files = Vec::new();
    list("docs", &mut files);
    list("fixtures", &mut files);
    files.retain(|file| {
        std::path::Path::new(file)
            .extension()
            .is_some_and(|ending| ending == "md")
    });
    files.push("crates/catalog/src/registry.json".to_owned());
    files.extend(MANIFESTS.map(str::to_owned));
    let mut faults = Vec::new();
    for file in &files {
        let text = read(file);
        for (package, pinned) in &all {
            let versions = versions_in(&text, package);
            let others = versions.iter().filter(|version| !pinned.contains(*version));
            faults.extend(others.map(|version| format!("{file}: {package} {version}, pinned is {pinned:?}")));
        }
    }
    assert_eq!(faults, [""; 0], "{VERSIONS} has other versions");
}

#[test]
fn manifests_have_the_pinned_sdks() {
    let text = read(VERSIONS);
    let manifests = MANIFESTS.map(read).concat();
    let sdks = pins(&variables(&text), &["SDKS"]);
    assert!(!sdks.is_empty());
    for (package, pinned) in sdks {
        let found: BTreeSet<_> = versions_in(&manifests, package).into_iter().collect();
        assert_eq!(found, pinned, "{package} in {MANIFESTS:?}");
    }
}

#[test]
fn the_spoken_version_of_codex_is_the_one_of_the_tested_client() {
    let text = read(VERSIONS);
    let (_, version) = variables(&text)["codex-tui_PACKAGES"].rsplit_once('@').unwrap();
    let peer = read("crates/proto/src/surface/codex/peer.rs");
    let constant = format!("const CODEX_VERSION: &str = \"{version}\";");
    assert!(peer.contains(&constant), "CODEX_VERSION is not {version}");
    assert!(read("docs/codex.md").contains(&format!("written with Codex {version},")));
}

#[test]
fn the_schema_of_acp_check_is_the_pinned_one() {
    let text = read(VERSIONS);
    let (_, version) = variables(&text)["schema_PACKAGES"].rsplit_once('@').unwrap();
    let (short, _) = version.rsplit_once('.').unwrap();
    let said = format!("as of schema {short} with");
    assert!(read("docs/acp-check.md").contains(&said), "{said}");
}

#[test]
fn versions_are_found_behind_names_of_packages_alone() {
    let text = "`a-b` 1.2.0, a-b@1.3, x-a-b@9, \"c\": \"npm:a-b@2.0-rc.1\", a-b==3., a-b[http]==4 a-b-c@9 `a-b` and 9";
    assert_eq!(versions_in(text, "a-b"), ["1.2.0", "1.3", "2.0-rc.1", "3", "4"]);
}

#[cfg(unix)]
mod newer {
    //! `xtask/newer.py`, with stand-ins for the clients of the registries.

    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    use tempfile::TempDir;

    use crate::names::workspace;

    const PINS: &str = "\
NPM_AGENTS := one two
one_PACKAGES := @scope/one@1.9.0
one_HELD := two does not run on it
two_PACKAGES := two@0.2.0
PYPI_AGENTS := three
three_PACKAGES := three[acp]==1.0.9
three_PYTHON := 313
CRATES_SDKS := four
four_PACKAGES := four@5.0.0
";

    /// Runs the script with these programs in place of npm, pip and cargo; returns its exit code, output and errors.
    fn run(npm: &str, pip: &str, cargo: &str) -> (Option<i32>, String, String) {
        let host = TempDir::new().unwrap();
        for (name, script) in [("npm", npm), ("cargo", cargo)] {
            let path = host.path().join(name);
            fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        }
        fs::write(host.path().join("pip.py"), pip).unwrap();
        let pins = host.path().join("versions.mk");
        fs::write(&pins, PINS).unwrap();
        let path = std::env::var("PATH").unwrap();
        let mut programs = std::env::split_paths(&path).map(|folder| folder.join("python3"));
        let program = programs.find(|program| program.is_file());
        let done = Command::new(program.expect("Python is installed"))
            .arg(workspace().join("xtask/newer.py"))
            .arg(&pins)
            .env("PATH", format!("{}:{path}", host.path().display()))
            .env("PYTHONPATH", host.path())
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (done.status.code(), text(done.stdout), text(done.stderr))
    }

    const NPM: &str = r#"case $2 in
@scope/one) echo '{"versions":["1.9.0","1.10.0","2.0.0","2.1.0-rc.1","3.0.0"],"dist-tags.latest":"2.0.0"}';;
two) echo '{"versions":"0.2.0","dist-tags.latest":"0.2.0"}';;
esac"#;
    const PIP: &str = "\
import sys
assert sys.argv[-2:] == ['--python-version=3.13', 'three']
print('three (1.1.0)')
print('Available versions: 1.1.0, 1.0.10, 1.0.9, 1.0.2')
";
    const CARGO: &str = "printf 'four\\nversion: 5.2.0\\nlicense: MIT\\n'";

    #[test]
    fn newer_releases_are_listed_with_their_reasons() {
        let (code, out, errors) = run(NPM, PIP, CARGO);
        assert_eq!((code, errors.as_str()), (Some(0), ""));
        assert_eq!(
            out,
            "PACKAGE     PINNED  NEWER\n\
             @scope/one  1.9.0   1.10.0, 2.0.0  held: two does not run on it\n\
             three       1.0.9   1.1.0\n\
             four        5.0.0   5.2.0\n\
             3 of 4 packages have a newer version\n"
        );
    }

    #[test]
    fn registries_that_do_not_answer_are_named() {
        let (code, out, errors) = run(
            "echo 'npm error code ENOTFOUND' >&2; exit 1",
            "import sys\nsys.exit('ERROR: No matching distribution found')\n",
            "echo 'version: 5.0.0'",
        );
        assert_eq!(code, Some(1));
        assert_eq!(out, "no newer version is known: 3 of 4 packages have no answer\n");
        assert_eq!(
            errors,
            "npm cannot be reached: error code ENOTFOUND\n\
             PyPI has no answer for three: ERROR: No matching distribution found\n"
        );
    }
}
