//! An agent's standard input.
//!
//! In: lines. Out: as much of them as the pipe takes. Owns: the pipe, and what it has not taken yet. Never: waits for the
//! agent unless it is asked to.

use std::time::Duration;

use acpd_model::limits::AGENT_OUTBOX_BYTES;
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;

/// An agent's standard input. By default it is none, and takes everything.
#[derive(Default)]
pub struct Stdin {
    /// None once the agent reads no more; what is for it then is dropped.
    pipe: Option<ChildStdin>,
    waiting: Vec<u8>,
    /// Bytes of `waiting` that the pipe has taken.
    taken: usize,
}

impl Stdin {
    /// Of a process that was started just now.
    pub fn new(pipe: Option<ChildStdin>) -> Self {
        Self {
            pipe,
            ..Self::default()
        }
    }

    /// Puts lines behind those that wait.
    pub fn add(&mut self, mut lines: Vec<u8>) {
        if self.waiting.is_empty() {
            self.waiting = lines;
        } else {
            self.waiting.append(&mut lines);
        }
    }

    /// Whether something waits.
    pub fn waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether so little waits that there may be more.
    pub fn has_room(&self) -> bool {
        self.waiting.len() - self.taken < AGENT_OUTBOX_BYTES
    }

    /// Writes what the pipe takes, once it takes something. Safe to cancel.
    pub async fn write(&mut self) {
        let written = match &mut self.pipe {
            Some(pipe) => pipe.write(&self.waiting[self.taken..]).await,
            None => Ok(self.waiting.len() - self.taken),
        };
        match written {
            Ok(bytes) => self.taken += bytes,
            // The agent reads no more; it is on its way out, and what it still says is wanted.
            Err(_) => {
                self.pipe = None;
                self.taken = self.waiting.len();
            }
        }
        if self.taken == self.waiting.len() {
            (self.waiting, self.taken) = (Vec::new(), 0);
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
