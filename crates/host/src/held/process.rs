//! The process of a held agent.
//!
//! In: nothing, or the wish to end it or to leave it. Out: its exit. Owns: the process and its descendants, while a daemon is there.
//! Never: leaves one of them behind, unless it is asked to.

use std::process::Child;
use std::sync::{Arc, Weak};
use std::time::Duration;

use acpd_model::limits::{LEFTOVER_MILLIS, STDERR_TAIL_BYTES};
use acpd_shim::{Attached, Status};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::io::Interest;

use super::pipes::HeldPipes;
use super::shared::{Over, Shared};
use crate::children;
use crate::descriptors::watch;
use crate::exit::{Exit, reason, signal_name};
use crate::input_pipe::InputPipe;
use crate::mark::Mark;
use crate::process::ProcessExit;
use crate::stderr::StderrTail;
use crate::sweep::{self, ProcessScope};

/// How long a shim may take to end its processes after it has killed them: it gives up after ten seconds itself.
const END_PATIENCE: Duration = Duration::from_secs(12);
/// How long the end of a shim that was killed may take to be seen.
const KILL_PATIENCE: Duration = Duration::from_secs(2);
/// How long a shim that has reported its end may take to exit.
const EXIT_PATIENCE: Duration = Duration::from_secs(2);

const _: () = assert!(STDERR_TAIL_BYTES <= 64 << 10, "a shim keeps this much");

/// A running agent that a shim holds. Dropping it kills the agent with all its descendants, as if no shim held it. Only
/// [`leave`](Self::leave), or the death of this daemon, leaves it to another one.
#[derive(Debug)]
pub struct HeldProcess {
    shared: Arc<Shared>,
    stderr: StderrTail,
    name: String,
    id: u32,
    mark: Mark,
    input: Option<InputPipe>,
    /// The shim, if it is a child of this process.
    shim: Option<Child>,
    is_done: bool,
}

impl HeldProcess {
    /// Takes the process of an attachment.
    pub(super) fn new(shared: Arc<Shared>, mark: Mark, name: String, shim: Option<Child>) -> Self {
        let (mut id, mut input) = (0, None);
        if let Some(attached) = shared.state().attached() {
            id = attached.process();
            let pipe = attached.streams().input().and_then(InputPipe::of);
            input = pipe.map(|pipe| pipe.written_by(attached.shim()));
        }
        let source: Weak<Shared> = Arc::downgrade(&shared);
        Self {
            stderr: StderrTail::of(source),
            shared,
            name,
            id,
            mark,
            input,
            shim,
            is_done: false,
        }
    }

    /// Returns the pid of the agent's leading process, or `None` once it has ended.
    pub fn id(&self) -> Option<u32> {
        let mut state = self.shared.state();
        self.shared.receive(&mut state);
        (state.status().is_none() && !state.is_over()).then_some(self.id)
    }

    /// Returns what the log and the pipes know of each other.
    pub fn pipes(&self) -> HeldPipes {
        HeldPipes::new(Arc::clone(&self.shared))
    }

    /// Returns what the process prints on stderr.
    pub fn stderr(&self) -> StderrTail {
        self.stderr.clone()
    }

    /// Waits until the process has exited and none of its descendants can be the agent, as
    /// [`StoppingProcess::gone`](crate::StoppingProcess::gone) does. The end of the shim is the end of all. Safe to cancel.
    pub async fn gone(&mut self) {
        let status = self.shared.exited().await;
        let Some(input) = self
            .input
            .clone()
            .filter(|_| matches!(status, Some(Status::Exited(0))))
        else {
            return;
        };
        tokio::select! {
            () = input.unread() => {}
            _ = self.shared.over() => {}
        }
    }

    /// Ends the process if it still runs: sends what is left for it and closes its stdin, then SIGTERM, then SIGKILL, with `grace` after
    /// each of the first two. Both signals go to all descendants. None of them is left afterwards.
    pub async fn stop(mut self, grace: Duration) -> ProcessExit {
        let ends_itself = async {
            // A process that does not read gets a signal.
            let _ = self.shared.close_stdin().await;
            self.shared.exited().await;
        };
        let is_signalled = tokio::time::timeout(grace, ends_itself).await.is_err();
        let patience = if is_signalled {
            grace
        } else {
            Duration::from_millis(LEFTOVER_MILLIS)
        };
        let over = self.end(patience).await;
        let left = match over {
            Some(Over::Ended { left: 0 } | Over::Left) => 0,
            Some(Over::Ended { .. } | Over::Lost) | None => self.sweep().await,
        };
        self.shared.state().stop_sending();
        self.reap().await;
        self.is_done = true;
        let exit = exit_of(self.shared.state().status());
        let reason = match (over, &exit) {
            (
                Some(Over::Lost),
                Exit {
                    code: None,
                    signal: None,
                },
            ) => format!("{} ended because acpd-shim, which held it, was killed", self.name),
            _ => reason(&self.name, &exit, left),
        };
        ProcessExit {
            reason,
            code: exit.code,
            by_itself: !is_signalled,
            stderr: self.stderr.text(),
        }
    }

    /// Has the shim end all processes. Returns why it is gone; `None` if it is not.
    async fn end(&self, grace: Duration) -> Option<Over> {
        let ends = async {
            // A shim that is gone reports that.
            let _ = self.shared.send(|attached| attached.end(grace)).await;
            self.shared.over().await
        };
        if let Ok(over) = tokio::time::timeout(grace.saturating_add(END_PATIENCE), ends).await {
            return Some(over);
        }
        if let Some(attached) = self.shared.state().attached() {
            // What is left of it is found by its mark.
            let _ = attached.kill();
        }
        tokio::time::timeout(KILL_PATIENCE, self.shared.over()).await.ok()
    }

    /// Ends what a shim has not. Returns how many processes are left.
    async fn sweep(&self) -> usize {
        let mark = self.mark;
        let sweep = move || sweep::end(ProcessScope::Held(mark), Duration::ZERO);
        // If the runtime is shutting down, the sweep does not run, and the next start of the daemon does it.
        tokio::task::spawn_blocking(sweep).await.unwrap_or_default()
    }

    /// Waits for the shim, if it is a child of this process.
    async fn reap(&mut self) {
        let Some(mut shim) = self.shim.take() else {
            return;
        };
        let pid = Pid::from_child(&shim);
        if let Ok(handle) = pidfd_open(pid, PidfdFlags::empty())
            && let Ok(handle) = watch(handle, Interest::READABLE)
        {
            // One that does not exit is waited for with the orphans, when it does.
            let _ = tokio::time::timeout(EXIT_PATIENCE, handle.readable()).await;
        }
        let _ = shim.try_wait();
        children::forget(pid);
    }

    /// Detaches. The agent works on, and another daemon attaches with the cursor of the log. If none does for `orphan`, the shim ends the
    /// agent. What was written to its stdin is sent. If the shim is gone already, nothing is left to continue.
    pub fn leave(mut self, orphan: Duration) {
        // A shim that continues stays in the list of children, so it does not count as an orphan of an agent.
        self.is_done = self.shared.leave(orphan);
    }
}

impl Drop for HeldProcess {
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        let mut state = self.shared.state();
        state.stop_sending();
        let is_alive = !state.is_over();
        let is_asked = is_alive && state.attached().is_some_and(|attached| end_now(attached));
        drop(state);
        if !is_asked {
            let mark = self.mark;
            let sweep = move || sweep::end(ProcessScope::Held(mark), Duration::ZERO);
            match tokio::runtime::Handle::try_current() {
                Ok(runtime) => drop(runtime.spawn_blocking(sweep)),
                Err(_) => {
                    sweep();
                }
            }
        }
        if let Some(shim) = &self.shim {
            // From now on it is waited for with the orphans.
            children::forget(Pid::from_child(shim));
        }
    }
}

/// Has a shim end all processes at once. Returns whether it will.
fn end_now<S: acpd_shim::Streams>(attached: &Attached<S>) -> bool {
    let is_asked = attached.end(Duration::ZERO).is_ok();
    if !is_asked {
        // It reads nothing. Its process ends with it, and the rest is found by its mark.
        let _ = attached.kill();
    }
    is_asked
}

fn exit_of(status: Option<Status>) -> Exit {
    let number = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
    match status {
        Some(Status::Exited(code)) => Exit {
            code: Some(number(code)),
            signal: None,
        },
        Some(Status::Signalled(signal)) => Exit {
            code: None,
            signal: Some(signal_name(number(signal))),
        },
        None => Exit::default(),
    }
}
