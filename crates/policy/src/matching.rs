//! Matches rules against subjects. In: a rule, a subject and its request. Out: yes, no or maybe.

use serde::{Deserialize, Serialize};

use super::path::PathPattern;
use super::preset::List;
use super::request::Request;
use super::rule::{About, Rule};
use super::subject::{Access, Kind, Program, Subject};
use super::wrapper::base_name;

/// Whether a rule matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Match {
    /// The rule does not match.
    No,
    /// The known data do not determine whether the rule matches.
    Maybe,
    /// The rule matches.
    Yes,
}

impl From<bool> for Match {
    fn from(yes: bool) -> Self {
        if yes { Self::Yes } else { Self::No }
    }
}

/// Returns whether `rule`, which is in `list`, matches `subject`.
pub fn matches(rule: &Rule, list: List, subject: &Subject, request: &Request) -> Match {
    let far = list != List::Allow;
    let path = |pattern: &Option<PathPattern>, path: Option<&String>| match (pattern, path) {
        (None, _) => Match::Yes,
        (Some(_), None) => Match::Maybe,
        (Some(pattern), Some(path)) => {
            let fits = |name: String| pattern.fits(&name, &request.workspace, request.home.as_deref(), far);
            request.names_of(path).any(fits).into()
        }
    };
    if rule.about == About::Everything {
        return Match::Yes;
    }
    if let About::Named(name) = &rule.about {
        let Some(tool) = &request.tool_name else {
            return Match::No;
        };
        // The name is the agent's claim, so it must not allow a file, a command or a URL.
        let may_fit = far || matches!(subject, Subject::Tool(_));
        return (may_fit && name.fits(tool)).into();
    }
    match (subject, &rule.about) {
        // The subject is unknown, so only a restricting rule may match it.
        (Subject::Unknown, _) => {
            if far {
                Match::Maybe
            } else {
                Match::No
            }
        }

        (Subject::Command(command), About::Bash(None)) => {
            // A redirection without a command runs nothing.
            (far || !command.words.is_empty()).into()
        }
        (Subject::Command(command), About::Bash(Some(pattern))) => {
            let home = request.home.as_deref();
            let program = command.program.as_ref();
            let is_at = |pattern: &PathPattern, path: &str| {
                let fits = |name: String| pattern.fits(&name, &request.workspace, home, far);
                let named = || pattern.literal(&request.workspace, home);
                request.names_of(path).any(fits)
                    || named()
                        .is_some_and(|named| request.programs.get(&named).is_some_and(|real| real == path))
            };
            let by_name = program.and_then(Program::by_name).filter(|_| far);
            let is_there = |pattern: &PathPattern| {
                let path = program.and_then(|program| program.path.as_ref());
                path.into_iter().chain(&by_name).any(|path| is_at(pattern, path))
            };
            if !far {
                return (!command.words.is_empty() && pattern.surely_fits(&command.words, is_there)).into();
            }
            let called = program.and_then(|program| base_name(program.path.as_deref()?));
            let called: Vec<_> = called.into_iter().collect();
            let fits = command
                .forms()
                .map(|form| match pattern.may_fit(form, &called, is_there) {
                    (true, _) => Match::Yes,
                    (_, true) => Match::Maybe,
                    _ => Match::No,
                });
            fits.max().unwrap_or(Match::No)
        }
        (Subject::Command(command), About::Read(pattern)) if far => {
            let fits = command.reads.iter().map(|read| path(pattern, read.as_ref()));
            fits.max().unwrap_or(Match::No)
        }
        (Subject::Unreadable { .. }, About::Bash(None)) => {
            if far {
                Match::Yes
            } else {
                Match::Maybe
            }
        }
        (Subject::Unreadable { text, .. }, About::Bash(Some(pattern))) => match text {
            Some(text) if far && pattern.is_named_in(text) => Match::Yes,
            _ => Match::Maybe,
        },
        // A pattern is about the words of a command; which file it writes is for the rules about files.
        (Subject::Redirect { .. }, About::Bash(pattern)) => pattern.is_none().into(),
        (Subject::Redirect { path: target, .. }, About::Edit(pattern)) => path(pattern, target.as_ref()),

        (Subject::File { access, path: file }, about) => {
            let (pattern, fits) = match about {
                About::Read(pattern) => (pattern, matches!(access, Access::Read | Access::Search)),
                About::Search(pattern) => (pattern, *access == Access::Search),
                About::Edit(pattern) => {
                    let further = far && matches!(access, Access::Delete | Access::Move);
                    (pattern, *access == Access::Edit || further)
                }
                About::Delete(pattern) => (pattern, *access == Access::Delete),
                About::Move(pattern) => (pattern, *access == Access::Move),
                _ => return Match::No,
            };
            if fits {
                path(pattern, file.as_ref())
            } else {
                Match::No
            }
        }

        (Subject::Fetch(url), About::Fetch(Some(pattern))) => {
            let fits = url.as_ref().and_then(|url| pattern.fits(url, far));
            fits.map_or(Match::Maybe, Match::from)
        }
        (Subject::Mcp { name, tool_known }, About::Mcp(pattern)) => match (pattern.fits(name), tool_known) {
            (true, _) => Match::Yes,
            (false, true) => Match::No,
            (false, false) => Match::Maybe,
        },
        (Subject::Fetch(_), About::Fetch(None))
        | (Subject::Tool(Kind::Think), About::Think)
        | (Subject::Tool(Kind::SwitchMode), About::SwitchMode)
        | (Subject::Tool(Kind::Other), About::Other) => Match::Yes,
        _ => Match::No,
    }
}
