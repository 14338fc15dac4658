//! What happened to questions for users, and to the answers that apply without a question.

use super::row::kinds;
use crate::ids::{ItemId, RequestId};
use crate::json::RawJson;
use crate::permission::{Always, Outcome, PermissionOption, QuestionTopic};
use crate::subject::CallSubject;

kinds! {
    /// What happened to questions for users, and to the answers that apply without a question.
    RequestEvent {
        /// A permission request was opened. `raw` holds the agent's params unchanged.
        "permissionRequested" as "permission:request" in Request => PermissionRequested {
            /// The daemon's id for the request.
            request: RequestId,
            /// The tool call's item; absent if the agent did not ask and the policy requires an approval.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            item: Option<ItemId>,
            /// The topic of the question.
            about: QuestionTopic,
            /// Title for the user.
            title: String,
            /// The offered answers.
            options: Box<[PermissionOption]>,
            /// Whether the policy already has the answer, so that no user is asked. The answer follows as its own event.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            decided: bool,
            /// Ids of the always-options that are passed on to the agent unchanged, so that it may remember the answer
            /// itself. If the user selects another always-option, the daemon remembers it.
            #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
            agent_remembers: Box<[String]>,
            /// The effects of the call, as the policy judges them. Empty in logs from before this member existed.
            #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
            subjects: Box<[CallSubject]>,
            /// The effect of an "always" answer. Absent if the policy has the answer, and in logs from before this member
            /// existed.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            always: Option<Box<Always>>,
            /// The whole tool call, if the agent sent a part of it earlier and does not repeat it in the question.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            whole: Option<Box<RawJson>>,
            /// Whether the call shows diffs that the question does not repeat and that are too long for `whole`. Editors
            /// then keep the content that they already have.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            keeps_content: bool,
        },
        /// The agent requested information from the user (`elicitation/create`). `raw` holds the agent's params, with the
        /// schema or the address.
        "inputRequested" as "input:request" in Request => InputRequested {
            /// The daemon's id for the request.
            request: RequestId,
            /// Message for the user.
            message: String,
            /// The tool call that the agent names, which stays its own item: the question is about none. Absent in logs from
            /// before this member existed.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            call: Option<ItemId>,
        },
        /// A question was answered. The event's `by` names the origin of the answer.
        "requestSettled" as "permission:result" in Request => Settled {
            /// The daemon's id for the request.
            request: RequestId,
            /// The answer.
            outcome: Outcome,
            /// The tool call's item. Absent in logs from before this member existed.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            item: Option<ItemId>,
            /// The title of a question without an item, or its beginning. Absent in logs from before this member existed.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            title: Option<Box<str>>,
        },
        /// A question was closed, since nothing waits for its answer any more.
        "requestVoided" as "permission:result" in Request => Voided {
            /// The daemon's id for the request.
            request: RequestId,
            /// Why the question was closed.
            reason: String,
        },
        /// The agent called a method without a permission request, or a user ran a command, and the policy allowed it.
        "callPermitted" as "permission:granted" in Request => CallPermitted {
            /// The method that was called; `thread/command/run` for a command of a user.
            method: String,
            /// The file, command or other subject of the call.
            subject: String,
        },
        /// The daemon remembered an answer, which applies from now on.
        "answerRemembered" as "policy:remember" in Request => AnswerRemembered {
            /// The rule that was made from the answer, with its id and scope.
            answer: RawJson,
        },
        /// A remembered answer was revoked.
        "answerRevoked" as "policy:revoke" in Request => AnswerRevoked {
            /// Id of the revoked answer.
            id: u64,
        },
    }
}
