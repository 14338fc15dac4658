//! The files and pages for operators name metrics that exist, and all of them are documented.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::support::{Client, Daemon, ask, wait_until};

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the names of all series of a daemon, by the name of their metric. Some metrics have no series until something
/// happened that they count.
fn exposed() -> BTreeMap<String, BTreeSet<String>> {
    let daemon = Daemon::with("[notifications.targets.a]\ntype = \"command\"\ncommand = \"true\"\n");
    let host = daemon.address().to_string();
    let bearer = format!("Bearer {}", daemon.place.token());
    assert_eq!(ask(daemon.address(), "/metrics", &[("Host", &host)]).0, 401);
    let mut client = Client::new(&daemon);
    client.call("thread/list", &json!({}));
    // The daemon accepts text only.
    client.send(Message::binary(vec![0])).expect("the daemon reads");
    let headers = [("Host", host.as_str()), ("Authorization", &bearer)];
    let mut answer = String::new();
    wait_until("the client is dropped, and targets are known", || {
        answer = ask(daemon.address(), "/metrics", &headers).1;
        ["acpd_clients_dropped_total", "acpd_notifications_total"]
            .iter()
            .all(|name| answer.contains(name))
    });
    let types = answer.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let series = |line: &str| {
        let (name, kind) = line.split_once(' ').expect("a name and a type");
        let ends: &[&str] = match kind {
            "counter" => &["_total"],
            "gauge" => &[""],
            "histogram" => &["_bucket", "_count", "_sum"],
            other => panic!("{other}: how are the series of this type named?"),
        };
        let names = ends.iter().map(|end| format!("{name}{end}")).collect();
        (name.to_owned(), names)
    };
    types.map(series).collect()
}

/// Returns the names of metrics in a text.
fn named(text: &str) -> BTreeSet<String> {
    // Lines of the log name modules.
    let text = text.replace("acpd_runtime::", "");
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let words = text.split(|character| !is_part(character));
    words
        .filter(|word| word.starts_with("acpd_"))
        .map(ToOwned::to_owned)
        .collect()
}

#[test]
fn the_dashboard_and_the_alerts_name_metrics_that_exist() {
    let exposed: BTreeSet<String> = exposed().into_values().flatten().collect();
    let dashboard = read("packaging/monitoring/grafana-dashboard.json");
    let parsed: Value = serde_json::from_str(&dashboard).expect("it is JSON");
    let panels = parsed["panels"].as_array().expect("it has panels").iter();
    let graphs: Vec<_> = panels.filter(|panel| panel["type"] != "row").collect();
    assert!(graphs.len() > 15, "{}", graphs.len());
    let targets = graphs
        .iter()
        .flat_map(|panel| panel["targets"].as_array().expect("it has targets"));
    let of_dashboard: String = targets
        .map(|target| format!("{}\n", target["expr"].as_str().expect("an expression")))
        .collect();
    for (file, text) in [
        ("the dashboard", of_dashboard),
        ("the alerts", read("packaging/monitoring/alerts.yml")),
        ("docs/monitoring.md", read("docs/monitoring.md")),
    ] {
        let unknown: Vec<_> = named(&text).difference(&exposed).cloned().collect();
        assert!(unknown.is_empty(), "{file} names {unknown:?}, which do not exist");
        assert!(!named(&text).is_empty(), "{file} names no metric");
    }
}

#[test]
fn every_metric_is_documented_and_every_documented_one_exists() {
    let exposed = exposed();
    let page = read("docs/metrics.md");
    let rows: BTreeSet<String> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `acpd_"))
        .filter_map(|line| Some(format!("acpd_{}", line.split(['`', '{']).next()?)))
        .collect();
    // A counter is documented with its end, a histogram without.
    let names: BTreeSet<String> = exposed
        .into_iter()
        .map(|(name, series)| match series.first() {
            Some(only) if series.len() == 1 => only.clone(),
            _ => name,
        })
        .collect();
    assert_eq!(rows, names);
}

/// An alert of the file: its name, its rule and what it means.
type Alert = [String; 3];

/// Reads the alerts. Every line must have one of the forms that the file consists of.
fn alerts(text: &str) -> Vec<Alert> {
    let mut alerts: Vec<Alert> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let known = [
            "groups:",
            "  - name: acpd",
            "    rules:",
            "        labels:",
            "        annotations:",
        ];
        let more = ["        for: ", "          severity: "];
        if let Some(name) = line.strip_prefix("      - alert: ") {
            alerts.push([name.to_owned(), String::new(), String::new()]);
        } else if let Some(rule) = line.strip_prefix("        expr: ") {
            rule.clone_into(&mut alerts.last_mut().expect("an alert")[1]);
        } else if let Some(summary) = line.strip_prefix("          summary: ") {
            // YAML would read a colon as the end of a key.
            assert!(!summary.contains(": "), "{line}");
            summary.clone_into(&mut alerts.last_mut().expect("an alert")[2]);
        } else {
            let is_known = known.contains(&line) || more.iter().any(|start| line.starts_with(start));
            assert!(is_known, "a line of another form: {line:?}");
        }
    }
    alerts
}

#[test]
fn the_page_about_monitoring_has_the_alerts_of_the_file() {
    let of_file = alerts(&read("packaging/monitoring/alerts.yml"));
    assert!(
        of_file.iter().flatten().all(|part| !part.is_empty()),
        "{of_file:?}"
    );
    let page = read("docs/monitoring.md");
    let of_page: Vec<Alert> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `Acpd"))
        .map(|line| {
            let cells: Vec<_> = line.trim_end_matches(" |").splitn(3, " | ").collect();
            let [name, rule, meaning] = &cells[..] else {
                panic!("{line}")
            };
            let name = format!("Acpd{}", name.trim_matches('`'));
            [name, rule.trim_matches('`').to_owned(), (*meaning).to_owned()]
        })
        .collect();
    assert_eq!(of_page, of_file);
}
