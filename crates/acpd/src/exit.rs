//! Exit codes, and errors that carry one.

use std::process::ExitCode;

use acpd_model::ErrorCode;

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
        let problem = error.downcast_ref::<Problem>();
        problem.map_or(Self::Failure, |problem| problem.exit)
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

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

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
}
