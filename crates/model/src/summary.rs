//! The data of a thread in a list. It is small and stored beside the log, so that listing never reads events.

use serde::{Deserialize, Serialize};

use crate::ids::RequestId;
use crate::json::RawJson;
use crate::limits::LISTED_QUESTION_BYTES;
use crate::numbers::Millis;
use crate::permission::PermissionOption;
pub use crate::status::ThreadStatus;
use crate::status::TurnStatus;
use crate::subject::CallSubject;
use crate::usage::DailyUsage;

/// The summary of a thread, as lists show it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Name of the agent in the daemon's configuration.
    pub agent: String,
    /// Working directory of the thread.
    pub cwd: String,
    /// The name that a user set, else the agent's title, else the beginning of the first prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Project id that the client chose to group threads by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// Arbitrary data that the client stored with the thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RawJson>,
    /// Current status of the thread.
    pub status: ThreadStatus,
    /// Why the status is [`ThreadStatus::Failed`].
    #[serde(skip)]
    pub error: Option<String>,
    /// Status of the last ended turn; absent if there was none, or if it was dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_turn: Option<TurnStatus>,
    /// Whether the last turn was interrupted by an error, such as a restart of the daemon, and not by a client.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_off: bool,
    /// The agent's id for the session that the thread was last bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// When the thread was created or forked, in milliseconds since the epoch.
    pub created_at: Millis,
    /// When a turn last started or ended, in milliseconds since the epoch.
    pub updated_at: Millis,
    /// Number of turns in the conversation. Dropped turns do not count.
    pub turns: u32,
    /// Whether the thread is archived.
    #[serde(default)]
    pub archived: bool,
    /// Whether a user pinned the thread: clients list it first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
    /// The place that a user has chosen for the pinned thread among the others, the lowest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin_place: Option<u32>,
    /// The oldest unanswered question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Box<WaitingQuestion>>,
    /// What the thread used on each day. Absent if an earlier version stored the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Box<DailyUsage>>,
}

impl Summary {
    /// Returns about how many bytes the summary has in a list.
    pub fn weight(&self) -> usize {
        let texts = [&self.name, &self.project_id, &self.error];
        let texts = texts.into_iter().flatten().map(String::len).sum::<usize>();
        let metadata = self.metadata.as_ref().map_or(0, |metadata| metadata.get().len());
        let question = self.question.as_ref().map_or(0, |question| {
            let answerable = question.answerable.as_ref().map_or(0, |_| LISTED_QUESTION_BYTES);
            question.title.len() + answerable
        });
        size_of::<Self>() + self.agent.len() + self.cwd.len() + texts + metadata + question
    }
}

/// A question that waits for an answer, as lists show it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WaitingQuestion {
    /// Id of the question.
    pub request_id: RequestId,
    /// What is asked for.
    #[serde(rename = "type")]
    pub kind: QuestionType,
    /// Title for the user, or its beginning.
    pub title: String,
    /// The subagent that asks, as sentences name it: `Subagent "review"`. Absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asker: Option<String>,
    /// The effects and the answers of a permission request, unless they are too long for a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answerable: Option<Answerable>,
    /// Number of further unanswered questions.
    pub more: u32,
    /// When the agent asked, in milliseconds since the epoch. Absent in summaries that older versions stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_at: Option<Millis>,
}

/// What a question asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum QuestionType {
    /// A permission.
    Permission,
    /// Information.
    Input,
}

/// All that a user needs to answer a permission request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answerable {
    /// The effects of the call.
    pub subjects: Box<[CallSubject]>,
    /// The offered answers.
    pub options: Box<[PermissionOption]>,
}
