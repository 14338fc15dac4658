//! File and terminal callbacks of an agent.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use acpd_host::{
    Fit, InputKind, Program, Sandbox, TERMINAL_TYPE, Target, TerminalSpec, TerminalUpdate, Walk, Workspace,
    outside_workspace,
};
use acpd_model::limits::PATH_BYTES;
use acpd_model::{ErrorCode, Failure};
use acpd_policy::RealPaths;
use acpd_proto::agent::TerminalExit;
use acpd_proto::projection::Spec;
use acpd_proto::thread::{HostCall, HostReply, TerminalEvent, Waiter};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::host::budget::{Budget, Charge};
use crate::host::denial::Denial;
use crate::host::terminals::{Terminals, TrackedTerminal};
use crate::host::{Host, blocking};
use crate::metrics::Metrics;

/// Bytes that are reserved for a file read before the size of the file is known.
const READ_FIRST_BYTES: u64 = 64 << 10;
/// Largest growth of a byte of text as JSON: control characters are written as `\u001f`.
const JSON_GROWTH: u64 = 6;

/// A message from the host to a thread.
#[derive(Debug)]
pub enum HostMessage {
    /// A callback has finished.
    Done {
        /// The number of the callback.
        call: u64,
        /// The result of the callback.
        result: Result<HostReply, Failure>,
        /// The part of the agent's budget that the result holds.
        charge: Option<Charge>,
    },
    /// A path lookup has finished.
    Resolved {
        /// The request that waits for the paths.
        waiter: Waiter,
        /// The resolved paths.
        real: RealPaths,
    },
    /// A terminal wrote output or exited.
    Terminal {
        /// The id of the terminal.
        terminal_id: String,
        /// The output or the exit.
        event: TerminalEvent,
    },
    /// The sandbox has denied a path.
    Denied(Denial),
    /// The directory of the thread was looked up.
    DirectoryLooked {
        /// The directory.
        directory: String,
        /// What to say about it, if it is gone.
        gone: Option<Failure>,
    },
}

/// Variables that keep programs from waiting for keys, since a user may not be there. What the configuration or the agent sets
/// wins.
const WITHOUT_KEYBOARD: [(&str, &str); 4] = [
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    // Git takes the text that it proposes.
    ("GIT_EDITOR", "true"),
    // Git fails instead of asking for a password.
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// Returns the environment of a command.
pub type Environment = Box<dyn Fn() -> BTreeMap<String, String> + Send + Sync>;

/// Serves the files and terminals of one thread's agent. Dropping it stops the terminals.
pub struct Callbacks {
    host: Arc<dyn Host>,
    workspace: Arc<Workspace>,
    environment: Environment,
    sandbox: Option<Sandbox>,
    terminals: Arc<Mutex<Terminals>>,
    messages_tx: mpsc::Sender<Box<HostMessage>>,
    budget: Budget,
    /// Cancels callbacks that wait for capacity in the budget.
    ends: CancellationToken,
    metrics: Arc<Metrics>,
}

impl fmt::Debug for Callbacks {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Callbacks").finish_non_exhaustive()
    }
}

impl Drop for Callbacks {
    fn drop(&mut self) {
        self.ends.cancel();
    }
}

impl Callbacks {
    /// Creates the callbacks for the `workspace` of a thread. Data that callbacks load into memory is charged to `budget`.
    pub fn new(
        host: Arc<dyn Host>,
        workspace: Workspace,
        environment: Environment,
        sandbox: Option<Sandbox>,
        messages_tx: mpsc::Sender<Box<HostMessage>>,
        budget: Budget,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self {
            host,
            workspace: Arc::new(workspace),
            environment,
            sandbox,
            terminals: Arc::default(),
            messages_tx,
            budget,
            ends: CancellationToken::new(),
            metrics,
        }
    }

    /// Returns the workspace, for path lookups.
    pub fn workspace(&self) -> Arc<Workspace> {
        Arc::clone(&self.workspace)
    }

    /// Runs a callback; the result arrives as [`HostMessage::Done`].
    pub fn handle(&mut self, call: u64, what: HostCall) {
        let result = match what {
            HostCall::ReadFile {
                path,
                at,
                line,
                limit,
            } => {
                return self.on_disk(call, JSON_GROWTH, move |files, room| {
                    let (path, at) = (path.as_str(), at.as_deref());
                    let text = files.read_text_within(Target { path, at }, line, limit, room)?;
                    Ok(text.map(|content| HostReply::Read { content }))
                });
            }
            HostCall::WriteFile { path, .. } if self.is_readonly() => Err(Failure::new(
                ErrorCode::Forbidden,
                format!("{path} may only be read: the agent's sandbox is \"readonly\" in the configuration"),
            )),
            HostCall::WriteFile { path, at, content } => {
                return self.on_disk(call, 1, move |files, room| {
                    let (path, at) = (path.as_str(), at.as_deref());
                    let old = files.write_text_within(Target { path, at }, &content, room)?;
                    Ok(old.map(|old| HostReply::Written { old }))
                });
            }
            HostCall::CreateTerminal {
                terminal_id,
                command,
                args,
                env,
                cwd,
                output_bytes,
            } => {
                let mut environment = (self.environment)();
                environment.insert("TERM".to_owned(), TERMINAL_TYPE.to_owned());
                for (name, value) in WITHOUT_KEYBOARD {
                    environment
                        .entry(name.to_owned())
                        .or_insert_with(|| value.to_owned());
                }
                environment.extend(env);
                let program = Program {
                    command,
                    args,
                    env: environment,
                    cwd: PathBuf::from(&cwd),
                    sandbox: self.sandbox.clone(),
                };
                let spec = TerminalSpec {
                    program,
                    directory: None,
                    output_bytes,
                };
                return self.create(call, terminal_id, cwd, spec);
            }
            HostCall::TerminalOutput { terminal_id } => self.output(call, &terminal_id),
            HostCall::WaitForTerminalExit { terminal_id } => {
                self.with(call, &terminal_id, |held| async move {
                    HostReply::Exited(ended(match held {
                        TrackedTerminal::Whole(terminal) => terminal.wait().await,
                        TrackedTerminal::Over { exit, .. } => exit,
                    }))
                })
            }
            HostCall::TypeIn { terminal_id, text } => match self.held(&terminal_id) {
                Ok(TrackedTerminal::Whole(terminal)) => {
                    // A command does not outlive its agent because of what was typed.
                    let ends = self.ends.clone();
                    return self.answer(call, async move {
                        let typed = ends.run_until_cancelled(terminal.type_in(text)).await;
                        typed.ok_or_else(|| Failure::agent("the agent is gone"))??;
                        Ok(HostReply::Done)
                    });
                }
                Ok(TrackedTerminal::Over { .. }) => {
                    Err(Failure::new(ErrorCode::Conflict, "the command has ended"))
                }
                Err(failure) => Err(failure),
            },
            HostCall::KillTerminal { terminal_id } => self.with(call, &terminal_id, |held| async move {
                if let TrackedTerminal::Whole(terminal) = held {
                    terminal.kill().await;
                }
                HostReply::Done
            }),
            HostCall::ReleaseTerminal { terminal_id } => {
                let terminal = lock(&self.terminals).remove(&terminal_id);
                return self.answer(call, async move {
                    // An unknown terminal was released before, or belongs to another thread, which this agent must not affect.
                    if let Some(TrackedTerminal::Whole(terminal)) = terminal {
                        terminal.release().await;
                    }
                    Ok(HostReply::Done)
                });
            }
        };
        if let Err(failure) = result {
            self.answer(call, async { Err(failure) });
        }
    }

    fn is_readonly(&self) -> bool {
        self.sandbox.as_ref().is_some_and(Sandbox::is_readonly)
    }

    /// Records that a terminal exited after `bytes` bytes of output.
    pub fn terminal_ended(&mut self, terminal_id: &str, exit: &TerminalExit, bytes: usize) {
        let exit = acpd_host::Exit {
            code: exit.code,
            signal: exit.signal.clone(),
        };
        lock(&self.terminals).ended(terminal_id, exit, bytes);
    }

    /// Runs a callback that loads a file's text into memory, once the budget has capacity for it. Each byte of text
    /// uses up to `growth` bytes. The size is known only after opening the file. If the capacity is too small for it,
    /// the file is opened again once there is enough.
    fn on_disk(
        &self,
        call: u64,
        growth: u64,
        work: impl Fn(&Workspace, u64) -> Result<Fit<HostReply>, Failure> + Send + Sync + 'static,
    ) {
        let work = Arc::new(work);
        let (host, workspace) = (Arc::clone(&self.host), Arc::clone(&self.workspace));
        let memory = self.memory();
        self.charged(call, async move {
            let mut room = READ_FIRST_BYTES;
            loop {
                let charge = memory.take(room * growth).await?;
                let (work, workspace) = (Arc::clone(&work), Arc::clone(&workspace));
                match blocking(&*host, move || work(&workspace, room)).await? {
                    Fit::Done(reply) => return Ok((reply, Some(charge))),
                    Fit::Needs(bytes) => room = bytes,
                }
            }
        });
    }

    /// Answers with a terminal's output, once the budget has capacity for the largest possible output.
    fn output(&self, call: u64, terminal_id: &str) -> Result<(), Failure> {
        let held = self.held(terminal_id)?;
        let memory = self.memory();
        self.charged(call, async move {
            let charge = match &held {
                TrackedTerminal::Whole(terminal) => {
                    let bytes = terminal.output_limit() as u64 * JSON_GROWTH;
                    Some(memory.take(bytes).await?)
                }
                TrackedTerminal::Over { .. } => None,
            };
            Ok((output(held), charge))
        });
        Ok(())
    }

    /// Starts a command, if `cwd` is in the workspace.
    fn create(&self, call: u64, terminal_id: String, cwd: String, spec: TerminalSpec) {
        let (host, workspace) = (Arc::clone(&self.host), Arc::clone(&self.workspace));
        // Dropping the callbacks stops running commands and prevents later ones from starting.
        let terminals = Arc::downgrade(&self.terminals);
        let messages_tx = self.messages_tx.clone();
        let metrics = Arc::clone(&self.metrics);
        tokio::spawn(async move {
            let (updates, mut updated) = mpsc::channel(16);
            let checked = blocking(&*host, move || inside(&workspace, &cwd)).await;
            let begun = checked.and_then(|directory| {
                let gone = || Failure::agent("the agent is gone");
                let terminals = terminals.upgrade().ok_or_else(gone)?;
                let directory = Some(Arc::new(directory));
                let spec = TerminalSpec { directory, ..spec };
                let terminal = host.start_terminal(&spec, updates)?;
                lock(&terminals).insert(terminal_id.clone(), terminal);
                Ok(())
            });
            if let Err(failure) = begun {
                let result = Err(failure);
                let charge = None;
                // A thread that has gone has no agent to answer.
                let _ = messages_tx
                    .send(Box::new(HostMessage::Done { call, result, charge }))
                    .await;
                return;
            }
            let _running = metrics.terminal();
            // The machine learns that the command started before it receives output.
            let mut next = HostMessage::Done {
                call,
                result: Ok(HostReply::Created),
                charge: None,
            };
            loop {
                if messages_tx.send(Box::new(next)).await.is_err() {
                    return;
                }
                let Some(update) = updated.recv().await else {
                    return;
                };
                let event = match update {
                    TerminalUpdate::Output(text) => TerminalEvent::Output(text),
                    TerminalUpdate::Waiting(kind) => TerminalEvent::Waiting {
                        secret: kind == InputKind::Secret,
                    },
                    TerminalUpdate::InputEnded => TerminalEvent::InputEnded,
                    TerminalUpdate::Exited {
                        exit,
                        output,
                        truncated,
                    } => TerminalEvent::Exited {
                        exit: ended(exit),
                        output,
                        truncated,
                    },
                };
                next = HostMessage::Terminal {
                    terminal_id: terminal_id.clone(),
                    event,
                };
            }
        });
    }

    fn with<F: Future<Output = HostReply> + Send + 'static>(
        &self,
        call: u64,
        terminal_id: &str,
        work: impl FnOnce(TrackedTerminal) -> F,
    ) -> Result<(), Failure> {
        let work = work(self.held(terminal_id)?);
        self.answer(call, async move { Ok(work.await) });
        Ok(())
    }

    fn memory(&self) -> Memory {
        Memory {
            budget: self.budget.clone(),
            ends: self.ends.clone(),
        }
    }

    fn held(&self, terminal_id: &str) -> Result<TrackedTerminal, Failure> {
        let held = lock(&self.terminals).get(terminal_id).cloned();
        held.ok_or_else(|| Failure::new(ErrorCode::NotFound, format!("terminal {terminal_id} not found")))
    }

    fn answer(&self, call: u64, work: impl Future<Output = Result<HostReply, Failure>> + Send + 'static) {
        self.charged(call, async move { work.await.map(|reply| (reply, None)) });
    }

    fn charged(
        &self,
        call: u64,
        work: impl Future<Output = Result<(HostReply, Option<Charge>), Failure>> + Send + 'static,
    ) {
        let messages_tx = self.messages_tx.clone();
        tokio::spawn(async move {
            let (result, charge) = match work.await {
                Ok((reply, charge)) => (Ok(reply), charge),
                Err(failure) => (Err(failure), None),
            };
            let done = HostMessage::Done { call, result, charge };
            // A thread that has gone has no agent to answer.
            let _ = messages_tx.send(Box::new(done)).await;
        });
    }
}

fn lock(terminals: &Mutex<Terminals>) -> MutexGuard<'_, Terminals> {
    terminals.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens a start directory. Rejects one outside of the workspace; the command may change to another directory later. Blocks on the
/// disk.
fn inside(workspace: &Workspace, cwd: &str) -> Result<Walk, Failure> {
    if cwd.len() > PATH_BYTES {
        // It is not repeated: it can be as long as a message of the agent.
        let length = cwd.len();
        return Err(Failure::invalid_params(format!(
            "the terminal's cwd is too long: {length} bytes, and {PATH_BYTES} are allowed"
        )));
    }
    let named = Path::new(cwd);
    if !named.is_absolute() {
        return Err(Failure::invalid_params(format!(
            "the terminal's cwd {cwd:?} is not absolute"
        )));
    }
    let walk = Walk::along(named).map_err(|error| {
        Failure::invalid_params(format!("the terminal's cwd {cwd:?} cannot be used: {error}"))
    })?;
    let mut roots = workspace.real_directories();
    if !roots.any(|root| walk.real().starts_with(root)) {
        return Err(outside_workspace(cwd));
    }
    if workspace.reserves_directory(&walk) {
        return Err(Failure::new(
            ErrorCode::Forbidden,
            format!(
                "the terminal's cwd {cwd:?} belongs to acpd or to another agent: no command of this agent starts there"
            ),
        ));
    }
    Ok(walk)
}

/// Budget for data that callbacks load into memory, while the agent exists.
struct Memory {
    budget: Budget,
    ends: CancellationToken,
}

impl Memory {
    /// Waits for capacity. Fails if the agent stops first; the callback has not started then and never will.
    async fn take(&self, bytes: u64) -> Result<Charge, Failure> {
        let taken = self.ends.run_until_cancelled(self.budget.take(bytes)).await;
        taken.ok_or_else(|| Failure::agent("the agent is gone"))
    }
}

fn output(held: TrackedTerminal) -> HostReply {
    let (output, truncated, exit) = match held {
        TrackedTerminal::Whole(terminal) => terminal.output(),
        TrackedTerminal::Over { exit, wrote } => (String::new(), wrote, Some(exit)),
    };
    HostReply::Output {
        output,
        truncated,
        exit: exit.map(ended),
    }
}

fn ended(exit: acpd_host::Exit) -> TerminalExit {
    TerminalExit {
        code: exit.code,
        signal: exit.signal,
    }
}

/// Returns the workspace's directories, as the client spelled them.
pub fn directories(spec: &Spec) -> Vec<PathBuf> {
    spec.directories().map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use acpd_host::Reserved;
    use acpd_model::limits::ENDED_TERMINALS;

    use super::*;
    use crate::host::local::LocalHost;

    fn machine(cwd: PathBuf, messages_tx: mpsc::Sender<Box<HostMessage>>) -> Callbacks {
        let metrics = Arc::new(Metrics::new(Arc::new(acpd_log::Memory::new())));
        Callbacks::new(
            Arc::new(LocalHost),
            Workspace::open(std::iter::once(cwd)),
            Box::new(BTreeMap::new),
            None,
            messages_tx,
            Budget::default(),
            metrics,
        )
    }

    #[test]
    fn a_command_begins_in_the_workspace() {
        let place = std::env::temp_dir().join(format!("acpd-cwd-{}", std::process::id()));
        let work = place.join("work");
        std::fs::create_dir_all(work.join("sub")).unwrap();
        std::fs::create_dir_all(work.join("data/deep")).unwrap();
        std::os::unix::fs::symlink("/", work.join("out")).unwrap();
        std::os::unix::fs::symlink("data/deep", work.join("to-data")).unwrap();
        let reserved = Reserved::new(vec![work.join("data")], Vec::new());
        let workspace = Workspace::open(std::iter::once(work.clone())).without(Arc::new(reserved));
        for (cwd, inside) in [
            ("", true),
            ("/sub", true),
            ("/sub/..", true),
            ("/..", false),
            ("/out", false),
            ("/out/etc", false),
            ("/none", false),
            ("/data", false),
            ("/data/deep", false),
            ("/to-data", false),
        ] {
            let cwd = format!("{}{cwd}", work.display());
            assert_eq!(super::inside(&workspace, &cwd).is_ok(), inside, "{cwd}");
        }
        assert!(super::inside(&workspace, "sub").is_err());
        // Spare slashes and detours lead to the same directory, at any length.
        for detour in ["/", "/sub/.."] {
            let cwd = format!("{}{}", work.display(), detour.repeat(PATH_BYTES));
            let refused = super::inside(&workspace, &cwd).unwrap_err();
            assert!(refused.message.contains("too long"), "{detour}");
            assert!(refused.message.len() < PATH_BYTES, "{detour}");
        }
        std::fs::remove_dir_all(place).unwrap();
    }

    /// Returns the answer to a call, and skips other messages from the host.
    async fn answer(messages_rx: &mut mpsc::Receiver<Box<HostMessage>>) -> Result<HostReply, Failure> {
        loop {
            if let HostMessage::Done { result, .. } = *messages_rx.recv().await.unwrap() {
                return result;
            }
        }
    }

    /// Runs a command to its end and returns its output.
    async fn run(
        machine: &mut Callbacks,
        messages_rx: &mut mpsc::Receiver<Box<HostMessage>>,
        id: &str,
        args: &[&str],
    ) -> String {
        let create = HostCall::CreateTerminal {
            terminal_id: id.into(),
            command: "printf".into(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: Vec::new(),
            cwd: std::env::temp_dir().display().to_string(),
            output_bytes: 100,
        };
        machine.handle(0, create);
        loop {
            match *messages_rx.recv().await.unwrap() {
                HostMessage::Done { result, .. } => assert_eq!(result, Ok(HostReply::Created)),
                HostMessage::Terminal {
                    event: TerminalEvent::Exited { exit, output, .. },
                    ..
                } => {
                    machine.terminal_ended(id, &exit, output.len());
                    return output;
                }
                HostMessage::Terminal { .. }
                | HostMessage::Resolved { .. }
                | HostMessage::Denied(_)
                | HostMessage::DirectoryLooked { .. } => {}
            }
        }
    }

    #[tokio::test]
    async fn no_command_starts_for_an_exited_agent() {
        let (messages_tx, mut messages_rx) = mpsc::channel(16);
        let dir = tempfile::tempdir().unwrap();
        let mut machine = machine(dir.path().to_owned(), messages_tx);
        let create = HostCall::CreateTerminal {
            terminal_id: "t".into(),
            command: "touch".into(),
            args: vec!["made".into()],
            env: Vec::new(),
            cwd: dir.path().display().to_string(),
            output_bytes: 100,
        };
        machine.handle(0, create);
        drop(machine);
        let failure = answer(&mut messages_rx).await.unwrap_err();
        assert!(failure.message.contains("the agent is gone"), "{failure}");
        assert!(!dir.path().join("made").exists());
    }

    #[tokio::test]
    async fn a_terminal_whose_output_was_dropped_says_so() {
        let (messages_tx, mut messages_rx) = mpsc::channel(16);
        let mut machine = machine(std::env::temp_dir(), messages_tx);
        assert_eq!(
            run(&mut machine, &mut messages_rx, "old", &["%s", "x"]).await,
            "x"
        );
        for id in 0..ENDED_TERMINALS {
            run(&mut machine, &mut messages_rx, &id.to_string(), &["%s", "y"]).await;
        }
        let exit = TerminalExit {
            code: Some(0),
            signal: None,
        };
        let whole = |output: &str, truncated| HostReply::Output {
            output: output.into(),
            truncated,
            exit: Some(exit.clone()),
        };
        let expected = [("old", whole("", true)), ("0", whole("y", false))];
        for (id, expected) in expected {
            let terminal_id = id.to_owned();
            machine.handle(1, HostCall::TerminalOutput { terminal_id });
            assert_eq!(answer(&mut messages_rx).await, Ok(expected), "{id}");
        }
        let terminal_id = || "old".to_owned();
        let calls = [
            (
                HostCall::WaitForTerminalExit {
                    terminal_id: terminal_id(),
                },
                HostReply::Exited(exit.clone()),
            ),
            (
                HostCall::KillTerminal {
                    terminal_id: terminal_id(),
                },
                HostReply::Done,
            ),
            (
                HostCall::ReleaseTerminal {
                    terminal_id: terminal_id(),
                },
                HostReply::Done,
            ),
        ];
        for (call, expected) in calls {
            machine.handle(1, call);
            assert_eq!(answer(&mut messages_rx).await, Ok(expected));
        }
        machine.handle(
            1,
            HostCall::TerminalOutput {
                terminal_id: terminal_id(),
            },
        );
        let failure = answer(&mut messages_rx).await.unwrap_err();
        assert_eq!(failure.code, ErrorCode::NotFound);
    }
}
