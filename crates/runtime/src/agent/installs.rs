//! Installations of agents that clients requested.
//!
//! In: the name of an agent. Out: its progress and the result. Owns: a thread for each installation, which ends with it, not
//! with the client. Never: installs the same agent twice at the same time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use acpd_catalog::Progress;
use acpd_host::Reserved;
use acpd_model::{ErrorCode, Failure};
use acpd_proto::surface::reply::{InstallProgress, InstallStep};
use tokio::sync::watch;

use crate::agent::registry::Agents;

/// Agents that the daemon installs at the same time.
const INSTALLS: usize = 4;

/// The installations that run; cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Installs(Arc<Mutex<BTreeMap<String, watch::Receiver<State>>>>);

/// The state of an installation.
#[derive(Debug, Clone)]
enum State {
    Running(InstallProgress),
    Done(Result<(), Failure>),
}

impl Installs {
    /// Returns how far the installation of an agent is, if it runs.
    pub fn progress(&self, agent: &str) -> Option<InstallProgress> {
        match &*self.running().get(agent)?.borrow() {
            State::Running(progress) => Some(progress.clone()),
            State::Done(_) => None,
        }
    }

    /// Installs an agent, or waits for the installation of it that runs already.
    pub async fn install(
        &self,
        agents: &Arc<Agents>,
        reserved: &Arc<Reserved>,
        agent: &str,
    ) -> Result<(), Failure> {
        let mut state = self.begin(agents, reserved, agent)?;
        let ended = state.wait_for(|state| matches!(state, State::Done(_))).await;
        match ended.as_deref() {
            Ok(State::Done(result)) => result.clone(),
            // The thread panicked.
            _ => Err(Failure::new(
                ErrorCode::Internal,
                "internal error: the installation ended without a result",
            )),
        }
    }

    fn running(&self) -> MutexGuard<'_, BTreeMap<String, watch::Receiver<State>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(
        &self,
        agents: &Arc<Agents>,
        reserved: &Arc<Reserved>,
        agent: &str,
    ) -> Result<watch::Receiver<State>, Failure> {
        let mut running = self.running();
        running.retain(|_, state| runs(state));
        if let Some(state) = running.get(agent) {
            return Ok(state.clone());
        }
        if running.len() >= INSTALLS {
            let message = format!("too many installations in progress (limit {INSTALLS}); try again later");
            return Err(Failure::new(ErrorCode::Overloaded, message));
        }
        let id = agents.catalog_id(agent)?;
        let (sender, state) = watch::channel(State::Running(InstallProgress::new(InstallStep::Installing)));
        let (agents, reserved) = (Arc::clone(agents), Arc::clone(reserved));
        std::thread::Builder::new()
            .name("install".to_owned())
            .spawn(move || {
                let report = |progress: Progress<'_>| {
                    sender.send_replace(State::Running(shown(progress)));
                };
                let result = agents.install(&id, &reserved, &report);
                sender.send_replace(State::Done(result));
            })
            .map_err(|error| {
                Failure::new(
                    ErrorCode::Overloaded,
                    format!("no thread can be started: {error}"),
                )
            })?;
        running.insert(agent.to_owned(), state.clone());
        Ok(state)
    }
}

/// Whether an installation runs. Its thread may live on for a moment after the result.
fn runs(state: &watch::Receiver<State>) -> bool {
    state.has_changed().is_ok() && matches!(*state.borrow(), State::Running(_))
}

fn shown(progress: Progress<'_>) -> InstallProgress {
    match progress {
        Progress::Received { bytes, of } => InstallProgress {
            received_bytes: Some(bytes),
            total_bytes: of,
            ..InstallProgress::new(InstallStep::Downloading)
        },
        Progress::Unpacking => InstallProgress::new(InstallStep::Unpacking),
        Progress::Wrote(line) => InstallProgress {
            line: Some(line.to_owned()).filter(|line| !line.is_empty()),
            ..InstallProgress::new(InstallStep::Installing)
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_after_the_result_begins_anew() {
        let (sender, state) = watch::channel(State::Running(InstallProgress::new(InstallStep::Installing)));
        assert!(runs(&state));
        // The request comes before the thread has ended and dropped its sender.
        sender.send_replace(State::Done(Err(Failure::new(
            ErrorCode::AgentFailed,
            "no network",
        ))));
        assert!(!runs(&state));
    }

    #[test]
    fn an_installation_whose_thread_panicked_runs_no_more() {
        let (sender, state) = watch::channel(State::Running(InstallProgress::new(InstallStep::Installing)));
        drop(sender);
        assert!(!runs(&state));
    }
}
