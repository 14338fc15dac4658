//! Steering: input for the running turn goes into it if the agent supports that, else it becomes the next turn.

use acpd_model::{ErrorCode, EventKind, Failure, Origin, RawJson, TurnEvent, TurnId};
use serde::Deserialize;

use super::Thread;
use crate::agent::AgentRequest;
use crate::thread::reply::{Reply, SteerDelivery};
use crate::thread::session::Continuation;
use crate::thread::turn::{UnsentPrompt, check_input};

impl Thread {
    /// Adds input to the running turn, with the client's own id for it: of the message, or of the turn that it becomes.
    pub(super) fn steer(
        &mut self,
        call: u64,
        by: Origin,
        (input, client_turn_id): (Vec<RawJson>, Option<String>),
        turn: Option<TurnId>,
    ) {
        let checked = self
            .session
            .check_accepts_turns(&self.journal)
            .and_then(|()| check_input(&input, self.session.capabilities()))
            .and_then(|()| self.check_runs(turn));
        if let Err(failure) = checked {
            return self.journal.reply(call, Err(failure));
        }
        let Some(turn) = self.steerable_turn() else {
            return self.steer_later(call, by, input, client_turn_id);
        };
        let kind = EventKind::Turn(TurnEvent::SteerRequested { input: input.clone() });
        self.journal.emit_in(Some(turn), by.clone(), kind, None);
        self.messages.expect_echo(&input);
        let request = AgentRequest::Steer {
            prompt: input.clone(),
        };
        let continuation = Continuation::Steer {
            by: by.clone(),
            turn,
            input,
            client_turn_id,
        };
        self.request_agent(call, by, request, Some(continuation));
    }

    fn check_runs(&self, turn: Option<TurnId>) -> Result<(), Failure> {
        if turn.is_none() || turn == self.journal.current_turn() {
            return Ok(());
        }
        Err(Failure::new(ErrorCode::Conflict, "that turn is not running"))
    }

    /// Returns the running turn, if the agent has its prompt, was not asked to end it, and accepts input for it.
    pub(super) fn steerable_turn(&self) -> Option<TurnId> {
        let can_steer = self.session.is_ready() && self.session.capabilities().is_some_and(|c| c.steering);
        let running = self
            .live()
            .turn
            .filter(|turn| can_steer && turn.interrupted.is_none())?;
        (self.turns.is_prompted_for(running.id)).then_some(running.id)
    }

    fn steer_later(&mut self, call: u64, by: Origin, input: Vec<RawJson>, client_turn_id: Option<String>) {
        let prompt = UnsentPrompt {
            blocks: input,
            meta: None,
        };
        let result = self.start_turn(by, prompt, client_turn_id, None);
        let result = result.map(|turn| Reply::Steered {
            turn: turn.id,
            delivery: SteerDelivery::Queued,
        });
        self.journal.reply(call, result);
    }

    /// Handles the agent's response to the input. If the agent has exited, it is unknown whether the input arrived.
    pub(super) fn steer_answered(
        &mut self,
        call: u64,
        by: Origin,
        turn: TurnId,
        (input, client_turn_id): (Vec<RawJson>, Option<String>),
        answer: Result<RawJson, Failure>,
    ) {
        #[derive(Deserialize)]
        struct Steered {
            outcome: String,
        }
        match answer {
            Err(failure) if !self.session.is_ready() => self.journal.reply(call, Err(failure)),
            Err(_) => self.steer_later(call, by, input, client_turn_id),
            Ok(answer) => {
                let outcome = answer.read::<Steered>().map(|steered| steered.outcome);
                if outcome.is_ok_and(|outcome| outcome == "promptRequired") {
                    return self.steer_later(call, by, input, client_turn_id);
                }
                self.messages.break_off(None);
                self.journal.add_user_message(turn, &by, &input, client_turn_id);
                let delivery = SteerDelivery::Steered;
                self.journal.reply(call, Ok(Reply::Steered { turn, delivery }));
            }
        }
    }
}
