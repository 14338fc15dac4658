//! A question that is not answered yet.

use acpd_model::event::PermissionOption;
use acpd_model::{Event, RequestId};
use serde::{Deserialize, Serialize};

/// An unanswered question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenRequest {
    /// Id of the question.
    pub id: RequestId,
    /// The event that opened it, for clients that subscribe later.
    pub event: Event,
    /// The offered answers.
    pub options: Vec<PermissionOption>,
}
