//! The editors whose settings acpd knows: docs/editors.md has the same settings for people.
//!
//! In: the home directory and variables. Out: files, keys and entries. Never: reads or writes a file.

use std::path::{Path, PathBuf};

use acpd_catalog::find_program;
use acpd_formats::jsonc::edit::Entry;
use serde_json::{Value, json};

use super::snippets;

/// Where the settings of an editor are.
#[derive(Debug, Clone, Copy)]
pub enum Settings {
    /// A file of JSON with comments, with an entry at this path of keys.
    File {
        /// The keys.
        path: &'static [&'static str],
        /// Whether the entry has a type, as Zed's.
        has_type: bool,
    },
    /// A program that a user writes; acpd prints what belongs into it.
    Code(fn(command: &[String]) -> String),
}

/// An editor.
#[derive(Debug, Clone, Copy)]
pub struct Editor {
    /// The name in commands.
    pub id: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// Where its settings are.
    pub settings: Settings,
    /// What to do in the editor afterwards.
    pub next: &'static str,
    programs: &'static [&'static str],
    /// Folders that show that the editor is used, below one of the bases.
    folders: &'static [(Base, &'static str)],
    /// The file of the settings.
    file: Option<(Base, &'static str)>,
}

/// A directory of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    Home,
    /// `$XDG_CONFIG_HOME`.
    Config,
    /// That of programs with windows: `$XDG_CONFIG_HOME`, or `Library/Application Support` on macOS.
    Application,
}

/// All editors, in the order of the document.
pub const EDITORS: [Editor; 6] = [
    Editor {
        id: "zed",
        title: "Zed",
        settings: Settings::File {
            path: &["agent_servers", "acpd"],
            has_type: true,
        },
        next: "in Zed's agent panel, select the plus sign and choose \"acpd\"",
        programs: &["zed", "zeditor", "zed-editor"],
        folders: &[(Base::Config, "zed")],
        file: Some((Base::Config, "zed/settings.json")),
    },
    Editor {
        id: "jetbrains",
        title: "JetBrains",
        settings: Settings::File {
            path: &["agent_servers", "acpd"],
            has_type: false,
        },
        next: "open the AI chat and choose \"acpd\" in the list of agents",
        programs: &[
            "idea",
            "pycharm",
            "webstorm",
            "goland",
            "rustrover",
            "clion",
            "phpstorm",
            "rubymine",
        ],
        folders: &[(Base::Home, ".jetbrains"), (Base::Application, "JetBrains")],
        file: Some((Base::Home, ".jetbrains/acp.json")),
    },
    Editor {
        id: "vscode",
        title: "VS Code",
        settings: Settings::File {
            path: &["acp.agents", "acpd"],
            has_type: false,
        },
        next: "install the extension \"ACP Client\" (formulahendry.acp-client), open its view and connect to \"acpd\"",
        programs: &["code"],
        folders: &[(Base::Application, "Code/User")],
        file: Some((Base::Application, "Code/User/settings.json")),
    },
    Editor {
        id: "neovim",
        title: "Neovim",
        settings: Settings::Code(snippets::neovim),
        next: "add one of the two to your configuration",
        programs: &["nvim"],
        folders: &[(Base::Config, "nvim")],
        file: None,
    },
    Editor {
        id: "emacs",
        title: "Emacs",
        settings: Settings::Code(snippets::emacs),
        next: "add it to your configuration",
        programs: &["emacs"],
        folders: &[(Base::Config, "emacs"), (Base::Home, ".emacs.d")],
        file: None,
    },
    Editor {
        id: "vscodium",
        title: "VSCodium",
        settings: Settings::File {
            path: &["acp.agents", "acpd"],
            has_type: false,
        },
        next: "install the extension \"ACP Client\" (formulahendry.acp-client), open its view and connect to \"acpd\"",
        programs: &["codium"],
        folders: &[(Base::Application, "VSCodium/User")],
        file: Some((Base::Application, "VSCodium/User/settings.json")),
    },
];

/// The directories of a user.
#[derive(Debug, Clone)]
pub struct Bases {
    /// The home directory.
    pub home: PathBuf,
    /// `$XDG_CONFIG_HOME`, or its default.
    pub config: PathBuf,
}

impl Bases {
    /// Reads the environment.
    pub fn here() -> anyhow::Result<Self> {
        Ok(Self {
            home: crate::settings::home()?,
            config: crate::settings::base("XDG_CONFIG_HOME", ".config")?,
        })
    }

    fn of(&self, base: Base) -> PathBuf {
        match base {
            Base::Home => self.home.clone(),
            Base::Application if cfg!(target_os = "macos") => self.home.join("Library/Application Support"),
            Base::Config | Base::Application => self.config.clone(),
        }
    }
}

impl Editor {
    /// Returns the file of the settings; `None` for an editor whose settings are a program.
    pub fn file(&self, bases: &Bases) -> Option<PathBuf> {
        let (base, path) = self.file?;
        Some(bases.of(base).join(path))
    }

    /// Returns whether the editor is on this host.
    pub fn is_here(&self, bases: &Bases, path: &str) -> bool {
        let has_folder = |(base, folder): &(Base, &str)| bases.of(*base).join(folder).is_dir();
        self.folders.iter().any(has_folder)
            || self
                .programs
                .iter()
                .any(|program| find_program(program, path).is_some())
    }

    /// Returns the entry that starts a command line.
    pub fn entry(&self, command: &[String]) -> Entry {
        let (program, args) = command
            .split_first()
            .map_or(("acpd", &[][..]), |(program, args)| (&**program, args));
        let mut entry: Entry = Vec::new();
        if let Settings::File { has_type: true, .. } = self.settings {
            entry.push(("type", json!("custom")));
        }
        entry.push(("command", json!(program)));
        entry.push(("args", json!(args)));
        entry
    }
}

/// Returns the editor of this name.
pub fn find(name: &str) -> Option<&'static Editor> {
    let name = name.to_lowercase();
    EDITORS
        .iter()
        .find(|editor| editor.id == name || editor.title.to_lowercase() == name)
}

/// Returns the command line of an entry.
pub fn command_of(entry: &Value) -> Vec<String> {
    let words = std::iter::once(&entry["command"]).chain(entry["args"].as_array().into_iter().flatten());
    words.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Returns the program that editors start: the name on `PATH` as a path, since editors that a desktop starts have another
/// `PATH`; else this program.
pub fn own_program(path: &str) -> anyhow::Result<String> {
    let this = crate::own_program::own_program()?;
    let real = |path: &Path| path.canonicalize().ok();
    let on_path = find_program("acpd", path).filter(|found| real(found) == real(&this));
    Ok(on_path.unwrap_or(this).to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use acpd_formats::jsonc::edit::alone;

    const PAGE: &str = include_str!("../../../../docs/editors.md");

    fn command() -> Vec<String> {
        ["acpd", "acp", "--agent", "gemini"].map(str::to_owned).into()
    }

    /// Returns the blocks of a language below a heading of the document.
    fn blocks(heading: &str, language: &str) -> Vec<&'static str> {
        let (_, section) = PAGE.split_once(&format!("\n## {heading}\n")).unwrap();
        let section = section.split("\n## ").next().unwrap();
        let fence = format!("```{language}\n");
        let blocks = section.split(&*fence).skip(1);
        blocks.map(|block| block.split("```").next().unwrap()).collect()
    }

    #[test]
    fn the_document_has_the_same_settings() {
        for editor in EDITORS {
            match editor.settings {
                Settings::File { path, .. } => {
                    let heading = if editor.id == "vscodium" {
                        "VS Code"
                    } else {
                        editor.title
                    };
                    let shown: Value = serde_json::from_str(blocks(heading, "json")[0]).unwrap();
                    let written = alone(path, &editor.entry(&command()));
                    let written: Value = serde_json::from_str(&written).unwrap();
                    assert_eq!(written, shown, "{}", editor.id);
                }
                Settings::Code(snippet) => {
                    let language = if editor.id == "emacs" { "elisp" } else { "lua" };
                    let written = snippet(&command());
                    for block in blocks(editor.title, language) {
                        assert!(written.contains(block), "{block}\nis not in\n{written}");
                    }
                }
            }
        }
    }

    #[test]
    fn an_editor_is_found_by_its_folder_or_its_program() {
        let home = tempfile::tempdir().unwrap();
        let bases = Bases {
            home: home.path().to_owned(),
            config: home.path().join(".config"),
        };
        let zed = find("Zed").unwrap();
        assert!(!zed.is_here(&bases, "/nonexistent"));
        std::fs::create_dir_all(home.path().join(".config/zed")).unwrap();
        assert!(zed.is_here(&bases, "/nonexistent"));
        assert_eq!(
            zed.file(&bases).unwrap(),
            home.path().join(".config/zed/settings.json")
        );
        assert!(find("neovim").unwrap().file(&bases).is_none());
        assert!(find("nano").is_none());
        assert_eq!(find("VS Code").unwrap().id, "vscode");
    }

    #[test]
    fn the_command_of_an_entry_is_read() {
        let entry: serde_json::Map<_, _> = find("zed")
            .unwrap()
            .entry(&command())
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect();
        assert_eq!(command_of(&Value::Object(entry)), command());
        assert_eq!(command_of(&json!({ "args": 1 })), [""; 0]);
    }
}
