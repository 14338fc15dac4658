//! Errors of the daemon over HTTP, as errors of a command.

use acpd_model::json;
use serde::Deserialize;

use crate::exit::{Exit, known, refused};

/// Why the daemon has refused a request over HTTP.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Refusal {
    /// Stable code, such as `not_found`.
    code: Option<String>,
    /// One sentence for users.
    message: Option<String>,
    /// The value that the configuration lacks, if that is the reason.
    pub setting: Option<String>,
}

/// The body of such a response.
#[derive(Deserialize)]
struct Refused {
    error: Refusal,
}

impl Refusal {
    /// Reads the body of a response. Returns `None` if it is not a daemon's.
    pub fn read(body: &str) -> Option<Self> {
        let refused: Option<Refused> = json::read(body).ok();
        refused.map(|refused| refused.error)
    }

    /// Returns it as an error of the command.
    pub fn error(&self) -> anyhow::Error {
        let code = self.code.as_deref().and_then(known);
        let message = self.message.as_deref().unwrap_or(NO_REASON);
        Exit::of_code(code).error(refused(code, message, None))
    }
}

const NO_REASON: &str = "the daemon refused without a reason";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_from_other_answers() {
        for (body, exit, said) in [
            (
                r#"{"error":{"code":"not_found","message":"no thread t"}}"#,
                Exit::NotFound,
                "no thread t",
            ),
            (
                r#"{"error":{"code":"forbidden","message":"not \ud83d you","setting":null}}"#,
                Exit::Forbidden,
                "not \u{fffd} you",
            ),
            (
                r#"{"error":{"code":"unknown_host","message":"odd","newer":1}}"#,
                Exit::Failure,
                "odd",
            ),
            (r#"{"error":{}}"#, Exit::Failure, NO_REASON),
        ] {
            let refusal = Refusal::read(body).expect("it is a refusal");
            let error = refusal.error();
            assert_eq!((Exit::of(&error), error.to_string().as_str()), (exit, said));
            assert_eq!(refusal.setting, None);
        }
        for foreign in ["", "<html>", "[]", "{}", r#"{"error":"bad gateway"}"#] {
            assert!(Refusal::read(foreign).is_none(), "{foreign}");
        }
    }
}
