//! The parts of a request that users see.
//!
//! In: the parts of a call, when the policy's subjects are created from them. Out: the same parts for users; parts that
//! the policy could not analyze are marked. Never: an agent's title or text.

use acpd_model::subject::{CallSubject, FileAccess, Variable};

use super::address::host;
use super::members;
use super::path::normalise;
use super::request::Request;
use super::subject::{Access, Subject};

impl From<Access> for FileAccess {
    fn from(access: Access) -> Self {
        match access {
            Access::Read => Self::Read,
            Access::Search => Self::Search,
            Access::Edit => Self::Edit,
            Access::Delete => Self::Delete,
            Access::Move => Self::Move,
        }
    }
}

impl Request {
    /// Returns the parts that users see: each part of the call, and a note for each part that cannot be analyzed.
    pub fn shown(&self) -> Vec<CallSubject> {
        let mut shown = self.shown.clone();
        let members = self
            .has_unknown_members()
            .then(|| members::in_words(&self.unknown_members));
        // Unknown members, or an input that cannot be read, already explain an unknown part.
        let has_reason = members.is_some()
            || shown
                .iter()
                .any(|part| matches!(part, CallSubject::Unknown { .. }));
        let is_said = |subject: &&Subject| has_reason && **subject == Subject::Unknown;
        let subjects = self.subjects.iter().filter(|subject| !is_said(subject));
        for what in subjects.filter_map(unknown).chain(members.clone()) {
            let unknown = CallSubject::Unknown { what };
            if !shown.contains(&unknown) {
                shown.push(unknown);
            }
        }
        shown
    }

    pub(super) fn show(&mut self, part: CallSubject) {
        if !self.shown.contains(&part) {
            self.shown.push(part);
        }
    }

    pub(super) fn show_argv(&mut self, argv: &[String], cwd: &str, env: &[Variable]) {
        self.show(CallSubject::Command {
            argv: argv.to_vec(),
            cwd: cwd.to_owned(),
            env: env.to_vec(),
        });
    }

    pub(super) fn show_line(&mut self, line: &str, cwd: &str, env: &[Variable]) {
        self.show(CallSubject::CommandLine {
            line: line.to_owned(),
            cwd: cwd.to_owned(),
            env: env.to_vec(),
        });
    }

    pub(super) fn show_file(&mut self, access: Access, path: &str) {
        self.show(CallSubject::File {
            access: access.into(),
            path: path.to_owned(),
            real_path: None,
            diff: None,
            arguments: None,
        });
    }

    pub(super) fn show_url(&mut self, url: &str) {
        self.show(CallSubject::Fetch {
            url: url.to_owned(),
            host: host(url),
        });
    }

    /// Adds the change of the file `of`. Returns whether the file is among the parts.
    pub(super) fn show_diff(&mut self, of: &str, change: &str) -> bool {
        for part in &mut self.shown {
            if let CallSubject::File {
                access: FileAccess::Edit | FileAccess::Delete | FileAccess::Move,
                path,
                diff,
                ..
            } = part
                && path == of
            {
                diff.get_or_insert_default().push_str(change);
                return true;
            }
        }
        false
    }

    /// Hides the input for the files that the call changes, since their diffs show all of it.
    pub(super) fn hide_arguments(&mut self) {
        for part in &mut self.shown {
            if let CallSubject::File { arguments, .. } = part {
                *arguments = None;
            }
        }
    }

    /// Shows the call's input for the files that it changes.
    pub(super) fn show_arguments(&mut self, input: &str) {
        for part in &mut self.shown {
            if let CallSubject::File {
                access: FileAccess::Edit,
                arguments,
                ..
            } = part
            {
                // Once is enough, for any number of files.
                *arguments = Some(input.to_owned());
                return;
            }
        }
    }

    /// Adds the real path of a file that is named by a link.
    pub(super) fn show_real_path(&mut self, of: Access, named: &str, real: &str) {
        let Some(named) = normalise(named, "/", None) else {
            return;
        };
        for part in &mut self.shown {
            if let CallSubject::File {
                access,
                path,
                real_path,
                ..
            } = part
                && *access == of.into()
                && *path == named
                && *path != real
            {
                *real_path = Some(real.to_owned());
            }
        }
    }
}

/// Describes a part that cannot be analyzed.
fn unknown(subject: &Subject) -> Option<String> {
    Some(match subject {
        Subject::Unreadable { why, .. } => format!("the command {why}"),
        Subject::Redirect { path: None, .. } => "the command writes an unknown file".to_owned(),
        Subject::File { access, path: None } => {
            format!("it would {} an unknown file", FileAccess::from(*access).verb())
        }
        Subject::Fetch(None) => "it would fetch an unknown address".to_owned(),
        Subject::Mcp {
            tool_known: false, ..
        } => "it would call an unknown tool of the MCP server".to_owned(),
        Subject::Reserved(_) => format!("{subject} belongs to acpd itself"),
        Subject::Unknown => "the call does not say what it would do".to_owned(),
        _ => return None,
    })
}
