//! `acpd editors`: the settings by which editors start acpd.
//!
//! In: the editors of this host, and their settings. Out: an entry for acpd in a settings file, or text for the user.
//! Owns: the entry `acpd` of each file. Never: changes another entry, or a file that it cannot read.

mod known;
mod snippets;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use acpd_formats::jsonc::edit;
use acpd_host::read_small;
use acpd_model::similar::nearest;
use acpd_policy::shell_line;
use acpd_proto::projection::changed_lines;
use acpd_runtime::agent::registry::{Agents, search_path};
use anyhow::Context;
use serde_json::json;

use self::known::{Bases, EDITORS, Editor, Settings as Where, command_of, find, own_program};
use crate::cli::{EditorsCommand, EditorsInstallArgs, EditorsListArgs};
use crate::exit::Exit;
use crate::replace_file::replace;
use crate::settings::Settings;
use crate::terminal::confirm::confirm;
use crate::terminal::plain::{plain, plain_line, visible_line};
use crate::terminal::print;
use crate::terminal::table::table;

/// Largest settings file, in bytes.
const FILE_BYTES: u64 = 8 << 20;

/// Mode of a new settings file, as editors make it.
const MODE: u32 = 0o644;

/// Runs an `acpd editors` command.
pub async fn editors(settings: &Settings, command: &EditorsCommand) -> anyhow::Result<Exit> {
    match command {
        EditorsCommand::List(args) => list(args),
        EditorsCommand::Install(args) => install(settings, args).await,
    }
}

/// What is known about an editor on this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The name in commands.
    pub id: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// Whether the editor is on this host.
    pub is_here: bool,
    /// The file of its settings.
    pub file: Option<PathBuf>,
    /// The state of the entry.
    pub entry: EntryState,
}

/// The state of the entry for acpd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryState {
    /// The settings are a program, which acpd does not read.
    Unknown,
    /// There is none.
    Missing,
    /// It starts this command line.
    Starts(Vec<String>),
    /// The settings cannot be read.
    Unreadable(String),
}

/// Returns all editors that acpd knows.
pub fn found() -> anyhow::Result<Vec<Found>> {
    let (bases, path) = (Bases::here()?, search_path());
    let found = EDITORS.iter().map(|editor| Found {
        id: editor.id,
        title: editor.title,
        is_here: editor.is_here(&bases, &path),
        file: editor.file(&bases),
        entry: entry_state(editor, &bases),
    });
    Ok(found.collect())
}

fn entry_state(editor: &Editor, bases: &Bases) -> EntryState {
    let (Where::File { path, .. }, Some(file)) = (editor.settings, editor.file(bases)) else {
        return EntryState::Unknown;
    };
    let text = match read(&file) {
        Ok(text) => text.unwrap_or_default(),
        Err(error) => return EntryState::Unreadable(error.to_string()),
    };
    match edit::get(&text, path) {
        Ok(None) => EntryState::Missing,
        Ok(Some(entry)) => EntryState::Starts(command_of(&entry)),
        Err(error) => EntryState::Unreadable(error.to_string()),
    }
}

fn read(file: &Path) -> std::io::Result<Option<String>> {
    match read_small(file, FILE_BYTES) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn list(args: &EditorsListArgs) -> anyhow::Result<Exit> {
    let found = found()?;
    if args.json {
        for editor in &found {
            let (command, error) = match &editor.entry {
                EntryState::Starts(command) => (Some(command), None),
                EntryState::Unreadable(error) => (None, Some(error)),
                EntryState::Missing | EntryState::Unknown => (None, None),
            };
            let line = json!({
                "id": editor.id, "title": editor.title, "found": editor.is_here, "file": editor.file,
                "command": command, "error": error,
            });
            print::json(&line.to_string());
        }
        return Ok(Exit::Success);
    }
    let rows: Vec<_> = found.iter().map(row).collect();
    table(["NAME", "EDITOR", "HERE", "STARTS"], &rows);
    Ok(Exit::Success)
}

fn row(editor: &Found) -> [String; 4] {
    let starts = match &editor.entry {
        EntryState::Starts(command) => line(command),
        EntryState::Missing => "-".to_owned(),
        EntryState::Unknown => "its settings are a program".to_owned(),
        EntryState::Unreadable(error) => format!("cannot be read: {}", plain_line(error)),
    };
    let is_here = if editor.is_here { "yes" } else { "no" };
    [
        editor.id.to_owned(),
        editor.title.to_owned(),
        is_here.to_owned(),
        starts,
    ]
}

/// Returns a command line as a shell reads it.
pub fn line(command: &[String]) -> String {
    let program = command.first().map(String::as_str).unwrap_or_default();
    visible_line(&shell_line(program, command.iter().skip(1).map(String::as_str)))
}

async fn install(settings: &Settings, args: &EditorsInstallArgs) -> anyhow::Result<Exit> {
    let editor = find(&args.name).ok_or_else(|| unknown(&args.name))?;
    let command = command(settings, args.agent.as_deref())?;
    let bases = Bases::here()?;
    let (path, file) = match (editor.settings, editor.file(&bases)) {
        (Where::Code(snippet), _) => {
            print::out(&plain(&snippet(&command)));
            print::hint(editor.next);
            return Ok(Exit::Success);
        }
        (Where::File { path, .. }, Some(file)) => (path, file),
        (Where::File { .. }, None) => return Ok(Exit::Success),
    };
    let entry = editor.entry(&command);
    if args.print {
        print::out(&plain(&edit::alone(path, &entry)));
        print::hint(&format!(
            "it belongs into {}",
            visible_line(&file.display().to_string())
        ));
        return Ok(Exit::Success);
    }
    let shown = visible_line(&file.display().to_string());
    let before = read(&file).with_context(|| format!("{shown} cannot be read; nothing was changed"))?;
    let text = before.as_deref().unwrap_or_default();
    let after = edit::set(text, path, &entry).map_err(|error| {
        Exit::Failure.error(format!(
            "{shown} cannot be changed: {error}; nothing was written. \"acpd editors install {} --print\" prints the entry",
            editor.id
        ))
    })?;
    if after == text {
        done(editor, &file, None, false, args.json);
        return Ok(Exit::Success);
    }
    if !args.json {
        print::out(&format!("{shown}\n{}", plain(&changed_lines(text, &after))));
    }
    if !args.yes && !confirm("Write this change?").await? {
        print::hint("nothing was changed");
        return Ok(Exit::Failure);
    }
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    }
    let copy = replace(&file, before.as_deref(), &after, MODE)
        .with_context(|| format!("{shown} cannot be written"))?;
    done(editor, &file, copy.as_deref(), true, args.json);
    Ok(Exit::Success)
}

fn done(editor: &Editor, file: &Path, copy: Option<&Path>, is_changed: bool, as_json: bool) {
    if as_json {
        print::json(
            &json!({ "id": editor.id, "file": file, "changed": is_changed, "copy": copy }).to_string(),
        );
        return;
    }
    let shown = visible_line(&file.display().to_string());
    if is_changed {
        print::out(&format!("wrote {shown}\n"));
    } else {
        print::out(&format!("{shown} has this entry already\n"));
    }
    if let Some(copy) = copy {
        print::hint(&format!(
            "the file before is kept as {}",
            visible_line(&copy.display().to_string())
        ));
    }
    print::hint(editor.next);
}

fn unknown(name: &str) -> anyhow::Error {
    let ids = EDITORS.iter().map(|editor| editor.id);
    let hint = match nearest(name, ids.clone()) {
        Some(nearest) => format!("did you mean {nearest:?}?"),
        None => format!("known are {}.", ids.collect::<Vec<_>>().join(", ")),
    };
    Exit::NotFound.error(format!(
        "acpd does not know the settings of the editor {name:?}; {hint} Any editor that speaks ACP can start \"acpd acp\""
    ))
}

/// Returns the command line that an editor starts.
fn command(settings: &Settings, agent: Option<&str>) -> anyhow::Result<Vec<String>> {
    let book = settings.daemon.agent_book();
    let mut command = vec![own_program(&search_path())?, "acp".to_owned()];
    match (agent, book.default_agent()) {
        (Some(agent), _) => {
            let agents = Agents::fixed(book.clone(), &settings.daemon.data_dir);
            if !agents.knows(agent) {
                return Err(Exit::NotFound.error(format!(
                    "agent {agent:?} does not exist; \"acpd agents list\" shows those that do"
                )));
            }
            command.extend(["--agent".to_owned(), agent.to_owned()]);
        }
        // The default of the configuration, also when it changes.
        (None, Some(_)) => {}
        (None, None) => {
            return Err(Exit::Usage.error(
                "name the agent with --agent, or set default_agent in the configuration (acpd setup does)",
            ));
        }
    }
    command.extend(settings.options_of_serve());
    Ok(command)
}
