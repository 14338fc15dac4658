//! Paths that an agent cannot use.

use std::path::PathBuf;

/// The setting that decides where an agent starts.
pub(crate) const START_IN: &str = "start_in";

/// Stands for a setting where no sandbox has denied a path: the thread's directories do not contain it.
pub(crate) const DIRECTORIES: &str = "directories";

/// A path that the sandbox has denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// The path, as it was reported.
    pub path: PathBuf,
    /// The setting that allows it: `read` or `write` of the sandbox, or `start_in` of the agent.
    pub setting: &'static str,
    /// Whether there are keys or passwords in it, or in a directory below.
    pub is_secret: bool,
    /// The folder with the path that a user may open for the thread.
    pub folder: Option<String>,
}

impl Denial {
    /// Returns what happened.
    pub fn message(&self) -> String {
        if self.setting == START_IN {
            return format!(
                "acpd starts the agent in an empty directory that it cannot write: {:?} was reported as denied",
                self.path.display().to_string()
            );
        }
        let path = self.path.display().to_string();
        match self.setting {
            DIRECTORIES => {
                format!(
                    "acpd lets this agent use files only in the directories of its thread: {path:?} is outside of them"
                )
            }
            "write" => format!(
                "acpd's sandbox lets this agent write only its workspace and its own directories: {path:?} was reported as denied"
            ),
            _ => {
                format!("acpd's sandbox does not let this agent read {path:?}, which was reported as denied")
            }
        }
    }

    /// Returns the stable code of the notice.
    pub fn code(&self) -> &'static str {
        match self.setting {
            DIRECTORIES => "outsideWorkspace",
            _ => "sandboxDenied",
        }
    }

    /// Returns what to do in a thread. The report may be made up, to have a user open what an agent must not have.
    pub fn advice(&self, agent: &str, thread: &str) -> String {
        if self.is_secret {
            return "there are keys or passwords: no agent should have it".to_owned();
        }
        if self.setting == START_IN {
            return format!(
                "if the agent works in the directory of its process, set [agents.{agent}] {START_IN} = \"workspace\" in the \
                 configuration: then files of the workspace can decide what runs before the first prompt"
            );
        }
        let path = self.path.display().to_string();
        let open = self.folder.as_deref().map(|folder| {
            format!(
                "\"acpd add-dir {thread} {}\" lets it read and write there in this thread; it starts anew for that, between two turns",
                shell_word(folder)
            )
        });
        if self.setting == DIRECTORIES {
            return match open {
                Some(open) => format!("if the agent may use it: {open}"),
                None => "it is in no folder that can be opened for a thread".to_owned(),
            };
        }
        let open = open
            .map(|open| format!("{open}; for all its threads, "))
            .unwrap_or_default();
        let create = if self.path.exists() {
            ""
        } else {
            "create the path, then "
        };
        format!(
            "if the agent may use it: {open}{create}add it to {:?} of the agent's sandbox in the configuration: [agents.{agent}] sandbox = {{ {} \
             = [{path:?}] }}",
            self.setting, self.setting
        )
    }
}

/// Quotes a word for a shell. What an agent has named must not run when it is copied.
fn shell_word(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
