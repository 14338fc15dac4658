//! The terminals of one agent that it has not released.
//!
//! In: terminals that start, exit and are released. Out: the state of a terminal. Owns: running terminals, and exited
//! ones within limits: the output of the newest, and the exit status of older ones. Never: stops a single command by
//! itself; dropping it stops all of them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use acpd_host::Exit;
use acpd_model::limits::{ENDED_OUTPUT_BYTES, ENDED_TERMINALS, ENDED_TERMINALS_KNOWN};

use crate::host::TerminalIo;

/// A terminal that was not released.
#[derive(Debug, Clone)]
pub enum TrackedTerminal {
    /// The terminal is running, or has exited and its output is kept.
    Whole(Arc<dyn TerminalIo>),
    /// The terminal has exited, and its output was dropped.
    Over {
        /// The exit status.
        exit: Exit,
        /// Whether the command had written any output.
        wrote: bool,
    },
}

/// All terminals of one agent. Exited terminals are kept in order of their exit, up to the limits.
#[derive(Debug, Default)]
pub struct Terminals {
    held: BTreeMap<String, TrackedTerminal>,
    /// Exited terminals with output, the oldest first.
    whole: VecDeque<EndedTerminal>,
    /// Total output of those terminals, in bytes.
    bytes: usize,
    /// Exited terminals without output, the oldest first.
    over: VecDeque<String>,
}

#[derive(Debug)]
struct EndedTerminal {
    id: String,
    exit: Exit,
    bytes: usize,
}

impl Terminals {
    /// Adds a terminal that has started.
    pub fn insert(&mut self, id: String, terminal: Arc<dyn TerminalIo>) {
        self.held.insert(id, TrackedTerminal::Whole(terminal));
    }

    /// Returns the state of a terminal; `None` if it never existed, was released, or exited too long ago.
    pub fn get(&self, id: &str) -> Option<&TrackedTerminal> {
        self.held.get(id)
    }

    /// Removes a released terminal.
    pub fn remove(&mut self, id: &str) -> Option<TrackedTerminal> {
        let held = self.held.remove(id)?;
        if let Some(at) = self.whole.iter().position(|ended| ended.id == id) {
            self.bytes -= self.whole.remove(at).map_or(0, |ended| ended.bytes);
        } else {
            self.over.retain(|over| over != id);
        }
        Some(held)
    }

    /// Records that a terminal exited after `bytes` bytes of output.
    pub fn ended(&mut self, id: &str, exit: Exit, bytes: usize) {
        // The terminal may have been released already, or belong to an earlier process.
        if !self.held.contains_key(id) {
            return;
        }
        let id = id.to_owned();
        self.whole.push_back(EndedTerminal { id, exit, bytes });
        self.bytes += bytes;
        while self.whole.len() > ENDED_TERMINALS || self.bytes > ENDED_OUTPUT_BYTES {
            let Some(EndedTerminal { id, exit, bytes }) = self.whole.pop_front() else {
                break;
            };
            self.bytes -= bytes;
            let wrote = bytes > 0;
            self.held
                .insert(id.clone(), TrackedTerminal::Over { exit, wrote });
            self.over.push_back(id);
        }
        while self.over.len() > ENDED_TERMINALS_KNOWN {
            if let Some(id) = self.over.pop_front() {
                self.held.remove(&id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use acpd_host::{Environment, Program, TerminalSpec};
    use tokio::sync::mpsc;

    use super::*;
    use crate::host::Host;
    use crate::host::local::LocalHost;

    /// Returns any terminal: the tests only check the bookkeeping.
    fn any() -> Arc<dyn TerminalIo> {
        let program = Program {
            command: "true".into(),
            args: Vec::new(),
            env: Environment::here(&[], &std::collections::BTreeMap::new()),
            cwd: std::env::temp_dir(),
            sandbox: None,
        };
        let spec = TerminalSpec {
            program,
            directory: None,
            output_bytes: 1,
        };
        LocalHost.start_terminal(&spec, mpsc::channel(16).0).unwrap()
    }

    fn end(terminals: &mut Terminals, id: &str, terminal: &Arc<dyn TerminalIo>, bytes: usize) {
        terminals.insert(id.to_owned(), Arc::clone(terminal));
        terminals.ended(id, Exit::default(), bytes);
    }

    /// Returns whether the output is kept; `None` for an unknown terminal.
    fn whole(terminals: &Terminals, id: &str) -> Option<bool> {
        terminals
            .get(id)
            .map(|held| matches!(held, TrackedTerminal::Whole(_)))
    }

    #[tokio::test]
    async fn the_output_of_the_oldest_goes_first_and_what_runs_stays() {
        let (mut terminals, any) = (Terminals::default(), any());
        terminals.insert("runs".into(), any.clone());
        end(&mut terminals, "silent", &any, 0);
        end(&mut terminals, "a", &any, ENDED_OUTPUT_BYTES / 2);
        end(&mut terminals, "b", &any, ENDED_OUTPUT_BYTES / 2);
        assert_eq!(whole(&terminals, "silent"), Some(true));
        end(&mut terminals, "c", &any, 1);
        let wrote = |id| match terminals.get(id) {
            Some(TrackedTerminal::Over { wrote, .. }) => Some(*wrote),
            _ => None,
        };
        assert_eq!((wrote("silent"), wrote("a")), (Some(false), Some(true)));
        assert_eq!(
            (whole(&terminals, "b"), whole(&terminals, "c")),
            (Some(true), Some(true))
        );
        assert_eq!(whole(&terminals, "runs"), Some(true));
        assert!(terminals.bytes <= ENDED_OUTPUT_BYTES);
    }

    #[tokio::test]
    async fn released_output_makes_room() {
        let (mut terminals, any) = (Terminals::default(), any());
        end(&mut terminals, "a", &any, ENDED_OUTPUT_BYTES);
        assert!(terminals.remove("a").is_some() && terminals.remove("a").is_none());
        end(&mut terminals, "b", &any, ENDED_OUTPUT_BYTES);
        assert_eq!(whole(&terminals, "b"), Some(true));
        end(&mut terminals, "c", &any, 1);
        assert!(terminals.remove("b").is_some());
        assert_eq!((terminals.over.len(), terminals.bytes), (0, 1));
        terminals.ended("b", Exit::default(), 7);
        assert_eq!((whole(&terminals, "b"), terminals.bytes), (None, 1), "it is gone");
    }

    #[tokio::test]
    async fn an_agent_that_never_releases_fills_no_memory() {
        let (mut terminals, any) = (Terminals::default(), any());
        let all = ENDED_TERMINALS + ENDED_TERMINALS_KNOWN + 10;
        for id in 0..all {
            end(&mut terminals, &id.to_string(), &any, 1);
        }
        assert_eq!(terminals.held.len(), ENDED_TERMINALS + ENDED_TERMINALS_KNOWN);
        assert_eq!(
            (whole(&terminals, "9"), whole(&terminals, "10")),
            (None, Some(false))
        );
        let newest = all - ENDED_TERMINALS;
        assert_eq!(whole(&terminals, &(newest - 1).to_string()), Some(false));
        assert_eq!(whole(&terminals, &newest.to_string()), Some(true));
    }
}
