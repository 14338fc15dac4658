//! The commands on terminals of one agent: how they start, and what the thread receives from them.
//!
//! In: commands to start, and terminals that an earlier daemon has started. Out: messages to the thread; what the log has about held
//! terminals. Never: ends a command that was left to the next daemon.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use acpd_host::{Hold, InputKind, TerminalSpec, TerminalUpdate};
use acpd_model::{ErrorCode, Failure, TerminalHold};
use acpd_proto::thread::{HostReply, TerminalEvent};
use futures_util::future::join_all;
use tokio::sync::mpsc;

use super::{Callbacks, HostMessage, ended, inside, lock};
use crate::host::{Host, TerminalIo, blocking};
use crate::metrics::Metrics;

/// What an agent has that a shim holds.
#[derive(Debug)]
pub(super) struct Holding {
    /// What identifies the agent. The holds of its terminals follow from it.
    agent: Hold,
    /// Terminals of an earlier daemon whose updates the thread does not receive yet, by their ids.
    waiting: BTreeMap<String, WaitingTerminal>,
}

/// A terminal that was attached, or that is lost.
#[derive(Debug)]
struct WaitingTerminal {
    stream: Forwarding,
    updated: mpsc::Receiver<TerminalUpdate>,
    is_lost: bool,
}

impl WaitingTerminal {
    /// Has the thread receive the answer to its call, and then the updates.
    fn pass_on(self, answer: Option<HostMessage>) {
        let Self {
            stream,
            updated,
            is_lost,
        } = self;
        let lost = is_lost.then(|| stream.message(TerminalEvent::Lost, None));
        let first = answer.into_iter().chain(lost).collect();
        tokio::spawn(stream.run(first, updated));
    }
}

/// Updates of a terminal that wait for the thread. The output of more is merged.
const UPDATES: usize = 16;

impl Callbacks {
    /// From now on, shims hold the terminals: the agent is held with this hold.
    pub fn hold_terminals(&mut self, agent: Hold) {
        self.holding = Some(Box::new(Holding {
            agent,
            waiting: BTreeMap::new(),
        }));
    }

    /// Continues with the terminals that an earlier daemon has started for this agent, all at once. One that cannot be reached is
    /// lost. Call it before any callback of the agent is carried out again, and [`Callbacks::pass_on_updates`] after all of them.
    pub async fn attach_terminals(&mut self, terminals: Vec<TerminalHold>) {
        let Some(agent) = self.agent().cloned() else {
            return;
        };
        let attaching = terminals.into_iter().map(|terminal| {
            let (host, hold) = (Arc::clone(&self.host), agent.of_terminal(&terminal.id));
            async move {
                let (updates, updated) = mpsc::channel(UPDATES);
                let work_on = Arc::clone(&host);
                let limit = usize::try_from(terminal.limit).unwrap_or(usize::MAX);
                let attach = move || work_on.attach_terminal(&hold, limit, terminal.seen, updates);
                (terminal, blocking(&*host, attach).await, updated)
            }
        });
        for (terminal, attached, updated) in join_all(attaching).await {
            let TerminalHold { id, seen, .. } = terminal;
            let waiting = WaitingTerminal {
                stream: Forwarding::new(self, id.clone()),
                updated,
                is_lost: attached.is_err(),
            };
            let mut terminals = lock(&self.terminals);
            match attached {
                Ok(attached) => {
                    terminals.insert(id.clone(), attached);
                    terminals.has_seen(&id, seen);
                }
                Err(failure) => {
                    tracing::warn!(terminal = id, %failure, "a terminal is lost");
                    terminals.lost(&id);
                }
            }
            drop(terminals);
            if let Some(holding) = &mut self.holding {
                holding.waiting.insert(id, waiting);
            }
        }
    }

    /// Has the thread receive the output of attached terminals, from behind what it has seen, and the loss of others.
    pub fn pass_on_updates(&mut self) {
        if let Some(holding) = &mut self.holding {
            let waiting = std::mem::take(&mut holding.waiting);
            for terminal in waiting.into_values() {
                terminal.pass_on(None);
            }
        }
    }

    /// Answers whether an earlier daemon has started the command of a terminal. The terminal's updates follow the answer: the thread
    /// does not know the terminal before.
    pub(super) fn find(&mut self, call: u64, terminal_id: &str) {
        let found = self.held(terminal_id).map(|_| HostReply::Created);
        let result = found.map_err(|missing| match &self.holding {
            // The log has each terminal of a held agent that its thread has seen. Another one has not started, or is found by its hold
            // when it is started again.
            Some(_) => missing,
            None => Failure::new(ErrorCode::Conflict, "the terminal is not on this host any more"),
        });
        let holding = self.holding.as_mut();
        match holding.and_then(|holding| holding.waiting.remove(terminal_id)) {
            Some(waiting) => waiting.pass_on(Some(HostMessage::Done {
                call,
                result,
                charge: None,
            })),
            None => self.answer(call, async { result }),
        }
    }

    fn agent(&self) -> Option<&Hold> {
        self.holding.as_ref().map(|holding| &holding.agent)
    }

    /// Returns the held terminals, for the log: a later daemon continues with them.
    pub fn holds(&self) -> Vec<TerminalHold> {
        match &self.holding {
            Some(_) => lock(&self.terminals).holds(),
            None => Vec::new(),
        }
    }

    /// Records how much of a terminal's output the thread has seen.
    pub fn terminal_seen(&mut self, terminal_id: &str, bytes: u64) {
        if self.holding.is_some() {
            lock(&self.terminals).has_seen(terminal_id, bytes);
        }
    }

    /// Leaves the terminals to the next daemon, for which the agent waits this long. Dropping this does not end them then.
    pub fn leave(&self, orphan: Duration) {
        // Before the others: a terminal that starts now looks at it afterwards.
        let orphan = *self.left.get_or_init(|| orphan);
        lock(&self.terminals)
            .whole()
            .for_each(|terminal| terminal.leave(orphan));
    }

    /// Sets how long the agent waits for the next daemon if this one is killed. Terminals that start later wait as long.
    pub fn limit_orphan(&self, orphan: Duration) {
        lock(&self.terminals).limit_orphan(orphan);
    }

    /// Starts a command, if `cwd` is in the workspace.
    pub(super) fn create(&self, call: u64, terminal_id: String, cwd: String, spec: TerminalSpec) {
        let (host, workspace) = (Arc::clone(&self.host), Arc::clone(&self.workspace));
        // Dropping the callbacks stops running commands and prevents later ones from starting.
        let terminals = Arc::downgrade(&self.terminals);
        let hold = self.agent().map(|agent| agent.of_terminal(&terminal_id));
        let left = Arc::clone(&self.left);
        let stream = Forwarding::new(self, terminal_id.clone());
        tokio::spawn(async move {
            let (updates, updated) = mpsc::channel(UPDATES);
            let checked = blocking(&*host, move || inside(&workspace, &cwd)).await;
            let begin = async {
                let gone = || Failure::agent("the agent is gone");
                let directory = Some(Arc::new(checked?));
                let terminals = terminals.upgrade().ok_or_else(gone)?;
                let spec = TerminalSpec { directory, ..spec };
                let terminal = start(&host, spec, hold, updates).await?;
                lock(&terminals).insert(terminal_id, Arc::clone(&terminal));
                if let Some(orphan) = left.get() {
                    terminal.leave(*orphan);
                }
                Ok(())
            };
            let begun: Result<(), Failure> = begin.await;
            let has_begun = begun.is_ok();
            // The machine learns that the command started before it receives output.
            let first = HostMessage::Done {
                call,
                result: begun.map(|()| HostReply::Created),
                charge: None,
            };
            if has_begun {
                stream.run(vec![first], updated).await;
            } else {
                // A thread that has gone has no agent to answer.
                let _ = stream.messages_tx.send(Box::new(first)).await;
            }
        });
    }
}

/// Starts a command. With a hold, a shim starts it, which blocks.
async fn start(
    host: &Arc<dyn Host>,
    spec: TerminalSpec,
    hold: Option<Hold>,
    updates: mpsc::Sender<TerminalUpdate>,
) -> Result<Arc<dyn TerminalIo>, Failure> {
    let Some(hold) = hold else {
        return host.start_terminal(&spec, None, updates);
    };
    let work_on = Arc::clone(host);
    blocking(&**host, move || {
        work_on.start_terminal(&spec, Some(&hold), updates)
    })
    .await
}

/// Passes the updates of one terminal on to the thread.
#[derive(Debug)]
struct Forwarding {
    terminal_id: String,
    messages_tx: mpsc::Sender<Box<HostMessage>>,
    metrics: Arc<Metrics>,
}

impl Forwarding {
    fn new(callbacks: &Callbacks, terminal_id: String) -> Self {
        Self {
            terminal_id,
            messages_tx: callbacks.messages_tx.clone(),
            metrics: Arc::clone(&callbacks.metrics),
        }
    }

    /// Sends the first messages, and then the updates until there are no more, or until the thread has gone.
    async fn run(self, first: Vec<HostMessage>, mut updated: mpsc::Receiver<TerminalUpdate>) {
        let _running = self.metrics.terminal();
        for message in first {
            if self.messages_tx.send(Box::new(message)).await.is_err() {
                return;
            }
        }
        while let Some(update) = updated.recv().await {
            let message = self.passed_on(update);
            if self.messages_tx.send(Box::new(message)).await.is_err() {
                return;
            }
        }
    }

    fn passed_on(&self, update: TerminalUpdate) -> HostMessage {
        let event = match update {
            TerminalUpdate::Output { text, end } => {
                return self.message(TerminalEvent::Output(text), Some(end));
            }
            TerminalUpdate::Waiting(kind) => TerminalEvent::Waiting {
                secret: kind == InputKind::Secret,
            },
            TerminalUpdate::InputEnded => TerminalEvent::InputEnded,
            TerminalUpdate::Exited {
                exit,
                output,
                truncated,
            } => TerminalEvent::Exited {
                exit: ended(exit),
                output,
                truncated,
            },
        };
        self.message(event, None)
    }

    fn message(&self, event: TerminalEvent, seen: Option<u64>) -> HostMessage {
        HostMessage::Terminal {
            terminal_id: self.terminal_id.clone(),
            event,
            seen,
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use acpd_host::{Shims, Workspace};
    use acpd_proto::agent::TerminalExit;
    use acpd_proto::thread::HostCall;

    use super::*;
    use crate::host::budget::Budget;
    use crate::host::local::LocalHost;

    const ORPHAN: Duration = Duration::from_mins(10);

    type Messages = mpsc::Receiver<Box<HostMessage>>;

    /// A daemon whose agent is held. The binary of shims is built beside this test.
    fn daemon(place: &Path, agent: &Hold) -> (Callbacks, Messages) {
        let test = std::env::current_exe().unwrap();
        let binary = test.ancestors().nth(2).unwrap().join("acpd-shim");
        assert!(
            binary.exists(),
            "cargo build -p acpd-shim builds {}",
            binary.display()
        );
        let shims = Some(Arc::new(Shims::new(binary, place)));
        let (messages_tx, messages_rx) = mpsc::channel(16);
        let path = std::env::var("PATH").unwrap();
        let mut callbacks = Callbacks::new(
            Arc::new(LocalHost::new(shims)),
            Workspace::open(std::iter::once(place.to_owned())),
            Box::new(move || BTreeMap::from([("PATH".to_owned(), path.clone())])),
            None,
            messages_tx,
            Budget::default(),
            Arc::new(Metrics::new(Arc::new(acpd_log::Memory::new()))),
        );
        callbacks.hold_terminals(agent.clone());
        (callbacks, messages_rx)
    }

    fn create(callbacks: &mut Callbacks, place: &Path, id: &str, script: &str) {
        let create = HostCall::CreateTerminal {
            terminal_id: id.into(),
            command: "sh".into(),
            args: vec!["-c".into(), script.into()],
            env: Vec::new(),
            cwd: place.display().to_string(),
            output_bytes: 1000,
        };
        callbacks.handle(0, create);
    }

    /// Handles messages as the thread does, until one satisfies this.
    async fn until(
        callbacks: &mut Callbacks,
        messages: &mut Messages,
        mut wanted: impl FnMut(&HostMessage) -> bool,
    ) -> HostMessage {
        loop {
            let message = *messages.recv().await.unwrap();
            if let HostMessage::Terminal {
                terminal_id,
                event,
                seen,
            } = &message
            {
                if let Some(seen) = seen {
                    callbacks.terminal_seen(terminal_id, *seen);
                }
                if let TerminalEvent::Exited { exit, output, .. } = event {
                    callbacks.terminal_ended(terminal_id, exit, output.len());
                }
            }
            if wanted(&message) {
                return message;
            }
        }
    }

    fn is_output(message: &HostMessage, end: &str) -> bool {
        matches!(message, HostMessage::Terminal { event: TerminalEvent::Output(text), .. } if text.ends_with(end))
    }

    fn is_exit(message: &HostMessage) -> bool {
        matches!(
            message,
            HostMessage::Terminal {
                event: TerminalEvent::Exited { .. },
                ..
            }
        )
    }

    async fn reply(callbacks: &mut Callbacks, messages: &mut Messages, what: HostCall) -> HostReply {
        callbacks.handle(7, what);
        let is_reply = |message: &HostMessage| matches!(message, HostMessage::Done { call: 7, .. });
        match until(callbacks, messages, is_reply).await {
            HostMessage::Done { result, .. } => result.unwrap(),
            other => panic!("{other:?}"),
        }
    }

    fn output_of(terminal_id: &str) -> HostCall {
        let terminal_id = terminal_id.into();
        HostCall::TerminalOutput { terminal_id }
    }

    fn whole(output: &str, code: Option<i32>) -> HostReply {
        HostReply::Output {
            output: output.into(),
            truncated: false,
            exit: code.map(|code| TerminalExit {
                code: Some(code),
                signal: None,
            }),
        }
    }

    #[tokio::test]
    async fn terminals_keep_their_ids_and_output_in_the_next_daemon() {
        let place = tempfile::tempdir().unwrap();
        let agent = Hold::new();
        let waits = || HostCall::WaitForTerminalExit {
            terminal_id: "term_2".into(),
        };
        let (mut first, mut messages) = daemon(place.path(), &agent);
        create(&mut first, place.path(), "term_1", "echo done; exit 2");
        until(&mut first, &mut messages, is_exit).await;
        let script = "echo up; until [ -e go ]; do sleep 0.01; done; echo late; exit 3";
        create(&mut first, place.path(), "term_2", script);
        until(&mut first, &mut messages, |message| is_output(message, "up\r\n")).await;
        let mut holds = first.holds();
        let expected = [("term_1", 6), ("term_2", 4)].map(|(id, seen)| TerminalHold {
            id: id.into(),
            limit: 1000,
            seen,
        });
        assert_eq!(holds, expected);
        // It would keep the terminal, if the log had failed and this daemon had loaded the thread again.
        first.handle(8, waits());
        first.leave(ORPHAN);
        drop((first, messages));
        std::fs::write(place.path().join("go"), "").unwrap();

        holds.push(TerminalHold {
            id: "term_3".into(),
            limit: 1000,
            seen: 5,
        });
        let (mut second, mut messages) = daemon(place.path(), &agent);
        second.attach_terminals(holds).await;
        second.pass_on_updates();
        // Before its exit is handled.
        let kept = reply(&mut second, &mut messages, output_of("term_3")).await;
        let lost = HostReply::Output {
            output: String::new(),
            truncated: true,
            exit: Some(TerminalExit::default()),
        };
        assert_eq!(kept, lost);
        let exit = TerminalExit {
            code: Some(3),
            signal: None,
        };
        assert_eq!(
            reply(&mut second, &mut messages, waits()).await,
            HostReply::Exited(exit)
        );
        for (id, expected) in [
            ("term_1", whole("done\r\n", Some(2))),
            ("term_2", whole("up\r\nlate\r\n", Some(3))),
        ] {
            assert_eq!(reply(&mut second, &mut messages, output_of(id)).await, expected);
            let release = HostCall::ReleaseTerminal {
                terminal_id: id.into(),
            };
            assert_eq!(reply(&mut second, &mut messages, release).await, HostReply::Done);
        }
        assert_eq!(second.holds(), []);
        assert_eq!(std::fs::read_dir(place.path().join("shims")).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn a_call_that_is_carried_out_again_runs_its_command_once_and_a_lost_terminal_is_reported() {
        let place = tempfile::tempdir().unwrap();
        let agent = Hold::new();
        let script = "echo run >> runs; echo up; exec sleep 1000";
        let (mut first, mut messages) = daemon(place.path(), &agent);
        create(&mut first, place.path(), "term_1", script);
        until(&mut first, &mut messages, |message| is_output(message, "up\r\n")).await;
        first.leave(ORPHAN);
        drop((first, messages));
        let (mut second, mut messages) = daemon(place.path(), &agent);
        let missing = TerminalHold {
            id: "term_9".into(),
            limit: 1,
            seen: 0,
        };
        second.attach_terminals(vec![missing]).await;
        second.pass_on_updates();
        until(&mut second, &mut messages, |message| {
            matches!(message, HostMessage::Terminal { terminal_id, event: TerminalEvent::Lost, .. } if terminal_id == "term_9")
        })
        .await;
        create(&mut second, place.path(), "term_1", script);
        until(&mut second, &mut messages, |message| {
            matches!(
                message,
                HostMessage::Done {
                    result: Ok(HostReply::Created),
                    ..
                }
            )
        })
        .await;
        until(&mut second, &mut messages, |message| is_output(message, "up\r\n")).await;
        assert_eq!(
            std::fs::read_to_string(place.path().join("runs")).unwrap(),
            "run\n"
        );
        let release = HostCall::ReleaseTerminal {
            terminal_id: "term_1".into(),
        };
        assert_eq!(reply(&mut second, &mut messages, release).await, HostReply::Done);
    }
    #[tokio::test]
    async fn a_command_is_found_before_its_output_and_one_without_a_hold_has_not_started() {
        let place = tempfile::tempdir().unwrap();
        let agent = Hold::new();
        let (mut first, mut messages) = daemon(place.path(), &agent);
        create(&mut first, place.path(), "term_1", "echo up; exit 1");
        until(&mut first, &mut messages, is_exit).await;
        let mut holds = first.holds();
        first.leave(ORPHAN);
        drop((first, messages));

        // The log has the call, but not its answer.
        holds[0].seen = 0;
        holds.push(TerminalHold {
            id: "term_2".into(),
            limit: 1000,
            seen: 0,
        });
        let (mut second, mut messages) = daemon(place.path(), &agent);
        second.attach_terminals(holds).await;
        let mut order = Vec::new();
        for (call, id) in [(1, "term_1"), (2, "term_2"), (3, "term_3")] {
            let terminal_id = id.into();
            second.handle(call, HostCall::FindTerminal { terminal_id });
        }
        second.pass_on_updates();
        while order.len() < 6 {
            order.push(match *messages.recv().await.unwrap() {
                HostMessage::Done { call, result, .. } => match result {
                    Ok(reply) => format!("{call} {reply:?}"),
                    Err(failure) => format!("{call} {:?}", failure.code),
                },
                HostMessage::Terminal {
                    terminal_id, event, ..
                } => match event {
                    TerminalEvent::Output(text) => format!("{terminal_id} {}", text.trim_end()),
                    TerminalEvent::Exited { exit, .. } => format!("{terminal_id} {:?}", exit.code),
                    other => format!("{terminal_id} {other:?}"),
                },
                other => panic!("{other:?}"),
            });
        }
        let of = |call: &str, id: &str| -> Vec<&str> {
            let is_its = |line: &&str| line.starts_with(call) || line.starts_with(id);
            order.iter().map(String::as_str).filter(is_its).collect()
        };
        assert_eq!(
            of("1 ", "term_1"),
            ["1 Created", "term_1 up", "term_1 Some(1)"],
            "{order:?}"
        );
        assert_eq!(of("2 ", "term_2"), ["2 Created", "term_2 Lost"], "{order:?}");
        assert_eq!(of("3 ", "term_3"), ["3 NotFound"], "{order:?}");
    }

    #[tokio::test]
    async fn the_terminals_of_an_agent_that_is_not_continued_end() {
        let place = tempfile::tempdir().unwrap();
        let agent = Hold::new();
        let (mut first, mut messages) = daemon(place.path(), &agent);
        create(&mut first, place.path(), "term_1", "echo up; exec sleep 1000");
        until(&mut first, &mut messages, |message| is_output(message, "up\r\n")).await;
        let holds = first.holds();
        first.leave(ORPHAN);
        let host = Arc::clone(&first.host);
        drop((first, messages));
        crate::carry::end_terminals(&host, &agent, holds).await;
        let sockets = || std::fs::read_dir(place.path().join("shims")).unwrap().count();
        let limit = tokio::time::Instant::now() + Duration::from_secs(20);
        while sockets() > 0 {
            assert!(tokio::time::Instant::now() < limit, "the shim is still there");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}
