//! The agent's questions and their answers.

use acpd_model::event::{Always, Outcome, PermissionOption};
use acpd_model::subject::{CallSubject, FileAccess, Variable};
use acpd_model::{Event, EventKind, ItemId, RawJson, RequestEvent, RequestId};
use serde::Deserialize;

use super::At;
use super::origin::By;
use super::words::Resolution;
use crate::projection::is_too_large;

#[cfg(test)]
use crate::surface::app::describe::Acp;

wire! {
    /// A permission request.
    struct Approval<'a> {
        [flatten] at: At<'a>,
        /// The tool call's item. Absent if the agent did not ask and the policy requires an approval.
        item_id: Option<ItemId>,
        request_id: RequestId,
        /// The agent's title of the tool call, or acpd's own title if there is no `itemId`.
        title: &'a str,
        reason: Option<&'a str>,
        options: &'a [PermissionOption],
        /// The effects of the call, as the daemon interprets them. The policy and the answer apply to exactly these. Empty in
        /// logs from before this member existed.
        subjects: &'a [CallSubject],
        /// Ids of the always-options that the agent may remember itself. acpd stores no rule for them.
        agent_remembers: &'a [String] as Option<Vec<String>> | filled,
        /// The effect of an "always" answer. Absent in logs from before this member existed.
        always: Option<&'a Always>,
        /// The agent's own description of the call.
        tool_call: Option<RawJson> as Option<Acp>,
    }
}

/// Returns the agent's own description of the call that a permission request is about.
pub fn asked_call(raw: Option<&RawJson>) -> Option<RawJson> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Asked {
        tool_call: RawJson,
    }
    Some(raw?.read::<Asked>().ok()?.tool_call)
}

wire! {
    /// An elicitation.
    struct InputWanted<'a> {
        [flatten] at: At<'a>,
        item_id: Option<ItemId>,
        request_id: RequestId,
        /// The agent's message.
        title: &'a str,
        /// `form` or `url`.
        mode: Option<RawJson> as Option<String>,
        /// JSON Schema of a form.
        schema: Option<RawJson>,
        /// The URL that the user is to open.
        url: Option<RawJson> as Option<String>,
        /// The params of ACP's `elicitation/create`.
        elicitation: Option<&'a RawJson> as Option<Acp>,
    }
}

impl<'a> InputWanted<'a> {
    /// Describes an elicitation by its params.
    pub fn of(at: At<'a>, request_id: RequestId, title: &'a str, raw: Option<&'a RawJson>) -> Self {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Wanted {
            mode: RawJson,
            #[serde(default)]
            requested_schema: Option<RawJson>,
            #[serde(default)]
            url: Option<RawJson>,
        }
        let wanted = raw.and_then(|raw| raw.read::<Wanted>().ok());
        let (mode, schema, url) = wanted.map_or((None, None, None), |wanted| {
            (Some(wanted.mode), wanted.requested_schema, wanted.url)
        });
        Self::new(at, None, request_id, title, mode, schema, url, raw)
    }
}

wire! {
    /// How a question was resolved.
    struct Resolved<'a> {
        [flatten] at: At<'a>,
        item_id: Option<ItemId>,
        request_id: RequestId,
        outcome: Resolution,
        /// Id of the agent's option that was selected.
        option_id: Option<&'a str>,
        /// ACP's kind of that option.
        option_kind: Option<&'a str>,
        /// The option that the daemon sent to the agent instead. acpd remembers an "always" and sends "once" to the agent.
        sent_option_id: Option<&'a String>,
        /// Answers to an elicitation with a form.
        answers: Option<&'a RawJson>,
        /// Why the question was closed.
        reason: Option<&'a str>,
        /// The title of an answered question that is about no item, or its beginning. Absent in logs from before this member
        /// existed.
        title: Option<&'a str>,
        /// Whether the answer is larger than 16 KiB: then pages of turns leave it out.
        omitted: Option<bool>,
        by: By<'a>,
    }

    /// An answer, and its place.
    struct PlacedAnswer<'a> {
        [flatten] answer: Resolved<'a>,
        /// Id of the item before the answer. Absent if the answer comes after the end of the turn, or before the first turn.
        after_item_id: Option<ItemId>,
        /// Whether the answer comes after the end of the turn: no turn was running.
        after_turn: Option<bool>,
    }
}

impl<'a> Resolved<'a> {
    /// Describes an answer, or a question that was closed without one; `None` for any other event.
    pub fn of(at: At<'a>, event: &'a Event) -> Option<Self> {
        let by = By::from(&event.by);
        match &event.kind {
            EventKind::Request(RequestEvent::Settled {
                request,
                outcome,
                item,
                title,
            }) => Some(Self {
                item_id: *item,
                title: title.as_deref(),
                omitted: is_too_large(event).then_some(true),
                ..Self::closed(at, *request, by).with(outcome)
            }),
            EventKind::Request(RequestEvent::Voided { request, reason }) => Some(Self {
                reason: Some(reason),
                ..Self::closed(at, *request, by)
            }),
            EventKind::Thread(_)
            | EventKind::Session(_)
            | EventKind::Turn(_)
            | EventKind::Item(_)
            | EventKind::Host(_)
            | EventKind::Request(_)
            | EventKind::Unknown => None,
        }
    }

    fn with(self, outcome: &'a Outcome) -> Self {
        match outcome {
            Outcome::Selected {
                option_id,
                kind,
                sent_option_id,
            } => Self {
                option_id: Some(option_id),
                option_kind: Some(kind),
                sent_option_id: sent_option_id.as_ref(),
                outcome: if outcome.allows() {
                    Resolution::Accepted
                } else {
                    Resolution::Declined
                },
                ..self
            },
            Outcome::Accepted { content } => Self {
                answers: content.as_ref(),
                outcome: Resolution::Accepted,
                ..self
            },
            Outcome::Declined => Self {
                outcome: Resolution::Declined,
                ..self
            },
            Outcome::Cancelled => Self {
                outcome: Resolution::Cancelled,
                ..self
            },
        }
    }

    /// Describes a question that was closed without an answer.
    fn closed(at: At<'a>, request_id: RequestId, by: By<'a>) -> Self {
        Self {
            at,
            item_id: None,
            request_id,
            outcome: Resolution::Void,
            option_id: None,
            option_kind: None,
            sent_option_id: None,
            answers: None,
            reason: None,
            title: None,
            omitted: None,
            by,
        }
    }
}

wire! {
    /// The effect of an "always" answer.
    enum Always for Always {
        /// The answer applies to this from then on. The text follows "Allow" or "Reject".
        Holds(String),
        /// acpd does not remember the answer, for this reason.
        NotRemembered(String),
    }

    /// One of the answers that an agent offers.
    struct PermissionOption for PermissionOption {
        option_id: String,
        name: String,
        /// ACP's `PermissionOptionKind`.
        kind: String,
    }

    /// One effect of a call.
    enum CallSubject for CallSubject, by "type" {
        /// Runs a program with these arguments.
        Command {
            /// The program, followed by its arguments.
            argv: Vec<String>,
            /// Absolute path of the working directory.
            cwd: String,
            /// Environment variables that the call sets.
            env: Vec<Variable> as Option<Vec<Variable>> | filled,
        },
        /// Runs a command line in a shell.
        CommandLine {
            /// The whole command line.
            line: String,
            /// Absolute path of the working directory.
            cwd: String,
            /// Environment variables that the call sets.
            env: Vec<Variable> as Option<Vec<Variable>> | filled,
        },
        /// Accesses a file.
        File {
            /// The type of access.
            access: FileAccess,
            /// Absolute path, without `..`.
            path: String,
            /// The target of the path after symbolic links, if it differs from `path`.
            real_path: Option<String>,
            /// The change as a unified diff, if the call shows one.
            diff: Option<String>,
            /// The call's input as JSON text, if the call changes a file and the diff does not show all of the change.
            arguments: Option<String>,
        },
        /// Fetches a URL.
        Fetch {
            /// The URL.
            url: String,
            /// The host of the URL, if it can be determined.
            host: Option<String>,
        },
        /// Calls a tool of an MCP server.
        Mcp {
            /// Name of the MCP server.
            server: String,
            /// Name of the tool; absent if the call does not name it.
            tool: Option<String>,
            /// The call's input, as JSON text.
            arguments: Option<String>,
        },
        /// Calls any other tool.
        Tool {
            /// Programmatic name of the tool, if the agent sends one.
            name: Option<String>,
            /// ACP's kind of the tool.
            kind: String,
            /// The call's input, as JSON text.
            arguments: Option<String>,
        },
        /// A part that the daemon cannot interpret, or that is too long to show.
        Unknown {
            /// What is known about the part: one sentence for the user, without a period.
            what: String,
        },
    }

    /// An environment variable.
    struct Variable for Variable {
        /// Name of the variable.
        name: String,
        /// Value of the variable.
        value: String,
    }
}
