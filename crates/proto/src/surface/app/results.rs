//! Writes the results of methods from the daemon's replies.

use acpd_model::{ErrorCode, Failure};

use super::wire::results::MethodResult;
use crate::surface::reply::Reply;

/// The type of a method's result.
#[derive(Debug, Clone, Copy)]
pub(super) struct ResultType(fn(&mut Vec<u8>, &str, &Reply) -> bool);

impl ResultType {
    /// Creates the type from the function that writes responses with such results.
    pub const fn of(write: fn(&mut Vec<u8>, &str, &Reply) -> bool) -> Self {
        Self(write)
    }

    /// Writes the response to the request `id` with a result of this type.
    pub fn respond(self, id: &str, reply: &Reply) -> Result<Vec<u8>, Failure> {
        let mut out = Vec::new();
        if self.0(&mut out, id, reply) {
            Ok(out)
        } else {
            Err(Failure::new(
                ErrorCode::Internal,
                "internal error: unexpected reply type",
            ))
        }
    }
}

/// Writes a response whose result has the type `R`. Returns `false` for a reply to another request.
pub(super) fn write<'a, R: MethodResult<'a>>(out: &mut Vec<u8>, id: &str, reply: &'a Reply) -> bool {
    let Some(result) = R::from_reply(reply) else {
        return false;
    };
    crate::wire::response_with(out, id, |out| result.write(out));
    true
}
