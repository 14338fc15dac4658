//! `acpd shims`: the list.

use std::collections::{HashMap, HashSet};

use acpd_client::Client;
use acpd_client::protocol::AgentRunningParams;
use acpd_client::protocol::RunningAgent;
use acpd_log::{CarriedThread, carried_threads};
use serde::{Deserialize, Serialize};

use super::found::{self, Answer};
use crate::client::connect::connect_running;
use crate::client::whole::{Page, Whole};
use crate::exit::{Exit, sentence};
use crate::settings::Settings;
use crate::terminal::amounts::mebibytes;
use crate::terminal::items::short_id;
use crate::terminal::plain::plain_line;
use crate::terminal::print;
use crate::terminal::table::table;
use crate::terminal::time::ago;

/// A shim as it is listed. The names of the members are those of the JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    name: String,
    state: &'static str,
    /// Since when it is in this state, in milliseconds since the epoch.
    since: Option<i64>,
    /// The agent's name; `None` for a terminal, or if no daemon knows it.
    agent: Option<String>,
    threads: Vec<String>,
    is_terminal: Option<bool>,
    /// The process that it holds; `None` once that has ended.
    pid: Option<u32>,
    shim_pid: Option<u32>,
    /// Resident memory of the shim, and of all processes below it.
    memory_bytes: u64,
    /// Output that is in no log yet.
    unread_bytes: Option<u64>,
}

impl Listed {
    fn of(name: String, answer: Answer, now: i64) -> Self {
        let (shim_pid, state) = match answer {
            Answer::Shim(pid, state) => (Some(pid), state),
            Answer::Gone => (None, None),
        };
        let word = match (shim_pid, state) {
            (None, _) => "gone",
            (Some(_), None) => "silent",
            (Some(_), Some(state)) if state.is_attached => "attached",
            (Some(_), Some(state)) if state.has_ended => "ended",
            (Some(_), Some(_)) => "waiting",
        };
        let secs = |secs: u64| i64::try_from(secs).unwrap_or(i64::MAX).saturating_mul(1000);
        Self {
            name,
            state: word,
            since: state.map(|state| now.saturating_sub(secs(state.secs))),
            agent: None,
            threads: Vec::new(),
            is_terminal: state.map(|state| state.is_terminal),
            pid: state.filter(|state| !state.has_ended).map(|state| state.process),
            shim_pid,
            memory_bytes: 0,
            unread_bytes: state.map(|state| state.unread),
        }
    }

    fn row(&self) -> [String; 7] {
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let threads: Vec<_> = self
            .threads
            .iter()
            .map(|id| short_id(&plain_line(id)).to_owned())
            .collect();
        let what = match (&self.agent, self.is_terminal) {
            (Some(agent), _) => Some(plain_line(agent)),
            (None, Some(true)) => Some("(terminal)".to_owned()),
            (None, _) => None,
        };
        [
            plain_line(&self.name),
            or_dash(what),
            or_dash(self.pid.map(|pid| pid.to_string())),
            self.state.to_owned(),
            mebibytes(self.memory_bytes),
            ago(self.since),
            or_dash(Some(threads.join(", ")).filter(|threads| !threads.is_empty())),
        ]
    }
}

/// Lists all shims.
pub async fn list(settings: &Settings, as_json: bool) -> anyhow::Result<Exit> {
    let found = all(settings).await?;
    let now = jiff::Timestamp::now().as_millisecond();
    let mut listed: Vec<Listed> = found
        .into_iter()
        .map(|(name, answer)| Listed::of(name, answer, now))
        .collect();
    measure(&mut listed);
    if !listed.is_empty() {
        match logged(settings).await {
            Ok(threads) => name_by_log(&mut listed, threads),
            Err(error) => print::hint(&format!(
                "the threads of the shims are unknown, since the log cannot be read: {}",
                sentence(&error)
            )),
        }
        match running(settings).await {
            Ok(agents) => name_agents(&mut listed, &agents),
            Err(error) => print::hint(&format!(
                "the agents of the shims are unknown, since the daemon did not say which run: {}",
                sentence(&error)
            )),
        }
    }
    if as_json {
        for shim in &listed {
            print::json(&serde_json::to_string(shim)?);
        }
    } else if listed.is_empty() {
        print::hint("no shim runs");
    } else {
        let rows: Vec<_> = listed.iter().map(Listed::row).collect();
        table(
            ["NAME", "AGENT", "PID", "STATE", "MEMORY", "SINCE", "THREAD"],
            &rows,
        );
    }
    Ok(Exit::Success)
}

async fn all(settings: &Settings) -> anyhow::Result<Vec<(String, Answer)>> {
    let directory = found::directory(&settings.daemon.data_dir);
    tokio::task::spawn_blocking(move || found::all(&directory)).await?
}

/// Returns the threads of agents that an attached shim holds.
pub async fn held_threads(settings: &Settings, client: &Client) -> anyhow::Result<HashSet<String>> {
    let held = all(settings)
        .await?
        .into_iter()
        .filter_map(|(_, answer)| match answer {
            Answer::Shim(_, Some(state)) if state.is_attached && !state.has_ended => {
                Some(u64::from(state.process))
            }
            _ => None,
        });
    let held: HashSet<u64> = held.collect();
    let agents = running_by(client).await?;
    let agents = agents
        .iter()
        .filter(|agent| agent.pid.is_some_and(|pid| held.contains(&pid)));
    Ok(agents.flat_map(|agent| agent.threads.clone()).collect())
}

/// Measures the memory of all shims with what runs below them.
fn measure(listed: &mut [Listed]) {
    let pids: Vec<u32> = listed.iter().map(|shim| shim.shim_pid.unwrap_or(0)).collect();
    let measured = acpd_host::memory::resident(&pids);
    for (shim, bytes) in listed.iter_mut().zip(measured) {
        shim.memory_bytes = shim.shim_pid.map_or(0, |_| bytes);
    }
}

/// Returns the agents that the daemon runs. Without a daemon there are none.
async fn running(settings: &Settings) -> anyhow::Result<Vec<Whole<RunningAgent>>> {
    match connect_running(settings, false).await? {
        Some(client) => running_by(&client).await,
        None => Ok(Vec::new()),
    }
}

async fn running_by(client: &Client) -> anyhow::Result<Vec<Whole<RunningAgent>>> {
    let params = AgentRunningParams::default();
    let found: Page<Whole<RunningAgent>> = client.call("agent/running", &params).await?;
    Ok(found.data)
}

/// What of a memo names the shim. The daemon has more in it.
#[derive(Debug, Deserialize)]
struct Memo {
    hold: Hold,
}

#[derive(Debug, Deserialize)]
struct Hold {
    shim: String,
}

/// Returns the threads of shims that the log knows.
async fn logged(settings: &Settings) -> anyhow::Result<Vec<CarriedThread>> {
    let path = settings.daemon.data_dir.join("log.db");
    let read = tokio::task::spawn_blocking(move || {
        if path.exists() {
            carried_threads(&path)
        } else {
            Ok(Vec::new())
        }
    });
    Ok(read.await??)
}

/// Adds agents and threads by what the log has about each shim. A memo of another version names none.
fn name_by_log(listed: &mut [Listed], threads: Vec<CarriedThread>) {
    let by_shim: HashMap<String, CarriedThread> = threads
        .into_iter()
        .filter_map(|thread| {
            let memo: Memo = serde_json::from_slice(&thread.memo).ok()?;
            Some((memo.hold.shim, thread))
        })
        .collect();
    for shim in listed {
        if let Some(found) = by_shim.get(&shim.name) {
            shim.agent = Some(found.agent.clone());
            shim.threads = vec![found.thread.to_string()];
        }
    }
}

/// Adds the agents and threads of the processes.
fn name_agents(listed: &mut [Listed], agents: &[Whole<RunningAgent>]) {
    let by_pid: HashMap<u64, &Whole<RunningAgent>> = agents
        .iter()
        .filter_map(|agent| Some((agent.pid?, agent)))
        .collect();
    for shim in listed {
        let agent = shim.pid.and_then(|pid| by_pid.get(&u64::from(pid)));
        if let Some(agent) = agent {
            shim.agent = Some(agent.agent_type.clone());
            shim.threads.clone_from(&agent.threads);
        }
    }
}

#[cfg(test)]
mod tests {
    use acpd_shim::State;
    use serde_json::json;

    use super::*;

    const STATE: State = State {
        process: 7,
        is_attached: false,
        has_ended: false,
        is_terminal: false,
        secs: 60,
        unread: 5,
    };

    fn listed(answer: Answer) -> Listed {
        Listed::of("s1".to_owned(), answer, 100_000)
    }

    #[test]
    fn each_state_has_its_word() {
        let shim = |state| listed(Answer::Shim(6, state));
        for (shim, word, pid) in [
            (shim(Some(STATE)), "waiting", Some(7)),
            (
                shim(Some(State {
                    is_attached: true,
                    ..STATE
                })),
                "attached",
                Some(7),
            ),
            // Its number may be another process's.
            (
                shim(Some(State {
                    has_ended: true,
                    ..STATE
                })),
                "ended",
                None,
            ),
            (shim(None), "silent", None),
            (listed(Answer::Gone), "gone", None),
        ] {
            assert_eq!((shim.state, shim.pid), (word, pid), "{shim:?}");
        }
        assert_eq!(shim(Some(STATE)).since, Some(40_000));
        let forever = State {
            secs: u64::MAX,
            ..STATE
        };
        assert!(shim(Some(forever)).since < Some(0));
    }

    #[test]
    fn agents_are_found_in_the_log() {
        let thread = |memo: &str| CarriedThread {
            thread: "0192f0c1-c5d7-7c0a-a5e5-f8d9a1b2c3d4".parse().unwrap(),
            agent: "claude".to_owned(),
            memo: memo.as_bytes().to_vec(),
        };
        let mut shims = [listed(Answer::Shim(6, Some(STATE)))];
        for unknown in ["", "{}", "{\"hold\":{\"shim\":\"s2\"}}"] {
            name_by_log(&mut shims, vec![thread(unknown)]);
            assert_eq!(shims[0].agent, None, "{unknown}");
        }
        let known = thread("{\"version\":1,\"hold\":{\"shim\":\"s1\",\"token\":\"0\"}}");
        name_by_log(&mut shims, vec![known]);
        assert_eq!(shims[0].agent.as_deref(), Some("claude"));
        assert_eq!(shims[0].threads, ["0192f0c1-c5d7-7c0a-a5e5-f8d9a1b2c3d4"]);
    }

    #[test]
    fn agents_are_found_by_their_process() {
        let agent = json!({
            "agentType": "claude", "pid": 7, "state": "busy", "threads": ["0192f0c1-c5d7-7c0a-a5e5-f8d9a1b2c3d4"],
        });
        let other = json!({ "agentType": "other", "pid": 8, "state": "busy", "threads": [] });
        let agents = [agent, other].map(|agent| serde_json::from_value(agent).unwrap());
        let terminal = State {
            process: 9,
            is_terminal: true,
            ..STATE
        };
        let mut shims = [STATE, terminal].map(|state| listed(Answer::Shim(6, Some(state))));
        name_agents(&mut shims, &agents);
        assert_eq!(shims[0].agent.as_deref(), Some("claude"));
        assert_eq!(shims[0].row()[6], "a1b2c3d4");
        assert_eq!((&shims[1].agent, &*shims[1].row()[1]), (&None, "(terminal)"));
        let json = serde_json::to_value(&shims[0]).unwrap();
        assert_eq!(json["shimPid"], 6);
        assert_eq!(json["unreadBytes"], 5);
    }
}
