//! Held agents on systems other than Linux: there are none.

use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use acpd_model::Failure;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::error::HeldError;
use super::hold::Hold;
use crate::command::Program;
use crate::process::ProcessExit;
use crate::stderr::StderrTail;

/// The shims of a daemon, of which this system has none.
#[derive(Debug)]
pub struct Shims(());

/// An agent that a shim holds, which does not exist on this system.
#[derive(Debug)]
pub struct HeldAgent {
    /// Pipe for messages to the agent.
    pub stdin: HeldStdin,
    /// Pipe for messages from the agent.
    pub stdout: HeldStdout,
    /// The end of what the agent prints on stderr.
    pub stderr: StderrTail,
    /// The process.
    pub process: HeldProcess,
}

/// The process of a held agent, which does not exist on this system.
#[derive(Debug)]
pub enum HeldProcess {}

/// A handle of a held agent's pipes, which does not exist on this system.
#[derive(Debug, Clone)]
pub enum HeldPipes {}

/// A pipe to a held agent, which does not exist on this system.
#[derive(Debug)]
pub enum HeldStdin {}

/// A pipe from a held agent, which does not exist on this system.
#[derive(Debug)]
pub enum HeldStdout {}

impl Shims {
    /// Returns what refuses every agent.
    pub fn new(_: PathBuf, _: &Path) -> Self {
        Self(())
    }

    /// Has no effect.
    pub fn set_longest_line(&self, _: u64) {}

    /// Has no effect.
    pub fn set_copies(&self, _: bool) {}

    /// Fails.
    pub fn start(&self, _: &Program, _: &Hold) -> Result<HeldAgent, Failure> {
        Err(HeldError::Unsupported.into())
    }

    /// Fails.
    pub fn attach(&self, _: &Hold, _: u64) -> Result<HeldAgent, HeldError> {
        Err(HeldError::Unsupported)
    }

    /// Returns no names.
    pub fn names(&self) -> io::Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// Does nothing: there is no shim of this name.
    pub fn end(&self, _: &str) -> Result<(), HeldError> {
        Ok(())
    }

    /// Returns no names.
    pub fn remove_leftovers(&self, _: &[String]) -> io::Result<Vec<String>> {
        Ok(Vec::new())
    }
}

impl HeldProcess {
    /// Never called, since there is no process.
    pub fn id(&self) -> Option<u32> {
        match *self {}
    }

    /// Never called, since there is no process.
    pub fn pipes(&self) -> HeldPipes {
        match *self {}
    }

    /// Never called, since there is no process.
    pub async fn gone(&mut self) {
        match *self {}
    }

    /// Never called, since there is no process.
    pub async fn stop(self, _: Duration) -> ProcessExit {
        match self {}
    }

    /// Never called, since there is no process.
    pub fn leave(self, _: Duration) {
        match self {}
    }
}

impl HeldPipes {
    /// Never called, since there are no pipes.
    pub fn acknowledge(&self, _: u64) {
        match *self {}
    }

    /// Never called, since there are no pipes.
    pub fn limit_orphan(&self, _: Duration) {
        match *self {}
    }

    /// Never called, since there are no pipes.
    pub fn journal_end(&self) -> u64 {
        match *self {}
    }

    /// Never called, since there are no pipes.
    pub fn sent_since(&self, _: u64) -> io::Result<Vec<u8>> {
        match *self {}
    }

    /// Never called, since there are no pipes.
    pub fn forget(&self, _: u64) {
        match *self {}
    }
}

impl AsyncWrite for HeldStdin {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
        match *self {}
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match *self {}
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match *self {}
    }
}

impl AsyncRead for HeldStdout {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match *self {}
    }
}
