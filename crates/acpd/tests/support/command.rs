//! The `acpd` command, as a user runs it.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::{PATIENCE, Place};

/// The exit code and output of a command.
#[derive(Debug)]
pub struct Outcome {
    /// The exit code; `None` if a signal killed the process.
    pub code: Option<i32>,
    /// The whole standard output.
    pub stdout: String,
    /// The whole standard error.
    pub stderr: String,
}

/// A running command.
pub struct Running {
    child: Child,
    /// Its standard input, open until it is dropped.
    pub stdin: Option<ChildStdin>,
    stdout: Reader,
    stderr: Reader,
}

struct Reader {
    text: Arc<Mutex<Vec<u8>>>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    fn start(mut from: impl Read + Send + 'static) -> Self {
        let text = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&text);
        let thread = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = from.read(&mut buffer) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&buffer[..read]);
            }
        });
        let thread = Some(thread);
        Self { text, thread }
    }

    fn text(&self) -> String {
        let text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Returns the whole output, once the stream has ended.
    fn finish(&mut self) -> String {
        if let Some(thread) = self.thread.take() {
            thread.join().expect("a reader does not fail");
        }
        self.text()
    }
}

impl Running {
    /// Starts a command with all three streams piped.
    pub fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        Self {
            stdin: child.stdin.take(),
            stdout: Reader::start(child.stdout.take().expect("stdout is piped")),
            stderr: Reader::start(child.stderr.take().expect("stderr is piped")),
            child,
        }
    }

    /// Returns the process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Writes to its standard input.
    pub fn write(&mut self, text: &str) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        stdin.write_all(text.as_bytes()).expect("it reads");
        stdin.flush().expect("it reads");
    }

    /// Waits until its standard output contains `text`.
    pub fn wait_for_output(&self, text: &str) {
        self.wait_for(text, &self.stdout);
    }

    /// Waits until its standard error contains `text`.
    pub fn wait_for_error(&self, text: &str) {
        self.wait_for(text, &self.stderr);
    }

    /// Returns what it has written to its standard output until now.
    pub fn output(&self) -> String {
        self.stdout.text()
    }

    fn wait_for(&self, text: &str, stream: &Reader) {
        let deadline = Instant::now() + PATIENCE;
        while !stream.text().contains(text) {
            if Instant::now() > deadline {
                let (out, err) = (self.stdout.text(), self.stderr.text());
                panic!("waited in vain for {text:?}; it says:\n{out}\n{err}");
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits until it exits.
    pub fn finish(self) -> Outcome {
        self.finish_within(PATIENCE)
    }

    /// Waits until it exits, at most this long.
    pub fn finish_within(mut self, patience: Duration) -> Outcome {
        self.stdin = None;
        let deadline = Instant::now() + patience;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("it can be waited for") {
                break status;
            }
            if Instant::now() > deadline {
                let (out, err) = (self.stdout.text(), self.stderr.text());
                panic!("the command does not end; it says:\n{out}\n{err}");
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        Outcome {
            code: status.code(),
            stdout: self.stdout.finish(),
            stderr: self.stderr.finish(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have exited already; a failed test must not leave a process behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a command to its end.
pub fn outcome(command: &mut Command) -> Outcome {
    Running::start(command).finish()
}

/// Runs a command that reads `input`.
pub fn outcome_with_input(command: &mut Command, input: &str) -> Outcome {
    let mut running = Running::start(command);
    running.write(input);
    running.finish()
}

/// Runs a command whose standard output is closed early, as by `head`.
pub fn unread(command: &mut Command) -> Outcome {
    command.stdin(Stdio::null());
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it can be waited for");
    Outcome {
        code: output.status.code(),
        stdout: String::new(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Runs `acpd` in `place` to its end.
pub fn acpd(place: &Place, args: &[&str]) -> Outcome {
    outcome(&mut place.command(args))
}

/// Returns the same command without a controlling terminal.
pub fn without_terminal(command: &Command) -> Command {
    let mut detached = Command::new("setsid");
    detached.arg(command.get_program()).args(command.get_args());
    copy_surroundings(command, &mut detached);
    detached
}

/// Returns the same command in its own terminal: standard output is the screen, standard input the keyboard.
pub fn on_terminal(command: &Command) -> Command {
    typed_in("", command)
}

/// Returns the same command as [`on_terminal`], with this number of columns.
pub fn on_terminal_of(columns: u16, command: &Command) -> Command {
    typed_in(&format!("stty cols {columns}; "), command)
}

fn typed_in(before: &str, command: &Command) -> Command {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let line: Vec<_> = words
        .map(|word| format!("'{}'", word.to_str().expect("it is text")))
        .collect();
    let mut typed = Command::new("script");
    let line = format!("{before}{}", line.join(" "));
    typed.args(["-q", "-e", "-c", &line, "/dev/null"]);
    copy_surroundings(command, &mut typed);
    typed
}

/// Gives a command the environment and the directory of another one.
pub fn copy_surroundings(from: &Command, to: &mut Command) {
    for (name, value) in from.get_envs() {
        match value {
            Some(value) => to.env(name, value),
            None => to.env_remove(name),
        };
    }
    to.current_dir(from.get_current_dir().expect("it has a directory"));
}
