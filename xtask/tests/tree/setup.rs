//! The scripts behind `make run` and `make test`, on hosts that are made of stand-in programs: what they install, what they
//! name, and what they print.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// Programs that the scripts themselves use; these are real.
const OWN: [&str; 7] = ["bash", "head", "sed", "seq", "sleep", "sort", "tr"];

/// Programs that `make test` needs, besides Node. Here they do nothing.
const NEEDED: [&str; 9] = [
    "cargo", "cc", "chromium", "curl", "git", "npm", "pgrep", "python3", "zsh",
];

const FONTS: [&str; 2] = ["dejavu/DejaVuSans.ttf", "droid/DroidSansFallbackFull.ttf"];

/// A host of stand-in programs.
struct Host(TempDir);

impl Host {
    /// Creates a Debian that has all needs, with a user who is not root.
    fn new() -> Self {
        let host = Self(tempfile::tempdir().unwrap());
        fs::create_dir(host.path("bin")).unwrap();
        for name in OWN {
            symlink(on_path(name), host.path("bin").join(name)).unwrap();
        }
        for name in NEEDED {
            host.program(name, "exit 0");
        }
        host.program("node", "echo v24.21.0");
        host.program("id", "echo 1000");
        let calls = host.path("calls");
        host.program("apt-get", &format!("echo \"$*\" >>'{}'", calls.display()));
        for font in FONTS {
            let path = host.path("fonts").join(font);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        host
    }

    /// Creates the same for root.
    fn of_root() -> Self {
        let host = Self::new();
        host.program("id", "echo 0");
        host
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn program(&self, name: &str, script: &str) {
        let path = self.path("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    }

    fn remove(&self, programs: &[&str]) {
        for name in programs {
            fs::remove_file(self.path("bin").join(name)).unwrap();
        }
    }

    fn remove_fonts(&self) {
        fs::remove_dir_all(self.path("fonts")).unwrap();
    }

    /// Returns the command of a script of `xtask` on this host.
    fn script(&self, name: &str, args: &[&str]) -> Command {
        let mut command = Command::new(self.path("bin/bash"));
        command
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(name))
            .args(args)
            .env_clear()
            .env("PATH", self.path("bin"))
            .env("FONTS", self.path("fonts"));
        command
    }

    fn needs(&self, of: &str) -> Done {
        Done::from(self.script("needs.sh", &[of]).output().unwrap())
    }

    /// Returns how `apt-get` was called, one call a line.
    fn installed(&self) -> String {
        fs::read_to_string(self.path("calls")).unwrap_or_default()
    }
}

/// The result of a script.
struct Done {
    code: Option<i32>,
    out: String,
    err: String,
}

impl From<Output> for Done {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// Returns a program of the host that runs the tests.
fn on_path(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    std::env::split_paths(&path)
        .map(|directory| directory.join(name))
        .find(|program| program.is_file())
        .unwrap_or_else(|| panic!("{name} is not installed"))
}

#[test]
fn a_host_with_all_needs_installs_nothing() {
    for host in [Host::new(), Host::of_root()] {
        for of in ["run", "test"] {
            let done = host.needs(of);
            assert_eq!((done.code, done.err.as_str()), (Some(0), ""), "{of}");
        }
        assert_eq!(host.installed(), "");
    }
}

#[test]
fn root_on_debian_gets_exactly_what_is_missing() {
    let host = Host::of_root();
    host.remove(&["chromium"]);
    assert_eq!(host.needs("run").code, Some(0));
    assert_eq!(host.installed(), "");
    assert_eq!(host.needs("test").code, Some(0));
    let install = "update -qq\ninstall -qq -y --no-install-recommends";
    assert_eq!(host.installed(), format!("{install} chromium\n"));

    let host = Host::of_root();
    host.remove(&["cc", "chromium", "curl", "git", "npm", "pgrep", "zsh"]);
    host.remove_fonts();
    assert_eq!(host.needs("test").code, Some(0));
    let all = "build-essential npm git procps curl zsh chromium fonts-dejavu-core fonts-droid-fallback";
    assert_eq!(host.installed(), format!("{install} {all}\n"));

    let host = Host::of_root();
    host.remove(&["cc", "git"]);
    assert_eq!(host.needs("run").code, Some(0));
    assert_eq!(host.installed(), format!("{install} build-essential\n"));
}

#[test]
fn a_user_is_given_the_one_command() {
    const INSTALL: &str = "missing; install it: sudo apt-get install --no-install-recommends";
    let host = Host::new();
    host.remove(&["chromium", "cc"]);
    for (of, packages) in [("run", "build-essential"), ("test", "build-essential chromium")] {
        let done = host.needs(of);
        assert_eq!(done.code, Some(1), "{of}");
        assert_eq!(done.err, format!("{INSTALL} {packages}\n"));
    }
    assert_eq!(host.installed(), "");
    // The Makefile prints this command for `make test-ui` alone.
    let browser = "chromium fonts-dejavu-core fonts-droid-fallback";
    let command = format!("sudo apt-get install --no-install-recommends {browser}\n");
    assert_eq!(host.needs("command").out, command);
}

#[test]
fn without_apt_the_packages_are_named() {
    let host = Host::of_root();
    host.remove(&["apt-get", "git"]);
    let done = host.needs("test");
    assert_eq!(done.code, Some(1));
    assert_eq!(
        done.err,
        "missing (the names are those of Debian's packages): git\n"
    );
}

#[test]
fn other_fonts_another_browser_or_one_shell_less_do_not_stop_a_run() {
    let host = Host::new();
    host.remove(&["chromium", "zsh"]);
    host.program("google-chrome", "exit 0");
    host.remove_fonts();
    let done = host.needs("test");
    assert_eq!(done.code, Some(0));
    let command = "sudo apt-get install --no-install-recommends zsh fonts-dejavu-core fonts-droid-fallback";
    assert_eq!(done.err, format!("missing; install it: {command}\n"));
}

#[test]
fn a_toolchain_that_is_missing_or_too_old_is_named_with_the_next_step() {
    let host = Host::of_root();
    host.remove(&["cargo"]);
    let done = host.needs("run");
    assert!(
        done.code == Some(1) && done.err.contains("rustup.rs"),
        "{}",
        done.err
    );

    let host = Host::of_root();
    host.program("node", "echo v18.20.4");
    let done = host.needs("run");
    let said = "Node 20.19 or later is needed (found: 18.20.4)";
    assert!(done.code == Some(1) && done.err.contains(said), "{}", done.err);

    // An old Python, or one whose virtual environments cannot be installed.
    let host = Host::of_root();
    host.program("python3", "test \"$1\" = --version && echo Python 3.9.2");
    assert_eq!(host.needs("run").code, Some(0));
    let done = host.needs("test");
    assert!(host.installed().ends_with(" python3-venv\n"));
    let said = "Python 3.10 or later with venv is needed (found: Python 3.9.2)\n";
    assert!(done.code == Some(1) && done.err.ends_with(said), "{}", done.err);
}

const PAGE: &str = "http://127.0.0.1:4127/#ticket=t";

/// Starts the demo with a stand-in for acpd that serves by this script.
fn demo(host: &Host, serve: &str) -> Command {
    let script = format!(
        "case $1 in\nserve) {serve} ;;\nstatus) test -s '{}' ;;\nopen) echo '{PAGE}' ;;\nesac",
        host.path("served").display()
    );
    host.program("acpd", &script);
    let acpd = host.path("bin/acpd").display().to_string();
    host.script("demo.sh", &[&acpd, "--listen", "127.0.0.1:4127"])
}

#[test]
fn the_demo_prints_its_address_last_and_ends_its_daemon() {
    let host = Host::new();
    let served = host.path("served");
    let serve = format!(
        "echo listening; echo \"$*\" >'{}'; exec sleep 600",
        served.display()
    );
    let mut running = demo(&host, &serve).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(running.stdout.take().unwrap());
    let mut said = Vec::new();
    while said.last().is_none_or(|line: &String| line.trim_end() != PAGE) {
        let mut line = String::new();
        assert_ne!(out.read_line(&mut line).unwrap(), 0, "it has ended: {said:?}");
        said.push(line);
    }
    assert_eq!(said[0], "listening\n");
    let options = fs::read_to_string(&served).unwrap();
    assert_eq!(options, "serve --demo --listen 127.0.0.1:4127\n");
    let stop = format!("kill {}", running.id());
    assert!(Command::new("sh").args(["-c", &stop]).status().unwrap().success());
    // The output ends only when the daemon, which has it too, has ended.
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
    assert!(!running.wait().unwrap().success());
}

#[test]
fn a_demo_that_cannot_start_fails_without_an_address() {
    let host = Host::new();
    let done = Done::from(
        demo(&host, "echo 'the port is in use' >&2; exit 3")
            .output()
            .unwrap(),
    );
    assert_eq!(done.code, Some(3));
    assert_eq!(
        (done.out.as_str(), done.err.as_str()),
        ("", "the port is in use\n")
    );
}

/// As nextest writes it.
const REPORT: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="3" failures="0" errors="0" uuid="45c50042" timestamp="2026-01-09T07:50:12.664+00:00" time="12.023">
    <testsuite name="acpd::cli" tests="2" disabled="0" errors="0" failures="0">
        <testcase name="run::a_turn" classname="acpd::cli" timestamp="2026-01-09T07:50:12.665+00:00" time="0.004">
        </testcase>
        <testcase name="run::a_slow_turn" classname="acpd::cli" timestamp="2026-01-09T07:50:12.665+00:00" time="10.500">
        </testcase>
    </testsuite>
    <testsuite name="acpd-log::log" tests="1" disabled="0" errors="0" failures="0">
        <testcase name="kill::by_kill" classname="acpd-log::log" timestamp="2026-01-09T07:50:12.665+00:00" time="9.250"/>
    </testsuite>
</testsuites>
"#;

#[test]
fn the_slowest_tests_are_printed_with_their_times() {
    let host = Host::new();
    let report = host.path("junit.xml");
    let slowest = |count| {
        let args = [report.to_str().unwrap(), count];
        Done::from(host.script("slowest.sh", &args).output().unwrap())
    };
    fs::write(&report, REPORT).unwrap();
    let done = slowest("2");
    let lines = "10.500 acpd::cli run::a_slow_turn\n9.250 acpd-log::log kill::by_kill\n";
    let head = "the slowest 2 tests (seconds, program, test):\n";
    assert_eq!((done.code, done.out), (Some(0), format!("{head}{lines}")));
    // More than there are.
    let done = slowest("20");
    assert_eq!(
        (done.code, done.out.lines().count()),
        (Some(0), 4),
        "{}",
        done.err
    );
    // A report without tests, or in another format.
    fs::write(&report, "<testsuites/>\n").unwrap();
    let done = slowest("20");
    assert_eq!((done.code, done.out.as_str()), (Some(1), ""));
    assert!(done.err.contains("has no times of tests"), "{}", done.err);
}
