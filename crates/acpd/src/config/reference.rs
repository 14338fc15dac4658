//! The reference of settings in the documents, which has every setting.
//!
//! In: what the sections know of themselves. Out: parts of docs/configuration.md. Never: a part of the program.

use std::path::Path;

use acpd_catalog::{LaunchMethod, Presence};
use acpd_model::Limits;
use acpd_model::section::{Reload, Setting};
use acpd_server::Config;

use super::chosen::Chosen;
use super::parse::parse;
use super::text::text;

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

/// Settings that a new user does not need. A new file does not have them.
const LEFT_OUT: [&str; 10] = [
    "data_dir_on_network",
    "agents.NAME.share",
    "agents.NAME.start_in",
    "agents.NAME.acp",
    "agents.NAME.chunks",
    "agents.NAME.quirks",
    "agents.NAME.mode",
    "agents.NAME.system_prompt",
    "agents.NAME.mcp_servers",
    "limits",
];

fn page(name: &str) -> String {
    std::fs::read_to_string(Path::new(DOCS).join(name)).unwrap()
}

/// Returns the whole keys of the reference, and their rows.
fn reference() -> Vec<(String, &'static Setting)> {
    let sections = Config::ROWS.iter();
    let rows = sections.flat_map(|(section, about)| {
        let rows = about.settings.iter();
        rows.map(move |row| match row.key {
            "" => ((*section).to_owned(), row),
            key => (format!("{section}.{key}"), row),
        })
    });
    rows.collect()
}

/// Returns the keys that a table of the file can have; `None` for other values.
fn keys_of(table: &str) -> Option<Vec<String>> {
    let unknown = "0000000000";
    let text = match table {
        "" => format!("{unknown} = 1\n"),
        _ => format!("[{table}]\n{unknown} = 1\n"),
    };
    let error = parse(Path::new("/c.toml"), &text).unwrap_err();
    let (_, message) = error.message().split_once("unknown key ")?;
    let (_, known) = message.split_once("; known are ")?;
    Some(known.split(", ").map(str::to_owned).collect())
}

#[test]
fn every_key_that_a_file_can_have_is_in_the_reference() {
    let rows: Vec<&str> = Config::ROWS.iter().map(|(key, _)| *key).collect();
    assert_eq!(keys_of("").unwrap(), rows);
    for (section, about) in Config::ROWS {
        let table = match *section {
            "agents" => "agents.a",
            // Their words and tables are on pages of their own.
            "policy" | "sandbox" => continue,
            section => section,
        };
        let Some(keys) = keys_of(table) else {
            assert!(about.settings.iter().all(|row| row.key.is_empty()), "{section}");
            continue;
        };
        // A section with one row has a table elsewhere, to which the row links.
        let elsewhere = about.settings.iter().find(|row| row.key.is_empty());
        let elsewhere = elsewhere.map(|row| {
            let (_, link) = row.values.split_once("](").unwrap();
            let (name, _) = link.split_once('#').unwrap();
            page(if name.is_empty() { "configuration.md" } else { name })
        });
        for key in keys {
            let is_there = match &elsewhere {
                Some(page) => [
                    format!("`{key}`"),
                    format!("`{key}."),
                    format!("`{section}.{key}`"),
                ]
                .iter()
                .any(|name| page.contains(name)),
                None => about.settings.iter().any(|row| {
                    let row = row.key.trim_start_matches("NAME.");
                    row.split('.').next() == Some(&*key)
                }),
            };
            assert!(is_there, "{section}.{key} is in no table");
        }
    }
}

#[test]
fn every_limit_is_in_its_table_with_its_default() {
    let page = page("configuration.md");
    let limits = toml::Table::try_from(Limits::default()).unwrap();
    for (name, default) in &limits {
        let mut rows = page.lines().filter(|line| line.starts_with("| `"));
        let row = rows.find(|row| {
            let names = row.split(" | ").next().unwrap_or_default();
            names.contains(&format!("`{name}`"))
        });
        let row = row.unwrap_or_else(|| panic!("{name} is in no table"));
        let shown = row.rsplit(" | ").next().unwrap_or_default();
        let mut numbers = shown.split(|character: char| !character.is_ascii_digit());
        let is_right = numbers.any(|number| number == default.to_string());
        assert!(is_right, "{name}: {default}, not {shown}");
    }
}

#[test]
fn every_setting_of_the_reference_is_explained_in_a_new_file_or_left_out() {
    let agent = Chosen {
        id: "a".to_owned(),
        title: "A".to_owned(),
        presence: Presence::Runs(LaunchMethod::Path),
        is_ready: true,
    };
    let text = text(&[agent], None);
    let reference = reference();
    assert!(reference.len() > 15, "{reference:?}");
    for (name, _) in &reference {
        if LEFT_OUT.contains(&name.as_str()) {
            continue;
        }
        let key = name.rsplit('.').next().unwrap();
        let signs = ["\n", "\n#", "{ ", ", "];
        let is_there = signs.iter().any(|sign| text.contains(&format!("{sign}{key} =")))
            || text.contains(&format!("\n[{key}]\n"));
        assert!(is_there, "{name} is not in\n{text}");
    }
}

#[test]
fn every_template_is_one_paragraph_about_its_section() {
    for (key, about) in Config::ROWS {
        assert!(!about.settings.is_empty(), "{key} has no row");
        if about.template.is_empty() {
            continue;
        }
        assert!(
            about.template.contains(key) && about.template.ends_with('\n'),
            "{key}"
        );
        for line in about.template.lines() {
            assert!(
                line.starts_with('#') || line == format!("[{key}]"),
                "{key}: {line}"
            );
        }
    }
}

/// Returns the keys of which a change needs a restart, and tables in brackets.
fn restarting() -> Vec<String> {
    let sections = Config::ROWS.iter();
    let keys = sections.flat_map(|(section, about)| match about.reload {
        Reload::Live => Vec::new(),
        Reload::LiveExcept(keys) => keys.iter().map(|key| format!("`{section}.{key}`")).collect(),
        Reload::Restart if about.template.contains(&format!("[{section}]\n")) => {
            vec![format!("`[{section}]`")]
        }
        Reload::Restart => vec![format!("`{section}`")],
    });
    keys.collect()
}

/// Returns the page with another text between the comment with this name and the end of its part.
fn with_part(page: &str, name: &str, text: &str) -> String {
    const END: &str = "<!-- end -->\n";
    let begin = format!("<!-- {name}: written by make generate -->\n");
    let (before, rest) = page.split_once(&begin).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    format!("{before}{begin}\n{text}\n{END}{after}")
}

/// `make generate` writes the table of settings, and which of them need a restart.
#[test]
fn the_reference_of_settings_is_up_to_date() {
    let page = page("configuration.md");
    let mut table = "| Setting | Type | Default |\n|---|---|---|\n".to_owned();
    for (key, row) in reference() {
        table.push_str(&format!("| `{key}` | {} | {} |\n", row.values, row.default));
    }
    let keys = restarting();
    let (last, others) = keys.split_last().unwrap();
    let restart = format!("{} and {last} need `acpd restart`.\n", others.join(", "));
    let right = with_part(&with_part(&page, "settings", &table), "restart", &restart);
    if std::env::var_os("ACPD_GENERATE").is_some() {
        std::fs::write(Path::new(DOCS).join("configuration.md"), right).unwrap();
    } else {
        assert_eq!(page, right, "run make generate");
    }
}
