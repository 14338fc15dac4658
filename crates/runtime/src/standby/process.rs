//! An agent process that is initialized and has no session yet.
//!
//! In: an agent's name and a directory; requests that need no session. Out: the `initialize` result, the agent's
//! answers, and in the end the process, for the first thread that can use it. Owns: the process until then. Never:
//! answers the agent's requests to its client; the thread that receives the process does that.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use acpd_host::Sandbox;
use acpd_model::{Failure, RawJson};
use acpd_proto::agent::{AgentCommand, AgentEvent, AgentRequest, Capabilities, ElicitationModes, Start};
use acpd_proto::thread::AgentExit;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::agent::config::AgentConfig;
use crate::agent::process::{AgentHandle, AgentMessage};
use crate::agent::running::{ProcessUse, Rank};
use crate::clock::Clock;
use crate::context::Context;
use crate::host::blocking;
use crate::standby::start::start_agent;

/// Seconds that an initialized agent process without a session waits for one.
const STANDBY_SECS: u64 = 60;
/// Bytes that an agent process may write before it has a session. A process that writes more is stopped.
const STANDBY_BYTES: usize = 1 << 20;

/// An initialized process and the events that it has sent so far.
#[derive(Debug)]
pub struct Standby {
    /// The agent's name; the fields below record how it was started.
    name: String,
    config: AgentConfig,
    cwd: String,
    sandbox: Option<Sandbox>,
    /// The modes of elicitation that the process was offered.
    elicitation: ElicitationModes,
    capabilities: Capabilities,
    handle: AgentHandle,
    /// Events for the future thread, and their size in bytes.
    early: Vec<AgentEvent>,
    early_bytes: usize,
    pending: BTreeMap<u64, PendingRequest>,
    next_ask: u64,
    /// Whether a user has signed in to this process.
    signed_in: bool,
    /// Whether the process was offered to a thread, which uses it soon or never.
    offered: bool,
    until: Instant,
    /// The entry in the process table.
    using: Arc<ProcessUse>,
    clock: Clock,
}

#[derive(Debug)]
struct PendingRequest {
    reply: ResponseSender,
    method: String,
    signs_in: bool,
}

/// The agent's `initialize` result, verbatim, and the process that returned it.
pub type StandbyResult = Result<(RawJson, Standby), Failure>;

/// Receives the agent's answer to a request. It is dropped if the process ends first.
pub type ResponseSender = oneshot::Sender<Result<RawJson, Failure>>;

/// Returns the failure of a request whose process has ended.
pub(super) fn ended() -> Failure {
    Failure::agent("the agent's process ended before it answered")
}

/// The state of a process after it has said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The process has answered a request.
    Answered,
    /// The process is no longer useful.
    Over,
}

impl Standby {
    /// Starts the agent for a session in `cwd` of a client that can show these modes of elicitation, and sends `initialize`.
    pub async fn start(
        context: &Context,
        name: &str,
        config: &AgentConfig,
        cwd: &Path,
        elicitation: ElicitationModes,
    ) -> StandbyResult {
        let patience = Duration::from_secs(context.limits.now().agent_start_secs);
        let cwd = cwd.to_string_lossy().into_owned();
        let mut held = Start {
            pending_session: true,
            quirks: config.quirks,
            acp: config.acp,
            elicitation: config.offered(elicitation),
            ..Start::new(name, cwd.clone(), patience)
        };
        if let Some(title) = &config.title {
            held.names.title.clone_from(title);
        }
        let elicitation = held.elicitation;
        let (own, reserved) = (config.clone(), Arc::clone(&context.reserved));
        let workspace = [cwd.clone().into()];
        // If no session can be opened in this directory, the process serves only requests that need none.
        let confine = move || {
            own.confine(&reserved, &workspace, &[], &[])
                .or_else(|_| own.confine(&reserved, &[], &[], &[]))
        };
        let sandbox = blocking(&*context.host, confine).await?;
        let handle = start_agent(context, name, config, sandbox.clone(), held).await;
        let handle = handle.map_err(|failure| cannot(name, failure))?;
        let mut standby = Self {
            name: name.to_owned(),
            config: config.clone(),
            cwd,
            sandbox,
            elicitation,
            capabilities: Capabilities::default(),
            using: context.processes.join(Arc::clone(&handle.process), None).await?,
            handle,
            early: Vec::new(),
            early_bytes: 0,
            pending: BTreeMap::new(),
            next_ask: 0,
            signed_in: false,
            offered: false,
            until: Instant::now() + Duration::from_secs(STANDBY_SECS),
            clock: context.clock,
        };
        standby.note();
        loop {
            match standby.handle.receive().await {
                Some(AgentMessage::Events(events)) => {
                    let mut greeting = None;
                    for event in events {
                        match event {
                            AgentEvent::Initialized(hello) => greeting = Some(hello),
                            AgentEvent::Failed(failure) => return Err(standby.failed(name, failure).await),
                            other => standby.keep(other),
                        }
                    }
                    if standby.early_bytes > STANDBY_BYTES {
                        let failure = Failure::agent("it said too much before it answered initialize");
                        return Err(standby.failed(name, failure).await);
                    }
                    if let Some(hello) = greeting {
                        standby.capabilities = Capabilities::read(&hello);
                        return Ok((hello, standby));
                    }
                }
                Some(AgentMessage::Exited(gone)) => return Err(exited_early(name, *gone)),
                None => return Err(cannot(name, Failure::agent("it ended"))),
            }
        }
    }

    /// Stops a process that cannot be used; the end of its standard error may give the reason.
    async fn failed(mut self, name: &str, failure: Failure) -> Failure {
        self.handle.stop();
        while let Some(from) = self.handle.receive().await {
            if let AgentMessage::Exited(gone) = from {
                return cannot(name, failure.with_detail(gone.stderr));
            }
        }
        cannot(name, failure)
    }

    /// Sends a request that needs no session, if the agent has declared it.
    pub async fn ask(&mut self, request: AgentRequest, reply: ResponseSender) {
        if let Err(failure) = request.check(&self.capabilities, self.agent()) {
            // The caller may have gone.
            let _ = reply.send(Err(failure));
            return;
        }
        let ask = self.next_ask;
        self.next_ask += 1;
        let pending = PendingRequest {
            reply,
            method: request.method().to_owned(),
            signs_in: matches!(request, AgentRequest::Authenticate { .. }),
        };
        self.pending.insert(ask, pending);
        // A process in use is kept alive.
        self.until = Instant::now() + Duration::from_secs(STANDBY_SECS);
        self.note();
        self.handle
            .send_command(AgentCommand::Request { ask, request }, None)
            .await;
    }

    /// Sends a request that needs no session, and waits for its answer.
    pub async fn ask_once(&mut self, request: AgentRequest) -> Result<RawJson, Failure> {
        let (reply, mut answer) = oneshot::channel();
        self.ask(request, reply).await;
        loop {
            tokio::select! {
                biased;
                answer = &mut answer => return answer.unwrap_or_else(|_| Err(ended())),
                state = self.changed() => if state == State::Over {
                    return Err(ended());
                },
            }
        }
    }

    /// Updates the entry in the process table.
    fn note(&self) {
        let rank = if self.signed_in {
            Rank::SignedIn
        } else {
            Rank::Unused
        };
        let now = self.clock.now().wall;
        self.using.note(self.pending.is_empty(), rank, now);
    }

    /// Returns the agent's name.
    pub fn agent(&self) -> &str {
        &self.name
    }

    /// Returns whether the process was offered what a client can show.
    pub fn is_offered(&self, elicitation: ElicitationModes) -> bool {
        self.elicitation == self.config.offered(elicitation)
    }

    /// Returns whether a sign-in is in progress, so that later requests should wait for it.
    pub fn is_signing_in(&self) -> bool {
        self.pending.values().any(|pending| pending.signs_in)
    }

    /// Marks the process as offered to a thread. It expires soon if the thread does not use it.
    pub fn offer(&mut self) {
        self.offered = true;
        self.until = Instant::now() + Duration::from_secs(STANDBY_SECS);
    }

    /// Waits until the process is no longer useful: it has exited, or has not been used for too long. Cancel safe.
    pub async fn over(&mut self) {
        while self.changed().await != State::Over {}
    }

    /// Handles the agent's messages until it has answered a request, or is no longer useful. Cancel safe.
    pub async fn changed(&mut self) -> State {
        while self.early_bytes < STANDBY_BYTES {
            let from = tokio::select! {
                biased;
                () = self.using.released() => None,
                () = tokio::time::sleep_until(self.until), if !self.is_needed() => None,
                from = self.handle.receive() => from,
            };
            let Some(AgentMessage::Events(events)) = from else {
                return State::Over;
            };
            let mut has_answered = false;
            for event in events {
                match event {
                    AgentEvent::Answered { ask, result } => {
                        self.answered(ask, result);
                        has_answered = true;
                    }
                    AgentEvent::Failed(_) => return State::Over,
                    other => self.keep(other),
                }
            }
            if has_answered {
                return State::Answered;
            }
        }
        State::Over
    }

    fn keep(&mut self, event: AgentEvent) {
        self.early_bytes += bytes(&event);
        self.early.push(event);
    }

    /// A process with a completed or running sign-in stays, because another process may not be signed in.
    fn is_needed(&self) -> bool {
        self.signed_in && !self.offered || !self.pending.is_empty()
    }

    fn answered(&mut self, ask: u64, result: Result<RawJson, acpd_proto::wire::RpcError>) {
        let Some(PendingRequest {
            reply,
            method,
            signs_in,
        }) = self.pending.remove(&ask)
        else {
            return;
        };
        self.signed_in |= signs_in && result.is_ok();
        self.note();
        // The caller may have gone.
        let _ = reply.send(result.map_err(|error| AgentRequest::refused(&method, &error)));
    }

    /// Returns whether the process can open a session in `cwd`. After a sign-in it can do so in any directory, as
    /// agents that hold several sessions can. The exception is a process that a sandbox confines to its own directory.
    pub fn fits(&self, cwd: &str) -> bool {
        self.pending.is_empty() && (self.cwd == cwd || self.signed_in && self.sandbox.is_none())
    }

    /// Hands the process to a thread, if it was started with the thread's current configuration, and was offered what the
    /// thread's clients can show. Returns the handle and the earlier events.
    pub async fn open(
        self,
        config: &AgentConfig,
        sandbox: Option<&Sandbox>,
        start: Start,
    ) -> Result<(AgentHandle, Vec<AgentEvent>), Start> {
        // A new sign-in would cost the user more than a question that is shown as text.
        let offers = self.signed_in || self.is_offered(start.elicitation);
        if self.config != *config || self.sandbox.as_ref() != sandbox || !self.fits(&start.cwd) || !offers {
            return Err(start);
        }
        self.handle
            .send_command(AgentCommand::Open(Box::new(start)), None)
            .await;
        Ok((self.handle, self.early))
    }
}

/// Waits until a standby process is no longer useful; waits forever without one.
pub async fn over(standby: Option<&mut Standby>) {
    match standby {
        Some(standby) => standby.over().await,
        None => std::future::pending().await,
    }
}

/// Estimates the memory of an event, in bytes.
fn bytes(event: &AgentEvent) -> usize {
    let raw = |raw: &Option<RawJson>| raw.as_ref().map_or(0, |raw| raw.get().len());
    let said = match event {
        AgentEvent::Update(update) | AgentEvent::Replayed(update) => update.bytes(),
        AgentEvent::CallbackReceived { request, params, .. } => request.bytes() + raw(params),
        AgentEvent::CallbackRefused { params, .. }
        | AgentEvent::Foreign { params }
        | AgentEvent::Notified { params, .. } => raw(params),
        AgentEvent::Subagent { session, event } => session.len() + bytes(event),
        AgentEvent::Malformed { text, .. } | AgentEvent::Mended { text, .. } => text.len(),
        _ => 0,
    };
    size_of::<AgentEvent>() + said
}

fn cannot(name: &str, failure: Failure) -> Failure {
    Failure {
        message: format!("the agent {name:?} cannot be started: {}", failure.message),
        ..failure
    }
}

fn exited_early(name: &str, AgentExit { reason, stderr }: AgentExit) -> Failure {
    let failure = Failure::agent(format!("{reason} before it answered initialize"));
    cannot(name, failure.with_detail(stderr))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use acpd_model::Limits;

    use super::*;
    use crate::test_context::context;

    /// Starts a process that answers `initialize` and then runs the commands in `then`.
    async fn standby(then: &str) -> (tempfile::TempDir, Standby) {
        let dir = tempfile::tempdir().unwrap();
        let hello = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}"#;
        let config = AgentConfig {
            command: "sh".into(),
            args: vec!["-c".into(), format!("read -r line; echo '{hello}'; {then}")],
            ..AgentConfig::default()
        };
        let context = context(dir.path(), BTreeMap::new(), Limits::default());
        let started = Standby::start(&context, "a", &config, dir.path(), ElicitationModes::ALL).await;
        (dir, started.unwrap().1)
    }

    #[tokio::test]
    async fn an_unused_standby_process_ends_after_a_while() {
        let (_dir, mut standby) = standby("cat > /dev/null").await;
        let patience = standby.until - Instant::now();
        assert!(patience > Duration::from_secs(STANDBY_SECS - 5));
        standby.until = Instant::now();
        standby.over().await;
    }

    #[tokio::test]
    async fn a_process_that_ends_or_floods_is_dropped_at_once() {
        let (_dir, mut ended) = standby("exit 3").await;
        ended.over().await;
        let flood = "while :; do echo '{\"jsonrpc\":\"2.0\",\"method\":\"_x\",\"params\":{\"text\":\"0123456789\"}}'; done";
        let (_dir, mut loud) = standby(flood).await;
        loud.over().await;
        assert!(loud.early_bytes >= STANDBY_BYTES && loud.early_bytes < 2 * STANDBY_BYTES);
        // Text counts towards the limit as well, in any form.
        let words = r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'$w'"}}}}"#;
        let talk = format!("w=$(head -c 100000 /dev/zero | tr '\\0' x); while :; do echo '{words}'; done");
        let (_dir, mut talks) = standby(&talk).await;
        talks.over().await;
        assert!(talks.early.len() < 64, "{}", talks.early.len());
    }

    #[tokio::test]
    async fn one_that_was_offered_other_questions_is_used_only_after_a_sign_in() {
        for signed_in in [false, true] {
            let (dir, mut standby) = standby("cat > /dev/null").await;
            standby.signed_in = signed_in;
            let (config, sandbox) = (standby.config.clone(), standby.sandbox.clone());
            let start = Start {
                elicitation: ElicitationModes::NONE,
                ..Start::new("a", dir.path().to_string_lossy(), Duration::from_secs(5))
            };
            let opened = standby.open(&config, sandbox.as_ref(), start).await;
            assert_eq!(opened.is_ok(), signed_in);
        }
        // A shared process is offered all, and serves any client.
        let shared = AgentConfig {
            share: true,
            ..AgentConfig::default()
        };
        assert_eq!(shared.offered(ElicitationModes::NONE), ElicitationModes::ALL);
    }

    #[tokio::test]
    async fn requests_to_an_ending_process_are_not_answered() {
        let (_dir, mut standby) = standby("read -r line; exit 3").await;
        let (reply, answer) = oneshot::channel();
        let request = AgentRequest::Extension {
            method: "_x".into(),
            params: None,
        };
        standby.ask(request, reply).await;
        standby.over().await;
        drop(standby);
        assert!(answer.await.is_err());
    }
}
