//! A host without processes: agents and terminals are tasks that follow a script.

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use acpd_host::{Exit, ProcessExit, Program, StderrTail, TerminalSpec, TerminalUpdate};
use acpd_model::Failure;
use acpd_runtime::host::{AgentIo, AgentProcess, Host, TerminalIo};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::agent::Agent;
use super::dice::Dice;

/// The capacity of a pipe in bytes.
const PIPE_BYTES: usize = 8 << 10;

/// The host of one seed. It outlives daemons, as a real host does.
#[derive(Clone)]
pub struct ScriptedHost(Arc<State>);

struct State {
    scripts: Mutex<Scripts>,
    /// The number of sessions that agents have opened.
    sessions: Arc<AtomicU64>,
}

struct Scripts {
    dice: Dice,
    /// Terminates each agent that was started.
    agents: Vec<CancellationToken>,
}

impl fmt::Debug for ScriptedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ScriptedHost")
    }
}

impl ScriptedHost {
    /// Creates a host without agents.
    pub fn new(dice: Dice) -> Self {
        Self(Arc::new(State {
            scripts: Mutex::new(Scripts {
                dice,
                agents: Vec::new(),
            }),
            sessions: Arc::default(),
        }))
    }

    /// Kills one of the running agents.
    pub fn kill_one(&self, dice: &mut Dice) {
        let mut scripts = self.scripts();
        scripts.agents.retain(|agent| !agent.is_cancelled());
        if let Some(agent) = dice.pick(&scripts.agents) {
            agent.cancel();
        }
    }

    /// Kills all agents, as happens when their daemon is killed.
    pub fn kill_all(&self) {
        for agent in self.scripts().agents.drain(..) {
            agent.cancel();
        }
    }

    fn scripts(&self) -> MutexGuard<'_, Scripts> {
        self.0.scripts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Host for ScriptedHost {
    fn start_agent(&self, _: &Program) -> Result<AgentIo, Failure> {
        let mut scripts = self.scripts();
        if scripts.dice.happens(3) {
            return Err(Failure::agent("the scripted agent does not start"));
        }
        let (stdin, their_stdin) = tokio::io::duplex(PIPE_BYTES);
        let (stdout, their_stdout) = tokio::io::duplex(PIPE_BYTES);
        let killed = CancellationToken::new();
        let (ended_tx, ended) = watch::channel(false);
        let agent = Agent::new(scripts.dice.split(), Arc::clone(&self.0.sessions));
        let its_end = killed.clone();
        tokio::spawn(async move {
            let life = agent.run(their_stdin, their_stdout);
            its_end.run_until_cancelled(life).await;
            its_end.cancel();
            ended_tx.send_replace(true);
        });
        scripts.agents.push(killed.clone());
        Ok(AgentIo {
            id: Some(u32::try_from(scripts.agents.len()).unwrap_or(u32::MAX)),
            stdin: Some(Box::new(stdin)),
            stdout: Box::new(stdout),
            stderr: StderrTail::default(),
            process: Box::new(ScriptedProcess {
                ended,
                killed: killed.drop_guard(),
            }),
        })
    }

    fn start_terminal(
        &self,
        _: &TerminalSpec,
        updates: mpsc::Sender<TerminalUpdate>,
    ) -> Result<Arc<dyn TerminalIo>, Failure> {
        let lines = self.scripts().dice.roll(5);
        let (exit_tx, exit) = watch::channel(None);
        let killed = CancellationToken::new();
        let its_end = killed.clone();
        tokio::spawn(async move {
            let mut output = String::new();
            for line in 0..lines {
                let pause = tokio::time::sleep(Duration::from_millis(7));
                if its_end.run_until_cancelled(pause).await.is_none() {
                    break;
                }
                output += &format!("line {line}\n");
                // A closed thread does not receive output.
                let _ = updates
                    .send(TerminalUpdate::Output(format!("line {line}\n")))
                    .await;
            }
            let exit = Exit {
                code: (!its_end.is_cancelled()).then_some(0),
                signal: its_end.is_cancelled().then(|| "SIGTERM".to_owned()),
            };
            exit_tx.send_replace(Some((exit.clone(), output.clone())));
            let end = TerminalUpdate::Exited {
                exit,
                output,
                truncated: false,
            };
            let _ = updates.send(end).await;
        });
        Ok(Arc::new(ScriptedTerminal {
            exit,
            killed: killed.drop_guard(),
        }))
    }

    fn resident_memory(&self, pids: &[u32]) -> Vec<u64> {
        vec![1 << 20; pids.len()]
    }

    fn run_blocking(&self, work: Box<dyn FnOnce() + Send>) {
        work();
    }
}

struct ScriptedProcess {
    ended: watch::Receiver<bool>,
    killed: DropGuard,
}

impl AgentProcess for ScriptedProcess {
    fn gone(&mut self) -> BoxFuture<'_, ()> {
        let ended = self.ended.wait_for(|ended| *ended);
        // The runtime of the task may have ended.
        async move { drop(ended.await) }.boxed()
    }

    fn stop(self: Box<Self>, grace: Duration) -> BoxFuture<'static, ProcessExit> {
        async move {
            let Self { mut ended, killed } = *self;
            let by_itself = tokio::time::timeout(grace, ended.wait_for(|ended| *ended))
                .await
                .is_ok();
            drop(killed);
            // The runtime of the task may have ended.
            let _ = ended.wait_for(|ended| *ended).await;
            ProcessExit {
                reason: if by_itself {
                    "sim exited with code 0".to_owned()
                } else {
                    "sim was ended by SIGKILL".to_owned()
                },
                code: by_itself.then_some(0),
                by_itself,
                stderr: String::new(),
            }
        }
        .boxed()
    }
}

#[derive(Debug)]
struct ScriptedTerminal {
    exit: watch::Receiver<Option<(Exit, String)>>,
    killed: DropGuard,
}

impl ScriptedTerminal {
    async fn ended(&self) -> Exit {
        let mut exit = self.exit.clone();
        match exit.wait_for(Option::is_some).await {
            Ok(exit) => exit.clone().map(|(exit, _)| exit).unwrap_or_default(),
            Err(_) => Exit::default(),
        }
    }
}

impl TerminalIo for ScriptedTerminal {
    fn output_limit(&self) -> usize {
        1 << 10
    }

    fn output(&self) -> (String, bool, Option<Exit>) {
        match self.exit.borrow().clone() {
            Some((exit, output)) => (output, false, Some(exit)),
            None => (String::new(), false, None),
        }
    }

    fn wait(&self) -> BoxFuture<'_, Exit> {
        self.ended().boxed()
    }

    fn type_in(&self, _: String) -> BoxFuture<'_, Result<(), Failure>> {
        std::future::ready(Ok(())).boxed()
    }

    fn kill(&self) -> BoxFuture<'_, ()> {
        self.killed.token().cancel();
        std::future::ready(()).boxed()
    }

    fn release(&self) -> BoxFuture<'_, ()> {
        self.killed.token().cancel();
        self.ended().map(drop).boxed()
    }
}
