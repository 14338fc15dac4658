//! What threads have used: it outlives agents and daemons.

use serde_json::{Value, json};

use crate::support::{Client, Daemon, acpd};

fn read(client: &mut Client, by: &str) -> Value {
    client.call("usage/read", &json!({ "by": by }))
}

fn usd(amount: f64) -> Value {
    json!([{ "amount": amount, "currency": "USD" }])
}

#[test]
fn costs_outlive_the_daemon_although_the_agent_counts_from_the_start() {
    let mut daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    assert_eq!(
        read(&mut client, "day")["data"],
        json!([]),
        "nothing was reported"
    );
    client.turn(&thread, "usage cost=0.17; usage cost=0.17");
    client.turn(&thread, "usage cost=0.2");
    assert_eq!(read(&mut client, "day")["total"]["costs"], usd(0.2));
    let last = client.call("thread/read", &json!({ "threadId": thread }))["thread"]["latestSeq"].clone();
    daemon.stop();
    daemon.restart();
    let mut client = Client::new(&daemon);
    client.resume(&thread, last.as_u64().unwrap_or_default());
    let turn = client.turn(&thread, "usage cost=0.0842");
    let usage = turn.one("thread/tokenUsage/updated");
    assert_eq!(usage.params["cost"], usd(0.0842)[0], "as the agent reports it");
    assert_eq!(usage.params["threadCost"], usd(0.2842)[0]);
    let found = client.call("thread/read", &json!({ "threadId": thread }));
    assert_eq!(found["thread"]["spent"]["costs"], usd(0.2842));
    for (by, key, value) in [
        ("agent", "agentType", json!("fake")),
        ("thread", "threadId", json!(thread)),
        ("folder", "cwd", json!(daemon.place.work())),
    ] {
        let usage = read(&mut client, by);
        let rows = usage["data"].as_array().unwrap();
        assert_eq!((rows.len(), &rows[0][key]), (1, &value), "{by}");
        assert_eq!(rows[0]["spent"]["costs"], usd(0.2842));
        assert_eq!(
            (&usage["total"]["costs"], &usage["omitted"]),
            (&usd(0.2842), &json!(0))
        );
    }
    let days = read(&mut client, "day");
    let sum = |sum: f64, row: &Value| sum + row["spent"]["costs"][0]["amount"].as_f64().unwrap();
    let sum = days["data"].as_array().unwrap().iter().fold(0.0, sum);
    assert!((sum - 0.2842).abs() < 1e-9, "{days}");
    let shown = acpd(&daemon.place, &["usage", "--by", "agent"]);
    assert!(
        shown.stdout.contains("fake") && shown.stdout.contains("0.2842 USD"),
        "{}",
        shown.stdout
    );
    let lines = acpd(&daemon.place, &["usage", "--days", "2", "--json"]).stdout;
    let row: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(row["day"], days["data"][0]["day"]);
    let refused = acpd(&daemon.place, &["usage", "--days", "0"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    // Nothing of a deleted thread remains.
    client.call("thread/delete", &json!({ "threadId": thread }));
    assert_eq!(read(&mut client, "day")["total"]["costs"], json!([]));
    let shown = acpd(&daemon.place, &["usage"]);
    assert!(shown.stderr.contains("no agent has reported"), "{}", shown.stderr);
}

#[test]
fn a_fork_does_not_count_what_its_origin_has_spent() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.turn(&thread, "usage cost=0.3");
    let fork = client.call("thread/fork", &json!({ "threadId": thread }))["thread"].clone();
    assert_eq!(fork["spent"], Value::Null);
    let id = fork["id"].as_str().unwrap().to_owned();
    client.turn(&id, "usage cost=0.05");
    let usage = read(&mut client, "thread");
    assert_eq!(usage["data"].as_array().unwrap().len(), 2, "{usage}");
    assert_eq!(usage["data"][0]["threadId"], json!(thread));
    assert_eq!(usage["total"]["costs"], usd(0.35));
}
