//! What only looks: the answers to requests that change nothing and belong to no place among those that do.

use acpd_log::{Filter, ListCursor, ListedThread};
use acpd_model::event::TurnStatus;
use acpd_model::limits::{LIST_PAGE, TURNS_PAGE};
use acpd_model::{Failure, RawJson, Seq, ThreadId, ThreadStatus};
use acpd_proto::projection::{Live, Transcript};
use acpd_proto::surface::app::{
    ListThreads, ListedStatus, On, Request, summary_json, thread_json, turns_json,
};
use acpd_proto::wire;
use serde_json::json;

use crate::agent::probe::{anywhere, probe};
use crate::service::{Service, misrouted};
use crate::thread::directory::log_failure;

impl Service {
    /// What only looks.
    pub(crate) async fn query(&self, request: Request) -> Result<RawJson, Failure> {
        match request {
            Request::AgentList(_) => Ok(json!({ "data": self.context.agents.list() }).into()),
            Request::AgentRunning(_) => Ok(json!({ "data": self.context.processes.list().await? }).into()),
            Request::AgentDoctor(wanted) => self.probe(wanted.agent_type).await,
            Request::PolicyRead(wanted) => {
                let book = self.context.policies.borrow();
                let [daemon, agent] = book.layers(wanted.agent_type.as_deref());
                Ok(json!({ "daemon": daemon, "agent": agent }).into())
            }
            Request::ThreadList(wanted) => self.list(wanted).await,
            Request::ThreadSearch(wanted) => self.search(wanted).await,
            Request::ThreadRead(On { thread, params }) => {
                let turns = params.include_turns.unwrap_or(false);
                self.read(thread, turns, params.cursor.as_deref(), params.limit)
                    .await
            }
            other => Err(misrouted(&other)),
        }
    }

    /// Starts an agent to see whether it works.
    async fn probe(&self, agent_type: String) -> Result<RawJson, Failure> {
        let found = self.context.agents.find(&agent_type)?;
        let report = probe(
            &found.config,
            &self.context.reserved,
            anywhere(),
            &self.context.limits,
        )
        .await;
        let millis = u64::try_from(report.millis).unwrap_or(u64::MAX);
        Ok(json!({
            "agentType": agent_type,
            "hello": report.hello,
            "error": report.error,
            "millis": millis,
            "sandbox": report.sandbox,
            "stderr": report.stderr,
            "strayLines": report.stray_lines,
        })
        .into())
    }

    async fn list(&self, wanted: ListThreads) -> Result<RawJson, Failure> {
        let ListThreads {
            cursor,
            limit,
            archived,
            cwd,
            agent_type,
            status,
            search_term,
        } = wanted;
        let limit = limit.unwrap_or(LIST_PAGE).clamp(1, LIST_PAGE);
        let cursor = cursor.as_deref().map(parse_cursor).transpose()?;
        let mut filter = Filter {
            archived: archived.or(Some(false)),
            agent: agent_type,
            cwd,
            search: search_term,
            ..Filter::default()
        };
        (filter.active, filter.status, filter.last_turn) = match status {
            None => (None, None, None),
            Some(ListedStatus::Active) => (Some(true), None, None),
            Some(ListedStatus::Running) => (Some(true), Some(ThreadStatus::Running), None),
            Some(ListedStatus::Waiting) => (Some(true), Some(ThreadStatus::Waiting), None),
            Some(ListedStatus::Idle) => (Some(false), None, None),
            Some(ListedStatus::Failed) => (Some(false), None, Some(TurnStatus::Failed)),
        };
        let page = self
            .context
            .log
            .list(filter, cursor, limit)
            .await
            .map_err(|error| log_failure(&error))?;
        let next = page.last().filter(|_| page.len() == limit).map(write_cursor);
        let data: Vec<_> = page
            .iter()
            .map(|listed| summary_json(listed.thread, &listed.summary))
            .collect();
        Ok(wire::object(|result| {
            result.list("data", &data).put("nextCursor", &next);
        }))
    }

    async fn read(
        &self,
        thread: ThreadId,
        include_turns: bool,
        cursor: Option<&str>,
        limit: Option<usize>,
    ) -> Result<RawJson, Failure> {
        let before = cursor
            .map(|text| text.parse().map_err(|_| bad_cursor()))
            .transpose()?;
        let mut live = Live::new(thread);
        let transcript = self.transcript(thread, Seq::MAX, Some(&mut live)).await?;
        let result = if include_turns {
            let (turns, older) = turns_json(&transcript, before, limit.unwrap_or(TURNS_PAGE));
            thread_json(&live, Some(&turns), older.map(|at| at.to_string()).as_deref())
        } else {
            thread_json(&live, None, None)
        };
        Ok(wire::object(|found| {
            found.json("thread", Some(&result));
        }))
    }

    /// Folds a thread's turns out of the log, up to `until`; and what it is by then, where that is wanted.
    pub(crate) async fn transcript(
        &self,
        thread: ThreadId,
        until: Seq,
        mut live: Option<&mut Live>,
    ) -> Result<Transcript, Failure> {
        let mut transcript = Transcript::default();
        loop {
            let page = self
                .context
                .log
                .read(thread, transcript.last_seq)
                .await
                .map_err(|error| log_failure(&error))?;
            for event in page.events.iter().filter(|event| event.seq <= until) {
                if let Some(live) = &mut live {
                    live.fold(event);
                }
                transcript.fold(event);
            }
            if page.at_end || transcript.last_seq >= until {
                return Ok(transcript);
            }
        }
    }
}

/// Writes where the next page of a list begins.
pub fn write_cursor(last: &ListedThread) -> String {
    format!("{}_{}", last.summary.updated_at, last.thread)
}

/// Reads a cursor that [`write_cursor`] wrote.
pub fn parse_cursor(text: &str) -> Result<ListCursor, Failure> {
    let (at, thread) = text.split_once('_').ok_or_else(bad_cursor)?;
    Ok(ListCursor {
        updated_at: at.parse().map_err(|_| bad_cursor())?,
        thread: thread.parse().map_err(|_| bad_cursor())?,
    })
}

pub(crate) fn bad_cursor() -> Failure {
    Failure::invalid_params("invalid cursor: it was not issued by this daemon")
}
