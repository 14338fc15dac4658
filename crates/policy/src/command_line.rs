//! The commands that a command line would run, without their wrappers.
//!
//! In: a command line, or a program with its arguments. Out: subjects. `env`, `nohup`, `timeout`, `sh -c` and similar
//! wrappers run another command and add nothing to it, so that command replaces them. `sudo`, `xargs`, `find` and
//! others run another command with more rights or more arguments. An allow rule must name them, while deny and ask
//! rules also see the command that they run.

use acpd_model::BlobId;
use acpd_model::limits::{COMMAND_DEPTH, COMMAND_LINE_BYTES, COMMAND_PARTS, PATH_BYTES};

use super::builtins;
use super::command_words::CommandWords;
use super::path::{absolute, behind_file_scheme, climbs, normalise};
use super::shell::{self, Assignment, Found, Simple, TOO_LONG, TOO_MANY_PARTS, Word};
use super::subject::{Command, Program, Subject};
use super::variables::{is_harmless, is_harmless_in_line};
use super::wrapper::{Script, Wrapper, is_shell, launched, launches, plain_name, script, unwrapped};

/// Returns the subjects of a command line that a shell runs in `cwd`, with `env` set for it.
pub fn of_line_with(line: &str, env: &[Assignment], cwd: &str) -> Vec<Subject> {
    let mut reading = Reading::new(line, BlobId::of(line.as_bytes()), cwd);
    if reading.is_too_long() {
        return reading.done();
    }
    if !env.iter().all(is_harmless) {
        reading.unreadable(POISONED);
    }
    reading.line(line, 0, &[]);
    reading.done()
}

/// Returns the subjects of a program with arguments, run without a shell in `cwd`, with `env` set for it.
pub fn of_argv(argv: &[String], env: Vec<Assignment>, cwd: &str) -> Vec<Subject> {
    let text = argv.join(" ");
    let mut reading = Reading::new(&text, BlobId::of(argv.join("\0").as_bytes()), cwd);
    if reading.is_too_long() {
        return reading.done();
    }
    let simple = Simple {
        assignments: env,
        words: argv.iter().map(Word::plain).collect(),
        ..Simple::default()
    };
    reading.simple(simple, 0, &[]);
    reading.done()
}

/// Returns whether an option of `env` changes the directory.
fn changes_directory(option: &Word) -> bool {
    option.text.starts_with("-C") || option.text.starts_with("--chdir")
}

const POISONED: &str = "sets or removes a variable that may change what a command does";

struct Reading<'a> {
    whole: &'a str,
    /// Hash of the line, independent of its length.
    line: BlobId,
    cwd: &'a str,
    /// Whether a command has input in addition to its words.
    has_input: bool,
    /// Whether the directory may have changed, or is too long to be stored with each command.
    moved: bool,
    /// Number of commands and redirections so far, at any depth.
    parts: usize,
    subjects: Vec<Subject>,
}

impl<'a> Reading<'a> {
    fn new(whole: &'a str, line: BlobId, cwd: &'a str) -> Self {
        Self {
            whole,
            line,
            cwd,
            has_input: false,
            moved: cwd.len() > PATH_BYTES,
            parts: 0,
            subjects: Vec::new(),
        }
    }

    fn done(mut self) -> Vec<Subject> {
        if self.subjects.is_empty() {
            self.unreadable("runs nothing");
        }
        if self.has_input || self.subjects.len() > 1 {
            for subject in &mut self.subjects {
                if let Subject::Command(command) = subject {
                    command.line = Some(self.line);
                }
            }
        }
        self.subjects
    }

    /// Returns whether the text is too long, and records that.
    fn is_too_long(&mut self) -> bool {
        let is_too_long = self.whole.len() > COMMAND_LINE_BYTES;
        if is_too_long {
            self.unreadable(TOO_LONG);
        }
        is_too_long
    }

    /// Deny rules search the whole text, whichever part of it is unreadable.
    fn unreadable(&mut self, why: &str) {
        let subject = Subject::Unreadable {
            text: Some(self.whole.to_owned()),
            why: why.to_owned(),
        };
        if !self.subjects.contains(&subject) {
            self.subjects.push(subject);
        }
    }

    /// Returns the absolute path that a word denotes, otherwise unchanged.
    fn named(&self, word: &Word) -> Option<String> {
        // Only the shell knows what `~` expands to. To a shell, a URL is a relative path.
        let is_url = behind_file_scheme(&word.text).is_some();
        let is_plain = !word.dynamic && !word.text.starts_with('~') && !is_url;
        let known = is_plain && (!self.moved || word.text.starts_with('/'));
        known.then(|| absolute(&word.text, self.cwd, None)).flatten()
    }

    fn path(&self, word: &Word) -> Option<String> {
        normalise(&self.named(word)?, "/", None)
    }

    fn line(&mut self, line: &str, depth: usize, outer: &[CommandWords]) {
        let (found, result) = shell::read(line, depth);
        // After a `cd`, a relative path is somewhere else.
        let moves = |found: &Found| match found {
            Found::Command(simple) => simple.words.first().is_some_and(|word| {
                matches!(
                    word.text.as_str(),
                    "cd" | "chdir" | "pushd" | "popd" | "command" | "builtin"
                ) || word.dynamic
            }),
            Found::Write(_) => false,
        };
        self.moved |= found.iter().any(moves);
        for found in found {
            self.parts += 1;
            if self.parts > COMMAND_PARTS {
                return self.unreadable(TOO_MANY_PARTS);
            }
            match found {
                Found::Command(simple) => self.simple(simple, depth, outer),
                Found::Write(word) => {
                    let (named, path) = (self.named(&word), self.path(&word));
                    self.subjects.push(Subject::Redirect { named, path });
                }
            }
        }
        if let Err(why) = result {
            self.unreadable(why);
        }
    }

    /// Removes the wrappers, outermost first.
    fn simple(&mut self, simple: Simple, depth: usize, outer: &[CommandWords]) {
        let mut also = outer.to_vec();
        let reads: Vec<_> = simple.reads.iter().map(|word| self.path(word)).collect();
        let mut words = CommandWords::from(simple.words);
        self.has_input |= simple.fed || !reads.is_empty();
        let is_harmless = if words.is_empty() {
            is_harmless_in_line
        } else {
            is_harmless
        };
        if !simple.assignments.iter().all(is_harmless) {
            self.unreadable(POISONED);
        }
        if words.is_empty() {
            // A redirection alone reads a file and does nothing with it, but a rule may match that file.
            if !reads.is_empty() {
                self.subjects.push(Subject::Command(Command {
                    words,
                    also,
                    program: None,
                    reads,
                    cwd: self.directory(),
                    line: None,
                }));
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
            if let Some(why) = builtins::unreadable(name, args) {
                return self.unreadable(why);
            }
            if is_shell(name) {
                match script(&first.text, args) {
                    Script::Inline(text, has_arguments) => {
                        if has_arguments {
                            self.unreadable("gives a script arguments that it may run");
                        }
                        also.push(words.clone());
                        return if depth >= COMMAND_DEPTH {
                            self.unreadable("is nested too deeply to be looked into")
                        } else {
                            self.line(&text, depth + 1, &also)
                        };
                    }
                    Script::Unknown => {
                        self.unreadable("gives a shell something that cannot be read");
                        break;
                    }
                    Script::File if simple.fed => return self.unreadable("feeds text to a shell"),
                    Script::File => break,
                }
            }
            if name == "env" && args.iter().any(changes_directory) {
                self.moved = true;
                self.unreadable("is run in another directory");
            }
            match unwrapped(name, args) {
                Wrapper::None => break,
                Wrapper::Unknown => {
                    self.unreadable("hides what it runs behind an option");
                    break;
                }
                Wrapper::Poisoned => {
                    self.unreadable(POISONED);
                    break;
                }
                Wrapper::Runs(at) => {
                    let inner = words.starting_at(1 + at);
                    also.push(std::mem::replace(&mut words, inner));
                }
            }
        }
        if words.first().is_some_and(|word| launches(&word.text)) {
            launched(&words, &mut also);
        }
        let program = words.first().and_then(|word| self.program(word));
        self.subjects.push(Subject::Command(Command {
            words,
            also,
            program,
            reads,
            cwd: self.directory(),
            line: None,
        }));
    }

    /// Returns the working directory of the line.
    fn directory(&self) -> Option<String> {
        let is_known = self.cwd.len() <= PATH_BYTES && !climbs(self.cwd);
        is_known.then(|| self.cwd.to_owned())
    }

    /// Returns the file that a program's name denotes, if it is a path. A path with `..` must be resolved by the
    /// system.
    fn program(&self, word: &Word) -> Option<Program> {
        word.text.contains('/').then(|| {
            let mut program = Program {
                named: self.named(word),
                path: None,
            };
            program.path = program.by_name().filter(|_| !climbs(&word.text));
            program
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Returns the bytes of the words that `subjects` hold. Shared words count once.
    fn held(subjects: &[Subject]) -> usize {
        let commands = subjects.iter().filter_map(|subject| match subject {
            Subject::Command(command) => Some(command),
            _ => None,
        });
        let words = commands.flat_map(Command::forms).flatten();
        let texts: BTreeMap<_, _> = words.map(|word| (word.text.as_ptr(), word.text.len())).collect();
        texts.values().sum()
    }

    fn whys(subjects: &[Subject]) -> Vec<&str> {
        let whys = subjects.iter().filter_map(|subject| match subject {
            Subject::Unreadable { why, .. } => Some(why.as_str()),
            _ => None,
        });
        whys.collect()
    }

    #[test]
    fn commands_share_the_words_around_them() {
        let script: String = (0..200).map(|number| format!("true {number};")).collect();
        let line = format!("env sh -c '{script} # {}'", "x".repeat(4 << 10));
        let subjects = of_line_with(&line, &[], "/w");
        assert_eq!(subjects.len(), 200);
        assert!(held(&subjects) < 4 * line.len(), "{}", held(&subjects));
    }

    #[test]
    fn commands_of_a_launcher_share_its_words() {
        let line = format!("sudo {}", format!("{} ", "x".repeat(128)).repeat(60));
        let subjects = of_line_with(&line, &[], "/w");
        assert!(held(&subjects) < 2 * line.len(), "{}", held(&subjects));
    }

    #[test]
    fn all_commands_of_a_line_count_wherever_they_are() {
        let scripts = (0..COMMAND_PARTS / 20).map(|script| {
            let commands: String = (0..40).map(|number| format!("true {script} {number};")).collect();
            format!("sh -c '{commands}';")
        });
        let subjects = of_line_with(&scripts.collect::<String>(), &[], "/w");
        assert!(subjects.len() <= COMMAND_PARTS + 1, "{}", subjects.len());
        assert_eq!(whys(&subjects), ["has too many parts to be looked into"]);
    }

    #[test]
    fn a_program_with_too_many_arguments_is_unreadable() {
        let argv: Vec<String> = std::iter::once("sudo".to_owned())
            .chain((0..COMMAND_LINE_BYTES / 64).map(|_| "x".repeat(64)))
            .collect();
        let subjects = of_argv(&argv, Vec::new(), "/w");
        assert_eq!(whys(&subjects), ["is too long to be looked into"]);
        assert_eq!(held(&subjects), 0);
    }

    #[test]
    fn no_command_holds_a_directory_with_too_long_a_name() {
        let directory = format!("/{}", "x".repeat(PATH_BYTES));
        let subjects = of_line_with("true 1 < a; ./true 2 > b; /bin/true 3", &[], &directory);
        assert_eq!(subjects.len(), 4);
        let text = format!("{subjects:?}");
        assert!(text.len() < PATH_BYTES, "{} bytes", text.len());
    }
}
