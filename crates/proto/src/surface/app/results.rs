//! Writes the results of methods from the daemon's replies.

use acpd_model::{ErrorCode, Failure, RawJson, SearchHit};
use serde_json::{Value, json};

use super::view::{summary_json, thread_json, turn_json};
use crate::surface::reply::{AgentInfo, AgentReport, Reply, RunningProcess};
use crate::wire;

/// The type of a method's result, by its name in the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResultType {
    Nothing,
    AgentsListed,
    AgentsRunning,
    AgentExamined,
    AgentAnswered,
    PoliciesRead,
    PolicyExplained,
    RememberedListed,
    ThreadStarted,
    ThreadResumed,
    ThreadsListed,
    ThreadFound,
    ThreadForkedResult,
    TextsFound,
    Unsubscribed,
    RolledBack,
    TurnStartedResult,
    TurnSteered,
}

impl ResultType {
    /// Writes a result of this type.
    pub fn write(self, reply: Reply) -> Result<RawJson, Failure> {
        Ok(match (self, reply) {
            (Self::Nothing, Reply::Done | Reply::Agent(_)) => RawJson::trusted("{}"),
            (Self::AgentsListed, Reply::Agents(agents)) => {
                let agents: Vec<_> = agents.iter().map(agent).collect();
                json!({ "data": agents }).into()
            }
            (Self::AgentsRunning, Reply::RunningAgents(processes)) => {
                let processes: Vec<_> = processes.iter().map(running).collect();
                json!({ "data": processes }).into()
            }
            (Self::AgentExamined, Reply::AgentReport(report)) => examined(&report).into(),
            // The agent's own result, unchanged: numbers keep their written form.
            (Self::AgentAnswered, Reply::Agent(answer)) => wire::object(|result| {
                result.json("result", Some(&answer));
            }),
            (Self::PoliciesRead, Reply::Policies { daemon, agent }) => {
                json!({ "daemon": daemon, "agent": agent }).into()
            }
            (Self::PolicyExplained, Reply::Explained(explanation)) => {
                RawJson::of(&explanation).map_err(|error| {
                    let message = format!("internal error: cannot write the explanation: {error}");
                    Failure::new(ErrorCode::Internal, message)
                })?
            }
            (Self::RememberedListed, Reply::Remembered(rules)) => json!({ "data": rules }).into(),
            (Self::ThreadStarted, Reply::Opened(opened)) => {
                let turn = opened.turn.as_ref().map(turn_json);
                wire::object(|result| {
                    result
                        .json("thread", Some(&thread_json(&opened.live, None)))
                        .json("turn", turn.as_ref());
                })
            }
            (Self::ThreadResumed, Reply::Opened(opened)) => wire::object(|result| {
                result
                    .json("thread", Some(&thread_json(&opened.live, opened.turns.as_ref())))
                    .put("latestSeq", &opened.live.last_seq);
            }),
            (Self::ThreadForkedResult, Reply::Opened(opened)) => wire::object(|result| {
                result
                    .json("thread", Some(&thread_json(&opened.live, None)))
                    .put("fidelity", &opened.fidelity);
            }),
            (Self::ThreadFound, Reply::Thread(found)) => wire::object(|result| {
                result.json("thread", Some(&thread_json(&found.live, found.turns.as_ref())));
            }),
            (Self::ThreadsListed, Reply::Threads { page, next }) => {
                let page: Vec<_> = page
                    .iter()
                    .map(|listed| summary_json(listed.thread, &listed.summary))
                    .collect();
                wire::object(|result| {
                    result.list("data", &page).put("nextCursor", &next);
                })
            }
            (Self::TextsFound, Reply::Hits { page, next }) => {
                let page: Vec<_> = page.iter().map(hit).collect();
                json!({ "data": page, "nextCursor": next }).into()
            }
            (Self::Unsubscribed, Reply::Closed { was_open }) => {
                let status = if was_open { "unsubscribed" } else { "notSubscribed" };
                json!({ "status": status }).into()
            }
            (Self::RolledBack, Reply::RolledBack(fidelity)) => json!({ "fidelity": fidelity }).into(),
            (Self::TurnStartedResult, Reply::Turn(turn)) => wire::object(|result| {
                result.json("turn", Some(&turn_json(&turn)));
            }),
            (Self::TurnSteered, Reply::Steered { turn, delivery }) => {
                json!({ "turnId": turn, "delivery": delivery }).into()
            }
            (_, _) => {
                let message = "internal error: unexpected reply type";
                return Err(Failure::new(ErrorCode::Internal, message));
            }
        })
    }
}

fn agent(agent: &AgentInfo) -> Value {
    json!({
        "id": agent.id, "title": agent.title, "source": agent.source, "installed": agent.installed,
        "runs": agent.runs, "reason": agent.reason, "version": agent.version, "description": agent.description,
    })
}

fn running(process: &RunningProcess) -> Value {
    json!({
        "agentType": process.agent_type, "pid": process.pid, "threads": process.threads, "state": process.state,
        "memoryBytes": process.memory_bytes, "startedAt": process.started_at, "idleSince": process.idle_since,
    })
}

fn examined(report: &AgentReport) -> Value {
    let hello = report.hello.as_ref().map(|hello| {
        json!({
            "protocolVersion": hello.protocol_version, "agentInfo": hello.agent_info,
            "agentCapabilities": hello.agent_capabilities, "authMethods": hello.auth_methods,
        })
    });
    let sandbox = &report.sandbox;
    json!({
        "agentType": report.agent,
        "hello": hello,
        "error": report.error,
        "millis": report.millis,
        "stderr": report.stderr,
        "strayLines": report.stray_lines,
        "sandbox": {
            "mode": sandbox.mode, "reason": sandbox.reason, "gaps": sandbox.gaps, "read": sandbox.read,
            "write": sandbox.write, "network": sandbox.network, "missing": sandbox.missing, "closed": sandbox.closed,
        },
    })
}

fn hit(hit: &SearchHit) -> Value {
    let snippet: Vec<_> = hit
        .snippet
        .iter()
        .map(|piece| json!({ "text": piece.text, "hit": piece.hit }))
        .collect();
    json!({
        "threadId": hit.thread, "name": hit.name, "seq": hit.seq, "ts": hit.at, "turnId": hit.turn,
        "itemId": hit.item, "kind": hit.kind, "snippet": snippet,
    })
}
