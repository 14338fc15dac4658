//! Commands that an agent runs through us.

use std::time::Duration;

use acpd_model::Failure;
use rustix::process::Signal;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::{mpsc, oneshot, watch};

use crate::command::Program;
use crate::group::{self, Group};
use crate::tail::Tail;

/// What to run, and how much of its output to keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalSpec {
    /// The command.
    pub program: Program,
    /// Bytes of output kept, from the end.
    pub output_bytes: usize,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exit {
    /// Exit code, if it exited by itself.
    pub code: Option<i32>,
    /// Signal that ended it.
    pub signal: Option<String>,
}

/// What a terminal tells by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalUpdate {
    /// It wrote something.
    Output(String),
    /// The command ended, and all of its output is in.
    Exited {
        /// How.
        exit: Exit,
        /// The last of its output.
        output: String,
        /// Whether earlier output was dropped.
        truncated: bool,
    },
}

#[derive(Debug)]
enum Ask {
    Output(oneshot::Sender<(String, bool)>),
    Kill,
}

/// A running command. Dropping it kills the command's whole group.
#[derive(Debug, Clone)]
pub struct Terminal {
    asks: mpsc::Sender<Ask>,
    exit: watch::Receiver<Option<Exit>>,
}

/// Between SIGTERM and SIGKILL.
const KILL_GRACE: Duration = Duration::from_secs(2);
/// How long output is waited for after the command is gone: a child of it may hold the pipe.
const DRAIN_GRACE: Duration = Duration::from_millis(500);

impl Terminal {
    /// Runs the command. What it does goes to `updates`.
    pub fn spawn(spec: &TerminalSpec, updates: mpsc::Sender<TerminalUpdate>) -> Result<Self, Failure> {
        let child = group::prepare(&spec.program).spawn().map_err(|error| {
            let command = &spec.program.command;
            Failure::invalid_params(format!("failed to start terminal: {command:?}: {error}"))
        })?;
        let (asks, asked) = mpsc::channel(16);
        let (exited, exit) = watch::channel(None);
        tokio::spawn(run(child, Tail::new(spec.output_bytes), asked, exited, updates));
        Ok(Self { asks, exit })
    }

    /// What it has written so far, whether the beginning was dropped, and how it ended if it has.
    pub async fn output(&self) -> (String, bool, Option<Exit>) {
        let (answer, answered) = oneshot::channel();
        let asked = self.asks.send(Ask::Output(answer)).await;
        let (output, truncated) = if asked.is_ok() {
            answered.await.unwrap_or_default()
        } else {
            Default::default()
        };
        let exit = self.exit.borrow().clone();
        (output, truncated, exit)
    }

    /// Waits for the command's end and for all of its output.
    pub async fn wait(&self) -> Exit {
        let mut exit = self.exit.clone();
        match exit.wait_for(Option::is_some).await {
            Ok(exit) => exit.clone().unwrap_or_default(),
            Err(_) => Exit::default(),
        }
    }

    /// Ends the command: SIGTERM, then SIGKILL, to its group. The output stays readable.
    pub async fn kill(&self) {
        // A terminal whose task has ended has no command left.
        let _ = self.asks.send(Ask::Kill).await;
    }
}

async fn run(
    mut child: tokio::process::Child,
    mut tail: Tail,
    mut asked: mpsc::Receiver<Ask>,
    exited: watch::Sender<Option<Exit>>,
    updates: mpsc::Sender<TerminalUpdate>,
) {
    let mut group = Group::of(&child);
    drop(child.stdin.take());
    let (chunks, mut output) = mpsc::channel::<Vec<u8>>(8);
    if let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) {
        tokio::spawn(pump(stdout, chunks.clone()));
        tokio::spawn(pump(stderr, chunks));
    }
    let mut text = Utf8::default();
    let mut killed_at = None;
    let mut drained_by = None;
    let mut exit = None;
    let mut reading = true;
    loop {
        let deadline = [killed_at, drained_by].into_iter().flatten().min();
        tokio::select! {
            chunk = output.recv(), if reading => match chunk {
                Some(bytes) => {
                    tail.push(&bytes);
                    let new = text.push(&bytes);
                    if !new.is_empty() && updates.send(TerminalUpdate::Output(new)).await.is_err() {
                        break;
                    }
                }
                None => reading = false,
            },
            status = child.wait(), if exit.is_none() => {
                let (code, signal) = status.map(group::describe).unwrap_or_default();
                exit = Some(Exit { code, signal });
                killed_at = None;
                drained_by = Some(tokio::time::Instant::now() + DRAIN_GRACE);
            }
            ask = asked.recv() => match ask {
                Some(Ask::Output(answer)) => drop(answer.send(tail.text())),
                Some(Ask::Kill) => if exit.is_none() && killed_at.is_none() {
                    group.signal(Signal::TERM);
                    killed_at = Some(tokio::time::Instant::now() + KILL_GRACE);
                },
                None => break,
            },
            () = sleep_until(deadline) => {
                if killed_at.take().is_some() {
                    group.signal(Signal::KILL);
                } else {
                    reading = false;
                }
            }
        }
        if !reading && exited.borrow().is_none() {
            let Some(ended) = exit.clone() else { continue };
            group.end();
            let (output, truncated) = tail.text();
            let done = TerminalUpdate::Exited {
                exit: ended.clone(),
                output,
                truncated,
            };
            // A thread that is gone needs no news.
            let _ = updates.send(done).await;
            exited.send_replace(Some(ended));
            drained_by = None;
        }
    }
}

async fn sleep_until(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

async fn pump(mut from: impl AsyncRead + Unpin, to: mpsc::Sender<Vec<u8>>) {
    let mut buffer = vec![0; 8192];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        if to.send(buffer[..read].to_vec()).await.is_err() {
            return;
        }
    }
}

/// Turns chunks into text without cutting a character in two.
#[derive(Default)]
struct Utf8 {
    held: Vec<u8>,
}

impl Utf8 {
    fn push(&mut self, bytes: &[u8]) -> String {
        self.held.extend_from_slice(bytes);
        let keep = match std::str::from_utf8(&self.held) {
            Err(error) if error.error_len().is_none() => self.held.len() - error.valid_up_to(),
            _ => 0,
        };
        let rest = self.held.split_off(self.held.len() - keep);
        let text = String::from_utf8_lossy(&self.held).into_owned();
        self.held = rest;
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn shell(line: &str, output_bytes: usize) -> TerminalSpec {
        let env = BTreeMap::from([("PATH".to_owned(), std::env::var("PATH").unwrap())]);
        let args = vec!["-c".to_owned(), line.to_owned()];
        let program = Program {
            command: "sh".into(),
            args,
            env,
            cwd: std::env::temp_dir(),
        };
        TerminalSpec {
            program,
            output_bytes,
        }
    }

    #[tokio::test]
    async fn all_output_is_in_when_the_exit_is_told() {
        let (updates, mut told) = mpsc::channel(64);
        let terminal =
            Terminal::spawn(&shell("printf 'one\\ntwo'; printf three >&2; exit 3", 8), updates).unwrap();
        assert_eq!(
            terminal.wait().await,
            Exit {
                code: Some(3),
                signal: None
            }
        );
        let (output, truncated, exit) = terminal.output().await;
        assert_eq!((output.len(), truncated), (8, true));
        assert_eq!(exit.unwrap().code, Some(3));
        let mut last = None;
        while let Ok(update) = told.try_recv() {
            last = Some(update);
        }
        assert!(matches!(last, Some(TerminalUpdate::Exited { .. })));
    }

    #[tokio::test]
    async fn kill_ends_the_whole_group() {
        let (updates, _told) = mpsc::channel(64);
        let terminal = Terminal::spawn(&shell("sleep 1000 & sleep 1000", 100), updates).unwrap();
        terminal.kill().await;
        assert_eq!(terminal.wait().await.signal.as_deref(), Some("SIGTERM"));
    }

    #[test]
    fn characters_are_not_cut() {
        let mut text = Utf8::default();
        let bytes = "é😀".as_bytes();
        let parts: Vec<_> = bytes.iter().map(|byte| text.push(&[*byte])).collect();
        assert_eq!(parts.concat(), "é😀");
        assert!(!parts.concat().contains('\u{fffd}'));
        assert_eq!(text.push(&[0xff]), "\u{fffd}");
    }
}
