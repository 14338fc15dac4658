//! Permission policies in the configuration: what "acpd policy test" says, and that a running daemon takes changes.

mod support;

use serde_json::{Value, json};
use support::{Client, Daemon, Place, acpd};

const POLICY: &str = "[policy]\nask = [\"Bash\"]\nallow = [\"Bash(git *)\"]\ndeny = [\"Bash(rm *)\"]\n";

#[test]
fn policy_test_names_the_rule_that_decides() {
    let place = Place::new(POLICY);
    for (line, code, words) in [
        ("git push", 0, ["allow", "Bash(git *)"]),
        ("cargo test", 3, ["ask", "Bash"]),
        ("git status && rm -rf x", 4, ["deny", "Bash(rm *)"]),
    ] {
        let run = acpd(&place, &["policy", "test", "--bash", line]);
        assert_eq!(run.code, Some(code), "{line}: {}{}", run.stdout, run.stderr);
        assert!(
            words.iter().all(|word| run.stdout.contains(word)),
            "{}",
            run.stdout
        );
    }
    let run = acpd(&place, &["policy", "test", "--json", "--bash", "git push"]);
    let told: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(told["decision"]["rule"], "Bash(git *)");
    let nobody = acpd(&place, &["policy", "test", "--agent", "nobody", "--bash", "ls"]);
    assert_eq!(nobody.code, Some(1));
    assert!(nobody.stderr.contains("no agent \"nobody\""), "{}", nobody.stderr);
    let nothing = acpd(&place, &["policy", "test"]);
    assert_eq!(nothing.code, Some(2), "{}", nothing.stderr);
}

#[test]
fn a_wrong_rule_is_named_and_the_daemon_does_not_start() {
    let place = Place::new("[policy]\nallow = [\"Bash(git\"]\n");
    let run = acpd(&place, &["policy", "test", "--bash", "ls"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("Bash(git"), "{}", run.stderr);
}

#[test]
fn a_running_daemon_takes_another_policy() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let call = json!({ "kind": "execute", "rawInput": { "command": "ls" } });
    let params = json!({ "threadId": thread, "toolCall": call });
    let effect = |client: &mut Client| client.call("policy/explain", &params)["decision"]["effect"].clone();
    assert_eq!(effect(&mut client), "ask");
    let config = std::fs::read_to_string(daemon.place.config()).unwrap();
    std::fs::write(daemon.place.config(), format!("policy = \"readonly\"\n{config}")).unwrap();
    support::wait_until("the new policy is taken", || {
        daemon.log().contains("the policies have changed")
    });
    assert_eq!(effect(&mut client), "deny");
    // What cannot be read changes nothing.
    std::fs::write(
        daemon.place.config(),
        format!("policy = \"permissive\nx\n{config}"),
    )
    .unwrap();
    support::wait_until("the daemon has looked", || {
        daemon.log().contains("the policies stay as they are")
    });
    assert_eq!(effect(&mut client), "deny");
    let own = json!({ "threadId": thread, "policy": { "base": "permissive" } });
    client.call("thread/policy/set", &own);
    assert_eq!(
        effect(&mut client),
        "deny",
        "a thread cannot undo a deny of the daemon"
    );
}
