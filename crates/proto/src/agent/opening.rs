//! From a started process to an open session: `initialize`, then resume, load or new, whichever succeeds first. A copy of another
//! thread's session may be forked as well: some agents let only the process use it that has made it, until that process ends.

use std::time::Duration;

use acpd_model::event::Binding;
use acpd_model::limits::{AGENT_STATE_BYTES, SIGN_IN_RETRY_MILLIS};
use acpd_model::{ErrorCode, Failure, RawJson, json};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::acp_version::AcpVersion;
use super::bounds::is_name;
use super::capabilities::Capabilities;
use super::connection::{AgentConnection, AgentEvent, Opened, Sent, Start};
use super::handshake::{Negotiated, initialize_params, negotiate};
use super::replay::SessionReplay;
use super::request::ConfigValue;
use super::system_prompt::PromptSource;
use super::update::Update;
use super::v2;
use crate::time::{Instant, Now};
use crate::wire::{self, Object, RpcError};

/// ACP's error code for "authentication required".
const AUTH_REQUIRED: i64 = -32000;

impl AgentConnection {
    pub(super) fn initialize(&mut self, now: Instant) {
        let id = self.pending.open(Sent::Initialize, self.start_deadline(now));
        let params = initialize_params(self.offered(), self.start.elicitation);
        let mut line = Vec::new();
        wire::request_with(&mut line, id, "initialize", Some(&params));
        self.write(line);
    }

    /// Returns the versions of ACP that the agent is offered. A shared process is offered version 1: with version 2, the answer to a prompt
    /// does not say that its turn has ended.
    fn offered(&self) -> AcpVersion {
        if self.is_alone {
            self.start.acp
        } else {
            AcpVersion::One
        }
    }

    pub(super) fn initialized(&mut self, result: &RawValue, now: Now) {
        if let Some(message) = too_large(result) {
            return self.fail(Failure::agent(format!(
                "the agent's answer to initialize {message}"
            )));
        }
        let Negotiated { version, hello } = match negotiate(self.offered(), RawJson::from(result)) {
            Ok(negotiated) => negotiated,
            Err(failure) => return self.fail(failure),
        };
        self.v2 = (version == 2).then(Box::default);
        self.capabilities = Capabilities::read(&hello);
        self.capabilities.quirks = self.capabilities.quirks.and(self.start.quirks);
        self.agent = Some(hello.clone());
        if self.start.pending_session {
            return self.event(AgentEvent::Initialized(hello));
        }
        self.open_session(now);
    }

    /// Opens the session that `pending_session` deferred; if `initialize` is not answered yet, the session opens
    /// after the answer.
    pub(super) fn open(&mut self, start: Start, now: Now) {
        if !std::mem::replace(&mut self.start, start).pending_session {
            return;
        }
        if self.agent.is_some() {
            self.capabilities.quirks = self.capabilities.quirks.and(self.start.quirks);
            self.open_session(now);
        }
    }

    fn open_session(&mut self, now: Now) {
        if let Err(failure) = self.capabilities.check_mcp_servers(&self.start.mcp_servers) {
            return self.fail(failure);
        }
        if self.v2.is_some()
            && let Err(failure) = v2::check_mcp_servers(&self.start.mcp_servers)
        {
            return self.fail(failure);
        }
        if let Err(failure) = self.check_system_prompt() {
            return self.fail(failure);
        }
        self.plan_bindings();
        self.open_next(now.mono);
    }

    /// Rejects a system prompt that the agent does not take. A thread that has had a session continues without it, also in a new
    /// one: an older version of the agent would make the thread unusable otherwise.
    fn check_system_prompt(&mut self) -> Result<(), Failure> {
        let Some(prompt) = &self.start.system_prompt else {
            return Ok(());
        };
        let names = &self.start.names;
        let mut checked = self.capabilities.system_prompt.check(prompt, &names.title);
        if let (Err(failure), PromptSource::Configuration) = (&mut checked, self.start.prompt_source) {
            let place = format!(
                "; it is system_prompt of [agents.{}] in the configuration",
                names.id
            );
            failure.message.push_str(&place);
        }
        if !self.start.bound || self.start.foreign {
            return checked;
        }
        if let Err(failure) = checked {
            self.start.system_prompt = None;
            self.prompt_left_out = Some(failure);
        }
        Ok(())
    }

    fn plan_bindings(&mut self) {
        if self.start.earlier_session.is_some() {
            let Capabilities {
                resume, load, fork, ..
            } = self.capabilities;
            let forks = fork && self.start.is_copy;
            // An agent that does not resume a session does not load it either, as a rule.
            let declared = [
                (resume, Binding::Resume),
                (resume && forks, Binding::Fork),
                (load, Binding::Load),
                (!resume && forks, Binding::Fork),
            ];
            let to_try = |way: &Binding| !self.start.leave_out.contains(way);
            let remaining_bindings = declared.into_iter().filter_map(|(has, way)| has.then_some(way));
            self.remaining_bindings.extend(remaining_bindings.filter(to_try));
        }
        if !self.start.foreign {
            return self.remaining_bindings.push_back(Binding::New);
        }
        // `session/resume` alone is not enough: the log needs the earlier conversation, which only `session/load`
        // replays.
        self.remaining_bindings
            .make_contiguous()
            .sort_by_key(|way| *way != Binding::Load);
        if self.remaining_bindings.is_empty() {
            self.fail(Failure::agent(
                "the agent cannot resume a session: it declares neither session/load nor session/resume",
            ));
        }
    }

    fn open_next(&mut self, now: Instant) {
        let Some(how) = self.remaining_bindings.pop_front() else {
            return;
        };
        self.replay.open(how);
        if let Some(v2) = &mut self.v2 {
            v2.open();
        }
        let earlier = self.start.earlier_session.clone().filter(|_| how != Binding::New);
        if how != Binding::New {
            self.event(AgentEvent::ResumeStarted(how));
        }
        // The answer to a fork names another session.
        self.session = earlier.clone().filter(|_| how != Binding::Fork);
        if self.session.is_some() {
            self.given_up = None;
        }
        let id = self.pending.open(Sent::Open(how), self.start_deadline(now));
        let mut line = Vec::new();
        let params = wire::object(|params| {
            params.maybe("sessionId", earlier.as_ref());
            params
                .put("cwd", &self.start.cwd)
                .put("mcpServers", &self.start.mcp_servers);
            let directories = self.directories();
            if !directories.is_empty() {
                params.put("additionalDirectories", directories);
            }
            params.json("systemPrompt", self.start.system_prompt.as_ref());
            if self.capabilities.options && !self.start.config_options.is_empty() {
                let options = initial_options(&self.start.config_options);
                params.json("configOptions", Some(&options));
            }
            params.json("_meta", self.start.meta.as_ref());
            params.others(self.start.members.as_ref());
        });
        let (method, params) = self.in_its_version(method(how), params);
        wire::request_with(&mut line, id, &method, Some(&params));
        self.write(line);
    }

    /// Pauses the time limit of the start while a user has to answer something, and sets it anew afterwards. Sessions of a
    /// shared process open one after another, so that none may keep the others waiting.
    pub(super) fn wait_for_user(&mut self, waits: bool, now: Instant) {
        self.waits_for_user = waits && self.is_alone;
        let starts = |sent: &Sent| matches!(sent, Sent::Initialize | Sent::Open(_));
        self.pending.set_deadline(starts, self.start_deadline(now));
    }

    /// Returns until when the agent has to answer a request of its start.
    fn start_deadline(&self, now: Instant) -> Option<Instant> {
        (!self.waits_for_user).then(|| now + self.start.patience)
    }

    /// Returns the additional directories of the workspace, if the agent declared support for them.
    pub(super) fn directories(&self) -> &[String] {
        if self.capabilities.additional_directories {
            &self.start.additional_directories
        } else {
            &[]
        }
    }

    pub(super) fn opened(&mut self, how: Binding, result: &RawValue, now: Now) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct New {
            session_id: String,
        }
        if let Some(message) = too_large(result) {
            let error = RpcError::new(-32603, format!("its answer {message}"));
            return self.not_opened(how, &error, now);
        }
        let (result, commands) = match &mut self.v2 {
            Some(v2) => {
                let result = RawJson::from(result);
                v2.opened(&result);
                v2::session(&result)
            }
            None => (RawJson::from(result), None),
        };
        if matches!(how, Binding::New | Binding::Fork) {
            match json::read::<New>(result.get()) {
                Ok(New { session_id }) if !is_name(&session_id) => {
                    let error = RpcError::new(-32603, "the id of its session is too long");
                    return self.not_opened(how, &error, now);
                }
                Ok(New { session_id }) => {
                    self.given_up = self.given_up.take().filter(|old| *old != session_id);
                    self.session = Some(session_id);
                }
                Err(_) => {
                    return self.not_opened(how, &RpcError::new(-32603, "its answer names no session"), now);
                }
            }
        }
        let (Some(session_id), Some(agent)) = (self.session.clone(), self.agent.clone()) else {
            return;
        };
        self.waits_for_user = false;
        self.prefix = usual_prefix(&session_id);
        let opened = Opened {
            session_id,
            how,
            agent,
            session: result,
            protocol: self.v2.is_some().then_some(2),
            capabilities: self.capabilities.clone(),
            mode: self.start.mode.clone(),
            prompt_left_out: self.prompt_left_out.clone(),
        };
        if self.v2.is_some() {
            // In version 2, an agent has replayed everything before it answers.
            self.replay = SessionReplay::default();
            self.event(AgentEvent::Opened(Box::new(opened)));
        } else if self.replay.opened(how, now.mono, self.start.patience) {
            self.event(AgentEvent::Opened(Box::new(opened)));
        } else {
            self.pending_session = Some(opened);
        }
        let commands = commands.and_then(|commands| Update::parse(commands.get(), None).ok());
        if let Some(commands) = commands {
            self.event(AgentEvent::Update(commands));
        }
    }

    pub(super) fn not_opened(&mut self, how: Binding, error: &RpcError, now: Now) {
        if self.tries_sign_in_again(error, now) {
            return;
        }
        if error.code == AUTH_REQUIRED && !self.capabilities.auth_methods.is_empty() {
            // After a sign-in, all methods are tried again.
            self.remaining_bindings.clear();
            self.waits_for_sign_in = true;
            self.waits_for_user = false;
            let methods = self.capabilities.auth_method_ids();
            let failure = Failure::new(
                ErrorCode::SignInRequired,
                format!("Sign in to {} to continue", self.start.names.title),
            )
            .with_detail(format!("{}; ways to sign in: {methods}", error.message));
            return self.event(AgentEvent::SignInRequired(failure));
        }
        if how != Binding::New {
            return self.resume_failed(how, error.clone(), false, now);
        }
        let failure = match error.code {
            AUTH_REQUIRED => format!(
                "{} needs a sign-in, and offers no way to sign in: {error}",
                self.start.names.title
            ),
            _ => format!("the agent could not open a session: {error}"),
        };
        self.fail(Failure::agent(failure));
    }

    /// Handles a failed method to resume the earlier session, and tries the next one.
    pub(super) fn resume_failed(&mut self, how: Binding, error: RpcError, late: bool, now: Now) {
        if self.remaining_bindings.is_empty() {
            let session = self.start.earlier_session.as_deref().unwrap_or_default();
            return self.fail(Failure::agent(format!(
                "the agent failed to resume its session {session}: {error}"
            )));
        }
        self.event(AgentEvent::ResumeFailed { how, error, late });
        if let Some(Binding::New | Binding::Fork) = self.remaining_bindings.front() {
            self.given_up.clone_from(&self.start.earlier_session);
        }
        self.open_next(now.mono);
    }

    /// Retries the opening that failed because no user was signed in.
    pub(super) fn signed_in(&mut self, now: Now) {
        if std::mem::take(&mut self.waits_for_sign_in) {
            self.plan_bindings();
            self.open_next(now.mono);
        }
    }
}

/// A second try of an agent that asks for a sign-in, although another process of it is signed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum SignInRetry {
    /// There is none.
    #[default]
    Off,
    /// The first refusal leads to one.
    Possible,
    /// It is due then.
    At(Instant),
    /// It begins when no other process of the agent is starting.
    Due,
    /// It has begun. There is no third try.
    Begun,
}

impl SignInRetry {
    pub fn deadline(self) -> Option<Instant> {
        match self {
            Self::At(at) => Some(at),
            Self::Off | Self::Possible | Self::Due | Self::Begun => None,
        }
    }
}

impl AgentConnection {
    /// Has a refused sign-in tried once more, unless it was already. Processes that start side by side may refresh the same
    /// sign-in, and all but one are refused then.
    pub fn retry_sign_in(&mut self) {
        if self.sign_in_retry == SignInRetry::Off {
            self.sign_in_retry = SignInRetry::Possible;
        }
    }

    /// Returns whether a refused sign-in is to be tried once more as soon as no other process of the agent is starting.
    pub fn sign_in_is_due(&self) -> bool {
        self.sign_in_retry == SignInRetry::Due
    }

    /// Returns whether the error is a refused sign-in that is tried once more, later.
    pub(super) fn tries_sign_in_again(&mut self, error: &RpcError, now: Now) -> bool {
        let tries = error.code == AUTH_REQUIRED && self.sign_in_retry == SignInRetry::Possible;
        if tries {
            self.sign_in_retry = SignInRetry::At(now.mono + Duration::from_millis(SIGN_IN_RETRY_MILLIS));
        }
        tries
    }

    /// Makes the second try of a refused sign-in due, if it is time for that.
    pub(super) fn time_sign_in(&mut self, now: Now) {
        if self.sign_in_retry.deadline().is_some_and(|at| at <= now.mono) {
            self.sign_in_retry = SignInRetry::Due;
        }
    }

    /// Tries a refused sign-in once more, if that [is due](Self::sign_in_is_due).
    pub fn sign_in_again(&mut self, now: Now) {
        if !self.sign_in_is_due() {
            return;
        }
        self.sign_in_retry = SignInRetry::Begun;
        if self.agent.is_none() {
            return self.initialize(now.mono);
        }
        self.remaining_bindings.clear();
        self.plan_bindings();
        self.open_next(now.mono);
    }
}

/// Returns why an answer is larger than what a thread keeps of it, if it is.
fn too_large(result: &RawValue) -> Option<String> {
    let bytes = result.get().len();
    (bytes > AGENT_STATE_BYTES)
        .then(|| format!("has {bytes} bytes, and at most {AGENT_STATE_BYTES} are possible"))
}

/// Returns ACP's list of initial values of options.
fn initial_options(options: &[(String, ConfigValue)]) -> RawJson {
    let mut list = Vec::new();
    for (id, value) in options {
        let mut entry = Vec::new();
        let mut object = Object::open(&mut entry);
        value.fill(&mut object, id);
        object.close();
        list.push(String::from_utf8_lossy(&entry).into_owned());
    }
    RawJson::trusted(&format!("[{}]", list.join(",")))
}

pub(super) fn method(how: Binding) -> &'static str {
    match how {
        Binding::New => "session/new",
        Binding::Load => "session/load",
        Binding::Resume => "session/resume",
        Binding::Fork => "session/fork",
    }
}

fn usual_prefix(session: &str) -> String {
    let session = serde_json::Value::from(session);
    format!(r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":{session},"update":"#)
}
