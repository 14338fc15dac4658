//! Arguments of `acpd codex`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub struct CodexArgs {
    /// Agent of new threads, as named by "acpd agents list", or AGENT/MODEL; passed to Codex as its model
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Program of Codex [default: codex on PATH]
    #[arg(long, value_name = "PATH", env = "ACPD_CODEX", hide_env = true)]
    pub codex: Option<PathBuf>,
    /// Arguments of Codex, such as resume, -i FILE or a prompt; they end acpd's own options
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub args: Vec<OsString>,
}

/// Separates acpd's options, which `whole` has, from Codex's arguments by `--`. Some options of both have the same name: after `codex`,
/// `--config` is Codex's.
pub fn separated(whole: &clap::Command, line: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut line: Vec<OsString> = line.into_iter().collect();
    let Some(at) = own_options(whole, &line, 1, |_| false) else {
        return line;
    };
    if line[at] != "codex" {
        return line;
    }
    let Some(codex) = whole.find_subcommand("codex") else {
        return line;
    };
    let arguments = whole.get_arguments().chain(codex.get_arguments());
    let options = clap::Command::new("codex").args(arguments.cloned());
    if let Some(at) = own_options(&options, &line, at + 1, |option| option == "config")
        && line[at] != "--"
    {
        line.insert(at, "--".into());
    }
    line
}

/// Returns the index of the first argument that is neither an option of `command` nor the value of one.
fn own_options(
    command: &clap::Command,
    line: &[OsString],
    start: usize,
    is_foreign: impl Fn(&str) -> bool,
) -> Option<usize> {
    let mut at = start;
    while let Some(argument) = line.get(at) {
        let text = argument.to_string_lossy();
        let (name, has_value) = match text.split_once('=') {
            Some((name, _)) => (name, true),
            None => (&*text, false),
        };
        let option = command.get_arguments().find(|option| {
            let long = option.get_long().filter(|long| !is_foreign(long));
            let short = option.get_short().map(String::from);
            (long.is_some() && name.strip_prefix("--") == long)
                || (short.is_some() && name.strip_prefix('-') == short.as_deref())
        });
        match option {
            Some(option) if option.get_action().takes_values() && !has_value => at += 2,
            Some(_) => at += 1,
            // Without an argument for Codex, this is acpd's help.
            None if matches!(name, "-h" | "--help") && line.len() == at + 1 => return None,
            None => return Some(at),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    fn separate(line: &str) -> String {
        let line = separated(&Cli::command(), line.split(' ').map(OsString::from));
        let words: Vec<_> = line.iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }

    #[test]
    fn codex_gets_all_arguments_after_acpds_own() {
        for (given, separated) in [
            ("acpd codex", "acpd codex"),
            ("acpd codex resume x", "acpd codex -- resume x"),
            ("acpd codex --agent a -m b", "acpd codex --agent a -- -m b"),
            (
                "acpd codex --config k=v app-server",
                "acpd codex -- --config k=v app-server",
            ),
            (
                "acpd --config f codex -q --agent=a --config k=v",
                "acpd --config f codex -q --agent=a -- --config k=v",
            ),
            (
                "acpd codex --connect https://x --version",
                "acpd codex --connect https://x -- --version",
            ),
            ("acpd codex -- --agent x", "acpd codex -- --agent x"),
            ("acpd codex --help", "acpd codex --help"),
            ("acpd codex exec --help", "acpd codex -- exec --help"),
            ("acpd run codex --config k", "acpd run codex --config k"),
            ("acpd -v threads", "acpd -v threads"),
            ("acpd", "acpd"),
        ] {
            assert_eq!(separate(given), separated, "{given}");
        }
    }
}
