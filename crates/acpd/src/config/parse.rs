//! Reads the text of the configuration file.

use std::path::Path;

use acpd_server::Config;

use super::error::ConfigError;
use super::mistakes::{mistakes, problems};
use super::paths::folder_of;

/// Parses the text of the file at `path`, and makes its paths absolute.
pub fn parse(path: &Path, text: &str) -> Result<Config, ConfigError> {
    let deserializer =
        toml::Deserializer::parse(text).map_err(|error| ConfigError::syntax(path, text, &error))?;
    let read = serde_path_to_error::deserialize(deserializer);
    // The deserializer and the checks go by names, and the user reads the file from its beginning.
    let first = || mistakes(path, text).into_iter().next();
    let mut config: Config =
        read.map_err(|error| first().unwrap_or_else(|| ConfigError::value(path, text, &error)))?;
    if let Some(problem) = problems(&config).into_iter().next() {
        return Err(first().unwrap_or_else(|| ConfigError::meaning(path, problem)));
    }
    config.resolve(&folder_of(path));
    Ok(config)
}

#[cfg(test)]
mod tests {
    use acpd_runtime::agent::mcp::McpServer;

    use super::*;

    const PATH: &str = "/etc/acpd/config.toml";

    fn parse(text: &str) -> Result<Config, String> {
        super::parse(Path::new(PATH), text).map_err(|error| error.to_string())
    }

    #[test]
    fn paths_are_relative_to_the_file() {
        let text = "data_dir = 'data'\n[server.tls]\ncert = 'box.pem'\nkey = '/k/box.key'\n\
                    [agents.a]\ncommand = './bin/agent'\n[agents.b]\ncommand = 'gemini'\n\
                    [[agents.b.mcp_servers]]\nname = 'files'\ncommand = '../mcp'\n";
        let file = parse(text).unwrap();
        assert_eq!(file.data_dir, Path::new("/etc/acpd/data"));
        let tls = file.server.tls.unwrap();
        assert_eq!(tls.cert.unwrap(), Path::new("/etc/acpd/box.pem"));
        assert_eq!(tls.key.unwrap(), Path::new("/k/box.key"));
        assert_eq!(file.agents["a"].command, "/etc/acpd/./bin/agent");
        assert_eq!(file.agents["b"].command, "gemini");
        let McpServer::Program(program) = &file.agents["b"].mcp_servers[0] else {
            panic!("it is a program");
        };
        assert_eq!(program.command, "/etc/acpd/../mcp");
    }

    #[test]
    fn an_error_names_the_key_the_line_and_what_to_write() {
        for (text, expected) in [
            (
                "liste = 1",
                "line 1: unknown key \"liste\"; did you mean \"listen\"?",
            ),
            (
                "[server]\nhost = ['a']",
                "line 2, at server: unknown key \"host\"; did you mean \"hosts\"?",
            ),
            (
                "listen = 4127",
                "line 1, at listen: expected an address with a port, such as \"127.0.0.1:4127\", found the number 4127",
            ),
            (
                "# state\ndata_dir = ''",
                "line 2, at data_dir: the path is empty: name a directory, or remove the line",
            ),
            (
                "listen = 'localhost:4127'",
                "line 1, at listen: expected an address with a port, such as \"127.0.0.1:4127\"",
            ),
            (
                "durability = 'disk'",
                "line 1, at durability: \"disk\" is unknown; known are \"process\" and \"power\"",
            ),
            (
                "[limits]\n\nagent_idle_secs = '10m'",
                "line 3, at limits.agent_idle_secs: expected a whole number of seconds, found the text \"10m\"",
            ),
            (
                "[limits]\nagent_idle_secs = -1",
                "line 2, at limits.agent_idle_secs: expected a whole number of seconds, found the number -1",
            ),
            (
                "[agents.a]\ncommand = ['gemini', '--acp']",
                "line 2, at agents.a.command: expected text in quotes, found a list; arguments go into args: command = \
                 \"gemini\", args = [\"--acp\"]",
            ),
            (
                "[agents.a]\ncommand = 'gemini --acp'",
                "agents.a.command is \"gemini --acp\": a command is one program; write command = \"gemini\" and args = [\"--acp\"]",
            ),
            (
                "[agents.a]\nargs = ['--acp']",
                "agents.a has args and no command: add the command, or remove args to run the agent of the registry",
            ),
            (
                "[agents.a]\ncommand = 'gemini'\nshare = true\nacp = 2",
                "agents.a has share = true and acp = 2, and a shared process speaks version 1: remove one of them",
            ),
            (
                "[agents.a]\nenv = { A = 1 }",
                "line 2, at agents.a.env.A: expected text in quotes",
            ),
            (
                "[agents.a]\nenv = 'A=secret'",
                "line 2, at agents.a.env: expected a table",
            ),
            (
                "[notifications.targets.a]\ntype = 'ntfy'\ntoken = 5",
                "line 3, at notifications.targets.a.token: expected text in quotes",
            ),
            (
                "[notifications.targets.a]\ntype = 'command'\ncommand = 'c'\nargs = '--key secret'",
                "line 4, at notifications.targets.a.args: expected a list, such as [\"a\"]",
            ),
            (
                "[traces]\nendpoint = '127.0.0.1:4318'",
                "traces.endpoint: the endpoint is not an address of the form http://HOST:PORT or https://HOST:PORT",
            ),
            (
                "[traces]\nendpoint = 'http://user:secret@127.0.0.1:4318'",
                "traces.endpoint: the endpoint contains a password: set the header with OTEL_EXPORTER_OTLP_HEADERS instead",
            ),
            (
                "[codex]\nlisten = 4500",
                "line 2, at codex.listen: expected an address with a port, such as \"127.0.0.1:4127\", found the number 4500",
            ),
            (
                "listen = '127.0.0.1:1'\n[codex]\nlisten = '127.0.0.1:1'",
                "codex.listen is 127.0.0.1:1, the same as listen, where Codex clients are served already: remove \
                 codex.listen, or choose another address",
            ),
            (
                "[retention]\nmax_age = 90",
                "line 2, at retention.max_age: expected an age, such as \"12h\", \"90d\" or \"26w\", found the number 90",
            ),
            (
                "[retention]\narchived_max_age = '90 days'",
                "line 2, at retention.archived_max_age: expected an age, such as \"12h\", \"90d\" or \"26w\", found the text \
                 \"90 days\"",
            ),
            (
                "[retention]\nmax_size = '20 GB'",
                "line 2, at retention.max_size: expected a size, such as \"500 MiB\", \"20 GiB\" or \"1 TiB\", found the text \
                 \"20 GB\"",
            ),
            (
                "[retention]\nmax_agee = '90d'",
                "line 2, at retention: unknown key \"max_agee\"; did you mean \"max_age\"?",
            ),
            (
                "[notifications.targets.a]\ntype = 'mail'",
                "line 2, at notifications.targets.a.type: \"mail\" is unknown; known are \"webhook\" and \"command\" and \
                 \"ntfy\"",
            ),
            (
                "[notifications.targets.a]\ntype = 'ntfy'\nurl = 'https://ntfy.sh/x'\nsecret = 'x'",
                "notifications.targets.a has secret, which is for the type \"webhook\": remove it, or change the type",
            ),
            (
                "registry_url = 'ftp://x'",
                "registry_url is \"ftp://x\": it must begin with https:// or http://",
            ),
            (
                "[limits]\nqueued_turns = 0",
                "limits.queued_turns is 0: it must be 1 to 4096",
            ),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(
                error,
                format!("the configuration {PATH} is wrong: {expected}"),
                "{text}"
            );
        }
        let unclosed = parse("a = 1\n[policy").unwrap_err();
        assert!(
            unclosed.starts_with("the configuration /etc/acpd/config.toml is wrong: line 2: "),
            "{unclosed}"
        );
    }

    #[test]
    fn the_first_of_several_mistakes_is_that_of_the_first_line() {
        let text = "[retention]\n[limits]\nqueued_turns = 0\n[notifications]\nwaiting_secs = 4000\n\
                    [agents.a]\nargs = ['x']\n";
        let error = parse(text).unwrap_err();
        assert!(error.contains("limits.queued_turns is 0"), "{error}");
        let (limits, others) = text.split_once("[notifications]").unwrap();
        let error = parse(&format!("[notifications]{others}{limits}")).unwrap_err();
        assert!(error.contains("notifications.waiting_secs is 4000"), "{error}");
    }

    #[test]
    fn a_file_that_names_no_directory_has_none() {
        for text in ["", "listen = '127.0.0.1:1'"] {
            assert_eq!(parse(text).unwrap().data_dir, Path::new(""), "{text}");
        }
    }

    #[test]
    fn a_file_cannot_have_what_only_the_program_knows() {
        for key in ["config_file", "record_wire", "demo", "keeper"] {
            let error = parse(&format!("{key} = 'x'")).unwrap_err();
            assert!(error.contains("unknown key"), "{key}: {error}");
        }
    }
}
