//! The state of a running thread. Finished items leave it, so that it stays small even for a long thread.

use std::collections::{BTreeMap, VecDeque};

use acpd_model::event::{Binding, LeaseHolder, QuestionTopic, ThreadCreated, TurnStatus};
use acpd_model::item::ToolStatus;
use acpd_model::usage::DailyUsage;
use acpd_model::{
    Event, EventKind, HostEvent, ItemEvent, ItemId, ItemStart, MessageType, Millis, Origin, RawJson,
    RequestEvent, Seq, SessionEvent, Summary, ThreadEvent, ThreadId, ThreadStatus, TurnEvent, TurnId,
};
use serde::{Deserialize, Serialize};

use super::background::{BackgroundReport, background_report};
use super::choices::Choices;
use super::cursors::Cursors;
use super::dropped_turns::DroppedTurns;
use super::item::ItemView;
use super::known_tools::{KnownTools, ToolRef};
use super::lanes::Lanes;
use super::notes::{AGENT_DECIDES, DIRECTORY_GONE, NoteCount};
use super::open_items::{OpenItem, OpenItems};
use super::open_requests::OpenRequest;
use super::plans::{Plan, Plans};
use super::session_state::SessionState;
use super::spec::Spec;
use super::spending::{Spending, read_cost, write_cost};
use super::steering::Steers;
use super::thread_names::ThreadNames;
use super::used_ids::UsedIds;
use super::waiting::waiting_question;
use crate::agent::{Capabilities, SystemPromptModes, Update, UpdateKind};
use crate::wire::may_have;
use acpd_policy::{Policy, Remembered, RememberedRule, Scope};

/// The side that ends a turn before the agent does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Interrupter {
    /// A client requested the interruption.
    Client,
    /// The daemon, because the agent was silent for too long.
    Daemon,
}

/// The running turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningTurn {
    /// Id of the turn.
    pub id: TurnId,
    /// When the turn started.
    pub started_at: Millis,
    /// The side that interrupted the turn, if any; the client if both did.
    pub interrupted: Option<Interrupter>,
    /// Number of calls that the policy allowed without a permission request.
    pub permitted: u32,
    /// Whether the agent began the turn, without a prompt.
    #[serde(default)]
    pub by_agent: bool,
    /// Milliseconds in which a question waited for its answer, without the present wait.
    pub waited_ms: u64,
    /// When the present wait began: since then, at least one question is open.
    pub waiting_since: Option<Millis>,
}

impl RunningTurn {
    /// Returns the milliseconds in which a question waited, up to the time `at`.
    pub fn waited_until(&self, at: Millis) -> u64 {
        let present = self.waiting_since.map_or(0, |since| at.saturating_sub(since));
        // Clocks can be set back.
        self.waited_ms
            .saturating_add(u64::try_from(present).unwrap_or_default())
    }

    fn begin_wait(&mut self, at: Millis) {
        self.waiting_since.get_or_insert(at);
    }

    fn end_wait(&mut self, at: Millis) {
        self.waited_ms = self.waited_until(at);
        self.waiting_since = None;
    }
}

/// A turn in the queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueuedTurn {
    /// Id of the turn.
    pub id: TurnId,
    /// ACP content blocks.
    pub input: Vec<RawJson>,
    /// `_meta` of the prompt, for the agent.
    pub meta: Option<RawJson>,
    /// The client's own id for the turn.
    pub client_turn_id: Option<String>,
    /// The client that sent the prompt.
    pub by: Origin,
}

/// A turn to which a client assigned an id of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientTurn {
    /// The daemon's id of the turn.
    pub id: TurnId,
    /// The result of the turn, once it has ended.
    pub status: Option<TurnStatus>,
}

/// The capabilities of an agent that matter while it does not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DeclaredCapabilities {
    /// Supports `session/fork`.
    pub fork: bool,
    /// Supports `session/delete`.
    pub delete: bool,
    /// Supports MCP servers over HTTP.
    pub mcp_http: bool,
    /// Supports MCP servers over server-sent events.
    pub mcp_sse: bool,
    /// The system prompts that it takes.
    #[serde(default)]
    pub system_prompt: SystemPromptModes,
    /// Speaks version 2 of ACP in its present session.
    #[serde(default)]
    pub speaks_v2: bool,
}

/// The bounded state on which a thread bases its decisions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Live {
    /// Id of the thread.
    pub thread: ThreadId,
    /// Number of the last folded event.
    pub last_seq: Seq,
    /// Weight of all folded events, in bytes; see [`Event::weight`].
    pub weight: u64,
    /// The thread's list entry.
    pub summary: Summary,
    /// The thread's possible names; one of them is shown.
    pub names: ThreadNames,
    /// Number of the last turn, including dropped ones.
    pub last_turn: u32,
    /// Turns that are no longer part of the conversation.
    pub dropped: DroppedTurns,
    /// The agent's capabilities at its last start.
    pub declared: DeclaredCapabilities,
    /// The settings that the thread was created with, and its session params.
    pub spec: Spec,
    /// The client that answers the agent's requests for files and terminals instead of the daemon.
    pub lease: Option<LeaseHolder>,
    /// Whether the thread ever had an agent session.
    pub bound: bool,
    /// Whether the agent of this session has asked about a command, or acpd or an editor has run one for it.
    pub asks_commands: bool,
    /// Whether the agent of this session has asked about the change of a file, or acpd or an editor has changed one for it.
    pub asks_changes: bool,
    /// Whether a notice says that the agent decides by itself what it may do.
    pub says_agent_decides: bool,
    /// Whether a notice since the start of the last turn says that the directory of the thread is gone.
    pub says_directory_gone: bool,
    /// The running turn.
    pub turn: Option<RunningTurn>,
    /// Queued turns, in order.
    pub queue: VecDeque<QueuedTurn>,
    /// Whether no queued turn starts by itself. Never set for an empty queue.
    pub queue_paused: bool,
    /// Client turn ids and their turns. A repeated id refers to the same turn.
    pub client_turns: BTreeMap<String, ClientTurn>,
    /// Unfinished items, in the order of their start.
    pub items: OpenItems,
    /// The session's tool calls, by the agent's ids.
    pub tools: KnownTools,
    /// The subagents.
    pub lanes: Lanes,
    /// The agent's ids of all messages and tool calls.
    pub used_ids: UsedIds,
    /// The positions at which the agent forks its session.
    pub cursors: Cursors,
    /// Unanswered questions, by number.
    pub requests: BTreeMap<u32, OpenRequest>,
    /// The highest number in the id of a terminal.
    pub last_terminal: u64,
    /// Number of the last item.
    pub last_item: u32,
    /// The turn that is shown last: the last one that started, or ended without a start.
    pub last_turn_shown: Option<TurnId>,
    /// Notes at the current place.
    pub notes: NoteCount,
    /// Messages for the running turn that the agent has not taken yet.
    pub steers: Steers,
    /// Number of the last question.
    pub last_request: u32,
    /// Id of the current mode.
    pub mode: Option<String>,
    /// The modes of the session, as ACP's `modes`.
    pub modes: Option<RawJson>,
    /// Id of the current model, for agents with `models`.
    pub model: Option<String>,
    /// The models of the session. Older agents have them instead of a config option.
    pub models: Option<RawJson>,
    /// Whether the agent does not know the earlier turns: its session is new and has not processed a turn yet.
    pub forgotten: bool,
    /// Whether the session is a copy that the agent has made of another thread's, and that this thread has not opened yet.
    pub is_copy: bool,
    /// The options of the session, as ACP's list.
    pub config_options: Option<RawJson>,
    /// What users chose for the session.
    pub choices: Choices,
    /// The slash commands, as ACP's update.
    pub commands: Option<RawJson>,
    /// What the agent does beside its turn, as version 2 of ACP lists it.
    pub background: Option<RawJson>,
    /// The thread's own permission policy.
    pub policy: Option<Policy>,
    /// Answers that apply to later questions as well.
    pub remembered: Remembered,
    /// The agent's plans.
    pub plans: Plans,
    /// The token usage, as its event. Boxed, because many idle threads have none.
    pub usage: Option<Box<EventKind>>,
    /// What of the agent's reports is counted in the usage of the summary.
    pub spending: Spending,
}

/// Maximum number of client turn ids to store; the oldest are removed first.
const CLIENT_TURNS: usize = 256;

impl Live {
    /// Returns about how many bytes an answer has that describes the thread without its turns.
    pub fn described_bytes(&self) -> usize {
        let json = [&self.modes, &self.models, &self.config_options, &self.commands];
        let json = json.into_iter().flatten().map(|json| json.get().len());
        let steers = self.steers.iter().map(|steer| steer.text.len());
        self.summary.weight()
            + json.sum::<usize>()
            // The plan with steps that changed last is there twice.
            + self.plans.bytes()
            + self.plans.latest_steps().map_or(0, Plan::bytes)
            + steers.sum::<usize>()
    }

    /// Creates the state of a thread without events.
    pub fn new(thread: ThreadId) -> Self {
        Self {
            thread,
            last_seq: 0,
            weight: 0,
            summary: Summary::default(),
            names: ThreadNames::default(),
            last_turn: 0,
            dropped: DroppedTurns::default(),
            declared: DeclaredCapabilities::default(),
            spec: Spec::default(),
            lease: None,
            bound: false,
            asks_commands: false,
            asks_changes: false,
            says_agent_decides: false,
            says_directory_gone: false,
            turn: None,
            queue: VecDeque::new(),
            queue_paused: false,
            client_turns: BTreeMap::new(),
            items: OpenItems::default(),
            tools: KnownTools::default(),
            lanes: Lanes::default(),
            used_ids: UsedIds::default(),
            cursors: Cursors::default(),
            requests: BTreeMap::new(),
            last_terminal: 0,
            last_item: 0,
            last_turn_shown: None,
            notes: NoteCount::default(),
            steers: Steers::default(),
            last_request: 0,
            mode: None,
            modes: None,
            model: None,
            models: None,
            forgotten: false,
            is_copy: false,
            config_options: None,
            choices: Choices::default(),
            commands: None,
            background: None,
            policy: None,
            remembered: Remembered::default(),
            plans: Plans::default(),
            usage: None,
            spending: Spending::default(),
        }
    }

    /// Returns what the thread has cost once the agent has reported this cost of its session, as ACP's `Cost`.
    pub fn cost_with(&self, reported: &RawJson) -> Option<RawJson> {
        let (currency, _) = read_cost(reported)?;
        let known = self.summary.usage.as_deref().map(DailyUsage::total);
        let known = known
            .and_then(|total| total.costs.get(&currency).copied())
            .unwrap_or(0);
        let added = self.spending.clone().report(reported);
        let added = added
            .and_then(|spent| spent.costs.get(&currency).copied())
            .unwrap_or(0);
        let nanos = known.saturating_add(added);
        (nanos > 0).then(|| write_cost(&currency, nanos))
    }

    /// Applies the next event. Returns whether the summary changed.
    pub fn fold(&mut self, event: &Event) -> bool {
        debug_assert_eq!(event.seq, self.last_seq + 1, "events are folded in order");
        self.last_seq = event.seq;
        self.weight += event.weight() as u64;
        self.notes.count(self.note_place(), event);
        self.steers.fold(event);
        if let Some(spent) = self.spending.fold(&event.kind) {
            // Stored with the next change of the summary, at the latest when the turn ends.
            self.summary.usage.get_or_insert_default().add(event.at, &spent);
        }
        match &event.kind {
            EventKind::Thread(kind) => self.fold_thread(event, kind),
            EventKind::Session(kind) => self.fold_session(event, kind),
            EventKind::Turn(kind) => self.fold_turn(event, kind),
            EventKind::Item(kind) => self.fold_item(event, kind),
            EventKind::Host(kind) => {
                self.fold_host(event, kind);
                false
            }
            EventKind::Request(kind) => self.fold_request(event, kind),
            EventKind::Unknown => false,
        }
    }

    /// Returns whether the summary changed.
    fn fold_thread(&mut self, event: &Event, kind: &ThreadEvent) -> bool {
        match kind {
            ThreadEvent::Created(made) => {
                let ThreadCreated {
                    agent,
                    cwd,
                    name,
                    project_id,
                    metadata,
                    session_id,
                    ..
                } = &**made;
                self.spec = Spec::from(&**made);
                self.names.person.clone_from(name);
                self.summary = Summary {
                    agent: agent.clone(),
                    cwd: cwd.clone(),
                    name: name.clone(),
                    project_id: project_id.clone(),
                    metadata: metadata.clone(),
                    session_id: session_id.clone(),
                    created_at: event.at,
                    updated_at: event.at,
                    usage: Some(Box::default()),
                    ..Summary::default()
                };
            }
            ThreadEvent::StatusChanged { status } => self.summary.status = *status,
            ThreadEvent::Renamed { name, .. } => {
                self.names.person.clone_from(name);
                self.summary.name = self.names.shown().cloned();
            }
            ThreadEvent::MetadataSet { metadata } => self.summary.metadata.clone_from(metadata),
            ThreadEvent::DirectoriesSet(directories) => {
                self.says_directory_gone = false;
                self.summary.cwd.clone_from(&directories.cwd);
                self.spec.set_directories((**directories).clone());
            }
            ThreadEvent::PinSet { pinned, place } => {
                self.summary.pinned = *pinned;
                self.summary.pin_place = *place;
            }
            ThreadEvent::Archived {} => self.summary.archived = true,
            ThreadEvent::Unarchived {} => self.summary.archived = false,
            ThreadEvent::Deleted { .. } => self.summary.status = ThreadStatus::Deleting,
            ThreadEvent::Forked(forked) => self.fold_forked(forked, event.at),
            ThreadEvent::TurnsRolledBack {
                last_kept,
                session_id,
                ..
            } => self.fold_rolled_back(*last_kept, session_id.clone()),
            ThreadEvent::LeaseMoved { holder, .. } => {
                self.lease = holder.as_deref().cloned();
                return false;
            }
            ThreadEvent::PolicySet { policy } => {
                self.policy = policy.as_ref().and_then(|policy| policy.read().ok());
                return false;
            }
        }
        true
    }

    /// Returns whether the summary changed.
    fn fold_turn(&mut self, event: &Event, kind: &TurnEvent) -> bool {
        match kind {
            TurnEvent::Queued {
                input,
                meta,
                client_turn_id,
            } => {
                let Some(id) = event.turn else { return true };
                let queued = QueuedTurn {
                    id,
                    input: input.clone(),
                    meta: meta.clone(),
                    client_turn_id: client_turn_id.clone(),
                    by: event.by.clone(),
                };
                match self.queue.iter_mut().find(|known| known.id == id) {
                    Some(known) => *known = queued,
                    None => {
                        self.count_turn(id, client_turn_id.as_ref());
                        self.queue.push_back(queued);
                    }
                }
            }
            TurnEvent::QueueChanged { order, paused } => {
                let place = |turn: &QueuedTurn| order.iter().position(|id| *id == turn.id);
                let turns = self.queue.make_contiguous();
                turns.sort_by_key(|turn| place(turn).unwrap_or(usize::MAX));
                self.queue_paused = *paused && !self.queue.is_empty();
            }
            TurnEvent::Started {
                client_turn_id,
                imported,
            } => {
                let Some(id) = event.turn else { return true };
                self.count_turn(id, client_turn_id.as_ref());
                self.last_turn_shown = Some(id);
                self.summary.updated_at = event.at;
                if *imported {
                    return true;
                }
                self.leave_queue(id);
                self.says_directory_gone = false;
                self.turn = Some(RunningTurn {
                    id,
                    started_at: event.at,
                    interrupted: None,
                    permitted: 0,
                    by_agent: event.by == Origin::Agent,
                    waited_ms: 0,
                    // A question that was open before waits from now on in this turn.
                    waiting_since: (!self.requests.is_empty()).then_some(event.at),
                });
            }
            TurnEvent::Settled {
                status,
                stop_reason,
                error,
                started_at,
                ..
            } => {
                // The agent has processed a prompt, including the history that was sent with it.
                if stop_reason.is_some() {
                    self.forgotten = false;
                }
                event.turn.into_iter().for_each(|turn| self.leave_queue(turn));
                // Later work of the agent is no outcome of what a user asked for.
                let by_agent = self
                    .turn
                    .is_some_and(|turn| turn.by_agent && Some(turn.id) == event.turn);
                self.turn = self.turn.filter(|turn| Some(turn.id) != event.turn);
                for turn in self.client_turns.values_mut() {
                    if Some(turn.id) == event.turn {
                        turn.status = Some(*status);
                    }
                }
                // A turn that was removed from the queue does not change the state of the conversation.
                if !by_agent && (started_at.is_some() || *status != TurnStatus::Interrupted) {
                    self.summary.last_turn = Some(*status);
                    self.summary.cut_off = *status == TurnStatus::Interrupted && error.is_some();
                }
                if started_at.is_none() {
                    self.last_turn_shown = event.turn.or(self.last_turn_shown);
                } else {
                    self.lanes.turn_settled();
                }
                self.summary.updated_at = event.at;
            }
            TurnEvent::InterruptRequested {} => {
                let by_client = matches!(event.by, Origin::Client(_));
                if let Some(turn) = &mut self.turn {
                    turn.interrupted = match turn.interrupted {
                        Some(Interrupter::Client) => turn.interrupted,
                        _ if by_client => Some(Interrupter::Client),
                        _ => Some(Interrupter::Daemon),
                    };
                }
                return false;
            }
            // A subagent's plan is not the thread's.
            TurnEvent::PlanReplaced { .. } | TurnEvent::PlanRemoved { .. } if event.lane.is_some() => {
                return false;
            }
            TurnEvent::PlanReplaced { .. } | TurnEvent::PlanRemoved { .. } => {
                self.plans.fold(event);
                return false;
            }
            TurnEvent::UsageUpdated { .. } => {
                self.usage = Some(Box::new(event.kind.clone()));
                return false;
            }
            TurnEvent::DiffUpdated { .. } | TurnEvent::SteerRequested { .. } => return false,
        }
        true
    }

    fn leave_queue(&mut self, id: TurnId) {
        self.queue.retain(|queued| queued.id != id);
        self.queue_paused &= !self.queue.is_empty();
    }

    fn count_turn(&mut self, id: TurnId, client_turn_id: Option<&String>) {
        if id.0 > self.last_turn {
            self.last_turn = id.0;
            self.summary.turns += 1;
        }
        let Some(name) = client_turn_id else { return };
        self.client_turns
            .insert(name.clone(), ClientTurn { id, status: None });
        if self.client_turns.len() > CLIENT_TURNS {
            let oldest = self
                .client_turns
                .iter()
                .min_by_key(|(_, turn)| turn.id)
                .map(|(name, _)| name.clone());
            if let Some(oldest) = oldest {
                self.client_turns.remove(&oldest);
            }
        }
    }

    /// Returns whether the summary changed.
    fn fold_item(&mut self, event: &Event, kind: &ItemEvent) -> bool {
        match kind {
            ItemEvent::Started { item, parent, start } => {
                self.last_item = self.last_item.max(item.0);
                if let ItemStart::ToolCall {
                    tool_call_id, status, ..
                } = start
                {
                    let call = ToolRef {
                        item: *item,
                        status: *status,
                        repeats_id: event.repeats_id,
                        lane: event.lane,
                    };
                    self.tools.begin(tool_call_id, call);
                }
                self.used_ids.insert(start);
                let turn = event.turn.or_else(|| self.last_begun());
                // Cursors are of the main session, where a subagent's items are not.
                if let Some(turn) = turn.filter(|_| event.lane.is_none()) {
                    self.cursors.item_started(turn, *item, start);
                }
                if let ItemStart::TerminalCommand { terminal_id, .. } = start {
                    let number = terminal_id.strip_prefix("term_").and_then(|n| n.parse().ok());
                    self.last_terminal = self.last_terminal.max(number.unwrap_or_default());
                    if start.requester() == Origin::Agent {
                        self.asks(None);
                    }
                }
                let view = ItemView::new(start, event.raw.as_ref());
                self.items.insert(
                    *item,
                    OpenItem {
                        turn,
                        seq: event.seq,
                        started_at: event.at,
                        bytes: event.weight() as u64,
                        start: start.clone(),
                        parent: *parent,
                        repeats_id: event.repeats_id,
                        lane: event.lane,
                        view,
                    },
                );
            }
            ItemEvent::Completed { item, .. } => {
                if let Some(ItemView::Tool(tool)) = self.items.remove(*item).map(|open| open.view) {
                    self.note_finished(&tool, *item, event);
                }
            }
            ItemEvent::UserMessageAdded { item, content } => {
                self.items.apply(*item, &event.kind, event.raw.as_ref());
                if self.names.prompt.is_none() {
                    self.names.prompted(content);
                    self.summary.name = self.names.shown().cloned();
                    return true;
                }
            }
            ItemEvent::Delta { item, .. }
            | ItemEvent::Content { item, .. }
            | ItemEvent::Updated { item, .. } => {
                self.items.apply(*item, &event.kind, event.raw.as_ref());
            }
        }
        false
    }

    /// Records that what the agent does is asked about, or done for it. A command may change files as well.
    fn asks(&mut self, about: Option<QuestionTopic>) {
        self.asks_commands |= about != Some(QuestionTopic::FileChange);
        self.asks_changes |= about != Some(QuestionTopic::CommandExecution);
    }

    fn note_finished(&mut self, tool: &super::ToolView, item: ItemId, event: &Event) {
        let status = if tool.status().is_final() {
            tool.status()
        } else {
            ToolStatus::Failed
        };
        if let Some(id) = tool.read::<String>("toolCallId") {
            let call = ToolRef {
                item,
                status,
                repeats_id: event.repeats_id,
                lane: event.lane,
            };
            self.tools.end(&id, call);
        }
    }

    /// Returns whether an event is about a message or a tool call to which the agent gave the id of an earlier one.
    pub fn repeats_id(&self, kind: &EventKind) -> bool {
        if let EventKind::Item(ItemEvent::Started { start, .. }) = kind {
            return self.used_ids.contains(start);
        }
        let Some(item) = kind.named_item() else {
            return false;
        };
        match self.items.get(&item) {
            Some(open) => open.repeats_id,
            // Agents also report on calls that have ended.
            None => self.tools.repeats_id(item),
        }
    }

    fn add_request(&mut self, open: OpenRequest) {
        self.last_request = self.last_request.max(open.id.number);
        if let Some(turn) = &mut self.turn {
            turn.begin_wait(open.event.at);
        }
        self.requests.insert(open.id.number, open);
    }

    fn fold_host(&mut self, event: &Event, kind: &HostEvent) {
        match kind {
            HostEvent::TerminalOutput { item, .. }
            | HostEvent::TerminalWaiting { item, .. }
            | HostEvent::TerminalInput { item, .. } => {
                self.items.apply(*item, &event.kind, event.raw.as_ref());
            }
            HostEvent::FileWritten { .. } => {
                self.asks(Some(QuestionTopic::FileChange));
            }
            HostEvent::FileRead { .. }
            | HostEvent::TerminalKilled { .. }
            | HostEvent::TerminalReleased { .. } => {}
        }
    }

    /// Returns whether the summary changed.
    fn fold_session(&mut self, event: &Event, kind: &SessionEvent) -> bool {
        match kind {
            SessionEvent::InfoUpdated { title, .. } => {
                if let Some(BackgroundReport { list, .. }) = background_report(event) {
                    self.background = Some(list);
                }
                if let Some(title) = title {
                    self.names.agent = Some(title.clone());
                    self.summary.name = self.names.shown().cloned();
                }
                return true;
            }
            SessionEvent::AgentBound {
                session_id,
                session,
                how,
                agent,
                protocol,
            } => {
                let agent = Capabilities::read(agent);
                self.declared = DeclaredCapabilities {
                    fork: agent.fork,
                    delete: agent.delete,
                    mcp_http: agent.mcp_http,
                    mcp_sse: agent.mcp_sse,
                    system_prompt: agent.system_prompt,
                    speaks_v2: *protocol == Some(2),
                };
                let before = self.summary.session_id.clone();
                self.fold_bound(session_id, *how, session);
                return self.summary.session_id != before;
            }
            SessionEvent::NoticeGiven { code, .. } => {
                self.says_agent_decides |= code == AGENT_DECIDES;
                self.says_directory_gone |= code == DIRECTORY_GONE;
            }
            SessionEvent::SubagentUpdated(patch) => {
                if let Some(lane) = event.lane {
                    self.lanes.fold(lane, patch, event.at);
                }
            }
            SessionEvent::ParamsSet(params) => self.spec.set_params((**params).clone()),
            SessionEvent::ModeChanged { mode_id } => {
                self.mode = Some(mode_id.clone());
                let option = self.options().mode().and_then(|mode| mode.option);
                self.choices.mode_changed(&event.by, mode_id, option.as_deref());
            }
            SessionEvent::ModelChanged { model_id } => {
                self.model = Some(model_id.clone());
                let option = self.options().selector("model").map(|option| option.id);
                self.choices.model_changed(&event.by, model_id, option.as_deref());
            }
            SessionEvent::ConfigOptionsReplaced { chosen } => {
                let update = event.raw.as_ref().and_then(|raw| raw.read::<SessionState>().ok());
                if let Some(options) = update.and_then(|update| update.config_options) {
                    // Without a list in the agent's answer, the event has the known one.
                    if self.config_options.as_ref() != Some(&options) {
                        self.choices
                            .options_reported(&event.by, &options, chosen.is_some());
                    }
                    self.config_options = Some(options);
                }
                if let Some(chosen) = chosen {
                    let options = self.options();
                    let (is_mode, is_model) = (options.is_mode(&chosen.id), options.is_model(&chosen.id));
                    self.choices.option_chosen(&event.by, chosen, is_mode, is_model);
                }
            }
            SessionEvent::CommandsReplaced {} => self.commands.clone_from(&event.raw),
            SessionEvent::CursorUpdated {
                cursor_id,
                place,
                forks,
            } => self.cursors.announced(cursor_id, *place, *forks),
            SessionEvent::AgentNotified { .. } if event.lane.is_none() => {
                if let (Some(turn), Some(id)) = (event.turn, repeated_prompt(event)) {
                    self.cursors.prompt_named(turn, &id);
                }
            }
            // The process has ended, and its work with it.
            SessionEvent::AgentLost { .. } => self.background = None,
            SessionEvent::AgentNotified { .. }
            | SessionEvent::LineMalformed { .. }
            | SessionEvent::CallRefused { .. } => {}
        }
        false
    }

    /// Returns whether the summary changed.
    fn fold_request(&mut self, event: &Event, kind: &RequestEvent) -> bool {
        match kind {
            RequestEvent::PermissionRequested { request, about, .. } => {
                self.asks(Some(*about));
                self.add_request(OpenRequest::new(*request, event));
            }
            RequestEvent::InputRequested { request, .. } => {
                self.add_request(OpenRequest::new(*request, event));
            }
            RequestEvent::Settled { request, .. } | RequestEvent::Voided { request, .. } => {
                self.requests.remove(&request.number);
                if let Some(turn) = self.turn.as_mut().filter(|_| self.requests.is_empty()) {
                    turn.end_wait(event.at);
                }
            }
            RequestEvent::CallPermitted { .. } => {
                if let Some(turn) = &mut self.turn {
                    turn.permitted = turn.permitted.saturating_add(1);
                }
                return false;
            }
            RequestEvent::AnswerRemembered { answer } => {
                // Answers with other scopes are stored elsewhere; the log only records them.
                let rule = answer.read::<RememberedRule>().ok();
                let here = |rule: &RememberedRule| matches!(rule.scope, Scope::Session | Scope::Thread);
                if let Some(rule) = rule.filter(here) {
                    // An answer of an earlier version applied to commands in this directory.
                    self.remembered.restore(rule, self.spec.session_cwd());
                }
                return false;
            }
            RequestEvent::AnswerRevoked { id } => {
                self.remembered.revoke(*id);
                return false;
            }
        }
        self.summary.question = waiting_question(&self.requests, &self.lanes);
        true
    }
}

impl Live {
    fn fold_bound(&mut self, session_id: &str, how: Binding, session: &RawJson) {
        self.forgotten |= how == Binding::New && self.summary.session_id.is_some() && self.summary.turns > 0;
        if self.summary.session_id.as_deref() != Some(session_id) {
            self.tools.clear();
            self.cursors.let_go(&self.dropped);
            self.lanes.end_session();
        }
        self.summary.session_id = Some(session_id.to_owned());
        (self.bound, self.is_copy) = (true, false);
        let opened: SessionState = session.read().unwrap_or_default();
        if how == Binding::New {
            self.remembered.end_session();
            self.cursors.session_began(self.turn.map(|turn| turn.id));
            // The state of an earlier session no longer applies.
            (self.mode, self.modes, self.config_options) = (None, None, None);
            (self.model, self.models) = (None, None);
            (self.asks_commands, self.asks_changes) = (false, false);
        }
        let (mode, model) = (opened.mode(), opened.model());
        if let Some(modes) = opened.modes {
            self.mode = mode;
            self.modes = Some(modes);
        }
        if let Some(models) = opened.models {
            self.model = model;
            self.models = Some(models);
        }
        if let Some(options) = opened.config_options {
            self.config_options = Some(options);
        }
    }
}

/// Returns the id that the agent gives to the prompt, if the event is a part of the prompt that the agent has repeated.
fn repeated_prompt(event: &Event) -> Option<String> {
    let raw = event.raw.as_ref()?.get();
    // Most of these events are others, and some are long.
    if !may_have(raw.as_bytes(), "\"user_message_chunk\"") {
        return None;
    }
    let UpdateKind::Chunk(chunk) = Update::parse(raw, None).ok()?.kind else {
        return None;
    };
    chunk
        .message_id
        .filter(|_| chunk.role == MessageType::UserMessage)
}
