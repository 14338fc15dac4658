//! Caches agents' `initialize` results, so that an editor that connects need not wait for a process to start.
//!
//! In: an agent's name and configuration. Out: the result of its `initialize`, verbatim, whatever modes of elicitation the agent
//! was offered: editors hear the same about it. Owns: the last result of each agent, and the running probes, one for each
//! agent. Never: caches a failure, or returns a result from a different configuration.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use acpd_model::{ErrorCode, Failure, RawJson};
use acpd_proto::agent::ElicitationModes;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::agent::config::AgentConfig;
use crate::context::Context;
use crate::standby::process::{Standby, StandbyResult};

/// Seconds for which an agent's `initialize` result is cached. Then the daemon sends `initialize` again.
const HELLO_SECS: u64 = 3600;
/// Requests of editors that may wait for the cache of `initialize` results.
const HELLO_QUEUE: usize = 64;

/// An agent's `initialize` result.
#[derive(Debug)]
pub struct CachedInitialize {
    /// The result of `initialize`, verbatim.
    pub hello: RawJson,
    /// The process that was started for the probe. Only one of the waiting callers receives it, which can show what the process
    /// was offered.
    pub standby: Option<Standby>,
}

impl CachedInitialize {
    /// Returns an empty result, for an agent that was not started.
    pub fn unknown() -> Self {
        let nothing = r#"{"protocolVersion":1,"agentCapabilities":{},"authMethods":[]}"#;
        Self {
            hello: RawJson::trusted(nothing),
            standby: None,
        }
    }
}

type CacheResult = Result<CachedInitialize, Failure>;

/// Gives access to the cache; cheap to clone.
#[derive(Debug, Clone)]
pub struct InitializeCache {
    requests_tx: mpsc::Sender<CacheRequest>,
}

#[derive(Debug)]
struct CacheRequest {
    name: String,
    config: AgentConfig,
    /// The directory in which to start the agent; `None` if it must not be started.
    cwd: Option<PathBuf>,
    caller: WaitingCaller,
}

#[derive(Debug)]
struct WaitingCaller {
    /// The modes of elicitation that the client can show.
    elicitation: ElicitationModes,
    reply: oneshot::Sender<CacheResult>,
}

/// Returns the error for a daemon that is stopping.
fn stopping() -> Failure {
    Failure::new(ErrorCode::Overloaded, "the daemon is stopping")
}

impl InitializeCache {
    /// Starts the task that owns the cache. It ends when the last clone is dropped.
    pub fn open(context: Context) -> Self {
        let (requests_tx, requests_rx) = mpsc::channel(HELLO_QUEUE);
        let task = Task {
            context,
            known: BTreeMap::new(),
            pending: BTreeMap::new(),
            probes: JoinSet::new(),
        };
        tokio::spawn(task.run(requests_rx));
        Self { requests_tx }
    }

    /// Returns the `initialize` result of the agent `name`. If it is not cached, starts the agent in `cwd`, for a client that can
    /// show these modes of elicitation. Without `cwd` the agent is not started, and the result is empty.
    pub async fn of(
        &self,
        name: &str,
        config: AgentConfig,
        cwd: Option<&Path>,
        elicitation: ElicitationModes,
    ) -> CacheResult {
        let (reply, answer) = oneshot::channel();
        let ask = CacheRequest {
            name: name.to_owned(),
            config,
            cwd: cwd.map(Path::to_owned),
            caller: WaitingCaller { elicitation, reply },
        };
        self.requests_tx.send(ask).await.map_err(|_| stopping())?;
        answer.await.map_err(|_| stopping())?
    }
}

struct Task {
    context: Context,
    known: BTreeMap<String, CacheEntry>,
    pending: BTreeMap<String, PendingProbe>,
    probes: JoinSet<(String, AgentConfig, StandbyResult)>,
}

struct CacheEntry {
    config: AgentConfig,
    hello: RawJson,
    until: Instant,
}

struct PendingProbe {
    config: AgentConfig,
    waiting: Vec<WaitingCaller>,
}

impl Task {
    async fn run(mut self, mut requests_rx: mpsc::Receiver<CacheRequest>) {
        loop {
            tokio::select! {
                biased;
                Some(Ok((name, config, answer))) = self.probes.join_next() => self.probed(name, config, answer),
                ask = requests_rx.recv() => match ask {
                    Some(ask) => self.asked(ask),
                    None => return,
                },
            }
        }
    }

    fn asked(&mut self, ask: CacheRequest) {
        let CacheRequest {
            name,
            config,
            cwd,
            caller,
        } = ask;
        let known = self.known.get(&name);
        if let Some(known) = known.filter(|known| known.config == config && known.until > Instant::now()) {
            // The caller may have gone; here and below.
            let hello = known.hello.clone();
            let _ = caller.reply.send(Ok(CachedInitialize { hello, standby: None }));
            return;
        }
        let Some(cwd) = cwd else {
            let _ = caller.reply.send(Ok(CachedInitialize::unknown()));
            return;
        };
        if let Some(look) = self.pending.get_mut(&name).filter(|look| look.config == config) {
            look.waiting.push(caller);
            return;
        }
        // Callers that waited for another configuration receive the result of this one; the old probe is discarded.
        let elicitation = caller.elicitation;
        let mut waiting = vec![caller];
        waiting.extend(
            self.pending
                .remove(&name)
                .into_iter()
                .flat_map(|look| look.waiting),
        );
        let look = PendingProbe {
            config: config.clone(),
            waiting,
        };
        self.pending.insert(name.clone(), look);
        let context = self.context.clone();
        self.probes.spawn(async move {
            let answer = Standby::start(&context, &name, &config, &cwd, elicitation).await;
            (name, config, answer)
        });
    }

    fn probed(&mut self, name: String, config: AgentConfig, answer: StandbyResult) {
        if self.pending.get(&name).is_none_or(|look| look.config != config) {
            return;
        }
        let waiting = self
            .pending
            .remove(&name)
            .into_iter()
            .flat_map(|look| look.waiting);
        let (hello, mut standby) = match answer {
            Ok((hello, standby)) => (hello, Some(standby)),
            Err(failure) => {
                for caller in waiting {
                    let _ = caller.reply.send(Err(failure.clone()));
                }
                self.known.remove(&name);
                return;
            }
        };
        for caller in waiting {
            let fits = |standby: &mut Standby| standby.is_offered(caller.elicitation);
            let greeting = CachedInitialize {
                hello: hello.clone(),
                standby: standby.take_if(fits),
            };
            // If this caller has gone, the next one receives the process.
            if let Err(Ok(greeting)) = caller.reply.send(Ok(greeting)) {
                standby = standby.or(greeting.standby);
            }
        }
        let known = CacheEntry {
            config,
            hello,
            until: Instant::now() + Duration::from_secs(HELLO_SECS),
        };
        self.known.insert(name, known);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use acpd_model::Limits;
    use futures_util::FutureExt;

    use super::*;
    use crate::test_context::context;

    /// Returns an agent that records each of its starts in a file.
    fn agent(starts: &Path, answer: &str) -> AgentConfig {
        let script = format!("echo start >> '{}'; read line; echo '{answer}'", starts.display());
        AgentConfig {
            command: "sh".into(),
            args: vec!["-c".into(), script],
            ..AgentConfig::default()
        }
    }

    fn starts(file: &Path) -> usize {
        std::fs::read_to_string(file).unwrap_or_default().lines().count()
    }

    const HELLO: &str =
        r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"x":1.10,"_meta":{"y":[]}}}"#;

    #[tokio::test]
    async fn initialize_is_sent_once_for_all_callers_and_its_result_kept_verbatim() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("starts");
        let initialize_cache = InitializeCache::open(context(dir.path(), BTreeMap::new(), Limits::default()));
        let config = agent(&file, HELLO);
        let unknown = initialize_cache
            .of("a", config.clone(), None, ElicitationModes::ALL)
            .await
            .unwrap();
        assert!(unknown.hello.get().contains(r#""agentCapabilities":{}"#) && starts(&file) == 0);
        let (one, two) = tokio::join!(
            initialize_cache.of("a", config.clone(), Some(dir.path()), ElicitationModes::ALL),
            initialize_cache.of("a", config.clone(), Some(dir.path()), ElicitationModes::ALL),
        );
        let three = initialize_cache
            .of("a", config.clone(), Some(dir.path()), ElicitationModes::ALL)
            .await;
        let greetings = [one, two, three].map(Result::unwrap);
        for greeting in &greetings {
            assert_eq!(
                greeting.hello.get(),
                r#"{"protocolVersion":1,"x":1.10,"_meta":{"y":[]}}"#
            );
        }
        assert_eq!(starts(&file), 1);
        let has_process = greetings.map(|greeting| greeting.standby.is_some());
        assert_eq!(has_process, [true, false, false], "it is one process");
        let changed = AgentConfig {
            title: Some("A".into()),
            ..config
        };
        initialize_cache
            .of("a", changed, Some(dir.path()), ElicitationModes::ALL)
            .await
            .unwrap();
        assert_eq!(starts(&file), 2);
    }

    /// All are told the same about the agent, and only a client that can show what the process was offered gets it.
    #[tokio::test]
    async fn the_process_is_for_a_caller_that_can_show_what_it_was_offered() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("starts");
        let initialize_cache = InitializeCache::open(context(dir.path(), BTreeMap::new(), Limits::default()));
        let config = agent(&file, HELLO);
        // The caller for which the process starts leaves before it has answered.
        let mut left =
            Box::pin(initialize_cache.of("a", config.clone(), Some(dir.path()), ElicitationModes::ALL));
        assert!((&mut left).now_or_never().is_none());
        let (one, two) = tokio::join!(
            initialize_cache.of("a", config.clone(), Some(dir.path()), ElicitationModes::NONE),
            async {
                drop(left);
                initialize_cache
                    .of("a", config.clone(), Some(dir.path()), ElicitationModes::ALL)
                    .await
            },
        );
        let three = initialize_cache
            .of("a", config, Some(dir.path()), ElicitationModes::NONE)
            .await;
        let greetings = [one, two, three].map(Result::unwrap);
        assert_eq!(greetings[0].hello.get(), greetings[1].hello.get());
        assert_eq!(greetings[0].hello.get(), greetings[2].hello.get());
        let has_process = greetings.map(|greeting| greeting.standby.is_some());
        assert_eq!(has_process, [false, true, false]);
        assert_eq!(starts(&file), 1);
    }

    #[tokio::test]
    async fn a_failure_is_not_kept() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("starts");
        let initialize_cache = InitializeCache::open(context(dir.path(), BTreeMap::new(), Limits::default()));
        let broken = agent(
            &file,
            r#"{"jsonrpc":"2.0","id":0,"error":{"code":1,"message":"not today"}}"#,
        );
        for _ in 0..2 {
            let failure = initialize_cache
                .of("a", broken.clone(), Some(dir.path()), ElicitationModes::ALL)
                .await
                .unwrap_err();
            assert!(failure.message.contains("not today"), "{failure}");
        }
        assert_eq!(starts(&file), 2);
    }
}
