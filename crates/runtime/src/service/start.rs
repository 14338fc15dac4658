//! Starting a thread.

use acpd_log::{Filter, ListedThread};
use acpd_model::event::Directories;
use acpd_model::limits::LIST_PAGE;
use acpd_model::{ErrorCode, Failure, Origin, Role, ThreadId};
use acpd_proto::agent::AgentRequest;
use acpd_proto::projection::Spec;
use acpd_proto::surface::reply::Opened;
use acpd_proto::surface::request::{Follow, StartThread};
use acpd_proto::thread::{Command, TurnView};

use crate::feed::session_claims::SessionClaim;
use crate::host::blocking;
use crate::service::caller::Caller;
use crate::service::directories::find_directories;
use crate::service::started::{StartHash, StartKey};
use crate::service::thread_reply::{await_any, await_reply};
use crate::service::{Dispatched, Response, Service};
use crate::stored::log_failure;
use crate::thread::directory::ReplyReceiver;
use crate::thread::subscription::FollowRequest;

/// A thread that is being created. Every command whose order matters has been sent to it already.
struct NewThread {
    thread: ThreadId,
    /// `None` if an earlier request has created the thread.
    created: Option<ReplyReceiver>,
    /// Reserves the session until the log records which thread uses it.
    claim: Option<SessionClaim>,
    /// Initial values of options. The agent may refuse them.
    initial: Vec<ReplyReceiver>,
    settings: Vec<ReplyReceiver>,
    first_turn: Option<ReplyReceiver>,
    /// The prompt of the first turn, if it must wait until the session's earlier messages are imported.
    prompt: Option<Command>,
    /// The first turn, if it has ended already.
    ended: Option<TurnView>,
}

impl Service {
    pub(super) async fn start_thread(
        &self,
        caller: &Caller,
        start: StartThread,
    ) -> Result<Dispatched<Box<Opened>>, Failure> {
        let follow = start.follow;
        self.context.attachments.keep(None, &start.input).await?;
        let new = self.create_once(caller, start).await?;
        let thread = new.thread;
        let follow_now = match follow {
            Follow::AtOnce => Some(FollowRequest {
                thread,
                cursor: 0,
                snapshot: self.directory.subscribe(thread, caller.lane).await?,
                attachment: None,
            }),
            Follow::WithReply => None,
        };
        let (service, caller) = (self.clone(), caller.clone());
        let answer = Dispatched::respond(async move {
            let turn = service.finish(new, caller.by.clone()).await;
            let turn = turn.map_err(|failure| match (follow, failure.code) {
                // A client that follows the thread at once knows its id already.
                (Follow::WithReply, ErrorCode::SignInRequired) => failure.with_detail(thread.to_string()),
                _ => failure,
            })?;
            let attachment = match follow {
                Follow::AtOnce => None,
                Follow::WithReply => service.attach(&caller, thread).await?,
            };
            let snapshot = service.directory.subscribe(thread, caller.lane).await?;
            let opened = Opened {
                live: snapshot.live.clone(),
                cursor: 0,
                turns: None,
                turn,
                fidelity: None,
                claimed: Vec::new(),
            };
            let follow = (follow == Follow::WithReply).then_some(FollowRequest {
                thread,
                cursor: 0,
                snapshot,
                attachment,
            });
            Ok(Response {
                follow,
                ..Box::new(opened).into()
            })
        });
        Ok(Dispatched {
            follow: follow_now,
            ..answer
        })
    }

    /// Creates the thread, unless an earlier request with the same id has created it.
    async fn create_once(&self, caller: &Caller, start: StartThread) -> Result<NewThread, Failure> {
        let Some(key) = StartKey::of(&caller.by, &start) else {
            return self.create(caller, start).await;
        };
        let asked = StartHash::of(&start);
        let mut started = self.state.started.lock(key).await;
        // A thread that was deleted meanwhile is started anew.
        if let Some((thread, known)) = *started
            && self.directory.look(thread).await.is_ok()
        {
            if known != asked {
                let message = "this clientTurnId was used for another thread/start: use another id";
                return Err(Failure::new(ErrorCode::Conflict, message));
            }
            return self.create_again(caller, thread, start).await;
        }
        match self.create(caller, start).await {
            Ok(new) => {
                *started = Some((new.thread, asked));
                Ok(new)
            }
            Err(failure) => {
                self.state.started.forget(key, started);
                Err(failure)
            }
        }
    }

    /// Answers a repeated request with the thread that exists. Its turn is known by the client's id.
    async fn create_again(
        &self,
        caller: &Caller,
        thread: ThreadId,
        start: StartThread,
    ) -> Result<NewThread, Failure> {
        let name = start.client_turn_id.as_deref().unwrap_or_default();
        let ended = self.ended_turn(thread, name).await?;
        let prompt = Command::StartTurn {
            input: start.input,
            meta: None,
            client_turn_id: start.client_turn_id,
            replaces: None,
        };
        let first_turn = match &ended {
            Some(_) => None,
            None => Some(self.directory.command(thread, caller.by.clone(), prompt).await?),
        };
        Ok(NewThread {
            thread,
            created: None,
            claim: None,
            initial: Vec::new(),
            settings: Vec::new(),
            first_turn,
            prompt: None,
            ended,
        })
    }

    /// Creates the thread and sends it every command whose order matters.
    async fn create(&self, caller: &Caller, start: StartThread) -> Result<NewThread, Failure> {
        // The same rule as for a later policy change: starting a thread does not include deciding what its agent may do.
        if start.policy.is_some() {
            caller.permissions.check_role(Role::Owner, "policy")?;
        }
        let agent = start.agent.map_or_else(|| caller.defaults.agent.clone(), Ok)?;
        self.context.agents.find(&agent)?;
        let (cwd, additional_directories) = (start.cwd, start.additional_directories);
        let look = move || find_directories(cwd, additional_directories);
        let Directories {
            cwd,
            additional_directories,
            real_directories,
        } = blocking(&*self.context.host, look).await?;
        let claim = match &start.session_id {
            Some(session) => Some(self.begin_with(&agent, session).await?),
            None => None,
        };
        let thread = start.thread.unwrap_or_else(|| self.context.ids.thread());
        let spec = Spec {
            agent,
            cwd,
            additional_directories,
            real_directories,
            mcp_servers: start.session.mcp_servers.unwrap_or_default(),
            meta: start.session.meta,
            members: start.session.members,
            system_prompt: start.session.system_prompt,
            session_id: start.session_id,
            ..Spec::default()
        };
        self.offer_standby(caller, thread, &spec.agent, &spec.cwd, true)
            .await?;
        let command = |command| self.directory.command(thread, caller.by.clone(), command);
        let has_session = spec.session_id.is_some();
        let created = command(Command::Create {
            spec: Box::new(spec),
            name: start.name,
            project_id: start.project_id,
            metadata: start.metadata,
            elicitation: caller.elicitation(),
            config_options: start
                .initial
                .iter()
                .cloned()
                .chain(start.config.clone())
                .collect(),
        });
        let created = created.await?;
        let policy = start.policy.map(|policy| Command::SetPolicy(Some(policy)));
        let mode = start.mode.map(|mode_id| AgentRequest::SetMode { mode_id });
        let config = start.config.into_iter();
        let config = config.map(|(config_id, value)| AgentRequest::SetConfigOption { config_id, value });
        let asked = mode.into_iter().chain(config).map(Command::AgentRequest);
        let mut initial = Vec::new();
        for (config_id, value) in start.initial {
            let setting = AgentRequest::SetConfigOption { config_id, value };
            initial.push(command(Command::AgentRequest(setting)).await?);
        }
        let mut settings = Vec::new();
        for setting in policy.into_iter().chain(asked) {
            settings.push(command(setting).await?);
        }
        let mut prompt = (!start.input.is_empty()).then_some(Command::StartTurn {
            input: start.input,
            meta: None,
            client_turn_id: start.client_turn_id,
            replaces: None,
        });
        // The earlier messages of the session come first.
        let first_turn = match prompt.take_if(|_| !has_session) {
            Some(prompt) => Some(command(prompt).await?),
            None => None,
        };
        Ok(NewThread {
            thread,
            created: Some(created),
            claim,
            initial,
            settings,
            first_turn,
            prompt,
            ended: None,
        })
    }

    /// Waits until a new thread is ready. Returns its first turn, if it has one.
    async fn finish(&self, new: NewThread, by: Origin) -> Result<Option<TurnView>, Failure> {
        let thread = new.thread;
        if let Some(created) = new.created {
            await_reply::<()>(created).await?;
        }
        // From here on the log records which thread uses the session.
        drop(new.claim);
        let first_turn = match new.prompt {
            Some(prompt) => Some(self.directory.command(thread, by, prompt).await?),
            None => new.first_turn,
        };
        for option in new.initial {
            drop(await_any(option).await);
        }
        for setting in new.settings {
            await_any(setting).await.map_err(|failure| Failure {
                message: format!("the thread {thread} was started, but {}", failure.message),
                ..failure
            })?;
        }
        match first_turn {
            Some(answer) => await_reply(answer).await.map(Some),
            None => Ok(new.ended),
        }
    }

    /// Reserves a session for a new thread. Only one thread may use a session, because two would not know of each
    /// other's turns. A thread that never got the session does not count.
    async fn begin_with(&self, agent: &str, session: &str) -> Result<SessionClaim, Failure> {
        let conflict = |message: String| Failure::new(ErrorCode::Conflict, message);
        let start = self.state.session_claims.begin(agent, session);
        let start =
            start.ok_or_else(|| conflict("another thread is being started with this session".into()))?;
        let filter = Filter {
            agent: Some(agent.to_owned()),
            session_id: Some(session.to_owned()),
            ..Filter::default()
        };
        let found = self.context.log.list(filter, None, LIST_PAGE).await;
        for ListedThread { thread, .. } in found.map_err(|error| log_failure(&error))? {
            if self.directory.look(thread).await?.bound {
                let message = format!("thread {thread} already uses this session");
                return Err(conflict(message));
            }
        }
        Ok(start)
    }
}
