//! A daemon that is killed while its agent works, and the next one that continues with the agent.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use acpd_model::BlobId;
use acpd_proto::agent::{AgentCommand, AgentConnection, ConnectionMemo};
use acpd_proto::thread::{Effect, HostCall, Policies, Thread, ThreadMemo};
use acpd_proto::wire::Line;

use super::scene::Scene;

/// When the daemon of a scene is killed.
#[derive(Default)]
pub struct Daemon {
    moment: Option<Moment>,
    /// Whether both clocks go alike, whatever parts of milliseconds the steps have: deadlines in memos are times of day.
    exact_clocks: bool,
    /// Kills at each of this many appends or lines.
    every: usize,
    count: usize,
    /// Whether the moment has come.
    is_due: bool,
    /// The lines of the agent's present process, and how many of them the daemon has read.
    lines: Vec<Vec<u8>>,
    read: usize,
    /// Whether a line is read, so that no client waits for a reply.
    is_reading: bool,
    policies: Option<Arc<Policies>>,
    /// All contents that were to be written.
    written: BTreeMap<BlobId, String>,
    carried: Option<Carried>,
    /// How often the daemon was killed.
    kills: usize,
}

/// When a daemon is killed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Moment {
    /// After an append, before its effects.
    Append,
    /// When all that follows from a line is done.
    Line,
}

/// What an append has beside events.
#[derive(Clone)]
struct Carried {
    thread: ThreadMemo,
    connection: ConnectionMemo,
    /// The lines of the agent that the events contain.
    lines: usize,
    /// The lines to the agent so far.
    mark: usize,
}

impl Daemon {
    /// Notes a line of the agent.
    pub fn note_line(&mut self, line: &Line<'_>) {
        match line {
            Line::Whole(bytes) => self.lines.push(bytes.to_vec()),
            Line::TooLong { .. } => self.moment = None,
        }
        self.is_reading = true;
        self.read += 1;
    }

    /// Notes that all is done that follows from the line.
    pub fn note_read(&mut self) {
        self.is_reading = false;
        self.pass(Moment::Line);
    }

    pub fn start_process(&mut self) {
        self.lines.clear();
        self.read = 0;
        self.carried = None;
    }

    pub fn set_policies(&mut self, policies: Arc<Policies>) {
        self.policies = Some(policies);
    }

    /// Notes what is written.
    pub fn note_host(&mut self, call: &HostCall) {
        if let HostCall::WriteFile { content, .. } = call {
            self.written
                .insert(BlobId::of(content.as_bytes()), content.clone());
        }
    }

    pub fn has_exact_clocks(&self) -> bool {
        self.exact_clocks
    }

    fn pass(&mut self, moment: Moment) {
        if self.moment == Some(moment) && self.carried.is_some() {
            self.count += 1;
            self.is_due |= self.count.is_multiple_of(self.every);
        }
    }

    /// Returns whether the daemon is killed now.
    pub fn is_due(&self) -> bool {
        self.is_due
    }
}

impl Scene {
    /// Returns after how many appends a thread was continued and compared with one that was not killed.
    pub fn continued(&self) -> usize {
        self.twins.compared
    }

    /// The agent is one that outlives the daemon.
    pub fn survives(&mut self) {
        self.twins.stop();
        self.daemon.exact_clocks = true;
        self.thread.keep_exact(true);
    }

    /// The daemon is killed at each of `every` such moments from now on.
    pub fn survives_kills(&mut self, moment: Moment, every: usize) {
        self.survives();
        self.daemon.moment = Some(moment);
        self.daemon.every = every;
    }

    /// Returns the content that a write was about, which is compared with the file.
    pub fn written(&self, call: &HostCall) -> Option<String> {
        match call {
            HostCall::CheckWritten { hash, .. } => self.daemon.written.get(hash).cloned(),
            _ => None,
        }
    }

    /// Returns how often the daemon was killed.
    pub fn kills(&self) -> usize {
        self.daemon.kills
    }

    /// Stores what the last append has beside its events.
    pub(super) fn carry(&mut self) {
        let agent = self.agent.as_ref().filter(|agent| agent.is_resumable());
        let carried = self.memo.clone().zip(agent).map(|(thread, agent)| Carried {
            thread,
            connection: agent.memo(self.now),
            lines: self.daemon.read,
            mark: self.sent.len(),
        });
        self.daemon.carried = carried;
        if self.daemon.is_reading {
            self.daemon.pass(Moment::Append);
        }
    }

    /// Kills the daemon. The next one continues at the last append, and reads the agent's lines again from there.
    pub(super) fn kill_daemon(&mut self) {
        self.daemon.is_due = false;
        let Some(carried) = self.daemon.carried.clone() else {
            return;
        };
        self.daemon.kills += 1;
        let sent: String = self.sent[carried.mark..]
            .iter()
            .map(|sent| format!("{}\n", sent.text))
            .collect();
        let json = serde_json::to_string(&(&carried.connection, &carried.thread)).unwrap();
        let (connection, memo): (ConnectionMemo, ThreadMemo) = serde_json::from_str(&json).unwrap();
        let start = self.starts.last().unwrap().clone();
        self.agent = Some(AgentConnection::resume(
            start,
            connection,
            sent.as_bytes(),
            self.now,
        ));
        let mut thread = self.next_thread(0);
        if let Some(policies) = &self.daemon.policies {
            thread.set_policies(Arc::clone(policies));
        }
        self.recall(&mut thread);
        thread.resume(memo, self.now);
        self.thread = thread;
        self.waiting.clear();
        self.unresolved.clear();
        self.answers = 0;
        self.daemon.read = carried.lines;
        let is_reading = std::mem::replace(&mut self.daemon.is_reading, false);
        self.settle();
        while let Some(line) = self.daemon.lines.get(self.daemon.read).cloned() {
            self.daemon.read += 1;
            self.read_line(&Line::Whole(&line));
        }
        self.daemon.is_reading = is_reading;
    }

    /// Kills the daemon after its last append. Returns the thread of the next one, which begins `away` milliseconds later, before
    /// its memo is used.
    pub fn next_thread(&mut self, away: u64) -> Thread {
        self.now.mono += Duration::from_millis(away);
        self.now.wall += i64::try_from(away).unwrap();
        let mut thread = Thread::new(self.id, self.limits.clone(), self.now);
        thread.restore(self.folded.clone());
        thread
    }

    /// Passes to a thread what the memo of the last append names.
    pub fn recall(&self, thread: &mut Thread) {
        let recalls = self.memo.as_ref().unwrap().recalls();
        for range in recalls.events {
            let events = self.log.iter().filter(|event| range.contains(&event.seq));
            events.for_each(|event| thread.recall(event));
        }
        for id in recalls.blobs {
            let found = self.blobs.iter().find(|blob| BlobId::of(blob) == id);
            thread.recall_blob(id, found.unwrap().clone());
        }
    }

    /// Kills the daemon after its last append, and continues with the agent `away` milliseconds later. Returns the commands that are issued
    /// again. The agent has them already.
    pub fn kill(&mut self, away: u64) -> Vec<AgentCommand> {
        let mut thread = self.next_thread(away);
        self.recall(&mut thread);
        let json = serde_json::to_string(self.memo.as_ref().unwrap()).unwrap();
        let memo: ThreadMemo = serde_json::from_str(&json).unwrap();
        thread.resume(memo, self.now);
        self.thread = thread;
        // What the host was doing has ended.
        self.waiting.clear();
        self.next_call = self.next_call.max(self.thread.first_call());
        self.store_events();
        let mut again = Vec::new();
        while let Some(effect) = self.thread.poll_effect() {
            match effect {
                Effect::Agent(command) => again.push(command),
                other => self.carry_out(other),
            }
        }
        let is_answer = |command: &&AgentCommand| matches!(command, AgentCommand::Answer { .. });
        self.answers = again.iter().filter(is_answer).count() as u64;
        self.thread.answers_sent(self.answers);
        self.settle();
        again
    }
}
