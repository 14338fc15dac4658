//! Errors, as responses and notifications contain them.

use acpd_model::{ErrorCode, Failure, RequestId, ThreadId};

wire! {
    /// A JSON-RPC error.
    struct Error<'a> {
        /// JSON-RPC error code.
        code: i64,
        /// One sentence for the user.
        message: &'a str,
        data: ErrorData<'a> as Option<ErrorData<'a>>,
    }

    /// Error details for programs.
    struct ErrorData<'a> {
        /// Stable code of the error.
        code: ErrorCode,
        /// Whether the same request may succeed later.
        retryable: bool,
        /// Further explanation.
        detail: Option<&'a String>,
    }
}

impl<'a> From<&'a Failure> for Error<'a> {
    fn from(failure: &'a Failure) -> Self {
        let data = ErrorData::new(failure.code, failure.code.retryable(), failure.detail.as_ref());
        Self::new(failure.code.rpc(), &failure.message, data)
    }
}

wire! {
    /// A refused response.
    struct Rejected<'a> { request_id: RequestId, thread_id: ThreadId, error: Error<'a> }
}
