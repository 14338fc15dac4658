//! The list of models: every agent that can be started, with its models as far as they are known.
//!
//! An agent reports its models when it opens a session. They are taken from the newest thread of each agent.

use std::collections::BTreeMap;

use acpd_model::ThreadId;
use serde_json::{Value, json};

use super::settings::{Settings, agent_model};
use crate::projection::Live;
use crate::surface::contract::{DaemonRequest, request};
use crate::surface::reply::{AgentInfo, ListPage, ListedThread, ThreadView};
use crate::surface::request::ListThreads;

/// The newest threads that are searched for the models of their agents.
const THREADS: usize = 100;
/// Threads that are read for the list, at most.
const READ: usize = 16;

/// A list of models that is being made.
#[derive(Debug, Default)]
pub(super) struct ModelList {
    agents: Vec<AgentInfo>,
    known: BTreeMap<String, Settings>,
    /// Threads to read.
    unread: Vec<ThreadId>,
}

impl ModelList {
    /// Creates the list of these agents. Returns the request to make next.
    pub fn new(mut agents: Vec<AgentInfo>) -> (Self, DaemonRequest<ListPage<ListedThread>>) {
        agents.retain(|agent| agent.installed);
        let list = Self {
            agents,
            ..Self::default()
        };
        let threads = ListThreads {
            limit: Some(THREADS),
            ..ListThreads::default()
        };
        (list, request!(ListThreads(threads)))
    }

    /// Selects the threads to read.
    pub fn add_threads(&mut self, page: &[ListedThread]) {
        for agent in &self.agents {
            let newest = page.iter().find(|listed| listed.summary.agent == agent.id);
            self.unread.extend(newest.map(|listed| listed.thread));
        }
        self.unread.truncate(READ);
    }

    /// Adds what a thread says of its agent.
    pub fn add(&mut self, live: &Live) {
        self.known.insert(live.summary.agent.clone(), Settings::of(live));
    }

    /// Returns the next request; `None` if the list is complete.
    pub fn next(&mut self) -> Option<DaemonRequest<Box<ThreadView>>> {
        let thread = self.unread.pop()?;
        Some(request!(ReadThread { thread, turns: None }))
    }

    /// Returns the result. The models of `agent` come first: those of the client's thread.
    pub fn result(&self, agent: Option<&str>) -> Value {
        let default = agent.or_else(|| self.agents.first().map(|agent| agent.id.as_str()));
        let mut agents: Vec<&AgentInfo> = self.agents.iter().collect();
        agents.sort_by_key(|agent| Some(agent.id.as_str()) != default);
        let data: Vec<Value> = agents
            .into_iter()
            .flat_map(|agent| {
                let is_default = Some(agent.id.as_str()) == default;
                match self.known.get(&agent.id) {
                    Some(settings) => settings.models(&agent.title, is_default),
                    None => {
                        let words = agent.description.as_deref().unwrap_or_default();
                        vec![agent_model(&agent.id, &agent.title, words, is_default)]
                    }
                }
            })
            .collect();
        json!({ "data": data, "nextCursor": null })
    }
}
