//! What was seen of an agent: a JSON file for each, from which the table is made.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::agents::Agent;
use crate::cases::Case;

/// A cell of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    pub works: bool,
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
    /// Of an agent that was driven.
    pub fn new(agent: &Agent) -> Self {
        Self::of(agent, agent.version(), None)
    }

    /// Of an agent that could not be driven.
    pub fn skipped(agent: &Agent, reason: String) -> Self {
        Self::of(agent, String::new(), Some(reason))
    }

    /// With no cases yet.
    pub fn of(agent: &Agent, version: String, skipped: Option<String>) -> Self {
        Self {
            title: agent.title.to_owned(),
            package: agent.package.to_owned(),
            version,
            skipped,
            cells: BTreeMap::new(),
            name: agent.name,
        }
    }

    /// Writes it where the table's maker looks.
    pub fn keep(&self) {
        let cells: BTreeMap<_, _> = self
            .cells
            .iter()
            .map(|(case, cell)| (case, json!({ "works": cell.works, "note": cell.note })))
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
            let works = cell["works"] == true;
            let note = text(&cell["note"]);
            Some((case.name().to_owned(), Cell { works, note }))
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
