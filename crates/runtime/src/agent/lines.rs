//! The lines of an agent's standard output.
//!
//! In: bytes. Out: lines. Owns: the unfinished line. Never: lets the long lines of all agents fill the memory, since an agent
//! waits in the middle of one until there is room for the rest of it; drops what an agent writes too fast, which waits in the
//! pipe.

use std::io;
use std::time::Duration;

use acpd_host::read_through_stack;
use acpd_model::limits::{AGENT_STALL_SECS, LONG_LINE_BYTES};
use acpd_proto::wire::{Line, LineDecoder};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::Instant;

use crate::host::budget::{Budget, Charge};

/// How long a reader keeps its buffer while the agent is silent.
const QUIET: Duration = Duration::from_secs(1);

/// How long an agent may pause within a long line while another one waits for room.
const PAUSE: Duration = Duration::from_secs(AGENT_STALL_SECS);

/// Time that an agent has after acpd has begun to read again. acpd does not read while the agent's thread is behind.
const RESUMED: Duration = Duration::from_secs(1);

/// Reads the lines of one agent.
pub(crate) struct AgentLines {
    decoder: LineDecoder,
    limit: usize,
    budget: Budget,
    /// The room for a long line, and when the last part of it arrived.
    long: Option<Box<(Charge, Instant)>>,
    /// Whether the agent is read even if it writes too much.
    is_free: bool,
    /// Whether a debt was reported.
    is_noted: bool,
}

/// Why reading ended.
#[derive(Debug)]
pub(crate) enum EndOfLines {
    /// The agent has closed its output.
    Closed,
    /// The agent paused within a long line, for which another one had to wait.
    Paused,
}

impl AgentLines {
    /// Creates a reader of lines of up to `limit` bytes.
    pub fn new(limit: usize, budget: Budget) -> Self {
        Self {
            decoder: LineDecoder::new(limit),
            limit,
            budget,
            long: None,
            is_free: false,
            is_noted: false,
        }
    }

    /// Sets whether to read the agent even if it writes too much, because it is about to end something. What it writes counts all
    /// the same.
    pub fn set_free(&mut self, is_free: bool) {
        self.is_free = is_free;
    }

    /// Reads once. An agent that is silent for a while uses no buffer. Cancel safe.
    pub async fn read(&mut self, stdout: &mut (impl AsyncRead + Unpin)) -> Result<(), EndOfLines> {
        if self.decoder.unfinished() >= LONG_LINE_BYTES {
            // Even in debt: others may wait for the room of the line. Boxed: it is rare, and the agent's task would reserve space
            // for it all the time.
            return Box::pin(self.read_long(stdout)).await;
        }
        self.long = None;
        if self.is_in_debt() {
            // Boxed for the same reason.
            Box::pin(self.budget.paid()).await;
        }
        let read = self.read_once(stdout).await;
        self.arrived(&read)
    }

    /// Returns whether the agent is not read because it has written too much.
    pub fn is_in_debt(&self) -> bool {
        !self.is_free && self.budget.debt().is_some()
    }

    /// Returns whether the agent is in debt, for the first time since [`expect_debt`](Self::expect_debt).
    pub fn begins_debt(&mut self) -> bool {
        let begins = !self.is_noted && self.is_in_debt();
        self.is_noted |= begins;
        begins
    }

    /// Reports the next debt again.
    pub fn expect_debt(&mut self) {
        self.is_noted = false;
    }

    /// Reads a part of a long line, once there is room for it.
    async fn read_long(&mut self, stdout: &mut (impl AsyncRead + Unpin)) -> Result<(), EndOfLines> {
        let since = match &self.long {
            Some(long) => long.1,
            None => {
                let charge = self.budget.take_for_line(self.limit as u64).await;
                self.long.insert(Box::new((charge, Instant::now()))).1
            }
        };
        let mut due = (since + PAUSE).max(Instant::now() + RESUMED);
        loop {
            match tokio::time::timeout_at(due, stdout.read_buf(self.decoder.buffer())).await {
                Ok(read) => {
                    if let Some(long) = &mut self.long {
                        long.1 = Instant::now();
                    }
                    return self.arrived(&read);
                }
                Err(_) if self.budget.has_waiting_line() => return Err(EndOfLines::Paused),
                Err(_) => due = Instant::now() + PAUSE,
            }
        }
    }

    async fn read_once(&mut self, stdout: &mut (impl AsyncRead + Unpin)) -> io::Result<usize> {
        let first = tokio::time::timeout(QUIET, stdout.read_buf(self.decoder.buffer())).await;
        match first {
            Ok(read) => read,
            Err(_) => {
                self.decoder.shrink();
                // A small read; the next one uses the whole buffer again.
                read_through_stack(stdout, |bytes| self.decoder.push(bytes)).await
            }
        }
    }

    fn arrived(&self, read: &io::Result<usize>) -> Result<(), EndOfLines> {
        match read {
            Ok(bytes @ 1..) => {
                self.budget.spend(*bytes);
                Ok(())
            }
            Ok(0) | Err(_) => Err(EndOfLines::Closed),
        }
    }

    /// Reads what is left of the output of a process that has ended.
    pub async fn read_rest(&mut self, stdout: &mut (impl AsyncRead + Unpin)) -> bool {
        matches!(stdout.read_buf(self.decoder.buffer()).await, Ok(1..))
    }

    /// Returns the next line, if one is complete.
    pub fn next_line(&mut self) -> Option<Line<'_>> {
        self.decoder.next_line()
    }

    /// Returns the rest of the output, if it does not end with a newline.
    pub fn finish(&mut self) -> Option<Line<'_>> {
        self.decoder.finish()
    }
}

#[cfg(test)]
mod tests {
    use acpd_model::limits::{AGENT_BURST_BYTES, LINE_BYTES};
    use futures_util::FutureExt;
    use tokio::io::{AsyncWriteExt, DuplexStream};

    use super::*;

    /// As many lines of this length as there is room for.
    const AT_ONCE: usize = 4;
    const LIMIT: usize = LINE_BYTES as usize / AT_ONCE;

    /// An agent that has written a part of a long line, and the reader of its output.
    async fn in_a_long_line(budget: Budget) -> (AgentLines, DuplexStream, DuplexStream) {
        let (agent, mut stdout) = tokio::io::duplex(LONG_LINE_BYTES);
        let mut lines = AgentLines::new(LIMIT, budget);
        let mut agent = agent;
        agent.write_all(&vec![b'x'; LONG_LINE_BYTES]).await.unwrap();
        while lines.decoder.unfinished() < LONG_LINE_BYTES {
            lines.read(&mut stdout).await.unwrap();
            assert!(lines.next_line().is_none());
        }
        (lines, agent, stdout)
    }

    #[tokio::test]
    async fn a_long_line_waits_until_there_is_room_for_it() {
        let total = Budget::total();
        let mut readers = Vec::new();
        for _ in 0..=AT_ONCE {
            readers.push(in_a_long_line(Budget::new(&total, 0)).await);
        }
        let mut last = readers.pop().unwrap();
        for (lines, agent, stdout) in &mut readers {
            agent.write_all(b"y").await.unwrap();
            lines.read(stdout).await.unwrap();
        }
        last.1.write_all(b"the end\n").await.unwrap();
        {
            let mut waiting = Box::pin(last.0.read(&mut last.2));
            assert!(waiting.as_mut().now_or_never().is_none(), "there is no room");
            // A line of another agent ends, and a short one begins.
            let (lines, agent, stdout) = &mut readers[1];
            agent.write_all(b"\n{").await.unwrap();
            lines.read(stdout).await.unwrap();
            assert!(lines.next_line().is_some() && lines.next_line().is_none());
            assert!(lines.read(stdout).now_or_never().is_none(), "nothing arrived");
            waiting.await.unwrap();
        }
        let Some(Line::Whole(line)) = last.0.next_line() else {
            panic!("the line is whole");
        };
        assert!(line.ends_with(b"xxthe end"));
    }

    #[tokio::test(start_paused = true)]
    async fn excess_output_of_an_agent_waits_in_its_pipe() {
        let per_sec = 1 << 20;
        let budget = Budget::new(&Budget::total(), per_sec);
        let (mut agent, mut stdout) = tokio::io::duplex(LONG_LINE_BYTES);
        let mut lines = AgentLines::new(LIMIT, budget.clone());
        budget.spend(AGENT_BURST_BYTES);
        agent.write_all(b"first\n").await.unwrap();
        lines.read(&mut stdout).await.unwrap();
        assert!(lines.next_line().is_some(), "the burst is free");
        // The log stores for it what takes two seconds.
        budget.spend(2 * per_sec);
        let second = [&[b'x'; 4 << 10][..], b"\n"].concat();
        agent.write_all(&second).await.unwrap();
        let begun = Instant::now();
        assert!(lines.read(&mut stdout).now_or_never().is_none());
        assert!(lines.next_line().is_none());
        lines.read(&mut stdout).await.unwrap();
        assert!(begun.elapsed() >= Duration::from_secs(2));
        assert!(budget.debt().is_some(), "what was read counts as well");
        while lines.next_line().is_none() {
            lines.read(&mut stdout).await.unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_in_debt_finishes_its_long_line() {
        let total = Budget::total();
        let budget = Budget::new(&total, 1 << 20);
        let (mut lines, mut agent, mut stdout) = in_a_long_line(budget.clone()).await;
        budget.spend(2 * AGENT_BURST_BYTES);
        agent.write_all(b"y\n{").await.unwrap();
        assert!(lines.read(&mut stdout).now_or_never().is_some());
        assert!(lines.next_line().is_some() && lines.next_line().is_none());
        assert!(lines.read(&mut stdout).now_or_never().is_none(), "it is in debt");
        let mut others = Vec::new();
        for _ in 0..AT_ONCE {
            let room = Budget::new(&total, 0).take_for_line(LIMIT as u64).now_or_never();
            others.push(room.expect("the line's room is free"));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_that_is_about_to_end_something_is_read_in_debt() {
        let budget = Budget::new(&Budget::total(), 1 << 20);
        let (mut agent, mut stdout) = tokio::io::duplex(LONG_LINE_BYTES);
        let mut lines = AgentLines::new(LIMIT, budget.clone());
        budget.spend(2 * AGENT_BURST_BYTES);
        agent.write_all(b"last\n").await.unwrap();
        assert!(lines.read(&mut stdout).now_or_never().is_none());
        lines.set_free(true);
        assert!(lines.read(&mut stdout).now_or_never().is_some());
        assert!(lines.next_line().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_that_was_not_read_has_time_to_continue() {
        let total = Budget::total();
        let mut readers = Vec::new();
        for _ in 0..AT_ONCE {
            readers.push(in_a_long_line(Budget::new(&total, 0)).await);
        }
        for (lines, agent, stdout) in &mut readers {
            agent.write_all(b"y").await.unwrap();
            lines.read(stdout).await.unwrap();
        }
        let mut other = in_a_long_line(Budget::new(&total, 0)).await;
        let waiting = tokio::spawn(async move { other.0.read(&mut other.2).await.is_ok() });
        // The agent's thread is behind, so nothing is read.
        tokio::time::sleep(10 * PAUSE).await;
        let (lines, agent, stdout) = &mut readers[0];
        let later = async {
            tokio::time::sleep(RESUMED / 2).await;
            agent.write_all(b"z").await.unwrap();
        };
        let (read, ()) = tokio::join!(lines.read(stdout), later);
        assert!(read.is_ok(), "{read:?}");
        waiting.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_that_pauses_within_a_long_line_makes_room_for_others() {
        let total = Budget::total();
        let mut readers = Vec::new();
        for _ in 0..AT_ONCE {
            readers.push(in_a_long_line(Budget::new(&total, 0)).await);
        }
        let (mut lines, _agent, mut stdout) = readers.pop().unwrap();
        for (lines, agent, stdout) in &mut readers {
            agent.write_all(b"y").await.unwrap();
            lines.read(stdout).await.unwrap();
        }
        {
            let alone = tokio::time::timeout(10 * PAUSE, lines.read(&mut stdout)).await;
            assert!(alone.is_err(), "nobody waits for its room");
        }
        let mut other = in_a_long_line(Budget::new(&total, 0)).await;
        other.1.write_all(b"\n").await.unwrap();
        let waiting = tokio::spawn(async move { other.0.read(&mut other.2).await.is_ok() });
        tokio::task::yield_now().await;
        let paused = lines.read(&mut stdout).await;
        assert!(matches!(paused, Err(EndOfLines::Paused)), "{paused:?}");
        drop(lines);
        assert!(waiting.await.unwrap());
    }
}
