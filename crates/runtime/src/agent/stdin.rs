//! An agent's standard input.
//!
//! In: lines. Out: as much of them as the pipe takes. Owns: the pipe, and what it has not taken yet. Never: waits for the
//! agent unless it is asked to.

use std::collections::VecDeque;
use std::time::Duration;

use acpd_model::limits::AGENT_OUTBOX_BYTES;
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;

use crate::agent::budget::Charge;

/// Lines of less than so many bytes are put together, so that they are written at once.
const JOINED_BYTES: usize = 64 << 10;

/// An agent's standard input. By default it is none, and takes everything.
#[derive(Default)]
pub struct Stdin {
    /// None once the agent reads no more; what is for it then is dropped.
    pipe: Option<ChildStdin>,
    waiting: VecDeque<Part>,
    /// Bytes of the first part that the pipe has taken.
    taken: usize,
    /// Bytes that the pipe has not taken.
    bytes: usize,
    /// For the lines that are added next.
    charge: Option<Charge>,
}

/// Lines, and what they hold of the agent's budget.
struct Part {
    lines: Vec<u8>,
    _charge: Option<Charge>,
}

impl Stdin {
    /// Of a process that was started just now.
    pub fn new(pipe: Option<ChildStdin>) -> Self {
        Self {
            pipe,
            ..Self::default()
        }
    }

    /// What is added next holds this, until the pipe has taken it.
    pub fn charge(&mut self, charge: Option<Charge>) {
        self.charge = charge;
    }

    /// Puts lines behind those that wait.
    pub fn add(&mut self, mut lines: Vec<u8>) {
        let charge = self.charge.take();
        if lines.is_empty() {
            return;
        }
        self.bytes += lines.len();
        match self.waiting.back_mut() {
            Some(last) if charge.is_none() && last.lines.len() + lines.len() <= JOINED_BYTES => {
                last.lines.append(&mut lines);
            }
            _ => self.waiting.push_back(Part {
                lines,
                _charge: charge,
            }),
        }
    }

    /// Whether something waits.
    pub fn waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether so little waits that there may be more.
    pub fn has_room(&self) -> bool {
        self.bytes < AGENT_OUTBOX_BYTES
    }

    /// Writes what the pipe takes, once it takes something. Safe to cancel.
    pub async fn write(&mut self) {
        let Some(first) = self.waiting.front() else { return };
        let written = match &mut self.pipe {
            Some(pipe) => pipe.write(&first.lines[self.taken..]).await,
            None => Ok(first.lines.len() - self.taken),
        };
        match written {
            Ok(bytes) => {
                self.taken += bytes;
                self.bytes -= bytes;
            }
            // The agent reads no more; it is on its way out, and what it still says is wanted.
            Err(_) => {
                self.pipe = None;
                (self.taken, self.bytes) = (0, 0);
                self.waiting.clear();
            }
        }
        if self
            .waiting
            .front()
            .is_some_and(|first| first.lines.len() == self.taken)
        {
            self.waiting.pop_front();
            self.taken = 0;
        }
        if self.waiting.is_empty() {
            self.waiting = VecDeque::new();
        }
    }

    /// Writes the rest and closes the pipe. One that takes nothing any more is ended by its signals.
    pub async fn close(mut self, patience: Duration) {
        let rest = async {
            while self.waits() {
                self.write().await;
            }
        };
        // Best effort.
        let _ = tokio::time::timeout(patience, rest).await;
    }
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use tokio::io::AsyncReadExt;
    use tokio::process::Command;

    use super::*;
    use crate::agent::budget::Budget;

    #[tokio::test]
    async fn all_of_it_arrives_in_order_however_little_the_pipe_takes() {
        let mut cat = Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = Stdin::new(cat.stdin.take());
        let lines: Vec<Vec<u8>> = (0..40)
            .map(|n| format!("{n}\n").repeat(20_000).into_bytes())
            .collect();
        let all = lines.concat();
        let mut output = cat.stdout.take().unwrap();
        let read = tokio::spawn(async move {
            let mut heard = Vec::new();
            output.read_to_end(&mut heard).await.unwrap();
            heard
        });
        for (at, line) in lines.into_iter().enumerate() {
            stdin.add(line);
            if at < 20 {
                stdin.write().await;
            }
        }
        // Far more than a pipe takes at once.
        stdin.write().await;
        assert!(stdin.waits());
        stdin.close(Duration::from_mins(1)).await;
        assert!(read.await.unwrap() == all);
        cat.wait().await.unwrap();
    }

    #[tokio::test]
    async fn a_charge_is_given_back_when_the_pipe_has_taken_what_it_is_for() {
        let mut sleep = Command::new("sleep")
            .arg("1000")
            .stdin(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut stdin = Stdin::new(sleep.stdin.take());
        let budget = Budget::default();
        let all = || budget.try_take(u64::MAX);
        stdin.charge(all());
        stdin.add(Vec::new());
        assert!(all().is_some(), "nothing was written for it");
        stdin.charge(all());
        stdin.add(b"short\n".to_vec());
        // More than a pipe takes.
        stdin.add(vec![b'x'; 1 << 20]);
        assert!(all().is_none());
        stdin.write().await;
        stdin.charge(all());
        stdin.add(b"behind\n".to_vec());
        stdin.write().await;
        assert!(all().is_none() && stdin.waits());
        sleep.kill().await.unwrap();
        stdin.write().await;
        assert!(all().is_some() && !stdin.waits());
    }

    #[tokio::test]
    async fn who_reads_no_more_holds_nothing() {
        let mut gone = Command::new("true").stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = Stdin::new(gone.stdin.take());
        gone.wait().await.unwrap();
        stdin.add(b"nobody hears\n".to_vec());
        stdin.write().await;
        assert!(!stdin.waits() && stdin.has_room());
        stdin.add(b"this either\n".to_vec());
        stdin.write().await;
        assert!(!stdin.waits());
    }
}
