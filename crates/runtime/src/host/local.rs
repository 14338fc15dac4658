//! The daemon's own host.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use acpd_host::{
    AgentProcess as LocalProcess, Exit, HeldAgent, HeldPipes, HeldProcess, Hold, ProcessExit, Program, Shims,
    StoppingProcess, Terminal, TerminalSpec, TerminalUpdate, memory,
};
use acpd_model::{ErrorCode, Failure};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

use super::{AgentIo, AgentProcess, HeldIo, Host, TerminalIo};

/// The host that the daemon runs on. The default has no shims, so no agent outlives the daemon.
#[derive(Debug, Clone, Default)]
pub struct LocalHost {
    shims: Option<Arc<Shims>>,
}

impl LocalHost {
    /// Returns the host, on which these shims hold agents.
    pub fn new(shims: Option<Arc<Shims>>) -> Self {
        Self { shims }
    }

    fn shims(&self) -> Result<&Shims, Failure> {
        self.shims.as_deref().ok_or_else(|| {
            Failure::new(
                ErrorCode::Unsupported,
                "the agent cannot outlive the daemon, which could not write the program that holds it: the daemon's log says why; \
                 correct that and restart it, or remove survive = true from the configuration of this agent",
            )
        })
    }
}

impl Host for LocalHost {
    fn start_agent(&self, program: &Program, hold: Option<&Hold>) -> Result<AgentIo, Failure> {
        if let Some(hold) = hold {
            return Ok(held(self.shims()?.start(program, hold)?));
        }
        let mut process = LocalProcess::spawn(program)?;
        let id = process.id();
        let stdin = process.stdin.take();
        let stderr = process.stderr();
        let (stopping, stdout) = process.into_stopping();
        Ok(AgentIo {
            id,
            stdin: stdin.map(|pipe| Box::new(pipe) as _),
            stdout: Box::new(stdout),
            stderr,
            process: Box::new(stopping),
            held: None,
        })
    }

    fn attach_agent(&self, hold: &Hold, cursor: u64) -> Result<AgentIo, Failure> {
        Ok(held(self.shims()?.attach(hold, cursor)?))
    }

    fn start_terminal(
        &self,
        spec: &TerminalSpec,
        hold: Option<&Hold>,
        updates: mpsc::Sender<TerminalUpdate>,
    ) -> Result<Arc<dyn TerminalIo>, Failure> {
        let terminal = match hold {
            Some(hold) => Terminal::spawn_held(self.shims()?, spec, hold, updates)?,
            None => Terminal::spawn(spec, updates)?,
        };
        Ok(Arc::new(terminal))
    }

    fn attach_terminal(
        &self,
        hold: &Hold,
        output_bytes: usize,
        from: u64,
        updates: mpsc::Sender<TerminalUpdate>,
    ) -> Result<Arc<dyn TerminalIo>, Failure> {
        let terminal = Terminal::attach(self.shims()?, hold, output_bytes, from, updates)?;
        Ok(Arc::new(terminal))
    }

    fn resident_memory(&self, pids: &[u32]) -> Vec<u64> {
        memory::resident(pids)
    }

    #[allow(
        clippy::disallowed_methods,
        reason = "the one place that hands work to such threads"
    )]
    fn run_blocking(&self, work: Box<dyn FnOnce() + Send>) {
        // The work reports its own result.
        drop(tokio::task::spawn_blocking(work));
    }
}

fn held(agent: HeldAgent) -> AgentIo {
    let HeldAgent {
        stdin,
        stdout,
        stderr,
        process,
    } = agent;
    AgentIo {
        id: process.id(),
        stdin: Some(Box::new(stdin)),
        stdout: Box::new(stdout),
        stderr,
        held: Some(Box::new(process.pipes())),
        process: Box::new(process),
    }
}

impl AgentProcess for HeldProcess {
    fn gone(&mut self) -> BoxFuture<'_, ()> {
        self.gone().boxed()
    }

    fn stop(self: Box<Self>, grace: Duration) -> BoxFuture<'static, ProcessExit> {
        (*self).stop(grace).boxed()
    }

    fn leave(self: Box<Self>, orphan: Duration) {
        (*self).leave(orphan);
    }
}

impl HeldIo for HeldPipes {
    fn acknowledge(&self, cursor: u64) {
        self.acknowledge(cursor);
    }

    fn limit_orphan(&self, orphan: Duration) {
        self.limit_orphan(orphan);
    }

    fn journal_end(&self) -> u64 {
        self.journal_end()
    }

    fn sent_since(&self, mark: u64) -> io::Result<Vec<u8>> {
        self.sent_since(mark)
    }

    fn forget(&self, mark: u64) {
        self.forget(mark);
    }
}

impl AgentProcess for StoppingProcess {
    fn gone(&mut self) -> BoxFuture<'_, ()> {
        self.gone().boxed()
    }

    fn stop(self: Box<Self>, grace: Duration) -> BoxFuture<'static, ProcessExit> {
        (*self).stop(grace).boxed()
    }
}

impl TerminalIo for Terminal {
    fn output_limit(&self) -> usize {
        self.output_limit()
    }

    fn output(&self) -> (String, bool, Option<Exit>) {
        self.output()
    }

    fn wait(&self) -> BoxFuture<'_, Exit> {
        self.wait().boxed()
    }

    fn type_in(&self, text: String) -> BoxFuture<'_, Result<(), Failure>> {
        self.type_in(text).boxed()
    }

    fn kill(&self) -> BoxFuture<'_, ()> {
        self.kill().boxed()
    }

    fn release(&self) -> BoxFuture<'_, ()> {
        self.release().boxed()
    }

    fn leave(&self, orphan: Duration) {
        self.leave(orphan);
    }

    fn limit_orphan(&self, orphan: Duration) {
        self.limit_orphan(orphan);
    }
}

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);

    /// Returns `cat` in this directory.
    fn cat(directory: &Path) -> Program {
        Program {
            command: "cat".to_owned(),
            args: Vec::new(),
            env: BTreeMap::from([("PATH".to_owned(), std::env::var("PATH").unwrap())]),
            cwd: directory.to_owned(),
            sandbox: None,
        }
    }

    /// Returns a host whose shims run the binary that is built beside the tests.
    fn with_shims(directory: &Path) -> LocalHost {
        let tests = std::env::current_exe().unwrap();
        let built = tests.parent().and_then(Path::parent).unwrap();
        let binary = built.join("acpd-shim");
        assert!(
            binary.is_file(),
            "{} is missing: build it with cargo build -p acpd-shim",
            binary.display()
        );
        LocalHost::new(Some(Arc::new(Shims::new(binary, directory))))
    }

    #[tokio::test]
    async fn a_held_agent_is_left_and_continued_as_any_agent_of_a_host() {
        let place = tempfile::tempdir().unwrap();
        let host = with_shims(place.path());
        let hold = Hold::new();
        let mut agent = host.start_agent(&cat(place.path()), Some(&hold)).unwrap();
        let held = agent.held.take().unwrap();
        let mut stdin = agent.stdin.take().unwrap();
        stdin.write_all(b"first\n").await.unwrap();
        let mut line = [0; 6];
        agent.stdout.read_exact(&mut line).await.unwrap();
        assert_eq!((&line, held.journal_end()), (b"first\n", 6));
        held.limit_orphan(PATIENCE);
        agent.process.leave(PATIENCE);
        // The log has nothing, so the line is read again.
        let mut agent = host.attach_agent(&hold, 0).unwrap();
        agent.stdout.read_exact(&mut line).await.unwrap();
        let held = agent.held.take().unwrap();
        held.acknowledge(6);
        assert_eq!(
            (&line, held.sent_since(0).unwrap().as_slice()),
            (b"first\n", &b"first\n"[..])
        );
        held.forget(6);
        assert!(agent.id.is_some());
        let ended = agent.process.stop(PATIENCE).await;
        assert_eq!((ended.code, ended.by_itself), (Some(0), true));
    }

    #[tokio::test]
    async fn an_agent_without_a_hold_is_killed_when_it_is_left() {
        let place = tempfile::tempdir().unwrap();
        let host = with_shims(place.path());
        let mut agent = host.start_agent(&cat(place.path()), None).unwrap();
        assert!(agent.held.is_none());
        agent.process.leave(PATIENCE);
        let mut rest = Vec::new();
        agent.stdout.read_to_end(&mut rest).await.unwrap();
        assert_eq!(rest, b"");
    }

    #[tokio::test]
    async fn a_host_without_shims_says_what_is_missing() {
        let place = tempfile::tempdir().unwrap();
        let (host, hold) = (LocalHost::default(), Hold::new());
        let started = host.start_agent(&cat(place.path()), Some(&hold)).unwrap_err();
        let attached = host.attach_agent(&hold, 0).unwrap_err();
        for failure in [started, attached] {
            assert_eq!(failure.code, ErrorCode::Unsupported);
            assert!(
                failure
                    .message
                    .contains("could not write the program that holds it"),
                "{}",
                failure.message
            );
        }
    }
}
