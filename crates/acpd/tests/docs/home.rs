//! A user's home for the snippets of one document: acpd and some agents on `PATH`, and nothing else.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::support::{Background, Outcome, built, fake_agent, outcome, scratch};

/// Programs of real agents. Each is a scripted agent here.
const AGENTS: [&str; 10] = [
    "claude-agent-acp",
    "codex-acp",
    "copilot",
    "gemini",
    "goose",
    "hermes-acp",
    "kimi",
    "opencode",
    "qwen",
    "vibe-acp",
];

/// Answers what acpd would ask a user, and opens no browser.
const WRAPPER: &str = r#"#!/bin/sh
acpd=ACPD
case "$1:$*" in
run:*" -p "* | run:*--permissions* | run:*--detach*) ;;
run:*) shift && exec "$acpd" run --permissions allow "$@" ;;
delete:*) exec "$acpd" "$@" --yes ;;
open:*--print*) ;;
open:*) exec "$acpd" "$@" --print ;;
esac
exec "$acpd" "$@"
"#;

/// A user's home.
pub struct Home {
    root: TempDir,
}

impl Home {
    /// Creates an empty home with a project in `work`.
    pub fn new() -> Self {
        // Where the built programs are, so that they can be linked.
        let root = tempfile::tempdir_in(scratch()).expect("a directory can be made");
        let home = Self { root };
        let bin = home.path().join("bin");
        fs::create_dir_all(&bin).expect("it can be made");
        fs::create_dir_all(home.path().join("work/src")).expect("it can be made");
        fs::write(home.path().join("work/src/main.rs"), "fn main() {}\n").expect("it can be written");
        fs::hard_link(fake_agent(), bin.join("acpd-fake-agent")).expect("it can be linked");
        home.program(
            "acpd",
            &WRAPPER.replace("ACPD", &format!("'{}'", built("acpd").display())),
        );
        for agent in AGENTS {
            let script = format!(
                "#!/bin/sh\nexec '{}' --pace 0\n",
                bin.join("acpd-fake-agent").display()
            );
            home.program(agent, &script);
        }
        home
    }

    /// Returns the home directory.
    pub fn path(&self) -> &Path {
        self.root.path()
    }

    /// Puts a program on `PATH`.
    pub fn program(&self, name: &str, script: &str) {
        let path = self.path().join("bin").join(name);
        fs::write(&path, script).expect("it can be written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).expect("it is ours");
    }

    /// Writes a file of the home.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        let folder = path.parent().expect("it is in the home");
        fs::create_dir_all(folder).expect("it can be made");
        fs::write(&path, text).expect("it can be written");
        path
    }

    /// Runs a script in the project. Both outputs are in `stdout`.
    pub fn run(&self, script: &str) -> Outcome {
        // Without a terminal, so that no program asks the person who runs the tests.
        let mut command = Command::new("setsid");
        command
            .args(["bash", "-euc", &format!("exec 2>&1\n{script}")])
            .env_clear();
        let path = format!(
            "{}:/usr/local/bin:/usr/bin:/bin",
            self.path().join("bin").display()
        );
        command
            .env("PATH", path)
            .env("HOME", self.path())
            .env("LANG", "C.UTF-8")
            .env("TZ", "UTC")
            .env("ACPD_LISTEN", "127.0.0.1:0");
        outcome(command.current_dir(self.path().join("work")))
    }

    /// Returns the address of the daemon, which it starts if none runs.
    pub fn address(&self) -> String {
        let status = self
            .run("acpd threads >/dev/null 2>&1 && acpd status --json")
            .stdout;
        let status: serde_json::Value = serde_json::from_str(&status).expect("it is JSON");
        let address = status["address"].as_str().expect("it has an address");
        address.trim_start_matches("http://").to_owned()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let notice = fs::read(self.path().join(".local/state/acpd/daemon.json")).unwrap_or_default();
        let pid = serde_json::from_slice::<serde_json::Value>(&notice)
            .ok()
            .and_then(|notice| notice["pid"].as_u64()?.try_into().ok());
        drop(pid.map(Background));
    }
}
