//! `acpd config`.

use std::collections::BTreeMap;

use acpd_runtime::agent::registry::Agents;
use anyhow::Context;
use serde_json::json;
use toml::{Table, Value};

use crate::cli::ConfigCommand;
use crate::config::{is_secret, mistakes};
use crate::exit::Exit;
use crate::options::Common;
use crate::settings::Settings;
use crate::terminal::plain::{plain, visible_line};
use crate::terminal::print;

/// Runs an `acpd config` command.
pub fn config(settings: &Settings, common: &Common, command: &ConfigCommand) -> anyhow::Result<Exit> {
    match command {
        ConfigCommand::Check(args) => check(settings, args.json),
        ConfigCommand::Path(args) => {
            path(settings, args.json);
            Ok(Exit::Success)
        }
        ConfigCommand::Show(args) => show(&settings.clone().checked()?, common, args.json),
    }
}

/// Checks the file. Wrong settings are errors; names of unknown agents are warnings.
fn check(settings: &Settings, as_json: bool) -> anyhow::Result<Exit> {
    let file = settings.config_path.display().to_string();
    let text = text(settings)?;
    let errors: Vec<String> = match (&settings.wrong, &text) {
        (None, _) => Vec::new(),
        (Some(wrong), text) => {
            let text = text.as_deref().unwrap_or_default();
            let found = mistakes(&settings.config_path, text);
            let found: Vec<String> = found.iter().map(|found| found.message().to_owned()).collect();
            if found.is_empty() {
                vec![wrong.message().to_owned()]
            } else {
                found
            }
        }
    };
    let daemon = &settings.daemon;
    let warnings = if settings.wrong.is_none() && text.is_some() {
        daemon.warnings(&Agents::fixed(daemon.agent_book(), &daemon.data_dir))
    } else {
        Vec::new()
    };
    let error = settings.wrong.as_ref().map(ToString::to_string);
    let exit = if error.is_some() {
        Exit::Usage
    } else {
        Exit::Success
    };
    if as_json {
        let exists = settings.config_file.is_some();
        print::json(
            &json!({
                "file": file, "exists": exists, "error": error, "errors": errors, "warnings": warnings,
            })
            .to_string(),
        );
        return Ok(exit);
    }
    for warning in &warnings {
        print::err(&format!("acpd: warning: {}\n", plain(warning)));
    }
    match (error, &settings.config_file) {
        (Some(_), _) if errors.len() > 1 => {
            let file = visible_line(&file);
            let lines: String = errors
                .iter()
                .map(|error| format!("  {}\n", plain(error)))
                .collect();
            print::err(&format!("acpd: the configuration {file} is wrong:\n{lines}"));
        }
        (Some(error), _) => print::err(&format!("acpd: {}\n", plain(&error))),
        (None, Some(_)) => print::out(&format!("{} is correct\n", plain(&file))),
        (None, None) => print::out(&format!("{} does not exist; the defaults apply\n", plain(&file))),
    }
    Ok(exit)
}

fn path(settings: &Settings, as_json: bool) {
    let exists = settings.config_file.is_some();
    let path = settings.config_path.display().to_string();
    if as_json {
        print::json(&json!({ "file": path, "exists": exists }).to_string());
        return;
    }
    print::out(&format!("{}\n", plain(&path)));
    if !exists {
        print::hint("the file does not exist; the defaults apply");
    }
}

/// Prints the effective settings of a daemon that starts now.
fn show(settings: &Settings, common: &Common, as_json: bool) -> anyhow::Result<Exit> {
    let mut table: Table = match text(settings)? {
        Some(text) => text.parse().context("the configuration cannot be shown")?,
        None => Table::new(),
    };
    for (key, value) in &mut table {
        hide_secrets(key, value);
    }
    let daemon = &settings.daemon;
    table.insert("listen".into(), daemon.address().to_string().into());
    let data_dir = daemon.data_dir.to_string_lossy();
    table.insert("data_dir".into(), data_dir.into_owned().into());
    table.insert("registry_url".into(), settings.registry_url().into());
    table.entry("durability").or_insert("process".into());
    table.insert(
        "limits".into(),
        Value::try_from(&daemon.limits).context("the limits cannot be shown")?,
    );
    if as_json {
        print::json(&json!(table).to_string());
        return Ok(Exit::Success);
    }
    let mut text = match &settings.config_file {
        Some(file) => format!("# {}\n", file.display()),
        None => format!("# {} does not exist\n", settings.config_path.display()),
    };
    for (key, source) in overrides(common) {
        text.push_str(&format!("# {key}: {source}\n"));
    }
    text.push('\n');
    text.push_str(&toml::to_string(&table).context("the configuration cannot be shown")?);
    print::out(&plain(&text));
    Ok(Exit::Success)
}

/// Returns the settings of flags and environment variables, which override the file.
fn overrides(common: &Common) -> BTreeMap<&'static str, String> {
    let source = |given: bool, flag: &str, variable: &str| {
        let by_variable = std::env::var_os(variable).is_some();
        given.then(|| {
            if by_variable {
                format!("{flag}, or {variable} of the environment")
            } else {
                flag.to_owned()
            }
        })
    };
    let given = [
        (
            "listen",
            source(common.listen.is_some(), "--listen", "ACPD_LISTEN"),
        ),
        (
            "data_dir",
            source(common.data_dir.is_some(), "--data-dir", "ACPD_DATA_DIR"),
        ),
    ];
    given
        .into_iter()
        .filter_map(|(key, source)| Some((key, source?)))
        .collect()
}

/// Replaces the values that can be secrets, but not the number of arguments.
fn hide_secrets(key: &str, value: &mut Value) {
    match value {
        Value::Table(below) => {
            for (name, value) in below.iter_mut() {
                hide_secrets(&format!("{key}.{name}"), value);
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| hide_secrets(key, value)),
        value if is_secret(key) => *value = "(hidden)".into(),
        _ => {}
    }
}

fn text(settings: &Settings) -> anyhow::Result<Option<String>> {
    let Some(path) = &settings.config_file else {
        return Ok(None);
    };
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("the configuration {} cannot be read", path.display()))?;
    Ok(Some(text))
}
