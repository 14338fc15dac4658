//! What was seen of an agent: a JSON file for each, from which the table is made.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::agents::Agent;
use crate::cases::Case;

/// How a case went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    Works,
    Fails,
}

/// A cell of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    pub seen: Seen,
    /// What is worth telling.
    pub note: String,
}

/// All that was seen of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Findings {
    pub title: String,
    pub package: String,
    /// The version that was driven; empty if it was not.
    pub version: String,
    /// Why it was not driven.
    pub skipped: Option<String>,
    /// By the case's name.
    pub cells: BTreeMap<String, Cell>,
    name: &'static str,
}

fn path(agent: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("agents/{agent}.json"))
}

impl Findings {
    pub fn new(agent: &Agent) -> Self {
        Self {
            title: agent.title.to_owned(),
            package: agent.package.to_owned(),
            version: agent.version(),
            skipped: None,
            cells: BTreeMap::new(),
            name: agent.name,
        }
    }

    /// Of an agent that could not be driven.
    pub fn skipped(agent: &Agent, reason: String) -> Self {
        Self {
            title: agent.title.to_owned(),
            package: agent.package.to_owned(),
            version: String::new(),
            skipped: Some(reason),
            cells: BTreeMap::new(),
            name: agent.name,
        }
    }

    /// Writes it where the table's maker looks.
    pub fn keep(&self) {
        let cells: BTreeMap<_, _> = self
            .cells
            .iter()
            .map(|(case, cell)| {
                let works = cell.seen == Seen::Works;
                (case, json!({ "works": works, "note": cell.note }))
            })
            .collect();
        let findings = json!({
            "title": self.title,
            "package": self.package,
            "version": self.version,
            "skipped": self.skipped,
            "cases": cells,
        });
        let path = path(self.name);
        std::fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("a folder can be made");
        std::fs::write(path, format!("{findings:#}\n")).expect("findings can be written");
    }

    /// Reads what was kept; `None` if this agent was not driven.
    pub fn kept(agent: &Agent) -> Option<Self> {
        let text = std::fs::read(path(agent.name)).ok()?;
        let kept: Value = serde_json::from_slice(&text).expect("findings are JSON");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let cells = Case::ALL.iter().filter_map(|case| {
            let cell = kept["cases"].get(case.name())?;
            let seen = if cell["works"] == true { Seen::Works } else { Seen::Fails };
            let note = text(&cell["note"]);
            Some((case.name().to_owned(), Cell { seen, note }))
        });
        Some(Self {
            title: text(&kept["title"]),
            package: text(&kept["package"]),
            version: text(&kept["version"]),
            skipped: kept["skipped"].as_str().map(str::to_owned),
            cells: cells.collect(),
            name: agent.name,
        })
    }
}
