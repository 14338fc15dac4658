//! Callbacks of the agent: files and terminals.

use acpd_model::limits::{AGENT_CALLS, TERMINAL_BYTES, TERMINAL_BYTES_MAX, TERMINALS};
use acpd_model::{Before, By, ErrorCode, EventKind, Failure, ItemEnd, ItemId, ItemOutcome, ItemStart};
use serde_json::{Value, json};

use super::command::{Effect, MachineCall, MachineEvent, MachineReply};
use super::steps::Thread;
use super::undecided::Undecided;
use crate::agent::{AgentCommand, Call, TerminalExit};
use crate::fanout::{Delta, LiveText, Source};
use crate::projection::{ItemView, unified_diff};

/// A callback that the machine works on, with what its end needs to know.
#[derive(Debug)]
pub(super) enum Work {
    /// It is looked up where its paths lead, and then it is decided on.
    Decide(Undecided),
    Read {
        path: String,
    },
    Write {
        path: String,
        content: String,
        item: Option<ItemId>,
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
}

impl Work {
    /// Whether the machine is another one afterwards.
    pub(super) fn changes(&self) -> bool {
        !matches!(self, Self::Decide(_) | Self::Read { .. } | Self::Other)
    }
}

impl Thread {
    pub(super) fn handle_call(&mut self, call: u64, request: Call) {
        if self.working.len() + self.asked.len() + self.held.len() >= AGENT_CALLS {
            let message = format!("{AGENT_CALLS} requests of this agent are unanswered already");
            return self.refuse_call(call, &Failure::new(ErrorCode::Overloaded, message));
        }
        self.consider(call, request);
    }

    /// Does what was decided on; `at` is where its file was then.
    pub(super) fn do_call(&mut self, call: u64, request: Call, at: Option<String>) {
        match request {
            Call::Permission {
                tool_call,
                options,
                raw,
            } => self.permission_requested(call, &tool_call, options, raw),
            Call::Elicit { message, raw } => self.input_requested(call, message, raw),
            Call::ReadFile { path, line, limit } => {
                self.working.insert(call, Work::Read { path: path.clone() });
                let what = MachineCall::ReadFile {
                    path,
                    at,
                    line,
                    limit,
                };
                self.ask_machine(call, what);
            }
            Call::WriteFile { path, content } => self.write_file(call, path, at, content),
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
                self.other(call, MachineCall::TerminalOutput { terminal_id })
            }
            Call::WaitForTerminalExit { terminal_id } => {
                self.other(call, MachineCall::WaitForTerminalExit { terminal_id });
            }
            Call::KillTerminal { terminal_id } => {
                let work = Work::Kill {
                    terminal_id: terminal_id.clone(),
                };
                self.working.insert(call, work);
                self.ask_machine(call, MachineCall::KillTerminal { terminal_id });
            }
            Call::ReleaseTerminal { terminal_id } => {
                let work = Work::Release {
                    terminal_id: terminal_id.clone(),
                };
                self.working.insert(call, work);
                self.ask_machine(call, MachineCall::ReleaseTerminal { terminal_id });
            }
        }
    }

    fn other(&mut self, call: u64, what: MachineCall) {
        self.working.insert(call, Work::Other);
        self.ask_machine(call, what);
    }

    /// A file that a tool call shows already is that call's file change; another one is a change by itself.
    fn write_file(&mut self, call: u64, path: String, at: Option<String>, content: String) {
        let shown = self
            .live
            .items
            .values()
            .any(|open| matches!(&open.view, ItemView::File { path: known } if *known == path));
        let item = (!shown).then(|| self.next_item());
        if let Some(item) = item {
            let start = ItemStart::FileChange { path: path.clone() };
            self.emit(
                self.current_turn(),
                By::Agent,
                EventKind::ItemStarted {
                    item,
                    parent: None,
                    start,
                },
                None,
            );
        }
        self.working.insert(
            call,
            Work::Write {
                path: path.clone(),
                content: content.clone(),
                item,
            },
        );
        self.ask_machine(call, MachineCall::WriteFile { path, at, content });
    }

    fn create_terminal(
        &mut self,
        call: u64,
        command: String,
        args: Vec<String>,
        env: Vec<(String, String)>,
        cwd: Option<String>,
        limit: Option<u64>,
    ) {
        let running = self
            .live
            .items
            .values()
            .filter(|open| matches!(open.view, ItemView::Terminal { .. }))
            .count();
        let creating = self
            .working
            .values()
            .filter(|work| matches!(work, Work::Create { .. }))
            .count();
        if running + creating >= TERMINALS {
            let failure = Failure::new(
                ErrorCode::Overloaded,
                format!("{TERMINALS} terminals are open in this session already"),
            );
            return self.refuse_call(call, &failure);
        }
        // An agent that is known to send a whole shell line means it.
        let quirky = self.capabilities.as_ref().is_some_and(|c| c.quirks.shell_lines);
        let (command, args) = if quirky && args.is_empty() && command.contains(char::is_whitespace) {
            ("/bin/sh".to_owned(), vec!["-c".to_owned(), command])
        } else {
            (command, args)
        };
        let terminal_id = format!("term_{}", call + 1);
        let cwd = cwd.unwrap_or_else(|| self.live.spec.cwd.clone());
        let output_bytes = limit
            .map_or(TERMINAL_BYTES, |limit| {
                usize::try_from(limit).unwrap_or(usize::MAX)
            })
            .min(TERMINAL_BYTES_MAX);
        let work = Work::Create {
            terminal_id: terminal_id.clone(),
            command: command.clone(),
            args: args.clone(),
            cwd: cwd.clone(),
        };
        self.working.insert(call, work);
        self.kept_output.insert(terminal_id.clone(), output_bytes);
        self.ask_machine(
            call,
            MachineCall::CreateTerminal {
                terminal_id,
                command,
                args,
                env,
                cwd,
                output_bytes,
            },
        );
    }

    pub(super) fn handle_machine(&mut self, call: u64, result: Result<MachineReply, Failure>) {
        // What is still being decided on was not begun, whatever is said to be done.
        if matches!(self.working.get(&call), Some(Work::Decide(_))) {
            return;
        }
        // A callback that was withdrawn, or whose agent is gone, has no one to answer to.
        let Some(work) = self.working.remove(&call) else {
            return;
        };
        let reply = match result {
            Ok(reply) => reply,
            Err(failure) if self.is_empty_for(&work, &failure) => MachineReply::Read {
                content: String::new(),
            },
            Err(failure) => {
                if let Work::Create { terminal_id, .. } = &work {
                    self.kept_output.remove(terminal_id);
                }
                if let Work::Write {
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
                    self.emit(self.current_turn(), By::Daemon, kind, None);
                }
                return self.refuse_call(call, &failure);
            }
        };
        let result = match (work, reply) {
            (Work::Read { path }, MachineReply::Read { content }) => {
                let bytes = content.len() as u64;
                self.emit(
                    self.current_turn(),
                    By::Agent,
                    EventKind::FileRead { path, bytes },
                    None,
                );
                json!({ "content": content })
            }
            (Work::Write { path, content, item }, MachineReply::Written { old }) => {
                self.file_written(path, &content, &old, item);
                json!({})
            }
            (
                Work::Create {
                    terminal_id,
                    command,
                    args,
                    cwd,
                },
                MachineReply::Created,
            ) => {
                let item = self.next_item();
                let result = json!({ "terminalId": terminal_id });
                let start = ItemStart::TerminalCommand {
                    terminal_id,
                    command,
                    args,
                    cwd,
                };
                self.emit(
                    self.current_turn(),
                    By::Agent,
                    EventKind::ItemStarted {
                        item,
                        parent: None,
                        start,
                    },
                    None,
                );
                result
            }
            (
                _,
                MachineReply::Output {
                    output,
                    truncated,
                    exit,
                },
            ) => {
                json!({ "output": output, "truncated": truncated, "exitStatus": exit.as_ref().map(exit_json) })
            }
            (_, MachineReply::Exited(exit)) => exit_json(&exit),
            (Work::Kill { terminal_id }, _) => {
                let kind = EventKind::TerminalKilled { terminal_id };
                self.emit(self.current_turn(), By::Agent, kind, None);
                json!({})
            }
            (Work::Release { terminal_id }, _) => {
                let kind = EventKind::TerminalReleased { terminal_id };
                self.emit(self.current_turn(), By::Agent, kind, None);
                json!({})
            }
            _ => json!({}),
        };
        self.tell_agent(AgentCommand::Answer {
            call,
            result: Ok(result.into()),
        });
    }

    /// Some agents take "there is no such file" for a failure of the tool with which they would make it.
    fn is_empty_for(&self, work: &Work, failure: &Failure) -> bool {
        let quirky = self
            .capabilities
            .as_ref()
            .is_some_and(|c| c.quirks.missing_file_is_empty);
        quirky && failure.code == ErrorCode::NotFound && matches!(work, Work::Read { .. })
    }

    fn file_written(&mut self, path: String, content: &str, old: &Before, item: Option<ItemId>) {
        let turn = self.current_turn();
        let bytes = content.len() as u64;
        let written = Some(self.content(content));
        self.emit(
            turn,
            By::Agent,
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
        self.note_file(ItemOutcome::Completed, &path, old, content);
        let replaced = Some(old.replaced());
        let end = ItemEnd::FileChange { path, diff, replaced };
        self.emit(
            turn,
            By::Agent,
            EventKind::ItemCompleted {
                item,
                outcome: ItemOutcome::Completed,
                end,
            },
            None,
        );
        self.emit_turn_diff();
    }

    /// Output is kept until there is as much of it as the agent wants kept; after that it is only shown, and the log
    /// has its end when the command has ended. So an endless command fills neither memory nor the log.
    fn terminal_wrote(&mut self, item: ItemId, terminal_id: &str, text: String) {
        let kept = self
            .kept_output
            .get(terminal_id)
            .copied()
            .unwrap_or(TERMINAL_BYTES);
        let written = match self.live.items.get(&item).map(|open| &open.view) {
            Some(ItemView::Terminal { output, .. }) => output.len() + self.held_text(item).len(),
            _ => 0,
        };
        if written >= kept {
            self.live_tail.push(item, terminal_id, &text, self.now.mono);
            return;
        }
        self.emit_text(Delta {
            turn: self.current_turn(),
            item,
            source: Source::Terminal(terminal_id.to_owned()),
            text,
            raw: None,
        });
    }

    pub(super) fn show(&mut self, shown: LiveText) {
        let turn = self.current_turn();
        let at = self.now.wall;
        self.effects.push(Effect::Show { turn, at, shown });
    }

    pub(super) fn handle_terminal(&mut self, terminal_id: &str, event: MachineEvent) {
        let found = self.live.items.iter().find(
            |(_, open)| matches!(&open.view, ItemView::Terminal { terminal_id: known, .. } if known == terminal_id),
        );
        let Some(item) = found.map(|(id, _)| *id) else {
            return;
        };
        let kind = match event {
            MachineEvent::Output(text) => return self.terminal_wrote(item, terminal_id, text),
            MachineEvent::Exited {
                exit,
                output,
                truncated,
            } => {
                let outcome = if exit.code == Some(0) {
                    ItemOutcome::Completed
                } else {
                    ItemOutcome::Failed
                };
                let TerminalExit {
                    code: exit_code,
                    signal,
                } = exit;
                // What is still held comes before the end.
                for shown in self.live_tail.flush() {
                    self.show(shown);
                }
                self.kept_output.remove(terminal_id);
                let terminal_id = terminal_id.to_owned();
                let end = ItemEnd::TerminalCommand {
                    terminal_id,
                    exit_code,
                    signal,
                    output,
                    truncated,
                };
                EventKind::ItemCompleted { item, outcome, end }
            }
        };
        self.emit(self.current_turn(), By::Agent, kind, None);
    }
}

fn exit_json(exit: &TerminalExit) -> Value {
    json!({ "exitCode": exit.code, "signal": exit.signal })
}
