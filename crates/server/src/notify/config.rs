//! The `[notifications]` table of the configuration.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use acpd_model::limits::NOTIFICATION_SECS;
use acpd_model::section::{About, Folder, Reload, Section, Setting};
use acpd_proto::notify::{Target, TriggerKind};
use serde::Deserialize;

use super::http::Address;
use super::push_service::check_origin;
use super::secret::webhook_key;
use crate::auth::devices::DEVICE_PREFIX;

/// Targets of notifications in the configuration.
const NOTIFICATION_TARGETS: usize = 32;
/// Characters of a target's name.
const NOTIFICATION_NAME_CHARS: usize = 32;

/// Notifications (`[notifications]`).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NotificationsConfig {
    /// The address of the web UI, for links.
    pub url: Option<String>,
    /// Seconds that a question must be open before anyone is notified of it.
    pub waiting_secs: u64,
    /// Origins of push services besides those of the common browsers.
    pub push_services: Vec<String>,
    /// The targets by name.
    pub targets: BTreeMap<String, TargetConfig>,
}

impl Default for NotificationsConfig {
    fn default() -> Self {
        Self {
            url: None,
            waiting_secs: 5,
            push_services: Vec::new(),
            targets: BTreeMap::new(),
        }
    }
}

/// The type of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TargetType {
    /// Posts JSON to a URL.
    Webhook,
    /// Runs a program on the daemon's host.
    Command,
    /// Publishes to a topic of an ntfy server.
    Ntfy,
}

impl TargetType {
    /// Returns the name that configurations use.
    pub fn word(self) -> &'static str {
        match self {
            Self::Webhook => "webhook",
            Self::Command => "command",
            Self::Ntfy => "ntfy",
        }
    }
}

/// How much of a thread a target receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Content {
    /// Ids, the agent's name, and what happened.
    #[default]
    Minimal,
    /// Also the thread's title and folder, the error of a failed turn, and the title of a question.
    Detailed,
}

/// A target of notifications (`[notifications.targets.NAME]`).
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetConfig {
    /// The type of the target.
    #[serde(rename = "type")]
    pub kind: TargetType,
    /// Where to send it: the URL of a webhook, or of an ntfy topic.
    #[serde(default)]
    pub url: Option<String>,
    /// The key that signs webhooks.
    #[serde(default)]
    pub secret: Option<String>,
    /// A private file with that key.
    #[serde(default)]
    pub secret_file: Option<PathBuf>,
    /// The access token of an ntfy server.
    #[serde(default)]
    pub token: Option<String>,
    /// A private file with that token.
    #[serde(default)]
    pub token_file: Option<PathBuf>,
    /// Allows http to other hosts.
    #[serde(default)]
    pub allow_http: bool,
    /// The program.
    #[serde(default)]
    pub command: Option<String>,
    /// Arguments of the program.
    #[serde(default)]
    pub args: Vec<String>,
    /// Further environment variables of the program.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Seconds that the program may run.
    #[serde(default = "timeout_secs")]
    pub timeout_secs: u64,
    /// The kinds of notifications.
    #[serde(default = "all_kinds")]
    pub on: BTreeSet<TriggerKind>,
    /// Names of agents; empty for all.
    #[serde(default)]
    pub agents: Vec<String>,
    /// Absolute paths of folders in which threads work; empty for all.
    #[serde(default)]
    pub folders: Vec<PathBuf>,
    /// How much of a thread the target receives.
    #[serde(default)]
    pub content: Content,
}

fn timeout_secs() -> u64 {
    NOTIFICATION_SECS
}

fn all_kinds() -> BTreeSet<TriggerKind> {
    TriggerKind::ALL.into_iter().collect()
}

/// Without secrets. The URL of a webhook is often a secret itself.
impl fmt::Debug for TargetConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TargetConfig")
            .field("kind", &self.kind)
            .field("on", &self.on)
            .field("content", &self.content)
            .finish_non_exhaustive()
    }
}

/// Longest time that a program may be given, in seconds.
const TIMEOUT_SECS_MAX: u64 = 600;
/// Longest time that a question may be left alone, in seconds.
const WAITING_SECS_MAX: u64 = 3600;

impl Section for NotificationsConfig {
    const ABOUT: About = About {
        reload: Reload::Live,
        settings: &[Setting::new(
            "",
            "table: [notifications.md](notifications.md#settings)",
            "no targets",
        )],
        template: r#"# When an agent is done, has failed or waits for an answer: docs/notifications.md.
[notifications]
# The address of the web UI for links, as your devices reach it, and how long a question waits.
#url = "https://box.example:4127"
#waiting_secs = 5
#targets.phone = { type = "ntfy", url = "https://ntfy.sh/a-long-random-topic" }
"#,
    };

    fn check(&self, _key: &str) -> Vec<String> {
        self.validate().err().into_iter().collect()
    }

    fn resolve(&mut self, folder: &Folder) {
        for target in self.targets.values_mut() {
            let files = [&mut target.secret_file, &mut target.token_file];
            for path in files.into_iter().flatten().chain(&mut target.folders) {
                *path = folder.resolve(path);
            }
            if let Some(command) = &mut target.command {
                *command = folder.resolve_program(command);
            }
        }
    }
}

impl NotificationsConfig {
    /// Returns the first of what the types cannot express.
    fn validate(&self) -> Result<(), String> {
        if let Some(url) = &self.url
            && (Address::parse(url).is_err() || url.contains(['?', '#']))
        {
            return Err(format!(
                "notifications.url is {url:?}: it must be the address of the web UI, such as \"https://host:4127\""
            ));
        }
        if self.waiting_secs > WAITING_SECS_MAX {
            return Err(format!(
                "notifications.waiting_secs is {}: it must be 0 to {WAITING_SECS_MAX}",
                self.waiting_secs
            ));
        }
        if self.push_services.len() > NOTIFICATION_TARGETS {
            return Err(format!(
                "notifications.push_services has {} entries: at most {NOTIFICATION_TARGETS} are allowed",
                self.push_services.len()
            ));
        }
        for origin in &self.push_services {
            check_origin(origin).map_err(|problem| {
                format!(
                    "notifications.push_services has {origin:?}, which {problem}: an entry is the scheme and the host of a push \
                     service, such as \"https://push.example.com\""
                )
            })?;
        }
        if self.targets.len() > NOTIFICATION_TARGETS {
            return Err(format!(
                "notifications has {} targets: at most {NOTIFICATION_TARGETS} are allowed",
                self.targets.len()
            ));
        }
        for (name, target) in &self.targets {
            let is_word = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
            if name.is_empty() || name.chars().count() > NOTIFICATION_NAME_CHARS || !name.chars().all(is_word)
            {
                return Err(format!(
                    "notifications.targets has the name {name:?}: a name has 1 to {NOTIFICATION_NAME_CHARS} letters, \
                     digits, \"-\" and \"_\""
                ));
            }
            if name.starts_with(DEVICE_PREFIX) {
                return Err(format!(
                    "notifications.targets has the name {name:?}: names that begin with {DEVICE_PREFIX:?} are those of browsers"
                ));
            }
            target
                .validate()
                .map_err(|problem| format!("notifications.targets.{name} {problem}"))?;
        }
        Ok(())
    }
}

impl TargetConfig {
    /// Returns which notifications the target receives.
    pub(super) fn rules(&self, version: u64) -> Target {
        let text = |path: &PathBuf| path.to_string_lossy().into_owned();
        Target {
            on: self.on.clone(),
            agents: self.agents.clone(),
            folders: self.folders.iter().map(text).collect(),
            owner: None,
            version,
        }
    }

    /// Returns the files with secrets, which no agent can access.
    pub(crate) fn files(&self) -> impl Iterator<Item = PathBuf> + use<> {
        [self.secret_file.clone(), self.token_file.clone()]
            .into_iter()
            .flatten()
    }

    /// Returns the problem, to be read after the target's name.
    fn validate(&self) -> Result<(), String> {
        use TargetType::{Command, Ntfy, Webhook};
        let given: [(&str, bool, &[TargetType]); 10] = [
            ("url", self.url.is_some(), &[Webhook, Ntfy]),
            ("secret", self.secret.is_some(), &[Webhook]),
            ("secret_file", self.secret_file.is_some(), &[Webhook]),
            ("token", self.token.is_some(), &[Ntfy]),
            ("token_file", self.token_file.is_some(), &[Ntfy]),
            ("allow_http", self.allow_http, &[Webhook, Ntfy]),
            ("command", self.command.is_some(), &[Command]),
            ("args", !self.args.is_empty(), &[Command]),
            ("env", !self.env.is_empty(), &[Command]),
            ("timeout_secs", self.timeout_secs != timeout_secs(), &[Command]),
        ];
        for (key, is_given, kinds) in given {
            if is_given && !kinds.contains(&self.kind) {
                let kinds: Vec<_> = kinds.iter().map(|kind| format!("{:?}", kind.word())).collect();
                return Err(format!(
                    "has {key}, which is for the type {}: remove it, or change the type",
                    kinds.join(" and ")
                ));
            }
        }
        if self.on.is_empty() {
            return Err(
                "has an empty list in on: remove on to receive everything, or remove the target".to_owned(),
            );
        }
        if self.secret.is_some() && self.secret_file.is_some() {
            return Err("has secret and secret_file: remove one of them".to_owned());
        }
        if self.token.is_some() && self.token_file.is_some() {
            return Err("has token and token_file: remove one of them".to_owned());
        }
        if let Some(secret) = &self.secret {
            webhook_key(secret).map_err(|problem| format!("has a secret that {problem}"))?;
        }
        match self.kind {
            Command => self.check_command(),
            Webhook | Ntfy => self.check_url(),
        }
    }

    fn check_command(&self) -> Result<(), String> {
        if self.command.as_ref().is_none_or(String::is_empty) {
            return Err(
                "has no command: add the program to run, such as command = \"notify-send\"".to_owned(),
            );
        }
        if !(1..=TIMEOUT_SECS_MAX).contains(&self.timeout_secs) {
            return Err(format!(
                "has timeout_secs = {}: it must be 1 to {TIMEOUT_SECS_MAX}",
                self.timeout_secs
            ));
        }
        Ok(())
    }

    /// The problem does not repeat the URL, which may hold a secret.
    fn check_url(&self) -> Result<(), String> {
        let Some(url) = &self.url else {
            let example = match self.kind {
                TargetType::Ntfy => "https://ntfy.sh/TOPIC",
                _ => "https://example.com/hook",
            };
            return Err(format!("has no url: add one, such as url = \"{example}\""));
        };
        let address = Address::parse(url).map_err(|problem| format!("has a url that {problem}"))?;
        if !address.is_https && !address.is_near && !self.allow_http {
            return Err(
                "has a url with http: notifications would be sent in clear text; use https, or set allow_http = true"
                    .to_owned(),
            );
        }
        if self.kind == TargetType::Ntfy && address.segments != 1 {
            return Err("has a url without a topic: an ntfy url is the server and one topic".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        let config: NotificationsConfig = toml::from_str(text).expect("it is a configuration");
        config.validate().err().unwrap_or_default()
    }

    #[test]
    fn defaults_are_private_and_complete() {
        let config: NotificationsConfig =
            toml::from_str("[targets.a]\ntype = 'webhook'\nurl = 'https://example.com/x'").unwrap();
        assert_eq!(config.validate(), Ok(()));
        assert_eq!(config.waiting_secs, 5);
        let target = &config.targets["a"];
        assert_eq!(target.content, Content::Minimal);
        assert_eq!(target.on.len(), 3);
        assert_eq!(NotificationsConfig::default().validate(), Ok(()));
    }

    #[test]
    fn problems_name_the_target_and_what_to_write() {
        for (text, expected) in [
            (
                "url = 'host:4127'",
                "notifications.url is \"host:4127\": it must be the address of the web UI, such as \"https://host:4127\"",
            ),
            (
                "waiting_secs = 4000",
                "notifications.waiting_secs is 4000: it must be 0 to 3600",
            ),
            (
                "push_services = ['push.example.com']",
                "notifications.push_services has \"push.example.com\", which does not begin with https:// or http://: an entry \
                 is the scheme and the host of a push service, such as \"https://push.example.com\"",
            ),
            (
                "[targets.device-a]\ntype = 'command'\ncommand = 'x'",
                "notifications.targets has the name \"device-a\": names that begin with \"device-\" are those of browsers",
            ),
            (
                "[targets.'a b']\ntype = 'command'\ncommand = 'x'",
                "notifications.targets has the name \"a b\": a name has 1 to 32 letters, digits, \"-\" and \"_\"",
            ),
            (
                "[targets.a]\ntype = 'webhook'",
                "notifications.targets.a has no url: add one, such as url = \"https://example.com/hook\"",
            ),
            (
                "[targets.a]\ntype = 'command'\ncommand = 'x'\nurl = 'https://x'",
                "notifications.targets.a has url, which is for the type \"webhook\" and \"ntfy\": remove it, or change the type",
            ),
            (
                "[targets.a]\ntype = 'webhook'\nurl = 'http://example.com/x'",
                "notifications.targets.a has a url with http: notifications would be sent in clear text; use https, or set \
                 allow_http = true",
            ),
            (
                "[targets.a]\ntype = 'webhook'\nurl = 'https://u:p@example.com/x'",
                "notifications.targets.a has a url that contains a user name or password: use secret or token instead",
            ),
            (
                "[targets.a]\ntype = 'webhook'\nurl = 'ftp://example.com/x'",
                "notifications.targets.a has a url that does not begin with https:// or http://",
            ),
            (
                "[targets.a]\ntype = 'webhook'\nurl = 'https://example.com'\nsecret = 'short'",
                "notifications.targets.a has a secret that is not 24 to 64 bytes in base64: make one with \"openssl rand \
                 -base64 32\"",
            ),
            (
                "[targets.a]\ntype = 'ntfy'\nurl = 'https://ntfy.sh'",
                "notifications.targets.a has a url without a topic: an ntfy url is the server and one topic",
            ),
            (
                "[targets.a]\ntype = 'command'",
                "notifications.targets.a has no command: add the program to run, such as command = \"notify-send\"",
            ),
            (
                "[targets.a]\ntype = 'command'\ncommand = 'x'\ntimeout_secs = 0",
                "notifications.targets.a has timeout_secs = 0: it must be 1 to 600",
            ),
            (
                "[targets.a]\ntype = 'command'\ncommand = 'x'\non = []",
                "notifications.targets.a has an empty list in on: remove on to receive everything, or remove the target",
            ),
        ] {
            assert_eq!(problem(text), expected, "{text}");
        }
    }

    #[test]
    fn http_stays_on_this_host_and_in_private_networks() {
        for url in [
            "http://127.0.0.1:9/x",
            "http://localhost/x",
            "http://[::1]/x",
            "http://10.0.0.9/x",
            "http://192.168.1.2:80/x",
            "http://172.16.0.1/x",
            "http://[fd00::1]/x",
            "https://example.com/x",
        ] {
            assert_eq!(
                problem(&format!("[targets.a]\ntype = 'webhook'\nurl = '{url}'")),
                "",
                "{url}"
            );
        }
        for url in [
            "http://8.8.8.8/x",
            "http://example.com/x",
            "http://localhost.example.com/x",
            "http://127.0.0.1.example.com/x",
            "http://[2001:4860::1]/x",
        ] {
            let refused = problem(&format!("[targets.a]\ntype = 'webhook'\nurl = '{url}'"));
            assert!(refused.contains("clear text"), "{url}: {refused}");
            let allowed = format!("[targets.a]\ntype = 'webhook'\nallow_http = true\nurl = '{url}'");
            assert_eq!(problem(&allowed), "", "{url}");
        }
    }

    #[test]
    fn secrets_are_not_in_debug_output() {
        let text = "[targets.a]\ntype = 'ntfy'\nurl = 'https://ntfy.sh/planted'\ntoken = 'planted'";
        let config: NotificationsConfig = toml::from_str(text).unwrap();
        assert!(!format!("{config:?}").contains("planted"));
    }
}
