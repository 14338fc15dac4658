//! Dispatch of client commands to the parts of the thread.

use acpd_model::event::ThreadCreated;
use acpd_model::{EventKind, Origin, ThreadEvent};

use super::Thread;
use crate::thread::command::{Command, QueueChange};
use crate::thread::reply::Reply;
use crate::thread::session::name_linked_directories;
use crate::thread::turn::UnsentPrompt;

impl Thread {
    pub(super) fn handle_command(&mut self, call: u64, by: Origin, command: Command) {
        let result = match command {
            Command::Create {
                spec,
                name,
                project_id,
                metadata,
                elicitation,
                config_options,
            } => {
                let kind = EventKind::Thread(ThreadEvent::Created(Box::new(ThreadCreated {
                    agent: spec.agent,
                    cwd: spec.cwd,
                    name,
                    project_id,
                    metadata,
                    additional_directories: spec.additional_directories,
                    real_directories: spec.real_directories,
                    mcp_servers: spec.mcp_servers,
                    meta: spec.meta,
                    members: spec.members,
                    system_prompt: spec.system_prompt,
                    session_id: spec.session_id,
                })));
                self.journal.emit_in(None, by, kind, None);
                name_linked_directories(&mut self.journal);
                self.session.wait_until_ready(call);
                self.session.created_by(elicitation, config_options);
                self.wake();
                return;
            }
            Command::SetSessionParams(change) => {
                let set = self.session.set_params(&mut self.journal, by, change);
                self.reopen_if_idle();
                set.map(|()| Reply::Done)
            }
            Command::Wake { .. } if self.session.check_accepts_turns(&self.journal).is_err() => {
                Ok(Reply::Done)
            }
            Command::Wake { shows } => {
                self.session.restart_if_stopping();
                self.session.woken_by(shows);
                self.wake();
                Ok(Reply::Done)
            }
            Command::StartTurn {
                input,
                meta,
                client_turn_id,
                replaces,
            } => {
                let prompt = UnsentPrompt { blocks: input, meta };
                return self.start_turn_for(call, by, prompt, client_turn_id, replaces);
            }
            Command::Steer {
                input,
                turn,
                client_turn_id,
            } => return self.steer(call, by, (input, client_turn_id), turn),
            Command::RunCommand { line } => return self.run_command(call, by, line),
            Command::UseTerminal { terminal_id, act } => {
                return self
                    .callbacks
                    .use_terminal(&mut self.journal, call, by, terminal_id, act);
            }
            Command::CancelSignIn => self.cancel_sign_in(),
            Command::ReadSignIn => Ok(self.session.sign_in()),
            Command::Change(change) => self.change(by, change),
            Command::RollBack { last_kept } => return self.roll_back(call, by, last_kept),
            Command::Delete => return self.delete(call, by),
            Command::DeleteUnused(last) => return self.delete_unused(call, by, last),
            Command::Fork { turn } => return self.fork(call, by, turn),
            Command::Adopt(adopted) => self.adopt(&by, *adopted),
            Command::AwaitSession if self.session.is_opening() => return self.session.wait_until_ready(call),
            Command::AwaitSession => Ok(Reply::Done),
            Command::Interrupt { turn, options } => self.interrupt(&by, turn, options).map(|()| Reply::Done),
            Command::ChangeQueue(QueueChange::Arrange { first, paused }) => {
                self.arrange_queue(by, &first, paused).map(|()| Reply::Done)
            }
            Command::ChangeQueue(QueueChange::Edit { turn, input }) => {
                self.edit_queued(by, turn, input).map(|()| Reply::Done)
            }
            Command::SteerQueued { turn } => return self.steer_queued(call, by, turn),
            Command::Answer {
                request,
                answer,
                scope,
            } => self.answer(by, request, &answer, scope).map(|()| Reply::Done),
            Command::Explain { tool_call, sight } => {
                return self.approvals.explain(&mut self.journal, call, tool_call, sight);
            }
            Command::SetPolicy(policy) => self.approvals.set_policy(&mut self.journal, by, policy),
            Command::Remembered => Ok(self.approvals.remembered(self.live())),
            Command::Revoke { id } => return self.approvals.revoke(&mut self.journal, call, by, id),
            Command::AgentRequest(request) => match self.session.check_accepts_turns(&self.journal) {
                Ok(()) => return self.request_agent(call, by, request, None),
                Err(failure) => Err(failure),
            },
            Command::Notify { method, params } => self.session.notify(&mut self.journal, method, params),
            Command::Attach {
                connection,
                abilities,
            } => Ok(self
                .callbacks
                .attach(&mut self.journal, by, &connection, abilities)),
            Command::AcquireLease { connection } => {
                self.callbacks.acquire_lease(&mut self.journal, by, &connection)
            }
            Command::ReleaseLease { connection } => {
                self.callbacks.release_lease(&mut self.journal, by, &connection)
            }
            Command::Rest => {
                self.stop_if_idle();
                Ok(Reply::Done)
            }
            Command::Stop => {
                self.stop();
                Ok(Reply::Done)
            }
        };
        self.journal.reply(call, result);
    }
}
