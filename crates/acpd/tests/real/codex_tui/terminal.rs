//! A TUI in a window of tmux, on a server of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Daemon, not_tested, wait_until};

/// Ends the test as not tested if there is no tmux.
pub fn needs_tmux() {
    if Command::new("tmux").arg("-V").output().is_err() {
        not_tested("tmux is not installed");
    }
}

/// A running TUI; dropping it ends tmux's server.
pub struct Tui {
    socket: PathBuf,
}

impl Tui {
    /// Starts Codex on the daemon, with these arguments.
    pub fn start(program: &Path, daemon: &Daemon, args: &[&str]) -> Self {
        let number = std::process::id();
        let name = format!("tmux-{number}-{}", args.len());
        let tui = Self {
            socket: daemon.place.home().join(name),
        };
        // The path stays the same when the daemon starts again.
        let remote = format!("unix://{}", daemon.place.data().join("acpd.sock").display());
        let mut command = tui.tmux(&["new-session", "-d", "-x", "120", "-y", "60", "--"]);
        command
            .arg("env")
            .arg(format!("HOME={}", daemon.place.home().display()));
        command.arg(program).args(args);
        command.args(["--remote", &remote, "-C"]);
        command.arg(daemon.place.work());
        let started = command.status().expect("tmux starts");
        assert!(started.success(), "tmux ended with {started}");
        tui
    }

    fn tmux(&self, args: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&self.socket).args(args);
        command
    }

    /// Returns the text on the screen.
    pub fn screen(&self) -> String {
        self.capture(&[])
    }

    /// Returns the text on the screen and above it.
    pub fn history(&self) -> String {
        self.capture(&["-S", "-"])
    }

    fn capture(&self, more: &[&str]) -> String {
        let output = self.tmux(&["capture-pane", "-p", "-J"]).args(more).output();
        let output = output.expect("tmux runs").stdout;
        String::from_utf8_lossy(&output).into_owned()
    }

    /// Waits until the screen fits.
    pub fn wait_until(&self, what: &str, fits: impl Fn(&str) -> bool) {
        let mut last = String::new();
        let waited = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            wait_until(what, || {
                last = self.screen();
                fits(&last)
            });
        }));
        if let Err(panic) = waited {
            eprintln!("the screen was:\n{}", last.trim_end());
            std::panic::resume_unwind(panic);
        }
    }

    /// Waits until the screen has this text.
    pub fn wait_for(&self, text: &str) {
        self.wait_until(text, |screen| screen.contains(text));
    }

    /// Presses keys, as tmux names them.
    pub fn keys(&self, keys: &str) {
        let pressed = self.tmux(&["send-keys", keys]).status();
        assert!(pressed.expect("tmux runs").success(), "{keys}");
    }

    /// Answers the question on the screen. Codex ignores keys for a short time after a question has appeared.
    pub fn answers(&self, key: &str) {
        self.presses_until("the question is answered", key, |screen| {
            !screen.contains("Would you like to")
        });
    }

    /// Presses a key until the screen fits.
    fn presses_until(&self, what: &str, key: &str, fits: impl Fn(&str) -> bool) {
        let mut looks = 0;
        wait_until(what, || {
            if looks % 100 == 0 {
                self.keys(key);
            }
            looks += 1;
            fits(&self.screen())
        });
    }

    /// Types a line and sends it. Codex takes a line that comes at once with its end for a paste.
    pub fn types(&self, line: &str) {
        let typed = self.tmux(&["send-keys", "-l", line]).status();
        assert!(typed.expect("tmux runs").success(), "{line}");
        // Codex shows a line that begins with "!" as a command.
        let shown = match line.strip_prefix('!') {
            Some(command) => format!("! {command}"),
            None => format!("› {line}"),
        };
        self.wait_for(&shown);
        // Enter is part of a paste for a short time after the text.
        self.presses_until("the line is sent", "Enter", |screen| {
            let last = screen.rfind(['›', '!']).unwrap_or_default();
            !screen[last..].starts_with(&shown)
        });
    }
}

impl Drop for Tui {
    fn drop(&mut self) {
        // It is gone already if Codex has ended.
        let _ = self.tmux(&["kill-server"]).output();
    }
}
