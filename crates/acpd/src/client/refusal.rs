//! Errors of the daemon, as errors of a command.

use acpd_model::json;
use serde::Deserialize;
use serde_json::Value;

use crate::exit::{Exit, refused};

/// Why the daemon has refused a request over HTTP.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Refusal {
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
        Exit::Failure.error(self.message.as_deref().unwrap_or(NO_REASON))
    }
}

const NO_REASON: &str = "the daemon refused without a reason";

/// Returns a JSON-RPC error of the daemon as an error of the command, for commands that do not use the typed client yet.
pub fn refusal(error: &Value) -> anyhow::Error {
    let code = serde_json::from_value(error["data"]["code"].clone()).ok();
    let message = error["message"].as_str().unwrap_or(NO_REASON);
    let detail = error["data"]["detail"].as_str();
    Exit::of_code(code).error(refused(code, message, detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_from_other_answers() {
        for (body, said) in [
            (
                r#"{"error":{"code":"not_found","message":"no thread t"}}"#,
                "no thread t",
            ),
            (
                r#"{"error":{"message":"not \ud83d you","setting":null,"newer":1}}"#,
                "not \u{fffd} you",
            ),
            (r#"{"error":{}}"#, NO_REASON),
        ] {
            let refusal = Refusal::read(body).expect("it is a refusal");
            assert_eq!(refusal.error().to_string(), said);
            assert_eq!(refusal.setting, None);
        }
        for foreign in ["", "<html>", "[]", "{}", r#"{"error":"bad gateway"}"#] {
            assert!(Refusal::read(foreign).is_none(), "{foreign}");
        }
    }
}
