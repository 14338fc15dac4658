//! Requests about turns, and answers to agents' questions.

use acpd_model::{Failure, Origin, RequestId};
use acpd_policy::Scope;
use acpd_proto::surface::request::StartTurn;
use acpd_proto::thread::{Answer, Command, TurnView};

use crate::service::{Dispatched, Service};

impl Service {
    pub(super) async fn start_turn(
        &self,
        by: Origin,
        start: StartTurn,
    ) -> Result<Dispatched<TurnView>, Failure> {
        if let Some(name) = &start.client_turn_id
            && let Some(ended) = self.ended_turn(start.thread, name).await?
        {
            return Ok(Dispatched::now(Ok(ended)));
        }
        self.context
            .attachments
            .keep(Some(start.thread), &start.input)
            .await?;
        let command = Command::StartTurn {
            input: start.input,
            meta: start.meta,
            client_turn_id: start.client_turn_id,
            replaces: start.replaces,
        };
        self.command(by, start.thread, command).await
    }

    pub(super) async fn answer(
        &self,
        by: Origin,
        request: RequestId,
        answer: Answer,
        scope: Option<Scope>,
    ) -> Result<Dispatched<()>, Failure> {
        let command = Command::Answer {
            request,
            answer,
            scope,
        };
        self.command(by, request.thread, command).await
    }
}
