//! Exit codes, and errors that carry one.

use std::error::Error as StdError;
use std::fmt;
use std::process::ExitCode;

use acpd_client::Error;
use acpd_model::ErrorCode;
use serde_json::Value;

/// The outcome of a command. docs/cli.md lists the codes; scripts depend on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// The command did what it was asked to do.
    Success = 0,
    /// The command or the turn failed.
    Failure = 1,
    /// The arguments are wrong, or one is missing.
    Usage = 2,
    /// The agent refused the prompt.
    Refused = 3,
    /// The turn reached a limit of the agent.
    Limited = 4,
    /// The thread, agent or token does not exist, or a search has no results.
    NotFound = 5,
    /// No daemon can be reached or started.
    Unreachable = 6,
    /// The daemon does not accept the access token, or the token's role does not permit the request.
    Forbidden = 7,
    /// The turn completed, but acpd declined a question because there was no terminal to ask on.
    Declined = 8,
    /// `acpd policy test`: the policy asks.
    PolicyAsks = 10,
    /// `acpd policy test`: the policy denies.
    PolicyDenies = 11,
    /// The user pressed Ctrl-C, or another client interrupted the turn.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// An error with an exit code of its own.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
struct Problem {
    exit: Exit,
    message: String,
}

impl Exit {
    /// Creates an error that ends the command with this code.
    pub fn error(self, message: impl Into<String>) -> anyhow::Error {
        let message = message.into();
        anyhow::Error::new(Problem { exit: self, message })
    }

    /// Returns the code for an error of a command.
    pub fn of(error: &anyhow::Error) -> Self {
        if let Some(problem) = error.downcast_ref::<Problem>() {
            return problem.exit;
        }
        match error.downcast_ref::<Error>() {
            Some(Error::Refused(refusal)) => Self::of_code(known(&refusal.code)),
            Some(Error::Disconnected(_) | Error::ClosedByDaemon { .. } | Error::Silent { .. }) => {
                Self::Unreachable
            }
            Some(Error::Unauthenticated(_)) => Self::Forbidden,
            Some(Error::Connect(error)) => match error.reason().downcast_ref::<CommandError>() {
                Some(CommandError(error)) => Self::of(error),
                None => Self::Unreachable,
            },
            _ => Self::Failure,
        }
    }

    /// Returns the code for an error of the daemon.
    pub fn of_code(code: Option<ErrorCode>) -> Self {
        match code {
            Some(ErrorCode::NotFound) => Self::NotFound,
            Some(ErrorCode::Unauthenticated | ErrorCode::Forbidden) => Self::Forbidden,
            _ => Self::Failure,
        }
    }
}

/// An error of a command on its way through a client, which passes on why its connector failed.
#[derive(Debug)]
pub struct CommandError(pub anyhow::Error);

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&sentence(&self.0))
    }
}

impl StdError for CommandError {}

/// Formats an error with its causes, in the words of the command line. Omits a cause that the message above it already contains, as in
/// many libraries.
pub fn sentence(error: &anyhow::Error) -> String {
    let mut causes = error.chain().map(words).map(|cause| without_numbers(&cause));
    let mut message = causes.next().unwrap_or_default();
    for cause in causes {
        if !message.contains(&cause) {
            message = format!("{message}: {cause}");
        }
    }
    message
}

/// Formats one error of a chain. Those of the client name what a user of the command line can do.
fn words(error: &(dyn StdError + 'static)) -> String {
    match error.downcast_ref::<Error>() {
        Some(Error::Refused(refusal)) => {
            refused(known(&refusal.code), &refusal.message, refusal.detail.as_deref())
        }
        Some(Error::Disconnected(_)) => {
            "the connection to the daemon is lost; \"acpd status\" shows whether it runs".to_owned()
        }
        Some(Error::ClosedByDaemon { reason }) if reason.is_empty() => {
            "the daemon closed the connection; \"acpd status\" shows whether it runs".to_owned()
        }
        Some(Error::Silent { silence }) => {
            format!(
                "the daemon does not answer within {} s; \"acpd status\" shows whether it runs",
                silence.as_secs()
            )
        }
        Some(Error::RequestTooLarge { bytes, limit, .. }) => format!(
            "the message has {bytes} bytes, and the daemon accepts {limit}: shorten the prompt, let the agent read a file, or \
             raise limits.client_message_bytes in the daemon's configuration"
        ),
        _ => error.to_string(),
    }
}

/// Formats an error of the daemon.
pub fn refused(code: Option<ErrorCode>, message: &str, detail: Option<&str>) -> String {
    let mut message = message.to_owned();
    if code == Some(ErrorCode::AgentFailed) && !message.contains("agents doctor") {
        message.push_str("; \"acpd agents doctor NAME\" shows what the agent does");
    }
    match detail {
        Some(detail) => format!("{message}\n{detail}"),
        None => message,
    }
}

/// Returns a code of the daemon, if this program knows it.
pub fn known(code: &str) -> Option<ErrorCode> {
    serde_json::from_value(Value::from(code)).ok()
}

/// Removes the numbers that the standard library adds to errors of the operating system: `(os error 2)`.
pub fn without_numbers(text: &str) -> String {
    let mut parts = text.split(" (os error ");
    let mut rest = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(')') {
            Some((_, after)) => rest.push_str(after),
            None => rest.push_str(part),
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use acpd_client::ConnectError;
    use anyhow::anyhow;
    use serde_json::json;

    use super::*;

    /// All codes. The match makes the compiler ask for a new one here.
    const ALL: [Exit; 12] = {
        use Exit::*;
        match Success {
            Success | Failure | Usage | Refused | Limited | NotFound | Unreachable | Forbidden | Declined
            | PolicyAsks | PolicyDenies | Interrupted => {}
        }
        [
            Success,
            Failure,
            Usage,
            Refused,
            Limited,
            NotFound,
            Unreachable,
            Forbidden,
            Declined,
            PolicyAsks,
            PolicyDenies,
            Interrupted,
        ]
    };

    #[test]
    fn the_document_lists_each_code_once() {
        let page = include_str!("../../../docs/cli.md");
        let (_, section) = page.split_once("\n## Exit codes\n").unwrap();
        let section = section.split("\n## ").next().unwrap();
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
        let listed: Vec<u8> = rows
            .map(|row| row.split('`').next().unwrap().parse().unwrap())
            .collect();
        assert_eq!(listed, ALL.map(|exit| exit as u8));
    }

    #[test]
    fn an_error_keeps_its_code_below_others() {
        let error = Exit::NotFound
            .error("no thread")
            .context("the thread cannot be shown");
        assert_eq!(Exit::of(&error), Exit::NotFound);
        assert_eq!(Exit::of(&anyhow!("no space")), Exit::Failure);
    }

    #[test]
    fn a_cause_is_said_once() {
        let error = anyhow!("no such file")
            .context("x cannot be read: no such file")
            .context("no settings");
        assert_eq!(sentence(&error), "no settings: x cannot be read: no such file");
        let error = anyhow::Error::new(std::io::Error::from_raw_os_error(2)).context("x cannot be read");
        assert_eq!(sentence(&error), "x cannot be read: No such file or directory");
    }

    fn refusal(code: &str, message: &str, detail: Option<&str>) -> anyhow::Error {
        let data = json!({ "code": code, "retryable": false, "detail": detail });
        let error = json!({ "code": -32000, "message": message, "data": data });
        let error: acpd_client::protocol::Error = serde_json::from_value(error).unwrap();
        Error::from(error).into()
    }

    #[test]
    fn errors_of_the_client_have_the_codes_and_words_of_the_command_line() {
        let stopped = Error::ClosedByDaemon {
            reason: "shutting down".to_owned(),
        };
        let large = Error::RequestTooLarge {
            method: "turn/start".to_owned(),
            bytes: 20,
            limit: 10,
        };
        let silent = Error::Silent {
            silence: Duration::from_secs(30),
        };
        let lost = "the connection to the daemon is lost; \"acpd status\" shows whether it runs";
        for (error, exit, said) in [
            (
                refusal("not_found", "no thread t", None),
                Exit::NotFound,
                "no thread t",
            ),
            (refusal("forbidden", "not you", None), Exit::Forbidden, "not you"),
            (
                refusal("newer", "odd", Some("really")),
                Exit::Failure,
                "odd\nreally",
            ),
            (
                refusal("agent_failed", "it exited", Some("code 1")),
                Exit::Failure,
                "it exited; \"acpd agents doctor NAME\" shows what the agent does\ncode 1",
            ),
            (
                Error::Disconnected("reset".to_owned()).into(),
                Exit::Unreachable,
                lost,
            ),
            (
                silent.into(),
                Exit::Unreachable,
                "the daemon does not answer within 30 s; \"acpd status\" shows whether it runs",
            ),
            (
                Error::ClosedByDaemon {
                    reason: String::new(),
                }
                .into(),
                Exit::Unreachable,
                "the daemon closed the connection; \"acpd status\" shows whether it runs",
            ),
            (
                stopped.into(),
                Exit::Unreachable,
                "the daemon closed the connection: shutting down",
            ),
            (
                large.into(),
                Exit::Failure,
                "the message has 20 bytes, and the daemon accepts 10: shorten the prompt, let the agent read a file, or raise \
                 limits.client_message_bytes in the daemon's configuration",
            ),
        ] {
            assert_eq!((Exit::of(&error), sentence(&error).as_str()), (exit, said));
            let below = error.context("the thread cannot be shown");
            assert_eq!(Exit::of(&below), exit);
            assert_eq!(sentence(&below), format!("the thread cannot be shown: {said}"));
        }
    }

    #[test]
    fn an_error_of_a_connector_keeps_its_code_and_causes() {
        let reason = Exit::Forbidden.error("not accepted").context("no connection");
        let error = anyhow::Error::new(Error::Connect(ConnectError::permanent(CommandError(reason))));
        assert_eq!(Exit::of(&error), Exit::Forbidden);
        assert_eq!(sentence(&error), "no connection: not accepted");
    }
}
