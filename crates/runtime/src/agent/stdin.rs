//! An agent's standard input.
//!
//! In: lines. Out: as many of them as the pipe accepts, or an error if the agent stopped reading. Owns: the pipe and
//! the unwritten lines. Never: waits for the agent unless asked to.

use std::collections::VecDeque;
use std::time::Duration;

use acpd_model::limits::AGENT_OUTBOX_BYTES;
use tokio::io::AsyncWriteExt;
use tokio::time::Instant;

use crate::agent::stalled::{STALL, Stalled};
use crate::host::AgentStdin;
use crate::host::budget::{Budget, Charge};

/// Lines are joined up to this size, so that a single write sends them.
const JOINED_BYTES: usize = 64 << 10;

/// The interval of checks while the agent reads nothing: a command that starts to wait for capacity wakes no task.
const STALL_CHECK: Duration = Duration::from_millis(500);

/// An agent's standard input. The default has no pipe and discards all lines.
#[derive(Default)]
pub struct Stdin {
    /// `None` once the agent stopped reading; later lines are dropped.
    pipe: Option<AgentStdin>,
    /// The process's budget, which shows whether commands wait for capacity.
    budget: Budget,
    waiting: VecDeque<Part>,
    /// Bytes of the first part that are written already.
    taken: usize,
    /// Bytes that are not written yet.
    bytes: usize,
    /// The charge for the lines that are added next.
    charge: Option<Charge>,
    /// The time since when there is no capacity and the pipe accepts nothing; `None` if it is not stalled.
    stalled_since: Option<Instant>,
}

/// Lines, and their charges to the agent's budget.
struct Part {
    lines: Vec<u8>,
    charges: Vec<Charge>,
}

impl Stdin {
    /// Wraps the pipe of a new process.
    pub fn new(pipe: Option<AgentStdin>, budget: Budget) -> Self {
        Self {
            pipe,
            budget,
            ..Self::default()
        }
    }

    /// Sets the charge for the next lines. It is held until they are written.
    pub fn charge(&mut self, charge: Option<Charge>) {
        self.charge = charge;
    }

    /// Queues lines.
    pub fn add(&mut self, mut lines: Vec<u8>) {
        let charge = self.charge.take();
        if lines.is_empty() {
            return;
        }
        self.bytes += lines.len();
        match self.waiting.back_mut() {
            Some(last) if last.lines.len() + lines.len() <= JOINED_BYTES => {
                last.lines.append(&mut lines);
                last.charges.extend(charge);
            }
            _ => self.waiting.push_back(Part {
                lines,
                charges: charge.into_iter().collect(),
            }),
        }
    }

    /// Returns whether lines are queued.
    pub fn waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Returns whether the queue accepts more lines.
    pub fn has_room(&self) -> bool {
        self.bytes < AGENT_OUTBOX_BYTES
    }

    /// Writes once, as soon as the pipe accepts data. Fails if the agent has closed the pipe, or if the pipe has accepted
    /// nothing for [`STALL`] while there was no capacity for more. Cancel safe.
    pub async fn write(&mut self) -> Result<(), Stalled> {
        let Some(first) = self.waiting.front() else {
            return Ok(());
        };
        let lines = &first.lines[self.taken..];
        let crowded = self.bytes >= AGENT_OUTBOX_BYTES;
        let written = match &mut self.pipe {
            Some(pipe) => tokio::select! {
                biased;
                written = pipe.write(lines) => written,
                () = stalled(&self.budget, crowded, &mut self.stalled_since) => {
                    return Err(Stalled::Input { bytes: self.bytes });
                }
            },
            None => Ok(lines.len()),
        };
        self.stalled_since = None;
        match written {
            Ok(bytes) => {
                self.taken += bytes;
                self.bytes -= bytes;
            }
            // The agent has closed its stdin: it is about to exit, or can do nothing more.
            Err(_) => {
                self.pipe = None;
                (self.taken, self.bytes) = (0, 0);
                self.waiting.clear();
                return Err(Stalled::Closed);
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
        Ok(())
    }

    /// Writes the rest and closes the pipe. If the pipe accepts nothing more, the process is stopped by signals later.
    pub async fn close(mut self, patience: Duration) {
        let rest = async { while self.waits() && self.write().await.is_ok() {} };
        // Best effort: the process stops in any case.
        let _ = tokio::time::timeout(patience, rest).await;
    }
}

/// Waits until there was no capacity for [`STALL`]. `since` keeps the start of the stall, even if this is cancelled.
async fn stalled(budget: &Budget, crowded: bool, since: &mut Option<Instant>) {
    loop {
        let now = Instant::now();
        // An agent whose output is not read may be unable to read.
        let is_read = budget.debt().is_none();
        let left = if is_read && (crowded || budget.is_full_of_commands()) {
            STALL.saturating_sub(now - *since.get_or_insert(now))
        } else {
            *since = None;
            STALL_CHECK
        };
        if left.is_zero() {
            return;
        }
        tokio::time::sleep(left.min(STALL_CHECK)).await;
    }
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use acpd_model::limits::{AGENT_BURST_BYTES, AGENT_BYTES_PER_SEC_MIN};
    use tokio::io::AsyncReadExt;
    use tokio::process::{Child, Command};

    use super::*;

    fn pipe_of(child: &mut Child) -> Option<AgentStdin> {
        child.stdin.take().map(|pipe| Box::new(pipe) as _)
    }

    #[tokio::test]
    async fn all_of_it_arrives_in_order_however_little_the_pipe_takes() {
        let mut cat = Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = Stdin::new(pipe_of(&mut cat), Budget::default());
        let lines: Vec<Vec<u8>> = (0..40)
            .map(|n| format!("{n}\n").repeat(20_000).into_bytes())
            .collect();
        let all = lines.concat();
        let mut output = cat.stdout.take().unwrap();
        let read = tokio::spawn(async move {
            let mut read = Vec::new();
            output.read_to_end(&mut read).await.unwrap();
            read
        });
        for (at, line) in lines.into_iter().enumerate() {
            stdin.add(line);
            if at < 20 {
                stdin.write().await.unwrap();
            }
        }
        // Far more than a pipe accepts at once.
        stdin.write().await.unwrap();
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
        let budget = Budget::default();
        let mut stdin = Stdin::new(pipe_of(&mut sleep), budget.clone());
        let all = || budget.try_take(u64::MAX);
        stdin.charge(all());
        stdin.add(Vec::new());
        assert!(all().is_some(), "nothing was written for it");
        stdin.charge(all());
        stdin.add(b"short\n".to_vec());
        // More than a pipe accepts.
        stdin.add(vec![b'x'; 1 << 20]);
        assert!(all().is_none());
        stdin.write().await.unwrap();
        stdin.charge(all());
        stdin.add(b"behind\n".to_vec());
        stdin.write().await.unwrap();
        assert!(all().is_none() && stdin.waits());
        sleep.kill().await.unwrap();
        assert_eq!(stdin.write().await, Err(Stalled::Closed));
        assert!(all().is_some() && !stdin.waits());
    }

    #[tokio::test]
    async fn an_agent_that_stops_reading_holds_no_budget() {
        let mut gone = Command::new("true").stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = Stdin::new(pipe_of(&mut gone), Budget::default());
        gone.wait().await.unwrap();
        stdin.add(b"nobody hears\n".to_vec());
        assert_eq!(stdin.write().await, Err(Stalled::Closed));
        assert!(!stdin.waits() && stdin.has_room());
        stdin.add(b"this either\n".to_vec());
        stdin.write().await.unwrap();
        assert!(!stdin.waits());
    }

    fn sleeper() -> tokio::process::Child {
        let mut command = Command::new("sleep");
        let command = command.arg("1000").stdin(Stdio::piped()).kill_on_drop(true);
        command.spawn().unwrap()
    }

    /// Returns whether the write stalls within the time, even though it is cancelled often.
    async fn stalls(stdin: &mut Stdin, within: Duration) -> bool {
        let deadline = Instant::now() + within;
        while Instant::now() < deadline {
            if let Ok(Err(_)) = tokio::time::timeout(Duration::from_millis(50), stdin.write()).await {
                return true;
            }
        }
        false
    }

    #[tokio::test]
    async fn an_agent_that_reads_nothing_stalls_once_there_is_no_room() {
        let budget = Budget::default();
        let mut sleep = sleeper();
        let mut stdin = Stdin::new(pipe_of(&mut sleep), budget.clone());
        stdin.add(vec![b'x'; 1 << 20]);
        assert!(!stalls(&mut stdin, STALL * 2).await, "there is room for more");
        let held = budget.take_for_command(u64::MAX).await;
        let full_since = Instant::now();
        assert!(stalls(&mut stdin, STALL * 10).await, "no command finds room");
        assert!(full_since.elapsed() >= STALL, "it has time to read");
        drop(held);
        let in_debt = Budget::new(&Budget::total(), AGENT_BYTES_PER_SEC_MIN);
        in_debt.spend(2 * AGENT_BURST_BYTES);
        let mut sleep = sleeper();
        let mut unread = Stdin::new(pipe_of(&mut sleep), in_debt);
        unread.add(vec![b'x'; AGENT_OUTBOX_BYTES + (1 << 20)]);
        assert!(!stalls(&mut unread, STALL * 2).await, "its output is not read");
        let mut sleep = sleeper();
        let mut stdin = Stdin::new(pipe_of(&mut sleep), budget);
        stdin.add(vec![b'x'; AGENT_OUTBOX_BYTES + (1 << 20)]);
        assert!(stalls(&mut stdin, STALL * 10).await, "no line finds room");
    }
}
