//! What an editor has: text that is not saved yet, terminals, and a person who answers as the turn says.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    CancelNotification, ContentBlock, CreateTerminalRequest, CreateTerminalResponse, KillTerminalRequest,
    KillTerminalResponse, ReadTextFileRequest, ReadTextFileResponse, ReleaseTerminalRequest,
    ReleaseTerminalResponse, RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse,
    SelectedPermissionOutcome, SessionNotification, SessionUpdate, TerminalExitStatus, TerminalOutputRequest,
    TerminalOutputResponse, WaitForTerminalExitRequest, WaitForTerminalExitResponse, WriteTextFileRequest,
    WriteTextFileResponse,
};
use agent_client_protocol::{Agent, Error};
use serde_json::{Value, json};
use tokio::sync::watch;

/// What a terminal said and how it ended, once it has.
type Terminal = watch::Receiver<Option<(String, TerminalExitStatus)>>;

#[derive(Default)]
struct State {
    turn: Value,
    said: String,
    buffers: HashMap<PathBuf, String>,
    terminals: HashMap<String, Terminal>,
}

/// All that an editor has.
#[derive(Default)]
pub struct World(Mutex<State>);

impl World {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A turn begins.
    pub fn begin(&self, turn: &Value) {
        let mut state = self.state();
        state.turn = turn.clone();
        state.said.clear();
    }

    /// What the agent has said in this turn.
    pub fn said(&self) -> String {
        self.state().said.clone()
    }

    pub fn shown(&self, shown: &SessionNotification, agent: &ConnectionTo<Agent>) -> Result<(), Error> {
        let mut state = self.state();
        if let SessionUpdate::AgentMessageChunk(chunk) = &shown.update
            && let ContentBlock::Text(text) = &chunk.content
        {
            state.said.push_str(&text.text);
        }
        let cancel_at = state.turn["cancelAt"].as_str().map(str::to_owned);
        if cancel_at.is_some_and(|words| state.said.ends_with(&words)) {
            state.turn["cancelAt"] = Value::Null;
            agent.send_notification(CancelNotification::new(shown.session_id.clone()))?;
        }
        Ok(())
    }

    pub async fn permission(
        &self,
        request: RequestPermissionRequest,
    ) -> Result<RequestPermissionResponse, Error> {
        let answer = self.state().turn["answer"].clone();
        let chosen = request
            .options
            .into_iter()
            .find(|option| json!(option.kind) == answer);
        let chosen = chosen.ok_or_else(|| unknown(&answer))?;
        let outcome = SelectedPermissionOutcome::new(chosen.option_id);
        Ok(RequestPermissionResponse::new(
            RequestPermissionOutcome::Selected(outcome),
        ))
    }

    pub async fn read(&self, request: ReadTextFileRequest) -> Result<ReadTextFileResponse, Error> {
        if let Some(text) = self.state().buffers.get(&request.path) {
            return Ok(ReadTextFileResponse::new(text.clone()));
        }
        let text = std::fs::read_to_string(request.path).map_err(Error::into_internal_error)?;
        Ok(ReadTextFileResponse::new(text))
    }

    pub async fn write(&self, request: WriteTextFileRequest) -> Result<WriteTextFileResponse, Error> {
        self.state().buffers.insert(request.path, request.content);
        Ok(WriteTextFileResponse::new())
    }

    pub async fn create(&self, request: CreateTerminalRequest) -> Result<CreateTerminalResponse, Error> {
        let mut command = tokio::process::Command::new(request.command);
        command.args(request.args).kill_on_drop(true);
        if let Some(folder) = request.cwd {
            command.current_dir(folder);
        }
        let (tell, terminal) = watch::channel(None);
        let output = command.output();
        tokio::spawn(async move {
            if let Ok(output) = output.await {
                let code = output.status.code().and_then(|code| u32::try_from(code).ok());
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                tell.send_replace(Some((text, TerminalExitStatus::new().exit_code(code))));
            }
        });
        let mut state = self.state();
        let id = format!("editor-{}", state.terminals.len());
        state.terminals.insert(id.clone(), terminal);
        Ok(CreateTerminalResponse::new(id))
    }

    fn terminal(&self, id: &str) -> Result<Terminal, Error> {
        let state = self.state();
        state
            .terminals
            .get(id)
            .cloned()
            .ok_or_else(|| unknown(&json!(id)))
    }

    pub async fn output(&self, request: TerminalOutputRequest) -> Result<TerminalOutputResponse, Error> {
        let end = self.terminal(&request.terminal_id.to_string())?.borrow().clone();
        let (output, status) = end.unzip();
        Ok(TerminalOutputResponse::new(output.unwrap_or_default(), false).exit_status(status))
    }

    pub async fn exit(
        &self,
        request: WaitForTerminalExitRequest,
    ) -> Result<WaitForTerminalExitResponse, Error> {
        let mut terminal = self.terminal(&request.terminal_id.to_string())?;
        let end = terminal.wait_for(Option::is_some).await;
        let end = end.map_err(Error::into_internal_error)?.clone();
        let (_, status) = end.expect("it was waited for");
        Ok(WaitForTerminalExitResponse::new(status))
    }

    pub async fn kill(&self, request: KillTerminalRequest) -> Result<KillTerminalResponse, Error> {
        self.terminal(&request.terminal_id.to_string())?;
        Ok(KillTerminalResponse::new())
    }

    pub async fn release(&self, request: ReleaseTerminalRequest) -> Result<ReleaseTerminalResponse, Error> {
        self.terminal(&request.terminal_id.to_string())?;
        Ok(ReleaseTerminalResponse::new())
    }
}

fn unknown(what: &Value) -> Error {
    Error::invalid_params().data(json!({ "unknown": what }))
}
