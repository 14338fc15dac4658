//! Callbacks of the agent: which of them are carried out, and what comes of it.

use acpd_model::limits::{AGENT_CALL_BYTES, AGENT_CALLS, SMALL_CALL_BYTES};
use acpd_model::{
    ErrorCode, EventKind, Failure, ItemEnd, ItemId, ItemOutcome, ItemStart, Origin, PreviousContent, RawJson,
    TurnId,
};
use serde_json::{Value, json};

use super::command::{HostCall, HostReply};
use super::delegated::{Delegation, Responder};
use super::thread::{AgentState, Thread};
use crate::agent::{AgentCommand, Call, TerminalExit, not_found};
use crate::projection::{ItemView, unified_diff};
use crate::wire::{self, RpcError};

/// A callback that the machine works on, with what its end needs to know.
#[derive(Debug)]
pub(super) enum HostTask {
    Read {
        path: String,
    },
    Write {
        path: String,
        content: String,
        item: Option<ItemId>,
        /// The turn in which it was begun.
        turn: Option<TurnId>,
    },
    Create {
        terminal_id: String,
        command: String,
        args: Vec<String>,
        cwd: String,
    },
    Kill {
        terminal_id: String,
    },
    Release {
        terminal_id: String,
    },
    Other,
    /// A terminal in an editor is released once its last output is known.
    QueuedRelease(String),
    /// An editor does it.
    Delegated(Box<Delegation>),
}

impl HostTask {
    /// Whether the machine is another one afterwards.
    pub(super) fn changes(&self) -> bool {
        match self {
            Self::Delegated(delegation) => delegation.changes(),
            _ => !matches!(self, Self::Read { .. } | Self::Other | Self::QueuedRelease(_)),
        }
    }

    /// The method it came as, if a failure of it is worth a place in the record.
    fn recorded_method(&self) -> Option<&'static str> {
        match self {
            Self::Read { .. } => Some("fs/read_text_file"),
            Self::Write { .. } => Some("fs/write_text_file"),
            Self::Create { .. } => Some("terminal/create"),
            _ => None,
        }
    }

    /// Whether it is recorded even when the agent that wanted it is gone: it happens all the same.
    pub(super) fn outlives_agent(&self) -> bool {
        match self {
            Self::Delegated(delegation) => delegation.outlives_agent(),
            _ => matches!(self, Self::Write { .. } | Self::Create { .. }),
        }
    }
}

impl Thread {
    /// Whether something that was begun will still change what is known, though nobody may wait for it.
    pub fn has_pending_work(&self) -> bool {
        self.is_changing() || !self.final_outputs.is_empty()
    }

    /// Whether something that was begun will still change the machine.
    pub(super) fn is_changing(&self) -> bool {
        self.host_tasks.values().any(HostTask::outlives_agent)
    }

    /// Whether the file change is a write that the machine, or an editor, is at.
    pub(super) fn is_being_written(&self, change: ItemId) -> bool {
        self.host_tasks.values().any(|work| match work {
            HostTask::Write { item, .. } => *item == Some(change),
            HostTask::Delegated(delegation) => delegation.item == Some(change),
            _ => false,
        })
    }

    /// Whether nobody waits for the answer to a callback any more.
    pub(super) fn is_abandoned(&self, call: u64) -> bool {
        call < self.calls_abandoned
    }

    pub(super) fn handle_call(&mut self, call: u64, request: Call, raw_params: Option<RawJson>) {
        if self.agent == AgentState::Stopping {
            return self.refuse_stopping(call, &request);
        }
        if self.host_tasks.len() + self.approvals.len() >= AGENT_CALLS {
            let message = format!("too many requests in flight from this agent (limit {AGENT_CALLS})");
            return self.refuse_call(call, &Failure::new(ErrorCode::Overloaded, message));
        }
        let bytes = request.bytes() + raw_params.as_ref().map_or(0, |raw_params| raw_params.get().len());
        if let Err(failure) = self.hold(call, bytes) {
            return self.refuse_and_record(call, request.method(), &failure);
        }
        self.raw_params
            .extend(raw_params.map(|raw_params| (call, raw_params)));
        self.evaluate(call, request);
    }

    /// Notes what a callback holds in memory until it is done. One that is larger than all the room is taken when there is no
    /// other.
    fn hold(&mut self, call: u64, bytes: usize) -> Result<(), Failure> {
        if bytes <= SMALL_CALL_BYTES {
            return Ok(());
        }
        let (host_tasks, approvals) = (&self.host_tasks, &self.approvals);
        self.large_calls
            .retain(|call, _| host_tasks.contains_key(call) || approvals.holds(*call));
        let held: usize = self.large_calls.values().sum();
        if held > 0 && held + bytes > AGENT_CALL_BYTES as usize {
            let message = format!(
                "the unanswered requests of this agent hold {held} bytes already, and this one has {bytes} \
                 (limit {AGENT_CALL_BYTES} bytes): wait for an answer first"
            );
            return Err(Failure::new(ErrorCode::Overloaded, message));
        }
        self.large_calls.insert(call, bytes);
        Ok(())
    }

    /// One that was told to go gets nothing done any more.
    fn refuse_stopping(&mut self, call: u64, request: &Call) {
        let failure = Failure::new(ErrorCode::Conflict, "this agent is being stopped");
        self.refuse_and_record(call, request.method(), &failure);
    }

    /// Has it done what was decided on; `at` is where its file was then.
    pub(super) fn run_call(&mut self, call: u64, request: Call, at: Option<String>) {
        match self.responder(&request) {
            Responder::Daemon => self.run_on_host(call, request, at),
            Responder::Editor(connection) => self.delegate(call, request, at, connection),
            Responder::Lost => self.answer_lost(call, request),
        }
    }

    pub(super) fn run_on_host(&mut self, call: u64, request: Call, at: Option<String>) {
        self.raw_params.remove(&call);
        match request {
            // Questions are never carried out.
            Call::Permission { .. } | Call::Elicit { .. } => {}
            Call::ReadFile { path, line, limit } => {
                self.host_tasks
                    .insert(call, HostTask::Read { path: path.clone() });
                let what = HostCall::ReadFile {
                    path,
                    at,
                    line,
                    limit,
                };
                self.journal.call_host(call, what);
            }
            Call::WriteFile { path, content } => {
                let item = self.begin_change(&path, Origin::Agent);
                self.write_on_host(call, path, at, content, item);
            }
            Call::CreateTerminal {
                command,
                args,
                env,
                cwd,
                output_byte_limit,
            } => {
                self.create_terminal(call, command, args, env, cwd, output_byte_limit);
            }
            Call::TerminalOutput { terminal_id } => {
                self.other(call, HostCall::TerminalOutput { terminal_id })
            }
            Call::WaitForTerminalExit { terminal_id } => {
                self.other(call, HostCall::WaitForTerminalExit { terminal_id });
            }
            Call::KillTerminal { terminal_id } => {
                let work = HostTask::Kill {
                    terminal_id: terminal_id.clone(),
                };
                self.host_tasks.insert(call, work);
                self.journal
                    .call_host(call, HostCall::KillTerminal { terminal_id });
            }
            Call::ReleaseTerminal { terminal_id } => {
                let work = HostTask::Release {
                    terminal_id: terminal_id.clone(),
                };
                self.host_tasks.insert(call, work);
                self.journal
                    .call_host(call, HostCall::ReleaseTerminal { terminal_id });
            }
            Call::Extension { method, params } => self.refuse_extension(call, method, params),
        }
    }

    /// Nobody is there who might know it.
    fn refuse_extension(&mut self, call: u64, method: String, params: Option<RawJson>) {
        let error = not_found(&method);
        let reason = error.message.clone();
        let kind = EventKind::CallRefused { method, reason };
        self.journal.emit(Origin::Agent, kind, params);
        let result = Err(error);
        self.send_to_agent(AgentCommand::Answer { call, result });
    }

    fn other(&mut self, call: u64, what: HostCall) {
        self.host_tasks.insert(call, HostTask::Other);
        self.journal.call_host(call, what);
    }

    /// A file that a tool call shows already is that call's file change; another one is a change by itself.
    pub(super) fn begin_change(&mut self, path: &str, by: Origin) -> Option<ItemId> {
        let shown = self.journal.live().items.values().any(|open| {
            open.parent.is_some() && matches!(&open.view, ItemView::File { path: known } if known == path)
        });
        if shown {
            return None;
        }
        let item = self.journal.next_item();
        let kind = EventKind::ItemStarted {
            item,
            parent: None,
            start: ItemStart::FileChange {
                path: path.to_owned(),
            },
        };
        self.journal.emit(by, kind, None);
        Some(item)
    }

    /// Writes a file whose change was begun.
    pub(super) fn write_on_host(
        &mut self,
        call: u64,
        path: String,
        at: Option<String>,
        content: String,
        item: Option<ItemId>,
    ) {
        self.host_tasks.insert(
            call,
            HostTask::Write {
                path: path.clone(),
                content: content.clone(),
                item,
                turn: self.journal.current_turn(),
            },
        );
        self.journal
            .call_host(call, HostCall::WriteFile { path, at, content });
    }

    pub(super) fn handle_host_reply(&mut self, call: u64, result: Result<HostReply, Failure>) {
        // What an editor has was not begun here, whatever is said to be done.
        if matches!(
            self.host_tasks.get(&call),
            Some(HostTask::Delegated(_) | HostTask::QueuedRelease(_))
        ) {
            return;
        }
        // What only the agent wanted to know is of no use when it withdrew the question, or is gone.
        let Some(work) = self.host_tasks.remove(&call) else {
            return;
        };
        let reply = match result {
            Ok(reply) => reply,
            Err(failure) if self.is_empty_for(&work, &failure) => HostReply::Read {
                content: String::new(),
            },
            Err(failure) => {
                let method = work.recorded_method();
                if let HostTask::Create { terminal_id, .. } = &work {
                    self.output_limits.remove(terminal_id);
                }
                if let HostTask::Write {
                    path,
                    item: Some(item),
                    ..
                } = work
                {
                    let end = ItemEnd::FileChange {
                        path,
                        diff: String::new(),
                        replaced: None,
                    };
                    let kind = EventKind::ItemCompleted {
                        item,
                        outcome: ItemOutcome::Failed,
                        end,
                    };
                    self.journal.emit(Origin::Daemon, kind, None);
                }
                return match method {
                    Some(method) => self.refuse_and_record(call, method, &failure),
                    None => self.refuse_call(call, &failure),
                };
            }
        };
        let nothing = RawJson::trusted("{}");
        let result = match (work, reply) {
            (HostTask::Read { path }, HostReply::Read { content }) => {
                let bytes = content.len() as u64;
                self.journal
                    .emit(Origin::Agent, EventKind::FileRead { path, bytes }, None);
                wire::object(|result| {
                    result.put("content", &content);
                })
            }
            (
                HostTask::Write {
                    path,
                    content,
                    item,
                    turn,
                },
                HostReply::Written { old },
            ) => {
                self.file_written(path, &content, &old, item, turn, Origin::Agent);
                nothing
            }
            (
                HostTask::Create {
                    terminal_id,
                    command,
                    args,
                    cwd,
                },
                HostReply::Created,
            ) => {
                let result = RawJson::from(json!({ "terminalId": terminal_id }));
                self.terminal_created(call, terminal_id, command, args, cwd, Origin::Agent);
                result
            }
            (
                _,
                HostReply::Output {
                    output,
                    truncated,
                    exit,
                },
            ) => wire::object(|result| {
                result.put("output", &output).put("truncated", &truncated);
                result.put("exitStatus", &exit.as_ref().map(exit_json));
            }),
            (_, HostReply::Exited(exit)) => exit_json(&exit).into(),
            (HostTask::Kill { terminal_id }, _) => {
                let kind = EventKind::TerminalKilled { terminal_id };
                self.journal.emit(Origin::Agent, kind, None);
                nothing
            }
            (HostTask::Release { terminal_id }, _) => {
                let kind = EventKind::TerminalReleased { terminal_id };
                self.journal.emit(Origin::Agent, kind, None);
                nothing
            }
            _ => nothing,
        };
        self.send_to_agent(AgentCommand::Answer {
            call,
            result: Ok(result),
        });
    }

    /// The agent takes a callback back. JSON-RPC still wants an answer to it.
    pub(super) fn withdraw_call(&mut self, call: u64) {
        self.withdraw_delegation(call);
        // What changes the machine is done all the same, and recorded when it is.
        if self.host_tasks.get(&call).is_some_and(|work| !work.changes()) {
            self.host_tasks.remove(&call);
        }
        let error = RpcError::new(-32800, "request cancelled");
        self.answer_call(call, Err(error));
    }

    /// Refuses what could not be done, so that it is known what the agent tried.
    pub(super) fn refuse_and_record(&mut self, call: u64, method: &str, failure: &Failure) {
        self.journal.emit_refusal(method, failure);
        self.refuse_call(call, failure);
    }

    pub(super) fn refuse_call(&mut self, call: u64, failure: &Failure) {
        self.answer_call(call, Err(failure.into()));
    }

    pub(super) fn answer_call(&mut self, call: u64, result: Result<RawJson, RpcError>) {
        self.send_to_agent(AgentCommand::Answer { call, result });
    }

    /// Some agents take "there is no such file" for a failure of the tool with which they would make it.
    fn is_empty_for(&self, work: &HostTask, failure: &Failure) -> bool {
        let quirky = self
            .capabilities
            .as_ref()
            .is_some_and(|c| c.quirks.missing_file_is_empty);
        quirky && failure.code == ErrorCode::NotFound && matches!(work, HostTask::Read { .. })
    }

    /// A file was written that the agent asked for in the turn `begun`. What is done after that turn is none of
    /// another one's changes.
    pub(super) fn file_written(
        &mut self,
        path: String,
        content: &str,
        old: &PreviousContent,
        item: Option<ItemId>,
        begun: Option<TurnId>,
        by: Origin,
    ) {
        let turn = self.journal.current_turn();
        let bytes = content.len() as u64;
        let written = Some(self.journal.content(content));
        self.journal.emit(
            by.clone(),
            EventKind::FileWritten {
                path: path.clone(),
                bytes,
                replaced: Some(old.replaced()),
                content: written,
            },
            None,
        );
        let Some(item) = item else { return };
        let diff = unified_diff(&path, old, content);
        if turn == begun {
            self.journal.note_file_change(&path, old, content);
        }
        let replaced = Some(old.replaced());
        let end = ItemEnd::FileChange { path, diff, replaced };
        self.journal.emit(
            by,
            EventKind::ItemCompleted {
                item,
                outcome: ItemOutcome::Completed,
                end,
            },
            None,
        );
    }
}

fn exit_json(exit: &TerminalExit) -> Value {
    json!({ "exitCode": exit.code, "signal": exit.signal })
}
