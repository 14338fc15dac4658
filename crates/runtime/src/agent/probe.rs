//! Probes one agent: starts it, sends `initialize` and stops it. No session is opened.
//!
//! In: the agent's configuration. Out: its `initialize` result, or the reason for the failure. Never: answers a request
//! from the agent, so the agent cannot do anything.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use acpd_host::{AgentProcess, Environment, Exit, Program, Reserved, Sandbox, run_for_user};
use acpd_model::{Failure, Limits, RawJson, json};
use acpd_proto::agent::{AcpVersion, AuthMethod, ElicitationModes, Negotiated, initialize_params, negotiate};
use acpd_proto::wire::{
    self, Found, Line, LineDecoder, Mended, Message, UTF_16, Unreadable, number, read_unclean,
};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::Instant;

use crate::agent::config::AgentConfig;
use crate::agent::sandbox::{Confinement, denied_paths};
use crate::host::blocking;
use crate::host::local::LocalHost;

/// Lines other than protocol messages that a check of an agent reports to the user.
const STRAY_LINES: usize = 5;

/// The result of a probe.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProbeReport {
    /// The command that was run, as an argument vector.
    pub command: Vec<String>,
    /// The agent's `initialize` result.
    pub hello: Option<InitializeResult>,
    /// The reason why there is no usable result.
    pub error: Option<String>,
    /// Milliseconds from the start of the process to the answer, or to its failure.
    pub millis: u128,
    /// The end of the agent's standard error.
    pub stderr: String,
    /// The first lines of standard output that are not messages.
    pub stray_lines: Vec<String>,
    /// The files and network that the agent may use.
    pub sandbox: Confinement,
    /// The result of `initialize`, verbatim.
    #[serde(skip)]
    pub raw: Option<RawJson>,
}

/// The result of `initialize`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResult {
    /// The version of ACP that the agent chose.
    pub protocol_version: i64,
    /// The agent's name and version.
    #[serde(default)]
    pub agent_info: Option<RawJson>,
    /// The agent's capabilities.
    #[serde(default)]
    pub agent_capabilities: Option<RawJson>,
    /// The agent's ways to sign in.
    #[serde(default)]
    pub auth_methods: Option<RawJson>,
}

/// The version of ACP that acpd supports without a setting.
const PROTOCOL_VERSION: i64 = 1;

/// Starts the agent as for a session in `cwd` and sends `initialize`. The agent has [`Limits::agent_start_secs`] to answer.
/// Its process has ended on return.
pub async fn probe(config: &AgentConfig, reserved: &Reserved, cwd: PathBuf, limits: &Limits) -> ProbeReport {
    let (own, all, place) = (config.clone(), reserved.clone(), cwd.clone());
    let looked = blocking(&LocalHost, move || Ok(own.confine_to_look(&all, &place))).await;
    let (sandbox, confinement) = looked.unwrap_or_else(|failure| config.not_looked_at(failure));
    let mut report = ProbeReport {
        command: std::iter::once(&config.command)
            .chain(&config.args)
            .cloned()
            .collect(),
        hello: None,
        error: None,
        millis: 0,
        stderr: String::new(),
        stray_lines: Vec::new(),
        sandbox: confinement,
        raw: None,
    };
    let sandbox = match sandbox {
        Ok(sandbox) => sandbox,
        Err(failure) => {
            report.error = Some(failure.to_string());
            return report;
        }
    };
    let program = config.program(cwd.clone(), sandbox);
    let began = Instant::now();
    let mut process = match AgentProcess::spawn(&program) {
        Ok(process) => process,
        Err(failure) => {
            report.error = Some(failure.message);
            return report;
        }
    };
    let patience = Duration::from_secs(limits.agent_start_secs);
    let request = initialize(config.acp);
    let asked = ask(
        &mut process,
        &request,
        limits.agent_line_bytes,
        &mut report.stray_lines,
    );
    let answer = tokio::time::timeout(patience, asked).await;
    report.millis = began.elapsed().as_millis();
    let ended = process
        .stop(Duration::from_secs(limits.agent_exit_grace_secs))
        .await;
    report.stderr = ended.stderr;
    match answer {
        Ok(Ok((_, raw))) if config.acp == AcpVersion::Two => match in_version_2(raw) {
            Ok((hello, raw)) => {
                report.hello = Some(hello);
                report.raw = Some(raw);
            }
            Err(failure) => report.error = Some(failure.message),
        },
        Ok(Ok((hello, raw))) if hello.protocol_version == PROTOCOL_VERSION => {
            report.hello = Some(hello);
            report.raw = Some(raw);
        }
        Ok(Ok((hello, _))) => {
            let version = hello.protocol_version;
            report.error = Some(format!(
                "agent supports ACP version {version}; acpd supports version {PROTOCOL_VERSION}"
            ));
        }
        Ok(Err(ProbeError::Said(failure))) => report.error = Some(failure.message),
        Ok(Err(ProbeError::Ended)) => {
            report.error = Some(format!("{} before it answered initialize", ended.reason))
        }
        Err(_) => {
            let seconds = patience.as_secs();
            report.error = Some(format!(
                "agent did not answer initialize within {seconds} s (agent_start_secs in [limits])"
            ));
        }
    }
    if report.error.is_some() {
        name_denial(&mut report, config, reserved, cwd).await;
    }
    report
}

/// Adds the path that acpd's sandbox has denied to the error, if the agent reports one.
async fn name_denial(report: &mut ProbeReport, config: &AgentConfig, reserved: &Reserved, cwd: PathBuf) {
    let error = report.error.as_deref().unwrap_or_default();
    let said = [report.stderr.as_str(), error].map(ToOwned::to_owned);
    let paths = denied_paths(&[&said[..], &report.stray_lines].concat().join("\n"));
    if paths.is_empty() {
        return;
    }
    let (own, all) = (config.clone(), reserved.clone());
    let look = move || Ok(own.denial(&all, &[cwd], &[], &paths));
    if let (Ok(Some(denial)), Some(error)) = (blocking(&LocalHost, look).await, &mut report.error) {
        error.push_str(&format!(
            "; {}: {}",
            denial.message(),
            denial.advice("NAME", "THREAD")
        ));
    }
}

/// Returns a directory in which to probe an agent for a client that has named none.
pub fn anywhere() -> PathBuf {
    std::env::home_dir()
        .filter(|home| home.is_dir())
        .unwrap_or_else(|| "/".into())
}

/// Returns the agent's sign-in methods that need a terminal.
pub fn terminal_logins(hello: &InitializeResult) -> Vec<AuthMethod> {
    let methods = hello.auth_methods.as_ref().map(AuthMethod::list);
    let mut methods = methods.unwrap_or_default();
    methods.retain(AuthMethod::is_terminal);
    methods
}

/// The agent's own program, run for a terminal sign-in in the agent's sandbox and environment. The agent adds arguments
/// and variables, so the user sees them before the program runs.
#[derive(Debug)]
pub struct Login {
    /// The command to run, as an argument vector.
    pub command: Vec<String>,
    /// The variables that the agent adds.
    pub env: BTreeMap<String, String>,
    /// Names of variables that the agent requested but may not set.
    pub dropped: Vec<String>,
    /// The environment of the agent's process.
    own_env: BTreeMap<String, String>,
    /// Where the program begins.
    cwd: PathBuf,
    sandbox: Option<Sandbox>,
}

impl Login {
    /// Prepares a sign-in by `method`, with access to the directory `cwd`.
    pub fn new(
        config: &AgentConfig,
        reserved: &Reserved,
        cwd: &Path,
        method: &AuthMethod,
    ) -> Result<Self, Failure> {
        let (sandbox, _) = config.confine_to_look(reserved, cwd);
        let wanted = method.env.clone().unwrap_or_default();
        // Programs read their configuration, helpers and libraries from variables of any name. So the filter allows the
        // agent's own variables instead of excluding dangerous ones.
        let (env, dropped): (_, BTreeMap<_, _>) = wanted
            .into_iter()
            .partition(|(name, _)| Environment::is_prefixed(&config.pass_env, name));
        let words = std::iter::once(&config.command)
            .chain(&config.args)
            .chain(method.args.iter().flatten());
        Ok(Self {
            command: words.cloned().collect(),
            env,
            dropped: dropped.into_keys().collect(),
            own_env: config.environment(),
            cwd: config.start_directory.clone().unwrap_or_else(|| cwd.to_owned()),
            sandbox: sandbox?,
        })
    }

    /// Returns whether the sign-in runs in a sandbox.
    pub fn is_confined(&self) -> bool {
        self.sandbox.is_some()
    }

    /// Runs it as every process of an agent, on a terminal of its own that the user sees in theirs.
    pub async fn run(self) -> Result<Exit, Failure> {
        let mut words = self.command.into_iter();
        let mut env = self.own_env;
        env.extend(self.env);
        let program = Program {
            command: words.next().unwrap_or_default(),
            args: words.collect(),
            env,
            cwd: self.cwd,
            sandbox: self.sandbox,
        };
        run_for_user(&program).await
    }
}

/// The reason why there is no answer.
enum ProbeError {
    /// The agent closed its stdout.
    Ended,
    /// The agent returned an error or an invalid result.
    Said(Failure),
}

async fn ask(
    process: &mut AgentProcess,
    request: &[u8],
    line_bytes: usize,
    stray: &mut Vec<String>,
) -> Result<(InitializeResult, RawJson), ProbeError> {
    if let Some(stdin) = &mut process.stdin {
        // If the agent does not read its stdin, its output or its exit reports the problem.
        let _ = stdin.write_all(request).await;
    }
    let mut decoder = LineDecoder::new(line_bytes);
    loop {
        let read = process.stdout.read_buf(decoder.buffer()).await;
        let at_end = !matches!(read, Ok(1..));
        while let Some(line) = decoder.next_line() {
            if let Some(answer) = initialize_response(&line, stray) {
                return answer.map_err(ProbeError::Said);
            }
        }
        if at_end {
            let answer = decoder
                .finish()
                .and_then(|line| initialize_response(&line, stray));
            return match answer {
                Some(answer) => answer.map_err(ProbeError::Said),
                None => Err(ProbeError::Ended),
            };
        }
    }
}

/// Returns the answer of an agent that speaks version 2 in the form of version 1, with its own number.
fn in_version_2(answer: RawJson) -> Result<(InitializeResult, RawJson), Failure> {
    let Negotiated { version, hello: raw } = negotiate(AcpVersion::Two, answer)?;
    let hello: InitializeResult = json::read(raw.get())
        .map_err(|_| Failure::agent("its answer to initialize has no protocolVersion"))?;
    let hello = InitializeResult {
        protocol_version: version.into(),
        ..hello
    };
    Ok((hello, raw))
}

fn initialize(acp: AcpVersion) -> Vec<u8> {
    let mut line = Vec::new();
    let params = initialize_params(acp, ElicitationModes::ALL);
    wire::request_with(&mut line, 0, "initialize", Some(&params));
    line.push(b'\n');
    line
}

/// Returns the answer to `initialize`, if the line is one. Collects lines that are not messages.
fn initialize_response(
    line: &Line<'_>,
    stray: &mut Vec<String>,
) -> Option<Result<(InitializeResult, RawJson), Failure>> {
    let unreadable = match *line {
        Line::Whole(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            if let Ok(message) = Message::parse(&text) {
                return answered(message);
            }
            match read_unclean(bytes) {
                Ok(Mended { texts, .. }) => {
                    return texts
                        .iter()
                        .find_map(|text| Message::parse(text).ok().and_then(answered));
                }
                Err(unreadable) => unreadable,
            }
        }
        Line::TooLong { head, tail, .. } => Unreadable::too_long(head, tail),
    };
    let (Line::Whole(bytes) | Line::TooLong { head: bytes, .. }) = *line;
    if stray.len() < STRAY_LINES {
        let start: String = String::from_utf8_lossy(bytes).chars().take(STRAY_CHARS).collect();
        stray.push(match unreadable.reason.as_str() {
            reason @ UTF_16 => format!("{start} ({reason})"),
            _ => start,
        });
    }
    let is_ours = matches!(&unreadable.found, Found::Answer { id } if number(id) == Some(0));
    (is_ours || unreadable.reason == UTF_16).then(|| {
        let reason = &unreadable.reason;
        Err(Failure::agent(format!(
            "its answer to initialize cannot be read: {reason}"
        )))
    })
}

/// Returns the answer to `initialize`, if the message is one.
fn answered(message: Message<'_>) -> Option<Result<(InitializeResult, RawJson), Failure>> {
    match message {
        Message::Response { id, result } if number(id.get()) == Some(0) => Some(match result {
            Ok(result) => json::read(result.get())
                .map(|hello| (hello, RawJson::from(result)))
                .map_err(|_| Failure::agent("its answer to initialize has no protocolVersion")),
            Err(error) => Err(Failure::agent(format!("it refused initialize: {error}"))),
        }),
        _ => None,
    }
}

/// Characters of a stray line to include in the report.
const STRAY_CHARS: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_in_sets_only_the_agents_own_variables() {
        let config = AgentConfig {
            pass_env: vec!["MY_*".into(), "LD_LIBRARY_PATH".into(), "*".into()],
            sandbox: crate::agent::sandbox::SandboxSettings {
                mode: Some(crate::agent::sandbox::Mode::Off),
                ..Default::default()
            },
            ..AgentConfig::default()
        };
        let foreign = "BASH_FUNC_x%% BUN_CONFIG_X CORECLR_PROFILER DENO_CERT DOTNET_STARTUP_HOOKS GTK_MODULES HOME LD_LIBRARY_PATH \
                       LD_PRELOAD LESSCLOSE LESSOPEN LUA_INIT MANPAGER NODE_OPTIONS OPENSSL_CONF PATH PHPRC QT_PLUGIN_PATH SHELLOPTS WAY";
        let names = ["MY_WAY"].into_iter().chain(foreign.split_whitespace());
        let env = names.map(|name| (name.to_owned(), "x".to_owned())).collect();
        let method = AuthMethod {
            env: Some(env),
            ..serde_json::from_str(r#"{"id":"tui","name":"TUI","type":"terminal"}"#).unwrap()
        };
        let login = Login::new(&config, &Reserved::default(), Path::new("/"), &method).unwrap();
        assert_eq!(login.env.keys().collect::<Vec<_>>(), ["MY_WAY"]);
        assert_eq!(login.dropped, foreign.split_whitespace().collect::<Vec<_>>());
    }
}
