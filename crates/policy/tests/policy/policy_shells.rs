//! The policy's analysis agrees with real shells: random lines are judged first and then run by bash and by dash.
//!
//! The lines come from a small grammar of commands, words and constructs that parsers may interpret differently, with
//! some characters changed at random. They run in an empty directory with programs that only report how they were
//! called. `ACPD_SHELL_LINES` is the number of lines, `ACPD_SHELL_SEED` selects them.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "real shells run real lines here"
)]

use std::fmt;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use acpd_policy::{Effect, Layers, Policy, Request};

use crate::table::policy;

const LINES: u64 = 2_000;
const SHELLS: [&str; 2] = ["bash", "dash"];
/// Programs of the scratch directory. Each reports its name and arguments to the test.
const PROGRAMS: [&str; 4] = ["good", "fine", "exact", "evil"];
const ALLOWED: &str = "allow Bash(good *), allow Bash(fine x *), allow Bash(exact a b), allow Bash(echo *), \
                       allow Bash([ *), allow Bash(test *), allow Bash(:), allow Bash(read *)";
const DENIED: &str = "default allow, deny Bash(evil *)";

/// A pseudo-random generator with a fixed sequence for each seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) >> 1).unwrap() % sides
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.roll(from.len())]
    }

    /// Returns one random line.
    fn line(&mut self) -> String {
        let mut line = self.list(3);
        while self.roll(4) == 0 {
            line = self.changed(&line);
        }
        line
    }

    /// Returns the line with one character added, removed or replaced.
    fn changed(&mut self, line: &str) -> String {
        let mut characters: Vec<char> = line.chars().collect();
        let at = self.roll(characters.len() + 1);
        match self.roll(3) {
            0 if at < characters.len() => drop(characters.remove(at)),
            1 if at < characters.len() => characters[at] = self.sign(),
            _ => {
                let sign = self.sign();
                characters.insert(at, sign);
            }
        }
        characters.into_iter().collect()
    }

    fn sign(&mut self) -> char {
        self.pick(&[
            " ", "\n", "\\", "'", "\"", "`", "$", ";", "&", "|", "<", ">", "{", "}", "[", "]", "#", "!", "*",
            "?", "=", "~", "1", ",", "+", "-", "\t", "%", "^", "x",
        ])
        .chars()
        .next()
        .unwrap()
    }

    fn list(&mut self, depth: usize) -> String {
        let mut list = self.command(depth);
        while self.roll(3) == 0 {
            let between = self.pick(&[
                "; ", " && ", " || ", " | ", " & ", "\n", " |& ", ";", "&&", "&", " \\\n", "\\\n", " # ",
                "&\\\n",
            ]);
            list = format!("{list}{between}{}", self.command(depth));
        }
        list
    }

    fn command(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.simple(0);
        }
        let inner = depth - 1;
        match self.roll(22) {
            0 => format!("({})", self.list(inner)),
            1 => format!("{{ {}; }}", self.list(inner)),
            2 => format!("if {}; then {}; fi", self.list(inner), self.list(inner)),
            3 => format!(
                "for v in {} {}; do {}; done",
                self.word(inner),
                self.word(inner),
                self.list(inner)
            ),
            4 | 5 => format!("! {}", self.command(inner)),
            6 => format!(
                "{} {}",
                self.pick(&["time", "time -p", "time --"]),
                self.simple(inner)
            ),
            7 => {
                let shell = self.pick(&[
                    "sh -c",
                    "bash -c",
                    "dash -ec",
                    "bash +c",
                    "/bin//bash -c",
                    "sh -c --",
                ]);
                let text = self.list(inner).replace('\'', "'\\''");
                format!(
                    "{shell} '{text}'{}",
                    self.pick(&["", "", " _ 'a[$(evil)]'", " evil"])
                )
            }
            8 => format!("case a in a) {};; esac", self.list(inner)),
            9 => format!("fn() {{ {}; }}; fn", self.simple(inner)),
            _ => self.simple(inner),
        }
    }

    fn simple(&mut self, depth: usize) -> String {
        let mut text = String::new();
        if self.roll(8) == 0 {
            text += self.pick(&[
                "CI=1 ",
                "v=1 ",
                "v='a[$(evil)]' ",
                "v='a[$(evil)]'; ",
                "PATH=. ",
                "v=evil; ",
            ]);
        }
        if self.roll(8) == 0 {
            text += self.pick(&[
                "command ",
                "exec ",
                "env ",
                "nohup ",
                "builtin ",
                "nice ",
                "env -i PATH=/nowhere ",
                "eval ",
            ]);
        }
        if self.roll(12) == 0 {
            text += &self.redirection(depth);
        }
        text += self.pick(&[
            "good",
            "good",
            "good",
            "good",
            "fine x",
            "fine",
            "exact a b",
            "evil",
            "evil",
            "echo",
            "test",
            "[",
            ":",
            "\"good\"",
            "go\\od",
            "'evil'",
            "$'evil'",
            "$\"evil\"",
            "$v",
            "read v",
            "export",
            "unset",
            "cd",
        ]);
        while self.roll(2) == 0 {
            text = format!("{text} {}", self.word(depth));
        }
        while self.roll(4) == 0 {
            text = format!("{text}{}{}", self.pick(&[" ", " ", ""]), self.redirection(depth));
        }
        text
    }

    fn redirection(&mut self, depth: usize) -> String {
        let fixed = self.pick(&[
            ">/dev/null ",
            "2>/dev/null ",
            "&>/dev/null ",
            "&>>/dev/null ",
            ">&2 ",
            "2>&1 ",
            "10>/dev/null ",
            "{v}>/dev/null ",
            ">& ",
            "</dev/null ",
            "<<E\na\nE\n",
            "<<'E'\n$(evil)\nE\n",
            "<<E\n$(evil)\nE\n",
            "<<-E\n\tb\n\tE\n",
            "<<<",
            ">file ",
            ">|file ",
            "<>file ",
            "2>&- ",
            ">&2- ",
            "<(",
        ]);
        match fixed {
            "<(" => format!("<({}) ", self.simple(depth.saturating_sub(1))),
            other => other.to_owned(),
        }
    }

    fn word(&mut self, depth: usize) -> String {
        if depth > 0 && self.roll(4) == 0 {
            let inside = self.list(depth - 1);
            return match self.roll(5) {
                0 => format!("$({inside})"),
                1 => format!("\"$({inside})\""),
                2 => format!("`{}`", inside.replace(['`', '\\'], "")),
                3 => format!("\"a `{}`\"", inside.replace(['`', '\\', '"'], "")),
                _ => format!("<({inside})"),
            };
        }
        self.pick(&[
            "a",
            "b",
            "x",
            "a b",
            "'a b'",
            "\"a $v\"",
            "$v",
            "${v}",
            "${v:1}",
            "${v:v}",
            "${v:-a}",
            "${!v}",
            "${#v}",
            "$((1+2))",
            "$((v))",
            "$(( v[0] ))",
            "$[v]",
            "*",
            "{a,b}",
            "~",
            "\\;",
            "$'a'",
            "$\"a\"",
            "'a[$(evil)]'",
            "-v",
            "-n",
            "=",
            "]",
            "#",
            "a#b",
            "!",
            "\"$@\"",
            "\\\n",
            "\"$\\\n(evil)\"",
            "''",
            "then",
            "}",
            "do",
            "2",
            "v",
            "a=b",
            "\"'\"",
            "'\"'",
            "\"\\\"\"",
            "\\'",
            "$",
            "${v",
            "%",
            "^",
        ])
        .to_owned()
    }
}

/// The effects of a line in one shell.
struct Done<'a> {
    shell: &'static str,
    line: &'a str,
    /// Programs that were called, with their arguments.
    calls: Vec<Vec<String>>,
    /// Names of the files that were created. They have been removed again.
    made: Vec<String>,
}

impl fmt::Display for Done<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            shell,
            line,
            calls,
            made,
        } = self;
        writeln!(f, "{shell} {line:?}\n    ran {calls:?}, made {made:?}")
    }
}

/// An empty directory for each shell to run lines in, and the programs on its PATH.
struct Scratch {
    programs: PathBuf,
    cwds: PathBuf,
}

impl Scratch {
    fn new(seed: u64) -> Self {
        let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("shells-{seed}"));
        let _ = fs::remove_dir_all(&home);
        let (programs, cwds) = (home.join("bin"), home.join("cwd"));
        fs::create_dir_all(&programs).unwrap();
        for shell in SHELLS {
            fs::create_dir_all(cwds.join(shell)).unwrap();
        }
        for name in PROGRAMS {
            let path = programs.join(name);
            // One write per call, so that concurrent calls are not interleaved.
            let says = format!("#!/bin/dash\nprintf '%s\\037' {name} \"$@\" END >&9\n");
            fs::write(&path, says).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        for (name, place) in [
            ("sh", "/bin/dash"),
            ("dash", "/bin/dash"),
            ("bash", "/bin/bash"),
            ("env", "/usr/bin/env"),
            ("nohup", "/usr/bin/nohup"),
            ("nice", "/usr/bin/nice"),
        ] {
            symlink(place, programs.join(name)).unwrap();
        }
        Self { programs, cwds }
    }

    /// Runs `line` in all shells at the same time.
    fn run<'a>(&self, line: &'a str) -> Vec<Done<'a>> {
        let running = SHELLS.map(|shell| self.start(shell, line));
        let done = SHELLS.into_iter().zip(running).map(|(shell, child)| {
            let said = child.wait_with_output().unwrap().stdout;
            let said = String::from_utf8_lossy(&said);
            let calls = said.split("\u{1f}END\u{1f}").filter(|call| !call.is_empty());
            Done {
                shell,
                line,
                calls: calls
                    .map(|call| call.split('\u{1f}').map(str::to_owned).collect())
                    .collect(),
                made: swept(&self.cwds.join(shell)),
            }
        });
        done.collect()
    }

    fn start(&self, shell: &str, line: &str) -> Child {
        // All processes of the line hold this descriptor, so its end means that all of them have ended.
        let setup = "exec 9>&1 >/dev/null 2>&1; exec /usr/bin/timeout -s KILL 10 \"$@\"";
        Command::new("/bin/dash")
            .args(["-c", setup, "_", shell, "-c", line])
            .env_clear()
            .env("PATH", &self.programs)
            .current_dir(self.cwds.join(shell))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }
}

fn swept(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).unwrap().map(|entry| {
        let entry = entry.unwrap();
        fs::remove_file(entry.path()).unwrap();
        entry.file_name().to_string_lossy().into_owned()
    });
    names.collect()
}

fn is_allowed(call: &[String]) -> bool {
    let words: Vec<&str> = call.iter().map(String::as_str).collect();
    matches!(words[..], ["good", ..] | ["fine", "x", ..] | ["exact", "a", "b"])
}

fn allows(policy: &Policy, line: &str) -> bool {
    let layers = Layers {
        daemon: Some(policy),
        ..Layers::default()
    };
    layers.decide(&Request::command_line(line, "/w")).effect == Effect::Allow
}

#[test]
fn shells_run_nothing_that_the_policy_did_not_allow() {
    let number = |name, default| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    let (lines, seed) = (number("ACPD_SHELL_LINES", LINES), number("ACPD_SHELL_SEED", 1));
    let scratch = Scratch::new(seed);
    let (allow, deny) = (policy(ALLOWED), policy(DENIED));
    let (mut wrong, mut allowed, mut denied, mut harmful) = (String::new(), 0, 0, 0);
    for number in 0..lines {
        let line = Dice(seed << 32 | number).line();
        let (by_rule, by_default) = (allows(&allow, &line), allows(&deny, &line));
        allowed += u64::from(by_rule);
        denied += u64::from(!by_default);
        for done in scratch.run(&line) {
            let evil = done.calls.iter().any(|call| call[0] == "evil");
            harmful += u64::from(evil);
            if by_rule && !(done.calls.iter().all(|call| is_allowed(call)) && done.made.is_empty()) {
                wrong += &format!("allowed: {done}");
            }
            if by_default && evil {
                wrong += &format!("not denied: {done}");
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    // The test is meaningful only if enough lines are allowed, and enough have forbidden effects.
    let enough = |count| count > lines / 20;
    assert!(
        enough(allowed) && enough(denied) && enough(harmful),
        "{allowed}, {denied}, {harmful}"
    );
}
