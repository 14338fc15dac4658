//! The result of a turn.

use acpd_model::event::TurnStatus;
use acpd_model::limits::{AGENT_ID_BYTES, AGENT_TEXT_BYTES};
use acpd_model::text::clip;
use acpd_model::{ItemOutcome, RawJson};
use serde::Deserialize;

use crate::wire::RpcError;

/// The result of a turn, before it is recorded.
#[derive(Debug)]
pub(in crate::thread) struct TurnResult {
    pub status: TurnStatus,
    pub stop_reason: Option<String>,
    pub error: Option<String>,
    pub usage: Option<RawJson>,
    /// The agent's whole response, if the stop reason and the usage would not rebuild it; or the agent's error.
    pub raw: Option<RawJson>,
}

impl TurnResult {
    pub fn failed(error: &str) -> Self {
        Self::ended(TurnStatus::Failed, error)
    }

    /// A turn without the agent that ended normally.
    pub fn completed() -> Self {
        Self {
            status: TurnStatus::Completed,
            ..Self::interrupted()
        }
    }

    pub fn interrupted() -> Self {
        Self {
            status: TurnStatus::Interrupted,
            stop_reason: None,
            error: None,
            usage: None,
            raw: None,
        }
    }

    /// A turn that ended without the agent's response, for this reason.
    pub fn ended(status: TurnStatus, reason: &str) -> Self {
        Self {
            status,
            error: Some(reason.to_owned()),
            ..Self::interrupted()
        }
    }

    /// Builds the result from the agent's response to a prompt. After `silence` the turn has failed, whatever the
    /// response is. A turn that a client interrupted is interrupted, even if the response is an error.
    pub fn of(answer: Result<RawJson, RpcError>, silence: Option<&str>, by_client: bool) -> Self {
        let mut result = match (answer, silence) {
            (_, Some(silence)) => Self::failed(silence),
            (Ok(response), None) => Self::from_response(&response),
            (Err(error), None) => Self {
                raw: RawJson::of(&error).ok(),
                ..Self::failed(&error.to_string())
            },
        };
        if by_client && result.status == TurnStatus::Failed {
            result.status = TurnStatus::Interrupted;
        }
        result
    }

    /// Returns the outcome of items that are open at the end of the turn.
    pub fn item_outcome(&self) -> ItemOutcome {
        match self.status {
            TurnStatus::Interrupted => ItemOutcome::Interrupted,
            TurnStatus::Failed => ItemOutcome::Failed,
            _ => ItemOutcome::Completed,
        }
    }

    /// Parses ACP's prompt response; stop reasons stay distinct.
    fn from_response(response: &RawJson) -> Self {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Response {
            stop_reason: String,
            #[serde(default)]
            usage: Option<RawJson>,
        }
        let Ok(Response { stop_reason, usage }) = response.read() else {
            return Self::failed("the agent ended the turn without a stop reason");
        };
        let stop_reason = clip(&stop_reason, AGENT_ID_BYTES);
        let is_usage = |usage: &RawJson| usage.get() != "null" && usage.get().len() <= AGENT_TEXT_BYTES;
        let usage = usage.filter(is_usage);
        let usual = match &usage {
            Some(usage) => format!(r#"{{"stopReason":"{stop_reason}","usage":{}}}"#, usage.get()),
            None => format!(r#"{{"stopReason":"{stop_reason}"}}"#),
        };
        let status = match stop_reason.as_str() {
            "cancelled" => TurnStatus::Interrupted,
            "refusal" => TurnStatus::Refused,
            "max_tokens" | "max_turn_requests" | "max_requests" => TurnStatus::Limited,
            _ => TurnStatus::Completed,
        };
        Self {
            status,
            stop_reason: Some(stop_reason),
            error: None,
            usage,
            raw: (response.get() != usual).then(|| response.clone()),
        }
    }
}
