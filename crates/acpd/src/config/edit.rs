//! Changes of the text of a configuration file, which keep everything else as it is: comments, order and line ends.
//!
//! In: the text, and a change. Out: the text with the change, or why a user has to make it. Never: returns a text that means
//! something else besides, or that acpd does not accept.

use std::path::Path;

use acpd_proto::surface::request::ConfigChange;
use acpd_runtime::agent::registry::DEMO;
use acpd_server::Config;
use toml::{Table, Value};

use super::document::{Document, dotted};
use super::error::ConfigError;
use super::parse::parse;

/// The list of a sandbox's settings that clients can extend.
const FOLDERS: &str = "folders";

/// Why a text stays as it is.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The text has mistakes.
    #[error("{0}; correct it first: \"acpd config check\" lists all mistakes")]
    Wrong(ConfigError),
    /// The text would have mistakes.
    #[error("this setting does not fit the others, so nothing was changed: {0}")]
    WouldBeWrong(ConfigError),
    /// A preset would replace rules.
    #[error("{0} has rules of its own in {1}: change them there")]
    OwnRules(String, String),
    /// The demo agent is not in the configuration.
    #[error("the demo agent is a part of acpd, and has no settings")]
    Demo,
    /// The change is beyond this module.
    #[error("acpd cannot change {setting} in {file} without another change: write {line} there yourself")]
    ByHand {
        /// The setting.
        setting: String,
        /// The file.
        file: String,
        /// What to write.
        line: String,
    },
}

/// Returns the text of the file at `path` with a change; `None` if it has it already. `default_agent` is the agent of clients that name
/// none.
pub fn edit(
    path: &Path,
    text: &str,
    change: &ConfigChange,
    default_agent: Option<&str>,
) -> Result<Option<String>, EditError> {
    let config = parse(path, text).map_err(EditError::Wrong)?;
    // The same text was read just now.
    let table: Table =
        toml::from_str(text).map_err(|error| EditError::Wrong(ConfigError::syntax(path, text, &error)))?;
    let mut steps = steps(path, &table, change)?;
    if steps.is_empty() {
        return Ok(None);
    }
    if let Some(default) = default_to_keep(&table, &config, change, default_agent) {
        steps.insert(0, EditStep::Set(vec!["default_agent".to_owned()], default.into()));
    }
    let mut edited = text.to_owned();
    for step in &steps {
        edited = step.apply(&edited).ok_or_else(|| EditError::ByHand {
            setting: step.path().join("."),
            file: path.display().to_string(),
            line: step.line(),
        })?;
    }
    parse(path, &edited).map_err(EditError::WouldBeWrong)?;
    Ok(Some(edited))
}

/// Returns what a change does to a file with these values.
fn steps(path: &Path, table: &Table, change: &ConfigChange) -> Result<Vec<EditStep>, EditError> {
    let keys = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>();
    match change {
        ConfigChange::DefaultAgent { agent } => Ok(scalar(table, keys(&["default_agent"]), agent.as_deref())),
        ConfigChange::Policy { agent, preset } => {
            let at = match agent {
                Some(agent) => keys(&["agents", agent, "policy"]),
                None => keys(&["policy"]),
            };
            if matches!(get(table, &at), Some(Value::Table(_))) {
                return Err(EditError::OwnRules(at.join("."), path.display().to_string()));
            }
            let preset = preset.map(acpd_policy::Preset::name);
            if preset.is_some() {
                check_demo(table, agent.as_deref())?;
            }
            Ok(scalar(table, at, preset))
        }
        ConfigChange::AllowFolder { agent, folder } => {
            check_demo(table, Some(agent))?;
            let sandbox = keys(&["agents", agent, "sandbox"]);
            let at = keys(&["agents", agent, "sandbox", FOLDERS]);
            let folder = Value::from(folder.as_str());
            Ok(match get(table, &sandbox) {
                // One word, which is the mode.
                Some(mode @ Value::String(_)) => {
                    let word = [("mode".to_owned(), mode.clone())];
                    let lists = [(FOLDERS.to_owned(), Value::Array(vec![folder]))];
                    let settings: Table = word.into_iter().chain(lists).collect();
                    vec![EditStep::Set(sandbox, Value::Table(settings))]
                }
                _ => match get(table, &at) {
                    Some(Value::Array(folders)) if folders.contains(&folder) => Vec::new(),
                    Some(_) => vec![EditStep::Push(at, folder)],
                    None => vec![EditStep::Set(at, Value::Array(vec![folder]))],
                },
            })
        }
    }
}

/// Returns the step that sets or removes a text.
fn scalar(table: &Table, at: Vec<String>, wanted: Option<&str>) -> Vec<EditStep> {
    let now = get(table, &at);
    match wanted {
        Some(wanted) if now.and_then(Value::as_str) == Some(wanted) => Vec::new(),
        Some(wanted) => vec![EditStep::Set(at, wanted.into())],
        None if now.is_none() => Vec::new(),
        None => vec![EditStep::Remove(at)],
    }
}

/// An agent of the configuration without a command is one of the registry, which the demo agent is not.
fn check_demo(table: &Table, agent: Option<&str>) -> Result<(), EditError> {
    match agent {
        Some(DEMO) if agent_of(table, DEMO).is_none() => Err(EditError::Demo),
        _ => Ok(()),
    }
}

fn agent_of<'a>(table: &'a Table, agent: &str) -> Option<&'a Value> {
    table.get("agents")?.get(agent)
}

/// Returns the agent that has to be named so that it stays the default one. An agent that gets its first settings is a configured one
/// from then on, and the only configured agent is the default.
fn default_to_keep<'a>(
    table: &Table,
    config: &Config,
    change: &ConfigChange,
    default_agent: Option<&'a str>,
) -> Option<&'a str> {
    let configured = match change {
        ConfigChange::DefaultAgent { .. } => None,
        ConfigChange::Policy { agent, .. } => agent.as_deref(),
        ConfigChange::AllowFolder { agent, .. } => Some(agent.as_str()),
    }?;
    let is_new = config.default_agent.is_none() && agent_of(table, configured).is_none();
    // An option of the daemon adds the demo agent, which is the default only for as long.
    default_agent.filter(|default| {
        is_new && *default != configured && (*default != DEMO || config.agents.contains_key(DEMO))
    })
}

/// Returns the value at a path of keys.
fn get<'a>(table: &'a Table, path: &[String]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter()
        .try_fold(table.get(first)?, |value, key| value.as_table()?.get(key))
}

/// One step of a change.
#[derive(Debug, Clone, PartialEq)]
enum EditStep {
    /// Sets the value at a path of keys.
    Set(Vec<String>, Value),
    /// Adds an entry to the list there.
    Push(Vec<String>, Value),
    /// Removes the key.
    Remove(Vec<String>),
}

impl EditStep {
    fn path(&self) -> &[String] {
        match self {
            Self::Set(path, _) | Self::Push(path, _) | Self::Remove(path) => path,
        }
    }

    /// Returns what a user has to write.
    fn line(&self) -> String {
        let key = dotted(self.path());
        match self {
            Self::Set(_, value) => format!("{key} = {value}"),
            Self::Push(_, value) => format!("{value} into the list {key}"),
            Self::Remove(_) => format!("no {key}"),
        }
    }

    /// Returns the text after the step. There are several ways to write a setting, of which a file permits some: the first is taken that
    /// means what it should.
    fn apply(&self, text: &str) -> Option<String> {
        let mut expected: Table = toml::from_str(text).ok()?;
        self.change(&mut expected)?;
        let document = Document::new(text);
        let ways = match self {
            Self::Set(path, value) => document.set(path, value),
            Self::Push(path, value) => document.push(path, value),
            Self::Remove(path) => document.remove(path),
        };
        ways.iter()
            .map(|way| document.restored(way))
            .find(|way| toml::from_str::<Table>(way).is_ok_and(|found| found == expected))
    }

    /// Makes the same change in the values.
    fn change(&self, table: &mut Table) -> Option<()> {
        let (last, parents) = self.path().split_last()?;
        let mut at = table;
        for key in parents {
            let below = at
                .entry(key.clone())
                .or_insert_with(|| Value::Table(Table::new()));
            at = below.as_table_mut()?;
        }
        match self {
            Self::Set(_, value) => drop(at.insert(last.clone(), value.clone())),
            Self::Push(_, value) => at.get_mut(last)?.as_array_mut()?.push(value.clone()),
            Self::Remove(_) => drop(at.remove(last)?),
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use acpd_policy::Preset;

    use super::*;

    fn make(text: &str, change: &ConfigChange, default: Option<&str>) -> Result<Option<String>, String> {
        edit(Path::new("/c.toml"), text, change, default).map_err(|error| error.to_string())
    }

    fn default_agent(name: &str) -> ConfigChange {
        ConfigChange::DefaultAgent {
            agent: Some(name.to_owned()),
        }
    }

    fn policy(agent: Option<&str>, preset: Option<Preset>) -> ConfigChange {
        ConfigChange::Policy {
            agent: agent.map(str::to_owned),
            preset,
        }
    }

    fn folder(agent: &str, folder: &str) -> ConfigChange {
        ConfigChange::AllowFolder {
            agent: agent.to_owned(),
            folder: folder.to_owned(),
        }
    }

    /// Makes the change, and returns the text.
    fn made(text: &str, change: &ConfigChange) -> String {
        let made = make(text, change, None).unwrap_or_else(|error| panic!("{text}: {error}"));
        let made = made.unwrap_or_else(|| panic!("it has it: {text}"));
        // Once more, it has it.
        assert_eq!(make(&made, change, None), Ok(None), "{made}");
        made
    }

    #[test]
    fn a_setting_of_the_daemon_is_written_where_it_belongs() {
        for (text, expected) in [
            ("", "default_agent = \"b\"\n"),
            ("default_agent = 'a' # mine\n", "default_agent = \"b\" # mine\n"),
            (
                "# acpd\n\nlisten = \"127.0.0.1:1\" # here",
                "# acpd\n\nlisten = \"127.0.0.1:1\" # here\ndefault_agent = \"b\"\n",
            ),
            (
                "# All of it.\n\n# The agent.\n[agents.b]\ncommand = \"x\"\n",
                "# All of it.\n\ndefault_agent = \"b\"\n\n# The agent.\n[agents.b]\ncommand = \"x\"\n",
            ),
            (
                "# The agent.\n[agents.b]\ncommand = \"x\"\n",
                "default_agent = \"b\"\n\n# The agent.\n[agents.b]\ncommand = \"x\"\n",
            ),
            (
                "#default_agent = \"demo\"\n\n# Where.\n#listen = \"1\"\n[server]\nhosts = []\n",
                "#default_agent = \"demo\"\ndefault_agent = \"b\"\n\n# Where.\n#listen = \"1\"\n[server]\nhosts = []\n",
            ),
            (
                "policy = \"standard\"\r\n\r\n[limits]\r\nagents = 3\r\n",
                "policy = \"standard\"\r\ndefault_agent = \"b\"\r\n\r\n[limits]\r\nagents = 3\r\n",
            ),
            (
                "server.hosts = [\n  'a', # one\n]\n[agents]\n",
                "server.hosts = [\n  'a', # one\n]\ndefault_agent = \"b\"\n\n[agents]\n",
            ),
        ] {
            assert_eq!(made(text, &default_agent("b")), expected, "{text}");
        }
        assert_eq!(make("default_agent = 'b'", &default_agent("b"), None), Ok(None));
    }

    #[test]
    fn a_setting_of_an_agent_is_written_in_each_form_of_its_table() {
        let standard = policy(Some("a"), Some(Preset::Standard));
        for (text, expected) in [
            (
                "[agents.a]\ncommand = \"x\" # the program\n\n# Others.\n[agents.b]\ncommand = \"y\"\n",
                "[agents.a]\ncommand = \"x\" # the program\npolicy = \"standard\"\n\n# Others.\n[agents.b]\ncommand = \"y\"\n",
            ),
            (
                "[agents.a]\n# Nothing yet.\n[agents.b]\n",
                "[agents.a]\npolicy = \"standard\"\n# Nothing yet.\n[agents.b]\n",
            ),
            (
                "[agents]\na = { command = \"x\" } # inline\n",
                "[agents]\na = { command = \"x\", policy = \"standard\" } # inline\n",
            ),
            (
                "agents = { a = {} }\n",
                "agents = { a = { policy = \"standard\" } }\n",
            ),
            ("[agents]\n", "[agents]\n\n[agents.a]\npolicy = \"standard\"\n"),
            (
                "agents.a.command = 'x'\n[limits]\n",
                "agents.a.command = 'x'\nagents.a.policy = \"standard\"\n[limits]\n",
            ),
            (
                "[agents]\na.command = 'x'\n",
                "[agents]\na.command = 'x'\na.policy = \"standard\"\n",
            ),
            (
                "[agents.a.sandbox]\nwrite = ['/w']\n",
                "[agents.a.sandbox]\nwrite = ['/w']\n\n[agents.a]\npolicy = \"standard\"\n",
            ),
            (
                "[agents.a]\npolicy = 'readonly'\n",
                "[agents.a]\npolicy = \"standard\"\n",
            ),
        ] {
            assert_eq!(made(text, &standard), expected, "{text}");
        }
        let odd = policy(Some("my agent"), Some(Preset::Readonly));
        assert_eq!(made("", &odd), "[agents.\"my agent\"]\npolicy = \"readonly\"\n");
    }

    #[test]
    fn a_folder_is_added_to_the_list_that_is_there() {
        for (text, expected) in [
            (
                "[agents.a]\ncommand = 'x'\n\n[limits]\n",
                "[agents.a]\ncommand = 'x'\n\n[agents.a.sandbox]\nfolders = [\"/w\"]\n\n[limits]\n",
            ),
            (
                "[agents.a]\nsandbox = 'workspace' # as usual\n",
                "[agents.a]\nsandbox = { folders = [\"/w\"], mode = \"workspace\" } # as usual\n",
            ),
            (
                "[agents.a]\nsandbox = { read = ['/r'] }\n",
                "[agents.a]\nsandbox = { read = ['/r'], folders = [\"/w\"] }\n",
            ),
            (
                "[agents.a.sandbox]\nread = ['/r'] # data\n",
                "[agents.a.sandbox]\nread = ['/r'] # data\nfolders = [\"/w\"]\n",
            ),
            (
                "[agents.a.sandbox]\nfolders = ['/v']\n",
                "[agents.a.sandbox]\nfolders = ['/v', \"/w\"]\n",
            ),
            (
                "[agents.a.sandbox]\nfolders = []\n",
                "[agents.a.sandbox]\nfolders = [\"/w\"]\n",
            ),
            (
                "[agents.a.sandbox]\nfolders = [\n  '/u', # first\n  '/v' # last\n]\n",
                "[agents.a.sandbox]\nfolders = [\n  '/u', # first\n  '/v', # last\n  \"/w\"\n]\n",
            ),
            (
                "[agents.a.sandbox]\r\nfolders = [\r\n\t'/v', # a, b\r\n]\r\n",
                "[agents.a.sandbox]\r\nfolders = [\r\n\t'/v', # a, b\r\n\t\"/w\",\r\n]\r\n",
            ),
            (
                "[agents.a.sandbox]\nfolders = [ # none\n]\n",
                "[agents.a.sandbox]\nfolders = [\"/w\" # none\n]\n",
            ),
        ] {
            assert_eq!(made(text, &folder("a", "/w")), expected, "{text}");
        }
        let quoted = folder("a", "/it's \"mine\" \\ [x] # y");
        let text = made("[agents.a]\n", &quoted);
        let table: Table = toml::from_str(&text).unwrap();
        assert_eq!(
            table["agents"]["a"]["sandbox"]["folders"][0].as_str(),
            Some("/it's \"mine\" \\ [x] # y")
        );
    }

    #[test]
    fn a_setting_is_removed_with_its_line() {
        let remove = policy(None, None);
        assert_eq!(make("listen = '127.0.0.1:1'\n", &remove, None), Ok(None));
        assert_eq!(
            made(
                "# Mine.\npolicy = 'standard' # all\nlisten = '127.0.0.1:1'\n",
                &remove
            ),
            "# Mine.\nlisten = '127.0.0.1:1'\n"
        );
        let of_agent = policy(Some("a"), None);
        assert_eq!(
            made("[agents.a]\r\ncommand = 'x'\r\npolicy = 'readonly'", &of_agent),
            "[agents.a]\r\ncommand = 'x'\r\n"
        );
        let inline = make(
            "agents.a = { command = 'x', policy = 'readonly' }\n",
            &of_agent,
            None,
        );
        let refused = inline.unwrap_err();
        assert!(
            refused.contains("acpd cannot change agents.a.policy in /c.toml")
                && refused.contains("no agents.a.policy"),
            "{refused}"
        );
    }

    #[test]
    fn rules_mistakes_and_the_demo_agent_stay() {
        for (text, change, part) in [
            (
                "[policy]\nallow = ['Bash(git *)']\n",
                policy(None, Some(Preset::Permissive)),
                "rules of its own in /c.toml",
            ),
            (
                "[policy]\nallow = ['Bash(git *)']\n",
                policy(None, None),
                "rules of its own",
            ),
            ("[agents.a\n", default_agent("a"), "acpd config check"),
            ("listn = 1\n", default_agent("a"), "unknown key \"listn\""),
            (
                "",
                policy(Some(DEMO), Some(Preset::Standard)),
                "the demo agent is a part of acpd",
            ),
            ("", folder(DEMO, "/w"), "the demo agent is a part of acpd"),
            (
                "[agents.a]\nshare = true\n",
                folder("a", "w"),
                "does not fit the others",
            ),
        ] {
            let refused = make(text, &change, None).unwrap_err();
            assert!(refused.contains(part), "{text}: {refused}");
        }
    }

    #[test]
    fn an_agent_that_gets_its_first_settings_does_not_become_the_default() {
        let standard = policy(Some("b"), Some(Preset::Standard));
        let text = "[agents.a]\ncommand = 'x'\n";
        let edited = make(text, &standard, Some("a")).unwrap().unwrap();
        assert!(
            edited.starts_with("default_agent = \"a\"\n")
                && edited.ends_with("[agents.b]\npolicy = \"standard\"\n"),
            "{edited}"
        );
        for (text, default) in [
            // It is the default anyway, has settings, another one is named, or the daemon has been started with the demo.
            ("", Some("b")),
            (
                "[agents.b]\ncommand = 'x'\n[agents.a]\ncommand = 'y'\n",
                Some("a"),
            ),
            ("default_agent = 'c'\n", Some("c")),
            ("", Some(DEMO)),
            ("", None),
        ] {
            let edited = make(text, &standard, default).unwrap().unwrap();
            assert_eq!(
                edited.matches("default_agent").count(),
                text.matches("default_agent").count(),
                "{edited}"
            );
        }
    }

    #[test]
    fn texts_that_look_like_settings_are_not_taken_for_them() {
        let text = "registry_url = \"\"\"https://x/\\\n#default_agent = \\\n[agents.a]\"\"\"\n[agents.b]\ncommand = '[agents.a]'\n";
        let edited = made(text, &default_agent("b"));
        assert!(
            edited.contains("[agents.a]\"\"\"\ndefault_agent = \"b\"\n"),
            "{edited}"
        );
    }

    #[test]
    fn all_other_lines_stay_as_they_are() {
        for (text, expected) in [
            // Both kinds of line ends, a mark, and no end of the last line.
            (
                "\u{feff}listen = '127.0.0.1:1'\r\n# here\n[limits] \r\nagents=3",
                "\u{feff}listen = '127.0.0.1:1'\r\ndefault_agent = \"b\"\r\n# here\n[limits] \r\nagents=3\r\n",
            ),
            (
                "\n \n  listen='127.0.0.1:1'\t# here \n\n\n[ limits ]\n  agents = 0x3\n\n# The end.\n\n",
                "\n \n  listen='127.0.0.1:1'\t# here \ndefault_agent = \"b\"\n\n\n[ limits ]\n  agents = 0x3\n\n# The end.\n\n",
            ),
            (
                "default_agent = 'a'\n[limits]\nagents = 3\n",
                "default_agent = \"b\"\n[limits]\nagents = 3\n",
            ),
            // No line moves to those of its agent.
            (
                "agents.a.command = 'x'\nagents.b.command = 'y'\nagents.a.args = []\n",
                "default_agent = \"b\"\n\nagents.a.command = 'x'\nagents.b.command = 'y'\nagents.a.args = []\n",
            ),
        ] {
            assert_eq!(made(text, &default_agent("b")), expected, "{text}");
        }
        let divided = "agents.a.command = 'x'\nagents.b.command = 'y'\nagents.a.args = []\n";
        let refused = make(divided, &policy(Some("a"), Some(Preset::Standard)), None).unwrap_err();
        assert!(
            refused.contains("write agents.a.policy = \"standard\" there yourself"),
            "{refused}"
        );
        let remove = policy(None, None);
        assert_eq!(made("\n\npolicy = 'standard'\r\n\n", &remove), "\n\n\n");
        assert_eq!(made("policy = 'standard'", &remove), "");
    }

    #[test]
    fn a_section_is_written_behind_the_comments_of_the_last_one() {
        let text = "[limits]\n\n[agents]\n#example = { command = \"x\" }\n";
        assert_eq!(
            made(text, &policy(Some("a"), Some(Preset::Standard))),
            format!("{text}\n[agents.a]\npolicy = \"standard\"\n")
        );
        assert_eq!(
            made("agents.a.command = 'x'\n\n[limits]\n", &folder("a", "/w")),
            "agents.a.command = 'x'\nagents.a.sandbox = { folders = [\"/w\"] }\n\n[limits]\n"
        );
        assert_eq!(
            made(
                "agents = {\n  a = { command = 'x' }, # mine\n}\n",
                &folder("a", "/w")
            ),
            "agents = {\n  a = { command = 'x', sandbox = { folders = [\"/w\"] } }, # mine\n}\n"
        );
    }

    #[test]
    fn an_absurd_file_is_changed_too() {
        let text: String = (0..2000)
            .map(|k| format!("[agents.a{k}] # {k}\ncommand = 'x'\n"))
            .collect();
        let edited = made(&text, &policy(Some("a1000"), Some(Preset::Standard)));
        assert_eq!(edited.len(), text.len() + "policy = \"standard\"\n".len());
    }
}
