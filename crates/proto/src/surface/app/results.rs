//! Writes the results of methods from the daemon's replies.

use acpd_model::{ErrorCode, Failure, RawJson};

use super::wire::results::MethodResult;
use crate::surface::reply::Reply;

/// The type of a method's result.
#[derive(Debug, Clone, Copy)]
pub(super) struct ResultType(fn(&Reply) -> Option<RawJson>);

impl ResultType {
    /// Creates the type from the function that writes it.
    pub const fn of(write: fn(&Reply) -> Option<RawJson>) -> Self {
        Self(write)
    }

    /// Writes a result of this type.
    #[allow(clippy::needless_pass_by_value, reason = "the reply ends here")]
    pub fn write(self, reply: Reply) -> Result<RawJson, Failure> {
        self.0(&reply)
            .ok_or_else(|| Failure::new(ErrorCode::Internal, "internal error: unexpected reply type"))
    }
}

/// Writes a result of the type `R`. Returns `None` for a reply to another request.
pub(super) fn write<'a, R: MethodResult<'a>>(reply: &'a Reply) -> Option<RawJson> {
    let mut out = Vec::new();
    R::from_reply(reply)?.write(&mut out);
    // Received members were validated on arrival.
    Some(RawJson::trusted(&String::from_utf8_lossy(&out)))
}
