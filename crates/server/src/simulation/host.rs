//! A host without processes: agents and terminals are tasks that follow a script.

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use acpd_host::{Exit, Hold, ProcessExit, Program, StderrTail, TerminalSpec, TerminalUpdate};
use acpd_model::Failure;
use acpd_runtime::host::{AgentIo, AgentProcess, Host, TerminalIo};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::agent::{Agent, Faults};
use super::dice::Dice;
use super::held::HeldAgent;

/// The capacity of a pipe in bytes.
const PIPE_BYTES: usize = 8 << 10;

/// The host of one seed. It outlives daemons, as a real host does.
#[derive(Clone)]
pub struct ScriptedHost(Arc<State>);

struct State {
    scripts: Mutex<Scripts>,
    /// The number of sessions that agents have opened.
    sessions: Arc<AtomicU64>,
    /// What daemons did wrong, as their agents see it.
    faults: Faults,
}

struct Scripts {
    dice: Dice,
    /// Terminates each agent that was started.
    agents: Vec<CancellationToken>,
    /// The agents that outlive their daemon, in the order of their starts.
    held: Vec<HeldAgent>,
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
                held: Vec::new(),
            }),
            sessions: Arc::default(),
            faults: Arc::default(),
        }))
    }

    /// Returns what daemons did wrong so far, as their agents see it.
    pub fn faults(&self) -> Vec<String> {
        let faults = self.0.faults.lock();
        faults.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the number of agents that outlive their daemon and have not ended.
    pub fn held(&self) -> usize {
        let scripts = self.scripts();
        scripts.held.iter().filter(|agent| !agent.is_over()).count()
    }

    /// Kills the agents that outlived their daemon without one of these marks, as a daemon does when it starts.
    pub fn sweep(&self, spared: &[u64]) {
        let scripts = self.scripts();
        let strays = scripts
            .held
            .iter()
            .filter(|agent| !spared.contains(&agent.mark()));
        strays.for_each(|agent| agent.kill_switch().cancel());
    }

    /// Kills one of the running agents.
    pub fn kill_one(&self, dice: &mut Dice) {
        let mut scripts = self.scripts();
        scripts.agents.retain(|agent| !agent.is_cancelled());
        let held = scripts.held.iter().filter(|agent| !agent.is_over());
        let held = held.map(HeldAgent::kill_switch);
        let all: Vec<_> = scripts.agents.iter().cloned().chain(held).collect();
        if let Some(agent) = dice.pick(&all) {
            agent.cancel();
        }
    }

    /// Kills all agents that do not outlive their daemon, as happens when that is killed.
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
    fn start_agent(&self, _: &Program, hold: Option<&Hold>) -> Result<AgentIo, Failure> {
        let mut scripts = self.scripts();
        if scripts.dice.happens(3) {
            return Err(Failure::agent("the scripted agent does not start"));
        }
        let (stdin, their_stdin) = tokio::io::duplex(PIPE_BYTES);
        let (stdout, their_stdout) = tokio::io::duplex(PIPE_BYTES);
        let killed = CancellationToken::new();
        let (ended_tx, ended) = watch::channel(false);
        let (sessions, faults) = (Arc::clone(&self.0.sessions), Arc::clone(&self.0.faults));
        let agent = Agent::new(scripts.dice.split(), sessions, faults);
        let its_end = killed.clone();
        tokio::spawn(async move {
            let life = agent.run(their_stdin, their_stdout);
            its_end.run_until_cancelled(life).await;
            its_end.cancel();
            ended_tx.send_replace(true);
        });
        if let Some(hold) = hold {
            let agent = HeldAgent::new(hold.clone(), stdin, stdout, killed, ended);
            scripts.held.push(agent.clone());
            let id = Some(u32::try_from(scripts.held.len()).unwrap_or(u32::MAX));
            let io = agent.attach(hold, 0, id);
            return io.ok_or_else(|| Failure::agent("the shim refuses its own token"));
        }
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
            held: None,
        })
    }

    fn attach_agent(&self, hold: &Hold, cursor: u64) -> Result<AgentIo, Failure> {
        let scripts = self.scripts();
        let mut held = scripts.held.iter();
        let agent = held.find(|agent| agent.mark() == hold.mark);
        let io = agent.and_then(|agent| agent.attach(hold, cursor, Some(1)));
        io.ok_or_else(|| Failure::agent("the agent is gone"))
    }

    fn start_terminal(
        &self,
        _: &TerminalSpec,
        _: Option<&Hold>,
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
                let text = format!("line {line}\n");
                output += &text;
                let end = output.len() as u64;
                // A closed thread does not receive output.
                let _ = updates.send(TerminalUpdate::Output { text, end }).await;
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
