//! The form of the fixtures.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

/// One plugin.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fixture {
    /// Its repository.
    pub plugin: String,
    /// The commit whose source was read.
    pub version: String,
    /// Where the messages come from.
    pub about: String,
    /// The start of its settings in the document.
    pub settings: String,
    pub environment: Environment,
    /// The methods that it handles.
    pub knows: Vec<String>,
    /// Notifications that it drops, or for which it shows no more than a warning.
    pub ignores: Vec<String>,
    /// JSON pointers to values that must not be `null` in any message. `*` stands for every element of a list.
    pub never_null: Vec<String>,
    pub requires: Vec<Requirement>,
    /// Files in the working directory, before the first step.
    pub files: BTreeMap<String, String>,
    pub steps: Vec<Step>,
}

/// The environment of the process that it starts.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Environment {
    /// The editor's.
    #[serde(rename = "inherited")]
    Inherited,
    /// `PATH`, and what the settings name.
    #[serde(rename = "PATH only")]
    PathOnly,
}

/// What it requires of acpd.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requirement {
    pub that: String,
    /// The file of the plugin, and the functions in it.
    pub source: String,
}

/// One step. Texts may have placeholders: `$CWD`, the names under `keep`, in an answer also `$CONTENT` and the kinds of
/// the offered options, such as `$ALLOW_ONCE`.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Step {
    /// Starts a process.
    Start {},
    /// Sends a message.
    Send(Value),
    /// Waits for a response. Until then, the agent must request nothing.
    Expect(Expected),
    /// Waits for a request of the agent, which the next answer is for.
    Asked(Asked),
    /// Waits for a request of the agent, and answers it. An answer of `null` to `fs/write_text_file` writes the file.
    Answer(Answer),
    /// Waits until the agent has said this since the last request.
    Says(String),
    /// Checks a file.
    File(File),
    /// Ends the process by these signals.
    End(Vec<String>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    pub id: u64,
    /// Values by JSON pointer; `"present"` stands for any value but `null`.
    #[serde(default)]
    pub has: Map<String, Value>,
    /// Values to keep, by the name of their placeholder.
    #[serde(default)]
    pub keep: BTreeMap<String, String>,
    /// Part of what the agent has said before the response.
    pub said: Option<String>,
    /// What the agent must not have said before the response.
    pub never_said: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    pub method: String,
    #[serde(default)]
    pub has: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    pub method: String,
    #[serde(default)]
    pub has: Map<String, Value>,
    #[serde(default)]
    pub result: Value,
    /// The error, instead of the result.
    pub error: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Its path in the working directory.
    pub path: String,
    /// Its content; `null` if it must not be there.
    pub content: Option<String>,
}

impl Fixture {
    /// Reads a fixture.
    pub fn read(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_else(|error| panic!("not a fixture: {error}"))
    }
}
