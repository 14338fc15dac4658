//! Lines that `acpd acp-check` judges.

use acpd_acp_check::{Report, Verdict, Version, judge};

use crate::Target;

/// An agent's standard output. Invariants: each line that holds something is in one row about lines, rows and their texts are bounded,
/// and a Markdown report has one line for each row, and none that the agent wrote.
pub const CHECKED_LINES: Target = Target {
    name: "checked_lines",
    run: checked_lines,
    words: &[
        "\n",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"sessionId\":\"s\"}}\n",
        "\"method\":\"session/update\"",
        "\"method\":\"terminal/create\"",
        "\"method\":\"fs/read_text_file\"",
        "\"params\":{\"sessionId\":\"s\",\"update\":{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"t\"}}",
        "\"sessionUpdate\":\"state_update\",\"state\":\"idle\"",
        "\"configOptions\":[{\"currentValue\":\"x\",\"options\":[{\"options\":[{}]}]}]",
        "\"modes\":{\"currentModeId\":1,\"availableModes\":[null]}",
        "\"content\":[{\"terminalId\":\"t\"}]",
        "\"line\":18446744073709551615",
        "|`\\u001b[2J\\n",
        "1e999",
        "null",
    ],
};

/// Most bytes of a row.
const ROW_BYTES: usize = 600;

fn checked_lines(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    for version in Version::ALL {
        let rows = judge(version, input);
        let ended = text.matches('\n').count();
        let about_lines = rows.all().iter().filter(|row| row.method == "stdout");
        let counted: u64 = about_lines.map(|row| row.count).sum();
        assert!(counted <= ended as u64, "a line counts twice");
        for row in rows.all() {
            assert!(row.method.len() + row.evidence.len() <= ROW_BYTES, "{row:?}");
            let is_explained = row.verdict != Verdict::Violated || !row.evidence.is_empty();
            assert!(is_explained, "{row:?}");
        }
        let report = Report {
            command: Vec::new(),
            agent: Some(text.clone().into_owned()),
            versions: vec![(version, rows)],
            sign_in: Some(text.clone().into_owned()),
        };
        let markdown = report.markdown();
        let lines = markdown.lines().filter(|line| line.starts_with('|')).count();
        assert_eq!(lines, report.rows().count() + 2, "{markdown}");
        let others = markdown.lines().filter(|line| !line.starts_with(['|', '-']));
        assert_eq!(others.collect::<Vec<_>>(), [""], "{markdown}");
        assert!(!report.table().is_empty());
        assert_eq!(report.json()["violations"], report.violations());
    }
}
