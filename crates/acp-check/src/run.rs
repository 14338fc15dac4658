//! A whole run: both versions, each with a process of its own, and the processes for odd versions.

use std::path::Path;

use serde_json::Value;

use crate::client::Client;
use crate::directory::Directory;
use crate::evidence::cut;
use crate::link::Link;
use crate::options::Options;
use crate::process::Start;
use crate::report::{Report, Rows};
use crate::rule::Rule;
use crate::script::Script;
use crate::script::handshake::{self, Greeting, Odd};
use crate::version::Version;
use crate::watch::Watch;

/// Most of the agent's name that is shown, in bytes.
const NAME_BYTES: usize = 100;

/// Why a run could not begin.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The working directory could not be created.
    #[error("a temporary directory cannot be created: {0}; TMPDIR names another place")]
    Directory(#[from] std::io::Error),
    /// The agent could not be started at all.
    #[error("{0}")]
    Start(String),
}

/// Checks an agent. `command` is its command line, for the report.
pub async fn run(
    start: &mut impl Start,
    command: Vec<String>,
    options: &Options,
) -> Result<Report, RunError> {
    let directory = Directory::new()?;
    let mut report = Report {
        command,
        agent: None,
        versions: Vec::new(),
        sign_in: None,
    };
    let mut is_declined = true;
    for (at, version) in options.versions.iter().enumerate() {
        let mut link = match connect(start, directory.path(), *version, options) {
            Ok(link) => link,
            Err(reason) if at == 0 => return Err(RunError::Start(reason)),
            Err(reason) => {
                let mut rows = Rows::default();
                rows.violated_by("process", Rule::Running, &reason);
                report.versions.push((*version, rows));
                continue;
            }
        };
        match handshake::greet(&mut link, *version, options.turn_limit).await {
            Greeting::Speaks(hello) => {
                is_declined = false;
                report.agent = report.agent.or_else(|| name(&hello));
                let cwd = directory.path().to_string_lossy().into_owned();
                let mut script = Script::new(&mut link, *version, options, cwd, hello);
                script.run().await;
                report.sign_in = report.sign_in.or(script.sign_in);
            }
            // Nothing was checked, which must not look like success.
            Greeting::Declines if is_declined && at + 1 == options.versions.len() => {
                let reason = "the agent does not speak the requested version";
                link.watch.rows.violated_by("initialize", Rule::Version, reason);
            }
            Greeting::Declines => link.watch.rows.not_offered("initialize", Rule::Version),
            Greeting::Wrong => {
                is_declined = false;
                let reason = "initialize failed";
                link.watch
                    .rows
                    .not_tried("(rest of the run)", Rule::Running, reason);
            }
        }
        let mut rows = link.end().await.rows;
        if at == 0 {
            odd_versions(start, directory.path(), options, &mut rows).await;
        }
        report.versions.push((*version, rows));
    }
    Ok(report)
}

/// Sends odd params of `initialize`, each to a process of its own.
async fn odd_versions(start: &mut impl Start, directory: &Path, options: &Options, rows: &mut Rows) {
    for odd in Odd::ALL {
        let mut link = match connect(start, directory, Version::One, options) {
            Ok(link) => link,
            Err(reason) => {
                rows.violated_by(odd.row(), Rule::Running, &reason);
                continue;
            }
        };
        match handshake::greet_oddly(&mut link, odd, options.turn_limit).await {
            Ok(()) => rows.ok(odd.row(), odd.rule()),
            Err(fault) => rows.violated_by(odd.row(), odd.rule(), &fault),
        }
        // Its other verdicts are of a version that nothing was agreed on.
        link.end().await;
    }
}

/// Starts the agent, or says why it cannot be started.
fn connect(
    start: &mut impl Start,
    directory: &Path,
    version: Version,
    options: &Options,
) -> Result<Link, String> {
    let connection = start.start(directory)?;
    let watch = Watch::new(version, Rows::default());
    let client = Client::new(&directory.to_string_lossy(), options.allow);
    Ok(Link::new(connection, watch, client, options.limit))
}

/// Returns the agent's name and version, as it says them.
fn name(hello: &Value) -> Option<String> {
    let info = hello.get("agentInfo").or(hello.get("info"))?;
    let word = |name: &str| info.get(name).and_then(Value::as_str);
    let text = format!("{} {}", word("name")?, word("version").unwrap_or_default());
    Some(cut(text.trim_end(), NAME_BYTES))
}
