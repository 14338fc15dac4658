// Generated from the table of the app protocol's methods: run `make generate`. Do not edit.

//! The methods of the app protocol, as methods of the client.

#[allow(clippy::wildcard_imports, reason = "each method names two types")]
use crate::protocol::*;
use crate::{Client, Error};

impl Client {
    /// Signs in to the agent. Returns once signed in; times out after 10 minutes.
    ///
    /// Method `agent/authenticate`, for the role owner.
    pub async fn agent_authenticate(&self, params: &AgentAuthenticateParams) -> Result<Nothing, Error> {
        self.call("agent/authenticate", params).await
    }

    /// Cancels a sign-in that is in progress: its request fails, and the agent is stopped until it is needed again. Returns `conflict` if there is none, or while a turn or command runs.
    ///
    /// Method `agent/authenticate/cancel`, for the role owner.
    pub async fn agent_authenticate_cancel(&self, params: &AgentAuthenticateCancelParams) -> Result<Nothing, Error> {
        self.call("agent/authenticate/cancel", params).await
    }

    /// Returns the addresses and codes that the agent has printed on stderr for the sign-in in progress, or the last one. They are not stored, and only the owner gets them: a user who opens such an address first may sign the agent in to an account of their own.
    ///
    /// Method `agent/authenticate/read`, for the role owner.
    pub async fn agent_authenticate_read(&self, params: &AgentAuthenticateReadParams) -> Result<SignInRead, Error> {
        self.call("agent/authenticate/read", params).await
    }

    /// Starts the agent, sends `initialize`, and stops it. Creates no thread and no session. Returns the findings even if the agent fails. Times out after `agent_start_secs`.
    ///
    /// Method `agent/doctor`, for the role operator.
    pub async fn agent_doctor(&self, params: &AgentDoctorParams) -> Result<AgentExamined, Error> {
        self.call("agent/doctor", params).await
    }

    /// Installs the agent, or its newest version, into the data directory. Returns once it is installed, which can take minutes. The installation continues without the connection, a second request waits for the same one, and `agent/list` shows its progress. Needs npm, uv or python3 on the daemon's host for agents that are packages.
    ///
    /// Method `agent/install`, for the role owner.
    pub async fn agent_install(&self, params: &AgentInstallParams) -> Result<AgentInstalled, Error> {
        self.call("agent/install", params).await
    }

    /// Lists the known agents and, for those that cannot be started, the reason. Configured agents come first, then those of the registry and installed ones.
    ///
    /// Method `agent/list`, for the role observer.
    pub async fn agent_list(&self) -> Result<AgentsListed, Error> {
        self.call("agent/list", &NoParams {}).await
    }

    /// Signs out of the agent.
    ///
    /// Method `agent/logout`, for the role owner.
    pub async fn agent_logout(&self, params: &AgentLogoutParams) -> Result<Nothing, Error> {
        self.call("agent/logout", params).await
    }

    /// Sends the agent an extension notification, which ACP does not define. Its name begins with `_`, and not with `_acpd/`. Returns `conflict` if the agent is not running.
    ///
    /// Method `agent/notify`, for the role operator.
    pub async fn agent_notify(&self, params: &AgentNotifyParams) -> Result<Nothing, Error> {
        self.call("agent/notify", params).await
    }

    /// Reads ACP's `modes` and `configOptions` with which a session of the agent would begin in a directory, so that a client can offer them before it starts a thread. Starts a process of the agent, sends `session/options`, and stops it; creates no thread and no session. Returns `unsupported` if the agent does not declare `sessionCapabilities.options`.
    ///
    /// Method `agent/options`, for the role operator.
    pub async fn agent_options(&self, params: &AgentOptionsParams) -> Result<AgentAnswered, Error> {
        self.call("agent/options", params).await
    }

    /// Lists the remembered answers that apply to all threads of an agent, by agent. They stay when the agent has no threads any more, or is no longer known.
    ///
    /// Method `agent/remembered/list`, for the role owner.
    pub async fn agent_remembered_list(&self, params: &AgentRememberedListParams) -> Result<AgentAnswersListed, Error> {
        self.call("agent/remembered/list", params).await
    }

    /// Revokes a remembered answer that applies to all threads of an agent. Returns `not_found` if there is no such answer.
    ///
    /// Method `agent/remembered/revoke`, for the role owner.
    pub async fn agent_remembered_revoke(&self, params: &AgentRememberedRevokeParams) -> Result<Nothing, Error> {
        self.call("agent/remembered/revoke", params).await
    }

    /// Sends the agent an extension request, which ACP does not define. Its name begins with `_`, and not with `_acpd/`.
    ///
    /// Method `agent/request`, for the role operator.
    pub async fn agent_request(&self, params: &AgentRequestParams) -> Result<AgentAnswered, Error> {
        self.call("agent/request", params).await
    }

    /// Lists running agent processes with their memory use, busy ones first.
    ///
    /// Method `agent/running`, for the role observer.
    pub async fn agent_running(&self) -> Result<AgentsRunning, Error> {
        self.call("agent/running", &NoParams {}).await
    }

    /// Deletes one of the sessions that the agent has stored.
    ///
    /// Method `agent/session/delete`, for the role operator.
    pub async fn agent_session_delete(&self, params: &AgentSessionDeleteParams) -> Result<Nothing, Error> {
        self.call("agent/session/delete", params).await
    }

    /// Lists the sessions that the agent has stored.
    ///
    /// Method `agent/session/list`, for the role operator.
    pub async fn agent_session_list(&self, params: &AgentSessionListParams) -> Result<AgentAnswered, Error> {
        self.call("agent/session/list", params).await
    }

    /// Sets `default_agent` in the configuration file: the agent of clients that name none. As all methods of `config`, it keeps the comments and the order of the file, and returns once the daemon has applied the change. Returns `conflict`, and changes nothing, if the file has mistakes, cannot be written, or is changed by another program at the same time.
    ///
    /// Method `config/agent/set`, for the role owner.
    pub async fn config_agent_set(&self, params: &ConfigAgentSetParams) -> Result<ConfigChanged, Error> {
        self.call("config/agent/set", params).await
    }

    /// Adds a folder to `folders` of the agent's sandbox in the configuration file: the agent and its commands may read and write there in all threads. A running agent gets it when it starts again. The agent can become the default, as with `config/policy/set`. Returns `forbidden` for the same directories as `thread/directories/add`, and `unsupported` if the agent runs without acpd's sandbox.
    ///
    /// Method `config/folder/add`, for the role owner.
    pub async fn config_folder_add(&self, params: &ConfigFolderAddParams) -> Result<ConfigChanged, Error> {
        self.call("config/folder/add", params).await
    }

    /// Sets a preset as `policy` in the configuration file, for all agents or for one. Applies to all threads at once. An agent that gets its first setting is a configured one from then on: if there was no default agent and no other is configured, it becomes the default. Returns `conflict` if the file has a policy with rules of its own there.
    ///
    /// Method `config/policy/set`, for the role owner.
    pub async fn config_policy_set(&self, params: &ConfigPolicySetParams) -> Result<ConfigChanged, Error> {
        self.call("config/policy/set", params).await
    }

    /// Creates a folder on the daemon's host.
    ///
    /// Method `folder/create`, for the role operator.
    pub async fn folder_create(&self, params: &FolderCreateParams) -> Result<FolderCreated, Error> {
        self.call("folder/create", params).await
    }

    /// Lists the folders in a folder of the daemon's host, sorted by name, at most 2,000.
    ///
    /// Method `folder/list`, for the role operator.
    pub async fn folder_list(&self, params: &FolderListParams) -> Result<FoldersListed, Error> {
        self.call("folder/list", params).await
    }

    /// Answers an elicitation.
    ///
    /// Method `item/answer`, for the role approver.
    pub async fn item_answer(&self, params: &ItemAnswerParams) -> Result<Nothing, Error> {
        self.call("item/answer", params).await
    }

    /// Answers a permission request. `optionId` selects one of the agent's options; `approved` alone selects the first once-option of that kind.
    ///
    /// Method `item/approve`, for the role approver.
    pub async fn item_approve(&self, params: &ItemApproveParams) -> Result<Nothing, Error> {
        self.call("item/approve", params).await
    }

    /// Lists the targets of notifications, with what waits for each and its last error.
    ///
    /// Method `notification/list`, for the role owner.
    pub async fn notification_list(&self) -> Result<NotificationTargetsListed, Error> {
        self.call("notification/list", &NoParams {}).await
    }

    /// Sends a test notification to one target or to all. Returns once each has accepted it or failed, within seconds, or within `timeout_secs` of a command.
    ///
    /// Method `notification/test`, for the role owner.
    pub async fn notification_test(&self, params: &NotificationTestParams) -> Result<NotificationsTested, Error> {
        self.call("notification/test", params).await
    }

    /// Returns the policy's decision about a tool call and every matching rule.
    ///
    /// Method `policy/explain`, for the role observer.
    pub async fn policy_explain(&self, params: &PolicyExplainParams) -> Result<PolicyExplained, Error> {
        self.call("policy/explain", params).await
    }

    /// Returns the configured permission policies: the daemon's and an agent's. A thread's policy is part of the thread.
    ///
    /// Method `policy/read`, for the role observer.
    pub async fn policy_read(&self, params: &PolicyReadParams) -> Result<PoliciesRead, Error> {
        self.call("policy/read", params).await
    }

    /// Lists remembered answers.
    ///
    /// Method `policy/remembered/list`, for the role observer.
    pub async fn policy_remembered_list(&self, params: &PolicyRememberedListParams) -> Result<RememberedListed, Error> {
        self.call("policy/remembered/list", params).await
    }

    /// Revokes a remembered answer. Only the owner can revoke an answer that applies to the agent.
    ///
    /// Method `policy/remembered/revoke`, for the role approver.
    pub async fn policy_remembered_revoke(&self, params: &PolicyRememberedRevokeParams) -> Result<Nothing, Error> {
        self.call("policy/remembered/revoke", params).await
    }

    /// Removes what exceeds the limits of `[retention]` in the configuration, as the daemon does each hour. Threads that are in use stay. Returns when no request finds the removed threads any more.
    ///
    /// Method `retention/run`, for the role owner.
    pub async fn retention_run(&self, params: &RetentionRunParams) -> Result<RetentionRun, Error> {
        self.call("retention/run", params).await
    }

    /// Archives the thread: `thread/list` omits it, it accepts no turns, and its agent stops. Returns `conflict` while a turn runs. Archiving an archived thread has no effect.
    ///
    /// Method `thread/archive`, for the role operator.
    pub async fn thread_archive(&self, params: &ThreadArchiveParams) -> Result<Nothing, Error> {
        self.call("thread/archive", params).await
    }

    /// Runs a command line in the thread's directory and its agent's sandbox, because a user wants it. The agent does not see it. The command is an item of the running turn, or of a turn without a prompt. Returns `forbidden` if the policy denies the line, and `overloaded` while 8 such commands run.
    ///
    /// Method `thread/command/run`, for the role operator.
    pub async fn thread_command_run(&self, params: &ThreadCommandRunParams) -> Result<CommandStarted, Error> {
        self.call("thread/command/run", params).await
    }

    /// Sets one of the agent's config options. Returns once the agent has accepted it.
    ///
    /// Method `thread/config/set`, for the role operator.
    pub async fn thread_config_set(&self, params: &ThreadConfigSetParams) -> Result<Nothing, Error> {
        self.call("thread/config/set", params).await
    }

    /// Permanently deletes the thread and its log, after the agent's session if the agent supports that. Returns `conflict` while a turn runs. Returns when no request finds the thread any more; its data is overwritten after that. Subscribers receive `thread/deleted` as the thread's last notification.
    ///
    /// Method `thread/delete`, for the role owner.
    pub async fn thread_delete(&self, params: &ThreadDeleteParams) -> Result<Nothing, Error> {
        self.call("thread/delete", params).await
    }

    /// Opens a further directory of the user for the thread: the agent and its commands may read and write there. Stops the agent; the next prompt continues its session. Returns `conflict` while a turn runs, and `forbidden` for directories that stay closed, such as the home directory, those with keys or programs, and acpd's own.
    ///
    /// Method `thread/directories/add`, for the role operator.
    pub async fn thread_directories_add(&self, params: &ThreadDirectoriesAddParams) -> Result<Nothing, Error> {
        self.call("thread/directories/add", params).await
    }

    /// Sets the directories that the thread works in, for example after they were moved. Stops the agent; the next prompt continues its session in `cwd`. Returns `conflict` while a turn runs, and `invalidParams` if a directory does not exist.
    ///
    /// Method `thread/directories/set`, for the role operator.
    pub async fn thread_directories_set(&self, params: &ThreadDirectoriesSetParams) -> Result<Nothing, Error> {
        self.call("thread/directories/set", params).await
    }

    /// Forks the thread. The new thread begins with this one's events up to the end of `turnId`, or with all of them after its last turn, and has its current permission policy. If that is the whole thread and the agent can fork its session, the new thread continues with that fork, and the answer comes when its agent has opened it. Otherwise its agent receives the conversation with the first prompt. Subscribes the caller from the end of the shared events. Returns `conflict` if the turn is not over.
    ///
    /// Method `thread/fork`, for the role operator.
    pub async fn thread_fork(&self, params: &ThreadForkParams) -> Result<ThreadForkedResult, Error> {
        self.call("thread/fork", params).await
    }

    /// Lists the subagents of a thread, in the order in which the agent has reported them.
    ///
    /// Method `thread/lanes`, for the role observer.
    pub async fn thread_lanes(&self, params: &ThreadLanesParams) -> Result<LanesListed, Error> {
        self.call("thread/lanes", params).await
    }

    /// Lists threads, newest first.
    ///
    /// Method `thread/list`, for the role observer.
    pub async fn thread_list(&self, params: &ThreadListParams) -> Result<ThreadsListed, Error> {
        self.call("thread/list", params).await
    }

    /// Stops watching the thread list.
    ///
    /// Method `thread/list/unwatch`, for the role observer.
    pub async fn thread_list_unwatch(&self) -> Result<Nothing, Error> {
        self.call("thread/list/unwatch", &NoParams {}).await
    }

    /// Sends `thread/list/changed` to this connection when any thread is created, deleted or changes its list entry, even threads that it does not follow. Request the list after this method. If a change to a thread arrives before the list, the change takes precedence.
    ///
    /// Method `thread/list/watch`, for the role observer.
    pub async fn thread_list_watch(&self) -> Result<Nothing, Error> {
        self.call("thread/list/watch", &NoParams {}).await
    }

    /// Replaces all of the client's own data; `null` removes it.
    ///
    /// Method `thread/metadata/set`, for the role operator.
    pub async fn thread_metadata_set(&self, params: &ThreadMetadataSetParams) -> Result<Nothing, Error> {
        self.call("thread/metadata/set", params).await
    }

    /// Sets the agent's mode. Returns once the agent has accepted it.
    ///
    /// Method `thread/mode/set`, for the role operator.
    pub async fn thread_mode_set(&self, params: &ThreadModeSetParams) -> Result<Nothing, Error> {
        self.call("thread/mode/set", params).await
    }

    /// Sets the thread's name, which takes precedence over the agent's titles. `null` removes it. `thread/updated` contains the resulting name.
    ///
    /// Method `thread/name/set`, for the role operator.
    pub async fn thread_name_set(&self, params: &ThreadNameSetParams) -> Result<Nothing, Error> {
        self.call("thread/name/set", params).await
    }

    /// Pins the thread, or removes its pin. Pins are for all users and devices. They change neither `updatedAt` nor the order of `thread/list`: clients show pinned threads first, by their places. Two threads may have the same place. Setting what is set has no effect.
    ///
    /// Method `thread/pin/set`, for the role operator.
    pub async fn thread_pin_set(&self, params: &ThreadPinSetParams) -> Result<Nothing, Error> {
        self.call("thread/pin/set", params).await
    }

    /// Sets or removes the thread's own permission policy.
    ///
    /// Method `thread/policy/set`, for the role owner.
    pub async fn thread_policy_set(&self, params: &ThreadPolicySetParams) -> Result<Nothing, Error> {
        self.call("thread/policy/set", params).await
    }

    /// Reads a thread without following it and without starting its agent.
    ///
    /// Method `thread/read`, for the role observer.
    pub async fn thread_read(&self, params: &ThreadReadParams) -> Result<ThreadFound, Error> {
        self.call("thread/read", params).await
    }

    /// Subscribes to a thread. With `after`, sends every later event as its original notification, without gaps or duplicates. Without it, the result contains the thread's latest turns. Sends open questions again in both cases. Starts the agent if it is not running and the caller's role allows that, unless `startAgent` is false.
    ///
    /// Method `thread/resume`, for the role observer.
    pub async fn thread_resume(&self, params: &ThreadResumeParams) -> Result<ThreadResumed, Error> {
        self.call("thread/resume", params).await
    }

    /// Drops the turns after `turnId` from the conversation. Views and agents do not receive them; the log and exports keep them. Releases the agent's session. The next prompt opens a new one, which receives the remaining conversation. Returns `conflict` while a turn runs, and `unsupported` if agents receive no history (`recall_bytes = 0`).
    ///
    /// Method `thread/rollback`, for the role operator.
    pub async fn thread_rollback(&self, params: &ThreadRollbackParams) -> Result<RolledBack, Error> {
        self.call("thread/rollback", params).await
    }

    /// Searches all threads, including archived ones: messages of users and agents, titles of tool calls, commands and file paths. Returns the newest hits first. A text can be found once its item is complete.
    ///
    /// Method `thread/search`, for the role observer.
    pub async fn thread_search(&self, params: &ThreadSearchParams) -> Result<TextsFound, Error> {
        self.call("thread/search", params).await
    }

    /// Marks threads as seen by the principal of this connection, for all of its devices: also for those that it has paired, and for the principal that has paired it. A mark never goes back, and is not later than the thread's `updatedAt`. Unknown threads are ignored. The result is durable. The daemon keeps the latest 1,000 marks of a principal; threads that changed before these count as seen. Connections of the principal that watch the thread list receive `thread/list/seen`.
    ///
    /// Method `thread/seen/set`, for the role observer.
    pub async fn thread_seen_set(&self, params: &ThreadSeenSetParams) -> Result<ThreadsSeen, Error> {
        self.call("thread/seen/set", params).await
    }

    /// Makes a link with which anyone can read this thread until the link expires, and nothing else. The thread includes its later turns. The result contains the link's secret. The link ends with the token that made it, and with the thread.
    ///
    /// Method `thread/share/create`, for the role operator.
    pub async fn thread_share_create(&self, params: &ThreadShareCreateParams) -> Result<ShareCreated, Error> {
        self.call("thread/share/create", params).await
    }

    /// Lists the links that have not expired, oldest first.
    ///
    /// Method `thread/share/list`, for the role operator.
    pub async fn thread_share_list(&self, params: &ThreadShareListParams) -> Result<SharesListed, Error> {
        self.call("thread/share/list", params).await
    }

    /// Revokes a link. Connections that it authenticated end before the response. Returns `not_found` if there is no such link.
    ///
    /// Method `thread/share/revoke`, for the role operator.
    pub async fn thread_share_revoke(&self, params: &ThreadShareRevokeParams) -> Result<Nothing, Error> {
        self.call("thread/share/revoke", params).await
    }

    /// Creates a thread, starts its agent and opens a session. Returns once the agent is ready, or asks a user something first. `thread/started` is sent immediately, and the caller is subscribed from then on. `mode` and `config` are set before the first turn. If one of them is refused, the request fails, but the thread exists.
    ///
    /// Method `thread/start`, for the role operator.
    pub async fn thread_start(&self, params: &ThreadStartParams) -> Result<ThreadStarted, Error> {
        self.call("thread/start", params).await
    }

    /// Ends a running command, of the agent or of a user: with SIGTERM, then with SIGKILL. Returns `not_found` if no command runs in the terminal, and `unsupported` if it runs in an editor.
    ///
    /// Method `thread/terminal/kill`, for the role operator.
    pub async fn thread_terminal_kill(&self, params: &ThreadTerminalKillParams) -> Result<Nothing, Error> {
        self.call("thread/terminal/kill", params).await
    }

    /// Types into the terminal of a running command, of the agent or of a user. Returns `not_found` if no command runs there, `unsupported` if it runs in an editor, and `overloaded` if the program does not read and no more fits.
    ///
    /// Method `thread/terminal/write`, for the role operator.
    pub async fn thread_terminal_write(&self, params: &ThreadTerminalWriteParams) -> Result<Nothing, Error> {
        self.call("thread/terminal/write", params).await
    }

    /// Unarchives the thread.
    ///
    /// Method `thread/unarchive`, for the role operator.
    pub async fn thread_unarchive(&self, params: &ThreadUnarchiveParams) -> Result<ThreadFound, Error> {
        self.call("thread/unarchive", params).await
    }

    /// Ends the subscription. The agent keeps running.
    ///
    /// Method `thread/unsubscribe`, for the role observer.
    pub async fn thread_unsubscribe(&self, params: &ThreadUnsubscribeParams) -> Result<Unsubscribed, Error> {
        self.call("thread/unsubscribe", params).await
    }

    /// Returns the diff of all files that an ended turn changed. Returns `not_found` if it has none.
    ///
    /// Method `turn/diff/read`, for the role observer.
    pub async fn turn_diff_read(&self, params: &TurnDiffReadParams) -> Result<TurnDiffRead, Error> {
        self.call("turn/diff/read", params).await
    }

    /// Ends a turn. The agent is asked to stop, and its open questions are answered with `cancelled`. `turn/completed` follows with the agent's response. If the agent or the daemon ends first, or `cancel_secs` pass without a response, the turn is `interrupted` and a notice says why. A queued turn is removed from the queue.
    ///
    /// Method `turn/interrupt`, for the role operator.
    pub async fn turn_interrupt(&self, params: &TurnInterruptParams) -> Result<Nothing, Error> {
        self.call("turn/interrupt", params).await
    }

    /// Reorders, pauses or continues the queue of turns. While it is paused, `turn/start` without a running turn starts a turn before the queued ones.
    ///
    /// Method `turn/queue/arrange`, for the role operator.
    pub async fn turn_queue_arrange(&self, params: &TurnQueueArrangeParams) -> Result<Nothing, Error> {
        self.call("turn/queue/arrange", params).await
    }

    /// Replaces the prompt of a queued turn. Returns `conflict` if the turn is not queued any more.
    ///
    /// Method `turn/queue/edit`, for the role operator.
    pub async fn turn_queue_edit(&self, params: &TurnQueueEditParams) -> Result<Nothing, Error> {
        self.call("turn/queue/edit", params).await
    }

    /// Sends the prompt of a queued turn during the running turn, as `turn/steer` does, and removes it from the queue. Returns `unsupported` if the agent does not accept messages during a turn.
    ///
    /// Method `turn/queue/steer`, for the role operator.
    pub async fn turn_queue_steer(&self, params: &TurnQueueSteerParams) -> Result<TurnSteered, Error> {
        self.call("turn/queue/steer", params).await
    }

    /// Sends a prompt. While a turn runs, later prompts are queued. A repeated `clientTurnId` refers to the same turn. With `replacesTurnId`, returns `conflict` while a turn runs or is queued, and `not_found` if that turn is not part of the conversation.
    ///
    /// Method `turn/start`, for the role operator.
    pub async fn turn_start(&self, params: &TurnStartParams) -> Result<TurnStartedResult, Error> {
        self.call("turn/start", params).await
    }

    /// Sends a message during the running turn. `steered` means that the agent accepted it, and it is a message of that turn. `queued` means that it becomes a turn of its own, after the turns that are already queued.
    ///
    /// Method `turn/steer`, for the role operator.
    pub async fn turn_steer(&self, params: &TurnSteerParams) -> Result<TurnSteered, Error> {
        self.call("turn/steer", params).await
    }

    /// Reads what threads have used: tokens of their turns, and costs, as agents reported them. The daemon computes costs from the counters of the agents' sessions, so they outlive the daemon. A turn counts when it ends. Deleted threads do not count. Returns at most 500 rows.
    ///
    /// Method `usage/read`, for the role observer.
    pub async fn usage_read(&self, params: &UsageReadParams) -> Result<UsageRead, Error> {
        self.call("usage/read", params).await
    }

    /// Reports that the user looks at this client now. Call it when the client comes to the front, each half minute while it is there, and when it leaves. The daemon knows by that when a principal was away: no client of it was in front for 5 minutes. The time in which the host of the daemon, or of the client, slept counts.
    ///
    /// Method `user/present`, for the role observer.
    pub async fn user_present(&self) -> Result<UserPresent, Error> {
        self.call("user/present", &NoParams {}).await
    }
}
