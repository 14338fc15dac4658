//! The configuration file: the commands about it, and what a running daemon does when it changes.

use serde_json::{Value, json};

use crate::support::{Client, Daemon, Place, acpd, outcome, wait_until};

#[test]
fn the_file_is_checked_named_and_shown() {
    let place = Place::new("[agents.fake.extra]\n");
    let wrong = acpd(&place, &["config", "check"]);
    assert_eq!((wrong.code, &wrong.stdout[..]), (Some(2), ""));
    assert!(wrong.stderr.contains("unknown key \"extra\""), "{}", wrong.stderr);
    let as_json: Value = serde_json::from_str(&acpd(&place, &["config", "check", "--json"]).stdout).unwrap();
    assert!(
        as_json["error"].as_str().unwrap().contains("unknown key"),
        "{as_json}"
    );

    place.configure(
        "default_agent = \"nope\"\ndata_dir = \"other\"\n[limits]\nqueued_turns = 3\n\
         [agents.mine]\ncommand = \"x\"\nenv = { KEY = \"secret-value\" }\n[agents.unheard-of]\nshare = true\n\
         [[agents.mine.mcp_servers]]\nname = \"files\"\ncommand = \"/bin/mcp\"\nargs = [\"--key\", \"secret-value\"]\n\
         [notifications.targets.mine]\ntype = \"command\"\ncommand = \"notify\"\nargs = [\"secret-value\"]\n",
    );
    let file = place.config().display().to_string();
    let checked = acpd(&place, &["config", "check"]);
    assert_eq!(checked.code, Some(0), "{}", checked.stderr);
    assert_eq!(checked.stdout, format!("{file} is correct\n"));
    assert!(
        checked.stderr.contains("default_agent is \"nope\""),
        "{}",
        checked.stderr
    );
    assert!(
        checked
            .stderr
            .contains("the registry has no agent \"unheard-of\""),
        "{}",
        checked.stderr
    );
    assert_eq!(acpd(&place, &["config", "path"]).stdout, format!("{file}\n"));

    let shown = acpd(&place, &["config", "show"]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    assert!(!shown.stdout.contains("secret-value"), "{}", shown.stdout);
    // What is shown can be used as a file.
    let data = place.data().display().to_string();
    for expected in [
        "queued_turns = 3",
        "agent_idle_secs = 600",
        "KEY = \"(hidden)\"",
        "command = \"/bin/mcp\"",
        "durability = \"process\"",
        &format!("data_dir = {data:?}"),
        "# data_dir: --data-dir, or ACPD_DATA_DIR of the environment",
    ] {
        assert!(shown.stdout.contains(expected), "{expected}: {}", shown.stdout);
    }
    place.configure(&shown.stdout);
    assert_eq!(acpd(&place, &["config", "check"]).code, Some(0));
}

#[test]
fn all_mistakes_are_reported_in_the_order_of_their_lines() {
    let place = Place::new("");
    place.configure("listen = 4127\n[agents.fake]\ncomand = \"x\"\n[limits]\nqueued_turns = 0\nfoo = 1\n");
    let checked = acpd(&place, &["config", "check"]);
    assert_eq!(checked.code, Some(2));
    let lines: Vec<&str> = checked.stderr.lines().collect();
    assert_eq!(lines.len(), 5, "{}", checked.stderr);
    for (line, part) in lines.iter().zip([
        "is wrong:",
        "  line 1, at listen: ",
        "  line 3, at agents.fake: unknown key \"comand\"",
        "  limits.queued_turns is 0",
        "  line 6, at limits: unknown key \"foo\"",
    ]) {
        assert!(line.contains(part), "{part}: {}", checked.stderr);
    }
    let as_json: Value = serde_json::from_str(&acpd(&place, &["config", "check", "--json"]).stdout).unwrap();
    assert_eq!(as_json["errors"].as_array().map(Vec::len), Some(4), "{as_json}");
    // Other commands name the first one.
    let refused = acpd(&place, &["serve"]);
    assert!(refused.stderr.contains("line 1, at listen"), "{}", refused.stderr);
}

#[test]
fn a_missing_file_is_named_with_the_variable_that_names_it() {
    let place = Place::new("");
    std::fs::remove_file(place.config()).unwrap();
    let missing = acpd(&place, &["threads"]);
    assert_eq!(missing.code, Some(2));
    let expected = format!(
        "{}, which ACPD_CONFIG names, cannot be read",
        place.config().display()
    );
    assert!(missing.stderr.contains(&expected), "{}", missing.stderr);
}

#[test]
fn a_wrong_file_stops_no_command_that_does_without_it() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.turn(&thread, "say hello");
    daemon.place.configure("[policy");
    for args in [
        &["threads"][..],
        &["show", &thread],
        &["status"],
        &["search", "hello"],
    ] {
        let done = acpd(&daemon.place, args);
        assert_eq!(done.code, Some(0), "{args:?}: {}", done.stderr);
        assert!(
            done.stderr.contains("warning: the configuration"),
            "{}",
            done.stderr
        );
    }
    let run = acpd(&daemon.place, &["run", "--agent", "fake", "say again"]);
    assert_eq!(
        (run.code, &run.stdout[..]),
        (Some(0), "again\n"),
        "{}",
        run.stderr
    );
    // A restart would leave the user without a daemon.
    assert_eq!(acpd(&daemon.place, &["restart"]).code, Some(2));
    assert_eq!(acpd(&daemon.place, &["threads"]).code, Some(0));
}

#[test]
fn paths_start_at_the_file() {
    let place = Place::new("");
    place.configure("data_dir = \"mine\"\n");
    let status = |directory: &std::path::Path| {
        let mut command = place.command(&["status", "--json"]);
        let status = outcome(command.env_remove("ACPD_DATA_DIR").current_dir(directory));
        let status: Value = serde_json::from_str(&status.stdout).unwrap();
        status["dataDir"].clone()
    };
    let expected = place.config().with_file_name("mine");
    assert_eq!(status(&place.work()), json!(expected));
    place.configure("data_dir = \"~/acpd\"\n");
    assert_eq!(status(&place.work()), json!(place.home().join("acpd")));
    assert!(!place.work().join("~").exists());
}

#[test]
fn a_running_daemon_applies_changes_of_agents_and_limits() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let start = json!({ "agentType": "new", "cwd": daemon.place.work() });
    assert_eq!(
        client.refused("thread/start", &start)["data"]["code"],
        "not_found"
    );
    let fake = daemon.place.agent("fake", &["--pace", "0"], &[]);
    let new = daemon.place.agent("new", &["--pace", "0"], &[]);
    daemon
        .place
        .configure(&format!("{fake}{new}[limits]\nqueued_turns = 1\n"));
    let knows = |client: &mut Client| {
        let listed = client.call("agent/list", &json!({}));
        listed["data"]
            .as_array()
            .unwrap()
            .iter()
            .any(|agent| agent["id"] == "new")
    };
    let logged = |text: &str| wait_until(text, || daemon.log().contains(text));
    logged("reloaded agents, limits");
    assert!(knows(&mut client));
    let thread = client.call("thread/start", &start)["thread"]["id"].clone();
    let turn = |text: &str| json!({ "threadId": thread, "text": text });
    client.call("turn/start", &turn("slow ms=600000"));
    client.call("turn/start", &turn("say queued"));
    let refused = client.refused("turn/start", &turn("say too many"));
    assert!(
        refused["message"].as_str().unwrap().contains("limit"),
        "{refused}"
    );

    // A wrong file changes nothing, and what needs a restart is said in the log.
    daemon.place.configure("[agents.fake");
    logged("configuration not reloaded");
    assert!(knows(&mut client));
    daemon.place.configure(&format!("durability = \"power\"\n{fake}"));
    logged("changes of durability need a restart");
    assert!(!knows(&mut client));
}

#[test]
fn an_agent_of_the_registry_is_refined_without_its_command() {
    let place = Place::new("[agents.codex-acp]\nenv = { KEY = \"value\" }\ntitle = \"My Codex\"\n");
    let bin = place.work().join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink("/bin/true", bin.join("codex-acp")).unwrap();
    let mut command = place.command(&["agents", "list", "--json"]);
    let listed = outcome(command.env("PATH", &bin));
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    let mut agents = listed
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let agent = agents.find(|agent| agent["id"] == "codex-acp").unwrap();
    assert_eq!(agent["source"], "config");
    assert_eq!(agent["title"], "My Codex");
    assert_eq!(agent["installed"], true, "{agent}");
    assert!(
        agent["command"][0].as_str().unwrap().ends_with("/codex-acp"),
        "{agent}"
    );
    let policy = acpd(&place, &["policy", "test", "--agent", "opencode", "--bash", "ls"]);
    assert_eq!(policy.code, Some(10), "{}", policy.stderr);
}

#[test]
fn a_program_in_the_way_is_named() {
    let daemon = Daemon::start();
    let second = acpd(&daemon.place, &["serve"]);
    assert_eq!(second.code, Some(1));
    let expected = format!("is in use by another acpd (process {}, http://", daemon.pid());
    assert!(second.stderr.contains(&expected), "{}", second.stderr);
    assert!(second.stderr.contains("acpd stop"), "{}", second.stderr);

    let place = Place::new("");
    let address = daemon.address().to_string();
    let taken = acpd(&place, &["serve", "--listen", &address]);
    assert_eq!(taken.code, Some(1));
    let expected =
        format!("cannot listen on {address}: another acpd, with another data directory, listens there");
    assert!(taken.stderr.contains(&expected), "{}", taken.stderr);
    assert!(!taken.stderr.contains("INFO"), "{}", taken.stderr);
}

#[test]
fn a_restart_keeps_the_address_that_a_flag_named() {
    let place = Place::new("");
    place.configure("");
    assert_eq!(acpd(&place, &["threads"]).code, Some(0));
    let first = place.background();
    let address = |place: &Place| {
        let status: Value = serde_json::from_str(&acpd(place, &["status", "--json"]).stdout).unwrap();
        status["address"].clone()
    };
    let before = address(&place);
    let restarted = acpd(&place, &["restart"]);
    assert_eq!(restarted.code, Some(0), "{}", restarted.stderr);
    let _second = place.background();
    assert_eq!(address(&place), before);
    drop(first);
}

/// Returns a daemon with two agents and comments in its configuration, and the text of that.
fn with_two_agents() -> (Daemon, String) {
    let place = Place::new("");
    let (fake, other) = (
        place.agent("fake", &["--pace", "0"], &[]),
        place.agent("other", &["--pace", "0"], &[]),
    );
    let text = format!("# Mine.\n\n# The first.\n{fake}\n# The second.\n{other}");
    place.configure(&text);
    (Daemon::at(place), text)
}

fn default_of(client: &mut Client) -> Option<String> {
    let listed = client.call("agent/list", &json!({}));
    let mut agents = listed["data"].as_array().expect("agents are listed").iter();
    let default = agents.find(|agent| agent["isDefault"] == true)?;
    default["id"].as_str().map(str::to_owned)
}

#[test]
fn the_owner_sets_the_default_agent() {
    let (mut daemon, text) = with_two_agents();
    let mut client = Client::new(&daemon);
    assert_eq!(default_of(&mut client), None);
    let set = json!({ "agentType": "other" });
    let changed = client.call("config/agent/set", &set);
    assert_eq!(changed, json!({ "file": daemon.place.config(), "changed": true }));
    // At once: the answer comes after the reload.
    assert_eq!(default_of(&mut client).as_deref(), Some("other"));
    let written = std::fs::read_to_string(daemon.place.config()).unwrap();
    assert_eq!(
        written,
        text.replace("# Mine.\n\n", "# Mine.\n\ndefault_agent = \"other\"\n\n")
    );
    assert_eq!(client.call("config/agent/set", &set)["changed"], false);
    assert!(
        daemon.log().contains("a client has changed the configuration"),
        "{}",
        daemon.log()
    );
    let run = acpd(&daemon.place, &["run", "say hello"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let listed = client.call("thread/list", &json!({}));
    assert_eq!(listed["data"][0]["agentType"], "other", "{listed}");

    daemon.stop();
    daemon.restart();
    let mut client = Client::new(&daemon);
    assert_eq!(default_of(&mut client).as_deref(), Some("other"));
    assert_eq!(
        client.refused("config/agent/set", &json!({ "agentType": "none" }))["data"]["code"],
        "not_found"
    );

    let commands = |args: &[&str]| acpd(&daemon.place, args);
    assert_eq!(commands(&["agents", "default"]).stdout, "other\n");
    let set = commands(&["agents", "default", "fake"]);
    assert_eq!(
        (set.code, set.stdout),
        (
            Some(0),
            format!("fake is the default agent: {}\n", daemon.place.config().display())
        )
    );
    assert_eq!(default_of(&mut client).as_deref(), Some("fake"));
    let unknown = commands(&["agents", "default", "fak"]);
    assert!(
        unknown.code != Some(0) && unknown.stderr.contains("fak"),
        "{}",
        unknown.stderr
    );
    assert_eq!(commands(&["agents", "default", "--none"]).code, Some(0));
    assert_eq!(default_of(&mut client), None);
    assert_eq!(std::fs::read_to_string(daemon.place.config()).unwrap(), {
        // The blank line that set the setting off is left.
        text.replace("# Mine.\n\n", "# Mine.\n\n\n")
    });
}

#[test]
fn the_owner_sets_the_preset_of_all_agents_or_of_one() {
    let (daemon, _) = with_two_agents();
    let mut client = Client::new(&daemon);
    let read = |client: &mut Client| client.call("policy/read", &json!({ "agentType": "fake" }));
    client.call("config/policy/set", &json!({ "preset": "readonly" }));
    let policies = read(&mut client);
    assert!(policies["daemon"].to_string().contains("readonly"), "{policies}");
    assert_eq!(policies["agent"], Value::Null);
    client.call(
        "config/policy/set",
        &json!({ "agentType": "fake", "preset": "standard" }),
    );
    let policies = read(&mut client);
    assert!(policies["agent"].to_string().contains("standard"), "{policies}");
    client.call("config/policy/set", &json!({ "preset": null }));
    assert_eq!(read(&mut client)["daemon"], Value::Null);
    for wrong in [
        json!({ "preset": "none" }),
        json!({ "preset": { "allow": ["*"] } }),
    ] {
        let refused = client.refused("config/policy/set", &wrong);
        assert_eq!(refused["data"]["code"], "invalid_params", "{refused}");
    }

    let text = std::fs::read_to_string(daemon.place.config()).unwrap();
    let rules = format!("{text}\n[policy]\ndeny = [\"Bash(rm *)\"]\n");
    daemon.place.configure(&rules);
    let refused = client.refused("config/policy/set", &json!({ "preset": "permissive" }));
    assert_eq!(refused["data"]["code"], "conflict", "{refused}");
    assert!(refused.to_string().contains("rules of its own"), "{refused}");
    assert_eq!(std::fs::read_to_string(daemon.place.config()).unwrap(), rules);
}

#[test]
fn a_configuration_that_cannot_be_changed_stays_as_it_is() {
    let (daemon, text) = with_two_agents();
    let mut client = Client::new(&daemon);
    let set = json!({ "agentType": "other" });
    let mut refused = |text: &str, part: &str| {
        let refused = client.refused("config/agent/set", &set);
        assert_eq!(refused["data"]["code"], "conflict", "{refused}");
        assert!(refused.to_string().contains(part), "{part}: {refused}");
        assert_eq!(
            std::fs::read_to_string(daemon.place.config()).unwrap(),
            text,
            "{part}"
        );
    };
    daemon.place.configure("[agents.fake\n");
    refused("[agents.fake\n", "acpd config check");
    daemon.place.configure(&text);
    let mut mode = daemon.place.config().metadata().unwrap().permissions();
    mode.set_readonly(true);
    std::fs::set_permissions(daemon.place.config(), mode).unwrap();
    refused(&text, "read-only");

    let made = acpd(
        &daemon.place,
        &["token", "create", "--name", "phone", "--role", "operator"],
    );
    let mut operator = Client::with_token(&daemon, made.stdout.trim());
    for (method, params) in [
        ("config/agent/set", json!({ "agentType": "other" })),
        ("config/policy/set", json!({ "preset": "permissive" })),
        (
            "config/folder/add",
            json!({ "agentType": "fake", "folder": daemon.place.work() }),
        ),
    ] {
        let refused = operator.refused(method, &params);
        assert_eq!(refused["data"]["code"], "forbidden", "{method}: {refused}");
    }
}
