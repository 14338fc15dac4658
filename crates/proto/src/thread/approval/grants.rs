//! Permissions from allowed questions: each applies once, and only to what the question showed.
//!
//! In: an allowed question, then the calls that the agent makes. Out: whether a call is part of it. A diff shows only
//! the difference from the old text that the agent gives. It allows the new text only if the file contains that old
//! text. Each part of a permission is used up by its call, and the rest lasts until the turn ends. Reads change
//! nothing and often come in pieces, so they are not used up. A permission is of the agent that asked: neither a subagent
//! of it nor its parent can use it.

use acpd_model::subject::{CallSubject, Variable};
use acpd_model::{BlobId, LaneId, PreviousContent};

use crate::agent::Call;
use acpd_policy::{Access, FileText, Request, Subject, is_shell, shell_line};

/// The unused rest of one allowed question.
#[derive(Debug)]
pub(super) struct Grant {
    /// The subagent that asked; `None` for the main agent.
    lane: Option<LaneId>,
    run: Option<Run>,
    /// All subjects except the commands.
    subjects: Vec<Subject>,
    /// The allowed contents of files.
    texts: Vec<FileText>,
}

/// Whether a grant covers a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Coverage {
    None,
    /// Only if the file contains the old text that the question showed.
    Depends,
    Full,
}

/// The current content of a file to be written, hashed once for all texts of all grants.
#[derive(Debug, Clone, Copy)]
enum Old {
    NotRead,
    /// The file has no text, or its content is unknown.
    NoText,
    Text(BlobId),
}

impl From<Option<&PreviousContent>> for Old {
    fn from(before: Option<&PreviousContent>) -> Self {
        match before.map(PreviousContent::text) {
            None => Self::NotRead,
            Some(None) => Self::NoText,
            Some(Some(text)) => Self::Text(BlobId::of(text.as_bytes())),
        }
    }
}

/// A command as the question showed it.
#[derive(Debug, PartialEq, Eq)]
struct Run {
    line: String,
    subjects: Vec<Subject>,
    cwd: String,
    env: Vec<Variable>,
}

impl Run {
    /// Returns the command of a request; `None` if there are several, because the parts cannot be assigned to them.
    fn of(request: &Request) -> Option<Self> {
        let shown = request.shown();
        let mut commands = shown.into_iter().filter_map(|part| match part {
            CallSubject::Command { argv, cwd, env } => Some((line_of(&argv), cwd, env)),
            CallSubject::CommandLine { line, cwd, env } => Some((line, cwd, env)),
            _ => None,
        });
        let (line, cwd, env) = commands.next()?;
        let subjects = request.subjects().iter().filter(|subject| is_run(subject));
        commands.next().is_none().then(|| Self {
            line,
            subjects: subjects.cloned().collect(),
            cwd,
            env,
        })
    }

    /// Returns whether it is the same command in the same directory. A simple command may be written differently; for
    /// several commands only the line shows how they depend on each other.
    fn is_same(&self, other: &Self) -> bool {
        let same_command =
            matches!(self.subjects[..], [Subject::Command(_)]) && self.subjects == other.subjects;
        (&self.cwd, &self.env) == (&other.cwd, &other.env) && (self.line == other.line || same_command)
    }
}

fn is_run(subject: &Subject) -> bool {
    matches!(
        subject,
        Subject::Command(_) | Subject::Redirect { .. } | Subject::Unreadable { .. }
    )
}

/// Returns the shell line of a command. A line is covered only if all shells parse it the same way. So the shell that
/// a call names makes no difference.
fn line_of(argv: &[String]) -> String {
    match argv {
        [line] => line.clone(),
        [shell, option, line] if is_shell(shell) && option == "-c" => line.clone(),
        [program, args @ ..] => shell_line(program, args.iter().map(String::as_str)),
        [] => String::new(),
    }
}

fn only_read(subject: &Subject) -> bool {
    matches!(
        subject,
        Subject::File {
            access: Access::Read | Access::Search,
            ..
        }
    )
}

impl Grant {
    /// Returns the grant for an allowed request of a subagent, or of the main agent.
    pub fn of(lane: Option<LaneId>, request: &Request) -> Self {
        let others = request.subjects().iter().filter(|subject| !is_run(subject));
        Self {
            lane,
            run: Run::of(request),
            subjects: others.cloned().collect(),
            texts: request.texts().to_vec(),
        }
    }

    /// Returns whether the grant covers all parts of a call. `old` is the current content of a file to be written.
    fn covers(&self, wanted: &Self, old: Old) -> Coverage {
        let runs = match (&self.run, &wanted.run) {
            (_, None) => true,
            (Some(grants), Some(wanted)) => grants.is_same(wanted),
            (None, Some(_)) => false,
        };
        let contains = |subject| self.subjects.contains(subject);
        if self.lane != wanted.lane || !runs || !wanted.subjects.iter().all(contains) {
            return Coverage::None;
        }
        let texts = wanted.texts.iter().map(|text| self.covers_text(text, old));
        texts.min().unwrap_or(Coverage::Full)
    }

    fn covers_text(&self, wanted: &FileText, old: Old) -> Coverage {
        let is_same = |text: &&FileText| (&text.path, text.content) == (&wanted.path, wanted.content);
        let coverage = |text: &FileText| match (text.replaces, old) {
            (None, _) => Coverage::Full,
            (Some(_), Old::NotRead) => Coverage::Depends,
            (Some(shown), Old::Text(old)) if old == shown => Coverage::Full,
            (Some(_), Old::Text(_) | Old::NoText) => Coverage::None,
        };
        let texts = self.texts.iter().filter(is_same);
        texts.map(coverage).max().unwrap_or(Coverage::None)
    }

    /// Removes the parts that a call has used; returns whether any part is left.
    fn use_up(&mut self, used: &Self) -> bool {
        if used.run.is_some() {
            self.run = None;
        }
        self.subjects
            .retain(|subject| only_read(subject) || !used.subjects.contains(subject));
        self.run.is_some() || !self.subjects.is_empty()
    }
}

/// Returns whether a call of a subagent, or of the main agent, is covered by a grant; if so, uses up the grant. A subject that is not certain is never
/// covered. `old` is the current content of a file to be written, if it was read.
pub(super) fn use_up(
    grants: &mut Vec<Grant>,
    lane: Option<LaneId>,
    call: &Call,
    request: &Request,
    old: Option<&PreviousContent>,
) -> Coverage {
    let subjects = request.subjects();
    if subjects.is_empty() || !subjects.iter().all(Subject::is_certain) {
        return Coverage::None;
    }
    let mut wanted = Grant::of(lane, request);
    if let Call::WriteFile { path, content } = call {
        let Some(path) = request.tidy(path) else {
            return Coverage::None;
        };
        wanted.texts = vec![FileText {
            path,
            content: BlobId::of(content.as_bytes()),
            replaces: None,
        }];
    }
    let old = Old::from(old);
    let covers = grants.iter().map(|grant| grant.covers(&wanted, old)).enumerate();
    let Some((at, coverage)) = covers.max_by_key(|(_, coverage)| *coverage) else {
        return Coverage::None;
    };
    if coverage == Coverage::Full && !grants[at].use_up(&wanted) {
        grants.remove(at);
    }
    coverage
}
