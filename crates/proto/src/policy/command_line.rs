//! The commands that a command line would run, wrappers taken off.
//!
//! A line, or a program with its arguments, comes in; subjects come out. `env`, `nohup`, `timeout`, `sh -c` and the
//! like run another command and add nothing to it, so that command stands in their place. `sudo`, `xargs`, `find`
//! and others run another command with more rights or more arguments; an allow rule has to name them, while deny
//! and ask rules also see what stands behind them.

use acpd_model::limits::COMMAND_DEPTH;

use super::path::normalise;
use super::request::Subject;
use super::shell::{self, Assignment, Found, Simple, Word};

/// A simple command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments; the program is no expansion.
    pub(super) words: Vec<Word>,
    /// The same with its wrappers, and what it may run by itself: for deny and ask rules only.
    pub(super) also: Vec<Vec<Word>>,
    /// Files it reads by redirection; `None` is one that cannot be told.
    pub(super) reads: Vec<Option<String>>,
}

impl Command {
    /// As words, separated by blanks: to be shown.
    pub fn text(&self) -> String {
        let words: Vec<&str> = self.words.iter().map(|word| word.text.as_str()).collect();
        words.join(" ")
    }

    /// All forms that deny and ask rules see.
    pub(super) fn forms(&self) -> impl Iterator<Item = &[Word]> {
        std::iter::once(self.words.as_slice()).chain(self.also.iter().map(Vec::as_slice))
    }
}

impl Assignment {
    /// A variable with a known value.
    pub fn fixed(name: &str, value: &str) -> Self {
        Self {
            name: name.to_owned(),
            value: Word::plain(value),
        }
    }
}

/// Commands that run another one and neither give it rights nor add arguments.
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh"];
/// Builtins that run text, or change what a later command means.
const OPAQUE: [&str; 14] = [
    "eval", "source", ".", "alias", "unalias", "trap", "hash", "enable", "bind", "fc", "emulate", "autoload",
    "zmodload", "setopt",
];
/// Programs whose arguments name another command, with more rights, more arguments, or somewhere else.
const LAUNCHERS: [&str; 40] = [
    "sudo",
    "doas",
    "su",
    "runuser",
    "pkexec",
    "xargs",
    "find",
    "fd",
    "ssh",
    "watch",
    "parallel",
    "strace",
    "ltrace",
    "gdb",
    "chroot",
    "nsenter",
    "unshare",
    "bwrap",
    "firejail",
    "script",
    "flock",
    "entr",
    "busybox",
    "toybox",
    "docker",
    "podman",
    "kubectl",
    "npx",
    "bunx",
    "uvx",
    "ionice",
    "taskset",
    "systemd-run",
    "at",
    "repeat",
    "noglob",
    "nocorrect",
    "command",
    "env",
    "timeout",
];
/// Words of a launcher's arguments from which a command is tried.
const LAUNCHED_MAX: usize = 64;

/// Subjects of a line run by a shell in `cwd`, with `env` set for it.
pub fn of_line_with(line: &str, env: Vec<Assignment>, cwd: &str) -> Vec<Subject> {
    let mut reading = Reading::new(line, cwd);
    if !env.iter().all(harmless) {
        reading.unreadable(POISONED);
    }
    reading.line(line, 0, &[]);
    reading.done()
}

/// Subjects of a program with arguments, run without a shell in `cwd`, with `env` set for it.
pub fn of_argv(argv: &[String], env: Vec<Assignment>, cwd: &str) -> Vec<Subject> {
    let text = argv.join(" ");
    let mut reading = Reading::new(&text, cwd);
    let simple = Simple {
        assignments: env,
        words: argv.iter().map(Word::plain).collect(),
        ..Simple::default()
    };
    reading.simple(simple, 0, &[]);
    reading.done()
}

const POISONED: &str = "sets a variable that may change what a command does";

struct Reading<'a> {
    whole: &'a str,
    cwd: &'a str,
    /// Whether the directory may have changed.
    moved: bool,
    subjects: Vec<Subject>,
}

impl<'a> Reading<'a> {
    fn new(whole: &'a str, cwd: &'a str) -> Self {
        Self {
            whole,
            cwd,
            moved: false,
            subjects: Vec::new(),
        }
    }

    fn done(mut self) -> Vec<Subject> {
        if self.subjects.is_empty() {
            self.unreadable("runs nothing");
        }
        self.subjects
    }

    /// Deny rules look through the whole text, whichever part of it is at fault.
    fn unreadable(&mut self, why: &str) {
        let subject = Subject::Unreadable {
            text: Some(self.whole.to_owned()),
            why: why.to_owned(),
        };
        if !self.subjects.contains(&subject) {
            self.subjects.push(subject);
        }
    }

    fn path(&self, word: &Word) -> Option<String> {
        // Where `~` leads is for the shell to say.
        let known =
            !word.dynamic && !word.text.starts_with('~') && (!self.moved || word.text.starts_with('/'));
        known.then(|| normalise(&word.text, self.cwd, None)).flatten()
    }

    fn line(&mut self, line: &str, depth: usize, outer: &[Vec<Word>]) {
        let (found, result) = shell::read(line, depth);
        // Behind a `cd`, a relative path is somewhere else.
        let moves = |found: &Found| match found {
            Found::Command(simple) => simple.words.first().is_some_and(|word| {
                matches!(
                    word.text.as_str(),
                    "cd" | "pushd" | "popd" | "command" | "builtin"
                ) || word.dynamic
            }),
            Found::Write(_) => false,
        };
        self.moved |= found.iter().any(moves);
        for found in found {
            match found {
                Found::Command(simple) => self.simple(simple, depth, outer),
                Found::Write(word) => {
                    let subject = Subject::Redirect(self.path(&word));
                    self.subjects.push(subject);
                }
            }
        }
        if let Err(why) = result {
            self.unreadable(why);
        }
    }

    /// Takes the wrappers off, outermost first.
    fn simple(&mut self, simple: Simple, depth: usize, outer: &[Vec<Word>]) {
        let mut also = outer.to_vec();
        let reads: Vec<_> = simple.reads.iter().map(|word| self.path(word)).collect();
        if !simple.assignments.iter().all(harmless) {
            self.unreadable(POISONED);
        }
        let mut words = simple.words;
        if words.is_empty() {
            // A lone redirection reads a file and does nothing with it; a rule may still be about that file.
            if !reads.is_empty() {
                self.subjects
                    .push(Subject::Command(Command { words, also, reads }));
            }
            return;
        }
        for _ in 0..=COMMAND_DEPTH {
            let Some(first) = words.first() else { return };
            if first.dynamic {
                return self.unreadable("leaves open which program it runs");
            }
            let Some(name) = plain_name(&first.text) else {
                break;
            };
            let args = &words[1..];
            if OPAQUE.contains(&name)
                || (name == "printf" && args.iter().any(|word| word.text.starts_with("-v")))
            {
                return self.unreadable("runs text as a command, or changes what commands mean");
            }
            if SHELLS.contains(&name) {
                match script(args) {
                    Script::Inline(text) => {
                        also.push(words.clone());
                        return if depth >= COMMAND_DEPTH {
                            self.unreadable("is nested too deeply to be looked into")
                        } else {
                            self.line(&text, depth + 1, &also)
                        };
                    }
                    Script::Unknown => return self.unreadable("gives a shell something that cannot be read"),
                    Script::File if simple.fed => return self.unreadable("feeds text to a shell"),
                    Script::File => break,
                }
            }
            match unwrapped(name, args) {
                Wrapper::None => break,
                Wrapper::Unknown => return self.unreadable("hides what it runs behind an option"),
                Wrapper::Poisoned => {
                    self.unreadable(POISONED);
                    break;
                }
                Wrapper::Runs(at) => {
                    let inner = args[at..].to_vec();
                    also.push(std::mem::replace(&mut words, inner));
                }
            }
        }
        if words
            .first()
            .and_then(|word| base_name(&word.text))
            .is_some_and(|name| LAUNCHERS.contains(&name))
        {
            launched(&words, &mut also);
        }
        self.subjects
            .push(Subject::Command(Command { words, also, reads }));
    }
}

/// What a launcher may run: its arguments from any of them on, and any of them as a command line.
fn launched(words: &[Word], also: &mut Vec<Vec<Word>>) {
    for at in 1..words.len().min(LAUNCHED_MAX) {
        also.push(words[at..].to_vec());
        if words[at].text.contains([' ', '\t', '\n', ';']) {
            let (found, _) = shell::read(&words[at].text, COMMAND_DEPTH - 1);
            also.extend(found.into_iter().filter_map(|found| match found {
                Found::Command(simple) => Some(simple.words),
                Found::Write(_) => None,
            }));
        }
    }
}

/// The name of a program that is found on PATH, or where systems have theirs.
fn plain_name(word: &str) -> Option<&str> {
    let name = ["/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/"]
        .iter()
        .find_map(|directory| word.strip_prefix(directory))
        .unwrap_or(word);
    (!name.contains('/')).then_some(name)
}

/// The last segment of a program's path.
pub fn base_name(word: &str) -> Option<&str> {
    word.rsplit('/').next().filter(|name| !name.is_empty())
}

enum Script {
    /// `-c` with this text.
    Inline(String),
    /// A script file, or nothing.
    File,
    /// Something else.
    Unknown,
}

/// What a shell with these arguments runs.
fn script(args: &[Word]) -> Script {
    let mut inline = false;
    let mut rest = args.iter();
    let operand = loop {
        let Some(word) = rest.next() else { break None };
        if word.dynamic {
            break Some(word);
        }
        match word.text.as_str() {
            "--" => break rest.next(),
            "--login" | "--norc" | "--noprofile" | "--posix" | "--noediting" | "--verbose" => {}
            text if text.starts_with("--") => return Script::Unknown,
            text if text.len() > 1 && text.starts_with(['-', '+']) => {
                if !text[1..]
                    .bytes()
                    .all(|letter| b"abcefhiklmnopuvxBCEHPT".contains(&letter))
                {
                    return Script::Unknown;
                }
                inline |= text.starts_with('-') && text.contains('c');
                if text.contains('o') && rest.next().is_none_or(|name| name.dynamic) {
                    return Script::Unknown;
                }
            }
            _ => break Some(word),
        }
    };
    match operand {
        Some(word) if word.dynamic => Script::Unknown,
        Some(word) if inline => Script::Inline(word.text.clone()),
        None if inline => Script::Unknown,
        _ => Script::File,
    }
}

enum Wrapper {
    /// The command stands for itself.
    None,
    /// It runs what begins at this argument.
    Runs(usize),
    /// It runs something that cannot be told.
    Unknown,
    /// It sets a variable that matters.
    Poisoned,
}

/// What a wrapper runs. Options that are not listed here leave the command as it is written, so that a rule has
/// to name it.
fn unwrapped(name: &str, args: &[Word]) -> Wrapper {
    // Options without a value, options with one as the next word, and words before the command.
    let (flags, valued, operands): (&[&str], &[&str], usize) = match name {
        "env" => (
            &["-i", "-", "--ignore-environment", "-0", "-v"],
            &["-u", "--unset"],
            0,
        ),
        "nohup" => (&[], &[], 0),
        "setsid" => (&["-f", "-c", "-w", "--fork", "--ctty", "--wait"], &[], 0),
        "builtin" => (&[], &[], 0),
        "exec" => (&["-c", "-l", "-cl"], &["-a"], 0),
        "command" => (&["-p"], &[], 0),
        "nice" => (&[], &["-n", "--adjustment"], 0),
        "time" => (
            &["-p", "-v", "--verbose", "--portability"],
            &["-f", "--format"],
            0,
        ),
        "stdbuf" => (&[], &["-i", "-o", "-e", "--input", "--output", "--error"], 0),
        "timeout" => (
            &["--foreground", "--preserve-status", "-v", "--verbose"],
            &["-s", "--signal", "-k", "--kill-after"],
            1,
        ),
        _ => return Wrapper::None,
    };
    let mut at = 0;
    let mut operands = operands;
    while let Some(word) = args.get(at) {
        if word.dynamic {
            return Wrapper::Unknown;
        }
        let text = word.text.as_str();
        let attached = |option: &&&str| match option.strip_prefix("--") {
            Some(_) => text
                .strip_prefix(**option)
                .is_some_and(|rest| rest.starts_with('=')),
            None => text.len() > 2 && text.starts_with(**option),
        };
        if text == "--" {
            at += 1;
            break;
        } else if flags.contains(&text) || valued.iter().find(attached).is_some() {
            at += 1;
        } else if valued.contains(&text) {
            at += 2;
        } else if name == "nice" && text.len() > 1 && text[1..].bytes().all(|byte| byte.is_ascii_digit()) {
            at += 1;
        } else if text.starts_with('-') {
            return if matches!(name, "env" | "exec") {
                Wrapper::Unknown
            } else {
                Wrapper::None
            };
        } else {
            break;
        }
    }
    if name == "env" {
        while let Some((variable, value)) = args.get(at).and_then(|word| word.text.split_once('=')) {
            let value = Word {
                text: value.to_owned(),
                ..args[at].clone()
            };
            let assignment = Assignment {
                name: variable.to_owned(),
                value,
            };
            if !harmless(&assignment) {
                return Wrapper::Poisoned;
            }
            at += 1;
        }
    }
    while operands > 0 && at < args.len() {
        if args[at].dynamic {
            return Wrapper::Unknown;
        }
        operands -= 1;
        at += 1;
    }
    if at < args.len() {
        Wrapper::Runs(at)
    } else {
        Wrapper::None
    }
}

/// Variables, or beginnings of names with a `*`, through which a program can be made to run another one.
const POISONOUS: [&str; 62] = [
    "PATH",
    "IFS",
    "ENV",
    "CDPATH",
    "HOME",
    "SHELL",
    "SHELLOPTS",
    "BASHOPTS",
    "BASH_*",
    "FPATH",
    "ZDOTDIR",
    "ZSH*",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "PROMPT*",
    "LD_*",
    "DYLD_*",
    "GIT_*",
    "SSH_*",
    "LESS*",
    "MAN*",
    "PERL*",
    "PYTHON*",
    "RUBY*",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NPM_*",
    "npm_*",
    "YARN_*",
    "PNPM_*",
    "BUN_*",
    "DENO_*",
    "JAVA*",
    "JDK_*",
    "_JAVA_*",
    "MAVEN_*",
    "GRADLE_*",
    "CARGO*",
    "RUSTC*",
    "RUSTDOC*",
    "RUSTFLAGS",
    "RUSTUP_*",
    "CC",
    "CXX",
    "LDFLAGS",
    "MAKE*",
    "GNUMAKEFLAGS",
    "GO*",
    "CGO_*",
    "DOCKER_*",
    "KUBE*",
    "XDG_*",
    "GCONV_PATH",
    "TERMINFO*",
    "TMPDIR",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "BROWSER",
    "OPENSSL_*",
];

/// Whether an assignment cannot make an allowed command do something else: neither its name nor its value look
/// like it. A value with a slash, a blank or an expansion is not trusted under any name.
pub fn harmless(assignment: &Assignment) -> bool {
    let name = assignment.name.as_str();
    let poisonous = |pattern: &&str| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == *pattern,
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.,:=+@%-".contains(&byte);
    shell::is_name(name)
        && !POISONOUS.iter().any(|pattern| poisonous(&pattern))
        && ![
            "_PAGER", "_EDITOR", "_COMMAND", "_CMD", "_SHELL", "_PATH", "_WRAPPER", "_ASKPASS",
        ]
        .iter()
        .any(|end| name.ends_with(end))
        && !assignment.value.dynamic
        && assignment.value.text.bytes().all(plain)
}
