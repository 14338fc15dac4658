//! The params of `initialize`, of which the daemon reads only a part.

use schemars::JsonSchema;

/// Params of `initialize`.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializeParams {
    client_info: ClientInfo,
    #[serde(default)]
    capabilities: ClientCapabilities,
}

/// Name and version of the client program.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientInfo {
    /// Name of the client, which the log records with every decision.
    name: String,
    title: Option<String>,
    version: Option<String>,
}

/// Capabilities of a client.
#[derive(JsonSchema, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientCapabilities {
    streaming: bool,
    tools: bool,
    /// Whether the client answers questions. Otherwise it receives them as notifications.
    approvals: bool,
    /// Whether the client wants `thread/subscribers/changed` for the threads that it follows.
    subscribers: bool,
    /// Exact names of notifications that the client does not want. Their `seq` are skipped. A client that answers questions
    /// still receives all questions.
    opt_out_notification_methods: Vec<String>,
}
