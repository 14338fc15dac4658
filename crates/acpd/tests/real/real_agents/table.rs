//! The table in `docs/agents.md`, generated from the results.
//!
//! An agent that was not tested keeps its current row.

use std::path::PathBuf;

use super::agents::{AGENTS, Agent, GEMINI};
use super::cases::Case;
use super::findings::{Cell, Findings};
use super::root;

const BEGIN: &str = "<!-- table: written by make test-agents TABLE=write -->";
const END: &str = "<!-- table: to here -->";

/// Compares the table with the results. With `ACPD_AGENTS_TABLE=write` it writes the table instead.
#[test]
#[ignore = "make test-agents"]
fn the_table_says_what_was_seen() {
    let path = document();
    let text = std::fs::read_to_string(&path).expect("the document can be read");
    let findings: Vec<_> = AGENTS.iter().filter_map(|agent| Findings::kept(agent)).collect();
    assert!(!findings.is_empty(), "no agent was tested: run make test-agents");
    let renewed = renew(&text, &findings);
    if std::env::var_os("ACPD_AGENTS_TABLE").is_some_and(|wish| wish == "write") {
        return std::fs::write(&path, renewed).expect("the document can be written");
    }
    let seen: Vec<_> = renewed
        .lines()
        .filter(|row| !text.lines().any(|written| written == *row))
        .collect();
    assert!(
        renewed == text,
        "the table of {} is not what was seen; make test-agents TABLE=write writes it anew. Seen:\n{}",
        path.display(),
        seen.join("\n")
    );
}

#[test]
fn the_document_has_a_row_for_each_agent() {
    let text = std::fs::read_to_string(document()).expect("the document can be read");
    for agent in AGENTS {
        assert!(row_of(&text, agent.title).is_some(), "{} has no row", agent.title);
    }
}

#[test]
fn a_table_is_made_from_findings_and_keeps_what_was_not_driven() {
    let cell = |works, note: &str| Cell {
        works,
        note: note.to_owned(),
    };
    let mut findings = Findings::of(&GEMINI, "1.2".to_owned(), None);
    for case in Case::ALL {
        findings.cells.insert(case.name().to_owned(), cell(true, ""));
    }
    findings
        .cells
        .insert("Shell command".into(), cell(true, "asks | first"));
    findings
        .cells
        .insert("Cancel".into(), cell(false, "hangs\nfor ever"));
    // The document has other tables of the same agents.
    let before = "| Qwen Code | its modes |";
    let old = format!("{before}\n\n{BEGIN}\n\n| Qwen Code, old | row |\n\n{END}\n\nafter\n");
    let new = renew(&old, std::slice::from_ref(&findings));
    assert_eq!(
        new,
        format!(
            "{before}\n\n{BEGIN}\n\n\
             | Agent | Plain answer | Shell command | File write | Refused permission | Cancel | Resume after a restart | Allowed for good | In an editor | Server of an editor | Rules of ACP |\n\
             |---|---|---|---|---|---|---|---|---|---|---|\n\
             | Gemini CLI (`@google/gemini-cli` 1.2) | yes | yes: asks / first | yes | yes | **no**: hangs for ever | yes | yes | yes | yes | yes |\n\
             | Qwen Code, old | row |\n\n{END}\n\nafter\n"
        )
    );
    assert_eq!(renew(&new, &[]), new);
}

fn document() -> PathBuf {
    root().join("docs/agents.md")
}

/// Returns the document with a new table.
fn renew(text: &str, findings: &[Findings]) -> String {
    let (before, rest) = text.split_once(BEGIN).expect("the table has a beginning");
    let (_, after) = rest.split_once(END).expect("the table has an end");
    let cases: Vec<_> = Case::ALL.iter().map(|case| case.name()).collect();
    let mut table = format!(
        "| Agent | {} |\n|---{}|\n",
        cases.join(" | "),
        "|---".repeat(cases.len())
    );
    for agent in AGENTS {
        if let Some(row) = row(agent, findings).or_else(|| row_of(text, agent.title).map(str::to_owned)) {
            table.push_str(&row);
            table.push('\n');
        }
    }
    format!("{before}{BEGIN}\n\n{table}\n{END}{after}")
}

/// Returns an agent's row in the current table.
fn row_of<'t>(text: &'t str, title: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(BEGIN)?;
    let (table, _) = rest.split_once(END)?;
    table.lines().find(|line| {
        let rest = line.strip_prefix("| ").and_then(|line| line.strip_prefix(title));
        rest.is_some_and(|rest| rest.starts_with([' ', ',']))
    })
}

/// Returns an agent's new row; `None` if it was not tested.
fn row(agent: &Agent, findings: &[Findings]) -> Option<String> {
    let found = findings.iter().find(|findings| findings.title == agent.title)?;
    if found.skipped.is_some() {
        return None;
    }
    let cells = Case::ALL.iter().map(|case| match found.cells.get(case.name()) {
        Some(cell) => written(cell),
        None => "not tried".to_owned(),
    });
    let cells: Vec<_> = cells.collect();
    Some(format!(
        "| {} (`{}` {}) | {} |",
        found.title,
        found.package,
        found.version,
        cells.join(" | ")
    ))
}

fn written(cell: &Cell) -> String {
    let note = cell.note.replace('|', "/").replace('\n', " ");
    match (cell.works, note.as_str()) {
        (true, "") => "yes".to_owned(),
        (true, note) => format!("yes: {note}"),
        (false, note) => format!("**no**: {note}"),
    }
}
