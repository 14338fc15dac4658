//! Writes the results of methods from the daemon's replies.

use acpd_model::Failure;

use super::wire::results::MethodResult;
use crate::surface::reply::{Call, Reply};

/// The type of a method's result.
#[derive(Debug, Clone, Copy)]
pub(super) struct ResultType(fn(&mut Vec<u8>, &str, &Reply) -> Result<(), Failure>);

impl ResultType {
    /// Creates the type from the function that writes responses with such results.
    pub const fn of(write: fn(&mut Vec<u8>, &str, &Reply) -> Result<(), Failure>) -> Self {
        Self(write)
    }

    /// Writes the response to the request `id` with a result of this type.
    pub fn respond(self, id: &str, reply: &Reply) -> Result<Vec<u8>, Failure> {
        let mut out = Vec::new();
        self.0(&mut out, id, reply)?;
        Ok(out)
    }
}

/// Writes the response to a request of the kind `C`, whose result has the type `R`.
pub(super) fn write<'a, C, R>(out: &mut Vec<u8>, id: &str, reply: &'a Reply) -> Result<(), Failure>
where
    C: Call<Reply: 'a>,
    R: MethodResult<'a, C::Reply>,
{
    let result = R::from_reply(C::read(reply)?);
    crate::wire::response_with(out, id, |out| result.write(out));
    Ok(())
}
