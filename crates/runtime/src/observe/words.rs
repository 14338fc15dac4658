//! The words for what agents and events contain. An agent's own word that ACP does not have becomes `other`, so that no text
//! of an agent leaves the daemon this way.

use acpd_model::RawJson;
use acpd_model::event::{Outcome, TurnStatus};
use acpd_proto::thread::HostCall;
use serde::Deserialize;

use super::span::{Attribute, Value};

/// Returns the member of `words` that is equal to `word`, or `other`.
fn one_of(words: &[&'static str], word: &str) -> &'static str {
    words
        .iter()
        .find(|known| **known == word)
        .copied()
        .unwrap_or("other")
}

/// ACP's stop reason.
pub(super) fn stop_reason(reason: &str) -> &'static str {
    let words = [
        "end_turn",
        "max_tokens",
        "max_turn_requests",
        "refusal",
        "cancelled",
    ];
    one_of(&words, reason)
}

pub(super) fn status(status: TurnStatus) -> &'static str {
    match status {
        TurnStatus::Completed => "completed",
        TurnStatus::Interrupted => "interrupted",
        TurnStatus::Failed => "failed",
        TurnStatus::Refused => "refused",
        TurnStatus::Limited => "limited",
    }
}

/// The effect of an answer.
pub(super) fn outcome(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Cancelled => "cancelled",
        outcome if outcome.allows() => "allowed",
        outcome if outcome.refuses() => "denied",
        _ => "other",
    }
}

/// Returns the numbers of ACP's usage object.
pub(super) fn usage(usage: &RawJson) -> Vec<Attribute> {
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    #[expect(clippy::struct_field_names, reason = "the names are ACP's")]
    struct Usage {
        input_tokens: Option<i64>,
        output_tokens: Option<i64>,
        thought_tokens: Option<i64>,
        cached_read_tokens: Option<i64>,
        cached_write_tokens: Option<i64>,
        total_tokens: Option<i64>,
    }
    // Usage in another form has no attributes.
    let Usage {
        input_tokens,
        output_tokens,
        thought_tokens,
        cached_read_tokens,
        cached_write_tokens,
        total_tokens,
    } = usage.read().unwrap_or_default();
    let all = [
        ("gen_ai.usage.input_tokens", input_tokens),
        ("gen_ai.usage.output_tokens", output_tokens),
        ("acpd.usage.thought_tokens", thought_tokens),
        ("acpd.usage.cached_read_tokens", cached_read_tokens),
        ("acpd.usage.cached_write_tokens", cached_write_tokens),
        ("acpd.usage.total_tokens", total_tokens),
    ];
    let known = all
        .into_iter()
        .filter_map(|(name, number)| Some((name, Value::Number(number?))));
    known.collect()
}

/// The operation that the host carries out for an agent.
pub(crate) fn host_call(call: &HostCall) -> &'static str {
    match call {
        HostCall::ReadFile { .. } => "read_file",
        HostCall::WriteFile { .. } => "write_file",
        HostCall::CreateTerminal { .. } => "create_terminal",
        HostCall::TerminalOutput { .. } => "terminal_output",
        HostCall::WaitForTerminalExit { .. } => "wait_for_terminal_exit",
        HostCall::TypeIn { .. } => "type_in",
        HostCall::KillTerminal { .. } => "kill_terminal",
        HostCall::ReleaseTerminal { .. } => "release_terminal",
    }
}

/// The operation that an editor carries out for an agent, by ACP's method.
pub(crate) fn editor_call(method: &str) -> &'static str {
    match method {
        "fs/read_text_file" => "read_file",
        "fs/write_text_file" => "write_file",
        "terminal/create" => "create_terminal",
        "terminal/output" => "terminal_output",
        "terminal/wait_for_exit" => "wait_for_terminal_exit",
        "terminal/kill" => "kill_terminal",
        "terminal/release" => "release_terminal",
        _ => "other",
    }
}
