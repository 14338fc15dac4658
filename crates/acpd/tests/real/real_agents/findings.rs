//! The results of an agent's cases: a JSON file per agent, from which the table is generated.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::agents::Agent;
use super::cases::Case;

/// A cell of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    pub works: bool,
    /// Remarks for the table.
    pub note: String,
}

/// All results of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Findings {
    pub title: String,
    pub package: String,
    /// The tested version; empty if it was not tested.
    pub version: String,
    /// Why it was not tested.
    pub skipped: Option<String>,
    /// The cells by the case's name.
    pub cells: BTreeMap<String, Cell>,
    name: &'static str,
}

fn path(agent: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("agents/{agent}.json"))
}

impl Findings {
    /// Creates empty results of a tested agent.
    pub fn new(agent: &Agent) -> Self {
        Self::of(agent, agent.version(), None)
    }

    /// Creates the results of an agent that could not be tested.
    pub fn skipped(agent: &Agent, reason: String) -> Self {
        Self::of(agent, String::new(), Some(reason))
    }

    /// Creates results without cases.
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

    /// Writes the results to the file for the table.
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

    /// Reads the stored results; returns `None` if this agent was not tested.
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
