//! What an agent that asked was allowed: once, and no more than the question showed.
//!
//! In: an allowed question, then the calls that the agent makes. Out: whether a call is part of it. A diff shows no more than what
//! differs from the old text that the agent gives, so that it allows the new text only where the file holds that old text. What is done is used up, the
//! rest holds until the turn ends. Reading changes nothing and comes in pieces, so it is not used up.

use acpd_model::subject::{CallSubject, Variable};
use acpd_model::{BlobId, PreviousContent};

use crate::agent::Call;
use acpd_policy::{Access, FileText, Request, Subject, is_shell, shell_line};

/// What is left of one allowed question.
#[derive(Debug)]
pub(super) struct Grant {
    run: Option<Run>,
    /// All but the commands.
    subjects: Vec<Subject>,
    /// What files will contain.
    texts: Vec<FileText>,
}

/// Whether a grant covers a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Coverage {
    None,
    /// Only if the file holds what the question showed as its old text.
    Depends,
    Full,
}

/// What a file that is written holds, read and hashed once for all texts of all grants.
#[derive(Debug, Clone, Copy)]
enum Old {
    NotRead,
    /// It has no text, or it is not known.
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

/// A command as it was shown.
#[derive(Debug, PartialEq, Eq)]
struct Run {
    line: String,
    subjects: Vec<Subject>,
    cwd: String,
    env: Vec<Variable>,
}

impl Run {
    /// The command of a request. Of several, none: which of them a part belongs to is not known.
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

    /// Whether it is the same command in the same place. A simple command may be spelled in another way; how several depend on
    /// each other only the line says.
    fn is_same(&self, other: &Self) -> bool {
        let same_command =
            matches!(self.subjects[..], [Subject::Command(_)]) && self.subjects == other.subjects;
        (&self.cwd, &self.env) == (&other.cwd, &other.env) && (self.line == other.line || same_command)
    }
}

fn is_run(subject: &Subject) -> bool {
    matches!(
        subject,
        Subject::Command(_) | Subject::Redirect(_) | Subject::Unreadable { .. }
    )
}

/// The line that is run. A line is covered only if all shells read it the same way, so that it makes no difference which shell
/// the call names, or that it names none.
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
    /// What a request comes to if it is allowed.
    pub fn of(request: &Request) -> Self {
        let others = request.subjects().iter().filter(|subject| !is_run(subject));
        Self {
            run: Run::of(request),
            subjects: others.cloned().collect(),
            texts: request.texts().to_vec(),
        }
    }

    /// Whether all that a call wants is in it. `old` is the text that a file that is written holds.
    fn covers(&self, wanted: &Self, old: Old) -> Coverage {
        let runs = match (&self.run, &wanted.run) {
            (_, None) => true,
            (Some(grants), Some(wanted)) => grants.is_same(wanted),
            (None, Some(_)) => false,
        };
        let contains = |subject| self.subjects.contains(subject);
        if !runs || !wanted.subjects.iter().all(contains) {
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

    /// Takes away what a call has used; answers whether anything is left.
    fn use_up(&mut self, used: &Self) -> bool {
        if used.run.is_some() {
            self.run = None;
        }
        self.subjects
            .retain(|subject| only_read(subject) || !used.subjects.contains(subject));
        self.run.is_some() || !self.subjects.is_empty()
    }
}

/// Whether a call was allowed; if so, the grant is used up. What cannot be told for certain is no part of any. `old` is what a
/// file that is written holds, if it was read.
pub(super) fn use_up(
    grants: &mut Vec<Grant>,
    call: &Call,
    request: &Request,
    old: Option<&PreviousContent>,
) -> Coverage {
    let subjects = request.subjects();
    if subjects.is_empty() || !subjects.iter().all(Subject::is_certain) {
        return Coverage::None;
    }
    let mut wanted = Grant::of(request);
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
