//! The replies of threads to commands, as the types that the commands have.

use acpd_model::event::{Fidelity, LeaseHolder};
use acpd_model::{ErrorCode, Failure, RawJson};
use acpd_policy::{Explanation, RememberedRule};
use acpd_proto::surface::reply::{SignIn, StartedCommand, Steered};
use acpd_proto::thread::{ForkPoint, Reply, TurnView};

use crate::thread::directory::ReplyReceiver;

/// The type of the reply to a command.
pub(super) trait FromThread: Sized + Send + 'static {
    /// Takes it out of a reply. Returns `None` if it is the reply to another command.
    fn from_thread(reply: Reply) -> Option<Self>;
}

/// Makes types from the replies that match a pattern.
macro_rules! from_thread {
    ($($type:ty: $reply:pat => $made:expr;)+) => {$(
        impl FromThread for $type {
            fn from_thread(reply: Reply) -> Option<Self> {
                match reply {
                    $reply => Some($made),
                    _ => None,
                }
            }
        }
    )+};
}

from_thread! {
    (): Reply::Done => ();
    TurnView: Reply::Turn(turn) => turn;
    Steered: Reply::Steered { turn, delivery } => Steered { turn, delivery };
    StartedCommand: Reply::CommandStarted { item, turn } => StartedCommand { item, turn };
    SignIn: Reply::SignIn { in_progress, lines } => SignIn { in_progress, lines };
    Box<ForkPoint>: Reply::Fork(point) => point;
    Fidelity: Reply::RolledBack(fidelity) => fidelity;
    Box<Explanation>: Reply::Explained(explanation) => explanation;
    Vec<RememberedRule>: Reply::Remembered(rules) => rules;
    Option<LeaseHolder>: Reply::Lease(holder) => holder;
    RawJson: Reply::Agent(answer) => answer;
}

/// Waits for a thread's answer to a command with replies of the type `R`. A thread answers each command with its own type, so only a
/// fault of the daemon causes another one.
pub(super) async fn await_reply<R: FromThread>(answer: ReplyReceiver) -> Result<R, Failure> {
    let other = || Failure::new(ErrorCode::Internal, "internal error: unexpected reply type");
    R::from_thread(await_any(answer).await?).ok_or_else(other)
}

/// Waits for a thread's answer to any command.
pub(super) async fn await_any(answer: ReplyReceiver) -> Result<Reply, Failure> {
    let asleep = |_| Failure::new(ErrorCode::Overloaded, "the thread is being unloaded; try again");
    answer.await.map_err(asleep)?
}
