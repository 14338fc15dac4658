//! Agents, their processes and the findings about them.

use acpd_model::{Millis, RawJson, ThreadId};

use crate::surface::reply::{
    AgentHello, AgentInfo, AgentReport, AgentSandbox, InstallProgress, InstallStep, ProcessState,
    RunningProcess, TargetInfo, TargetTest,
};

#[cfg(test)]
use crate::surface::app::describe::Acp;

wire! {
    /// A known agent.
    struct Agent for AgentInfo {
        /// Name of the agent, which is the `agentType` of a thread.
        id: String,
        /// Display name of the agent.
        title: String,
        /// `config`, `registry`, `installed` or `builtin`.
        source: &'static str,
        /// Whether the agent can be started.
        installed: bool,
        /// Whether it is configured, on `PATH`, installed or part of acpd. Other agents are downloaded when they start, so
        /// clients offer to install them instead.
        is_set_up: bool,
        /// Whether it is the default of clients that name no agent: `default_agent` of the configuration, the only configured
        /// agent, or the only one that is set up if none is configured. At most one agent is. It is first in the list.
        is_default: bool,
        /// How the daemon finds the agent's program: `path`, `installed`, `npx` or `uvx`.
        runs: Option<&'static str> | null,
        /// Why the agent cannot be started.
        reason: Option<String> | null,
        version: Option<String> | null,
        /// Description of the agent, in one sentence.
        description: Option<String> | null,
        /// How `agent/install` installs the agent: `download`, `npm`, `uv` or `pip`. Absent if it cannot.
        installs_by: Option<&'static str>,
        /// The progress of its installation, if that runs now.
        installing: Option<InstallProgress>,
    }

    /// The progress of an installation.
    struct InstallProgress for InstallProgress {
        step: InstallStep,
        /// Bytes of the download that have arrived.
        received_bytes: Option<u64>,
        /// Bytes of the whole download, if known.
        total_bytes: Option<u64>,
        /// The last line that the installer wrote.
        line: Option<String>,
    }

    /// A step of an installation.
    enum InstallStep for InstallStep {
        /// acpd downloads an archive.
        Downloading,
        /// acpd unpacks it.
        Unpacking,
        /// npm, uv or pip runs.
        Installing,
    }

    /// A running agent process.
    struct RunningAgent for RunningProcess {
        /// Name of the agent.
        agent_type: String,
        /// Process id; `null` while the process starts.
        pid: Option<u32> | null,
        /// Ids of the threads that use the process: several if it is shared, none while it waits for its first session.
        threads: Vec<ThreadId>,
        /// `busy` (in a turn), `idle`, `waiting` (for its first session) or `leaving` (being stopped).
        state: ProcessState,
        /// Resident memory of the process and of all processes that it started, in bytes.
        memory_bytes: u64,
        /// When the process was started, in milliseconds since the epoch.
        started_at: Millis as u64,
        /// Since when the process is idle, in milliseconds since the epoch.
        idle_since: Option<Millis> as Option<u64> | null,
    }

    /// A target of notifications.
    struct NotificationTarget for TargetInfo {
        /// Name of the target.
        name: String,
        /// `webhook`, `command`, `ntfy`, or `push` for the browser of a user.
        [rename = "type"] kind: String,
        /// The user of the browser; absent for targets of the configuration.
        principal: Option<String>,
        /// Notifications that wait for delivery.
        waiting: usize,
        /// Deliveries that failed since the last one that succeeded.
        failures: u32,
        /// Why the last delivery failed; `null` if it succeeded.
        error: Option<String> | null,
    }

    /// The result of a test of one target.
    struct NotificationTest for TargetTest {
        /// Name of the target.
        name: String,
        /// Why the test failed; `null` if it succeeded.
        error: Option<String> | null,
    }

    /// Result of `agent/doctor`.
    struct AgentExamined for AgentReport {
        /// Name of the agent.
        [rename = "agentType"] agent: String,
        /// The agent's result of `initialize`; absent if the agent failed.
        hello: Option<AgentHello> | null,
        /// Why the agent failed.
        error: Option<String> | null,
        /// Milliseconds from the start of the process to its response or its failure.
        millis: u64,
        /// The end of the agent's stderr.
        stderr: String,
        /// The first lines of the agent's stdout that are not messages.
        stray_lines: Vec<String>,
        /// The sandbox of the agent and its terminals.
        sandbox: AgentSandbox as Option<AgentSandbox>,
    }

    /// The sandbox of an agent.
    struct AgentSandbox for AgentSandbox {
        /// `workspace`, `readonly` or `off`.
        mode: &'static str,
        /// Why there is no sandbox although none was switched off, or why one cannot be built on this host.
        reason: Option<String> | null,
        /// Restrictions that the kernel does not enforce.
        gaps: Vec<&'static str>,
        /// Readable paths, in addition to the writable ones; empty without a sandbox.
        read: Vec<String>,
        /// Writable paths, in addition to the workspace.
        write: Vec<String>,
        /// `on`, `off`, or comma-separated ports.
        network: String,
        /// Configured paths that do not exist. They grant no access.
        missing: Vec<String>,
        /// Writable directories in which no new files can be created, because they contain acpd's own files.
        closed: Vec<String>,
    }

    /// What an agent reports in `initialize`.
    struct AgentHello for AgentHello {
        /// The version of ACP that the agent chose.
        protocol_version: i64,
        /// Name and version of the agent.
        agent_info: Option<RawJson> as Option<Acp> | null,
        /// ACP capabilities of the agent.
        agent_capabilities: Option<RawJson> as Option<Acp> | null,
        /// ACP authentication methods of the agent.
        auth_methods: Option<RawJson> as Option<Vec<Acp>> | null,
    }
}
