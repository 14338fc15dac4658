//! `acpd agents`: the list, the registry, installing and `doctor`. Also a thread with an agent that is not configured.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use acpd_loopback::{serve, sha256};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{
    Client, Daemon, Outcome, Place, Running, Screen, acpd, copy_surroundings, exists, fake_agent,
    needs_sandboxes, outcome, signal, wait_until, without_terminal,
};

/// Returns a script that runs the fake agent and ignores its arguments.
fn agent_script() -> String {
    format!("#!/bin/sh\nexec '{}' --pace 0\n", fake_agent().display())
}

/// Allows scripts in agents' sandboxes to run the fake agent.
fn reads_fake_agent() -> String {
    format!("[sandbox]\nread = [{:?}]\n", fake_agent().display().to_string())
}

/// Returns a registry with the agent `looped`, whose checksum is right, `wrong`, whose checksum is wrong, and a broken
/// entry.
fn registry(address: SocketAddr) -> String {
    let os = if cfg!(target_os = "macos") {
        "darwin"
    } else {
        "linux"
    };
    let platform = format!("{os}-{}", std::env::consts::ARCH);
    let right = sha256(agent_script());
    let entry = |id: &str, sum: &str| {
        json!({ "id": id, "name": "Looped", "version": "1.2.3", "description": "d", "distribution": { "binary": {
            &platform: { "archive": format!("http://{address}/agent"), "cmd": "./agent", "sha256": sum },
        } } })
    };
    let agents = [
        entry("looped", &right),
        entry("wrong", &"0".repeat(64)),
        json!({ "id": "broken" }),
    ];
    json!({ "version": "1.0.0", "agents": agents }).to_string()
}

fn serve_registry() -> SocketAddr {
    serve(|address| {
        [
            ("/registry.json", registry(address).into()),
            ("/agent", agent_script().into()),
        ]
    })
}

/// Runs `acpd` with only `programs` on `PATH`.
fn with_programs(place: &Place, programs: &[(&str, &str)], args: &[&str]) -> Outcome {
    outcome(place.command(args).env("PATH", put_programs(place, programs)))
}

/// Writes programs, and returns their directory.
fn put_programs(place: &Place, programs: &[(&str, &str)]) -> PathBuf {
    let bin: PathBuf = place.work().join("bin");
    std::fs::create_dir_all(&bin).expect("it can be made");
    for (name, script) in programs {
        std::fs::write(bin.join(name), script).expect("it can be written");
        std::fs::set_permissions(bin.join(name), std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    }
    bin
}

fn rows(listed: &Outcome) -> Vec<Vec<&str>> {
    let lines = listed.stdout.lines();
    lines
        .map(|line| {
            line.split("  ")
                .map(str::trim)
                .filter(|cell| !cell.is_empty())
                .collect()
        })
        .collect()
}

#[test]
fn the_list_has_the_configuration_then_the_registry() {
    let place = Place::new(
        "[agents.gone]\ncommand = \"/no/such/agent\"\n[agents.gemini]\ncommand = \"gemini\"\nargs = [\"--acp\", \"-x\"]\n",
    );
    let programs = [("npx", "#!/bin/sh\n"), ("codex-acp", "#!/bin/sh\n")];
    let listed = with_programs(&place, &programs, &["agents", "list"]);
    assert_eq!((listed.code, listed.stderr.as_str()), (Some(0), ""));
    let rows = rows(&listed);
    assert_eq!(rows[0], ["NAME", "SOURCE", "VERSION", "RUNS"]);
    let row = |name: &str| {
        rows.iter()
            .find(|row| row[0] == name)
            .unwrap_or_else(|| panic!("{name}: {rows:?}"))
    };
    assert_eq!(row("fake"), &["fake", "config", "-", "acpd-fake-agent --pace 0"]);
    assert_eq!(
        row("gone"),
        &[
            "gone",
            "config",
            "-",
            "not yet: \"/no/such/agent\" was not found or may not be executed"
        ]
    );
    // The configured program is missing, and the registry has another way to run it; the arguments are the configured
    // ones.
    let gemini = row("gemini");
    assert_eq!(gemini[1], "config");
    assert!(
        gemini[3].starts_with("npx --yes @google/gemini-cli@") && gemini[3].ends_with(" --acp -x"),
        "{gemini:?}"
    );
    assert_eq!(row("codex-acp"), &["codex-acp", "registry", "-", "codex-acp"]);
    let claude = row("claude-acp");
    assert_eq!(
        claude[3],
        format!("npx --yes @agentclientprotocol/claude-agent-acp@{}", claude[2])
    );
    assert!(
        row("fast-agent")[3].starts_with("not yet: the agent \"fast-agent\" needs uvx"),
        "{rows:?}"
    );
    assert!(
        row("goose")[3].contains("run \"acpd agents install goose\""),
        "{rows:?}"
    );
    assert_eq!(rows.iter().filter(|row| row[0] == "gemini").count(), 1);

    let json = with_programs(&place, &[], &["agents", "list", "--json"]);
    let agents: Vec<Value> = json
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let codex = agents.iter().find(|agent| agent["id"] == "codex-acp").unwrap();
    assert_eq!(
        (&codex["runs"], &codex["installed"], &codex["reason"]),
        (&json!("path"), &json!(true), &Value::Null)
    );
    let goose = agents.iter().find(|agent| agent["id"] == "goose").unwrap();
    assert_eq!(
        (&goose["runs"], &goose["installed"]),
        (&Value::Null, &json!(false))
    );
}

#[test]
fn an_agent_is_fetched_and_runs_without_configuration() {
    let address = serve_registry();
    let place = Place::new("");
    place.configure(&format!(
        "registry_url = \"http://{address}/registry.json\"\n{}",
        reads_fake_agent()
    ));
    let unknown = acpd(&place, &["agents", "install", "looped"]);
    assert_eq!(unknown.code, Some(5));
    assert!(
        unknown.stderr.contains("agent \"looped\" does not exist"),
        "{}",
        unknown.stderr
    );

    let updated = acpd(&place, &["agents", "update"]);
    assert_eq!(updated.code, Some(0), "{}", updated.stderr);
    assert_eq!(
        updated.stdout,
        format!("2 agents from http://{address}/registry.json\n")
    );
    assert!(
        updated
            .stderr
            .contains("left out of the registry: \"broken\": missing field"),
        "{}",
        updated.stderr
    );

    let wrong = acpd(&place, &["agents", "install", "wrong"]);
    assert_eq!((wrong.code, wrong.stdout.as_str()), (Some(1), ""));
    assert!(wrong.stderr.contains("its sha256 is"), "{}", wrong.stderr);

    let daemon = Daemon::at(place);
    let mut client = Client::new(&daemon);
    let start = json!({ "agentType": "looped", "cwd": daemon.place.work() });
    let missing = client.refused("thread/start", &start);
    assert_eq!(missing["code"], -32008, "{missing}");
    assert!(
        missing["message"]
            .as_str()
            .unwrap()
            .contains("acpd agents install looped"),
        "{missing}"
    );

    // The running daemon uses it immediately.
    let installed = acpd(&daemon.place, &["agents", "install", "looped"]);
    assert_eq!(installed.code, Some(0), "{}", installed.stderr);
    assert!(
        installed.stdout.starts_with("installed looped 1.2.3: "),
        "{}",
        installed.stdout
    );
    let listed = client.call("agent/list", &json!({}));
    let looped = listed["data"]
        .as_array()
        .unwrap()
        .iter()
        .find(|agent| agent["id"] == "looped")
        .unwrap();
    assert_eq!(
        (
            &looped["source"],
            &looped["runs"],
            &looped["installed"],
            &looped["version"]
        ),
        (
            &json!("installed"),
            &json!("installed"),
            &json!(true),
            &json!("1.2.3")
        )
    );
    let run = acpd(&daemon.place, &["run", "--agent", "looped", "say 'Here I am.'"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stdout.contains("Here I am."), "{}", run.stdout);

    // An agent that was removed from the registry stays installed.
    let other = serve(|_| {
        [("/r", r#"{ "agents": [{ "id": "a", "name": "A", "version": "1", "distribution": { "npx": { "package": "a" } } }] }"#.into())]
    });
    let url = format!("http://{other}/r");
    assert_eq!(
        acpd(&daemon.place, &["agents", "update", "--url", &url]).code,
        Some(0)
    );
    let doctor = acpd(&daemon.place, &["agents", "doctor", "looped"]);
    assert_eq!(doctor.code, Some(0), "{}", doctor.stdout);

    let busy = acpd(&daemon.place, &["agents", "uninstall", "looped"]);
    assert_eq!(busy.code, Some(1));
    assert!(busy.stderr.contains("looped is running"), "{}", busy.stderr);
    let thread = acpd(&daemon.place, &["delete", "--yes", "say 'Here I am.'"]);
    assert_eq!(thread.code, Some(0), "{}", thread.stderr);
    daemon.place.wait_for_no_agents();
    let removed = acpd(&daemon.place, &["agents", "uninstall", "looped"]);
    assert_eq!(
        (removed.code, &removed.stdout[..]),
        (Some(0), "uninstalled looped 1.2.3\n"),
        "{}",
        removed.stderr
    );
    let gone = acpd(&daemon.place, &["agents", "uninstall", "looped"]);
    assert_eq!(gone.code, Some(5), "{}", gone.stderr);
    assert!(gone.stderr.contains("not installed by acpd"), "{}", gone.stderr);
    let missing = client.refused("thread/start", &start);
    assert!(
        missing["message"].as_str().unwrap().contains("does not exist"),
        "{missing}"
    );
}

/// An npm that says what it does and waits for the file `go` beside it. With the file `fail`, it fails.
const SLOW_NPM: &str = r#"#!/bin/sh
bin="${0%/*}"
echo "fetching gemini; secret: ${MY_SECRET:-none}; proxy: ${HTTPS_PROXY:-none}; registry: ${npm_config_registry:-none}"
while ! [ -e "$bin/go" ]; do /bin/sleep 0.02; done
if [ -e "$bin/fail" ]; then echo "ENOENT: no such registry" >&2; exit 7; fi
/bin/mkdir -p "$3/node_modules/@google/gemini-cli" "$3/node_modules/.bin"
echo '{ "bin": { "gemini": "x.js" } }' > "$3/node_modules/@google/gemini-cli/package.json"
/bin/cp "$bin/agent" "$3/node_modules/.bin/gemini"
"#;

fn listed(client: &mut Client, id: &str) -> Value {
    let agents = client.call("agent/list", &json!({}));
    let mut agents = agents["data"].as_array().expect("an array").iter();
    let found = agents.find(|agent| agent["id"] == id);
    found.expect("the agent is listed").clone()
}

#[test]
fn a_client_installs_an_agent_and_others_see_the_progress() {
    let place = Place::new("");
    place.configure(&reads_fake_agent());
    let bin = put_programs(&place, &[("npm", SLOW_NPM), ("agent", &agent_script())]);
    let place = place
        .with_env("PATH", &bin)
        .with_env("MY_SECRET", "s3cret")
        .with_env("HTTPS_PROXY", "http://127.0.0.1:9")
        .with_env("npm_config_registry", "http://127.0.0.1:9/npm");
    let daemon = Daemon::at(place);
    let (mut owner, mut other) = (Client::new(&daemon), Client::observer(&daemon));
    assert_eq!(listed(&mut other, "gemini")["installsBy"], "npm");
    assert_eq!(listed(&mut other, "goose")["installsBy"], "download");
    // Neither uv nor python3 is there.
    assert!(listed(&mut other, "fast-agent")["installsBy"].is_null());

    std::fs::write(bin.join("fail"), "").unwrap();
    std::fs::write(bin.join("go"), "").unwrap();
    let failed = owner.refused("agent/install", &json!({ "agentType": "gemini" }));
    let message = failed["message"].as_str().unwrap();
    assert_eq!(failed["data"]["code"], "agent_failed", "{failed}");
    assert!(
        message.contains("npm could not install @google/gemini-cli@"),
        "{message}"
    );
    assert!(message.contains("ENOENT: no such registry"), "{message}");
    let after = listed(&mut other, "gemini");
    assert_eq!(
        (&after["installed"], &after["installing"]),
        (&json!(false), &Value::Null)
    );

    std::fs::remove_file(bin.join("fail")).unwrap();
    std::fs::remove_file(bin.join("go")).unwrap();
    let first = owner.request("agent/install", &json!({ "agentType": "gemini" }));
    // The answer to a request does not hold up those after it.
    let shown = loop {
        let shown = listed(&mut owner, "gemini")["installing"].clone();
        if shown["line"].is_string() {
            break shown;
        }
    };
    assert_eq!(
        shown,
        json!({
            "step": "installing",
            "line": "fetching gemini; secret: none; proxy: http://127.0.0.1:9; registry: http://127.0.0.1:9/npm",
        })
    );
    assert_eq!(listed(&mut other, "gemini")["installing"], shown);
    let second = owner.request("agent/install", &json!({ "agentType": "gemini" }));
    std::fs::write(bin.join("go"), "").unwrap();
    for id in [first, second] {
        let answer = owner.answer(id).unwrap();
        assert_eq!(
            (&answer["agent"]["runs"], &answer["agent"]["installed"]),
            (&json!("installed"), &json!(true))
        );
    }
    let start = json!({ "agentType": "gemini", "cwd": daemon.place.work(), "text": "say hello" });
    assert!(owner.call("thread/start", &start)["thread"]["id"].is_string());

    for (agent, code) in [("nobody", "not_found"), ("fast-agent", "agent_failed")] {
        let refused = owner.refused("agent/install", &json!({ "agentType": agent }));
        assert_eq!(refused["data"]["code"], code, "{refused}");
    }
}

/// An npm that lists a package with an install script, and reads and writes whatever it can.
const CURIOUS_NPM: &str = r#"#!/bin/sh
bin="${0%/*}"
if [ "$1" = install ]; then
    /bin/mkdir -p "$3/node_modules/@google/gemini-cli" "$3/node_modules/.bin"
    echo '{ "bin": { "gemini": "x.js" } }' > "$3/node_modules/@google/gemini-cli/package.json"
    echo '{ "packages": { "node_modules/@s/b": { "version": "2.0.0", "hasInstallScript": true } } }' \
        > "$3/node_modules/.package-lock.json"
    /bin/cp "$bin/agent" "$3/node_modules/.bin/gemini"
fi
for file in "$HOME/.npmrc" "$HOME/.ssh/id" "$HOME/data/token" "$HOME/acpd.toml" "$HOME/.codex/auth.json"; do
    /bin/cat "$file" >> "$3/read-by-$1" 2>/dev/null
done
for file in "$HOME/.bashrc" "$HOME/.npm/x" "$HOME/data/x" "$HOME/work/x" "/tmp/.acpd-test-$$"; do
    { echo x > "$file"; } 2>/dev/null && echo "$file" >> "$3/written"
done
exit 0
"#;

/// Returns a place whose home has secrets.
fn place_with_secrets() -> Place {
    let place = Place::away("");
    for (file, text) in [
        (".npmrc", "registry"),
        (".ssh/id", "key"),
        (".codex/auth.json", "key"),
        (".npm/y", ""),
    ] {
        let file = place.home().join(file);
        let folder = file.parent().expect("a file is in a folder");
        std::fs::create_dir_all(folder).expect("a folder can be made");
        std::fs::write(file, text).expect("a file can be written");
    }
    place.make_data();
    std::fs::write(place.data().join("token"), "token").expect("a file can be written");
    place
}

#[test]
#[cfg(target_os = "linux")]
fn an_installer_reaches_its_own_directory_and_runs_scripts_if_wanted() {
    let place = place_with_secrets();
    let agent = agent_script();
    let programs = [("npm", CURIOUS_NPM), ("agent", agent.as_str())];
    let without: &[&str] = &[];
    for (option, read_by_scripts) in [(without, None), (&["--run-scripts"], Some(""))] {
        let args = [&["agents", "install", "gemini", "--json"][..], option].concat();
        let installed = with_programs(&place, &programs, &args);
        assert_eq!(installed.code, Some(0), "{}", installed.stderr);
        let is_named = installed.stderr.contains("@s/b@2.0.0") && installed.stderr.contains("--run-scripts");
        assert_eq!(is_named, option.is_empty(), "{}", installed.stderr);
        let report: Value = serde_json::from_str(&installed.stdout).unwrap();
        let command = PathBuf::from(report["command"].as_str().unwrap());
        let folder = command.ancestors().nth(3).unwrap();
        let text = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
        assert_eq!(text("read-by-install").as_deref(), Some("registry"));
        assert_eq!(text("read-by-rebuild").as_deref(), read_by_scripts);
        assert_eq!(text("written"), None);
    }
}

/// A uv, or a Python with pip, that reads and writes whatever it can.
const CURIOUS_PYTHON: &str = r#"#!/bin/sh
for last; do :; done
/bin/mkdir -p venv/bin
case "$*" in
"-m venv "*) /bin/cp "$0" venv/bin/python ;;
"venv "*) ;;
*) : > "venv/bin/${last%%=*}" ;;
esac
for file in "$HOME/.ssh/id" "$HOME/data/token" "$HOME/acpd.toml" "$HOME/.codex/auth.json"; do
    /bin/cat "$file" >> read 2>/dev/null
done
for file in "$HOME/.bashrc" "$HOME/.npm/x" "$HOME/data/x" "$HOME/work/x" "/tmp/.acpd-test-$$"; do
    { echo x > "$file"; } 2>/dev/null && echo "$file" >> written
done
exit 0
"#;

#[test]
#[cfg(target_os = "linux")]
fn installers_of_python_packages_reach_their_own_directory() {
    let place = place_with_secrets();
    for installer in ["uv", "python3"] {
        let programs = [(installer, CURIOUS_PYTHON)];
        let installed = with_programs(&place, &programs, &["agents", "install", "fast-agent", "--json"]);
        assert_eq!(installed.code, Some(0), "{installer}: {}", installed.stderr);
        let report: Value = serde_json::from_str(&installed.stdout).unwrap();
        let command = PathBuf::from(report["command"].as_str().unwrap());
        let folder = command.ancestors().nth(3).unwrap();
        let text = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
        assert_eq!(
            (text("read").as_deref(), text("written")),
            (Some(""), None),
            "{installer}"
        );
        std::fs::remove_file(place.work().join("bin").join(installer)).unwrap();
    }
}

/// An npm in another directory than its link on `PATH`, with a part beside it. Its settings are where variables say.
const LINKED_NPM: &str = r#"#!/bin/sh
if [ "$1" = install ]; then
    /bin/mkdir -p "$3/node_modules/@google/gemini-cli" "$3/node_modules/.bin"
    echo '{ "bin": { "gemini": "x.js" } }' > "$3/node_modules/@google/gemini-cli/package.json"
    echo '{ "packages": { "node_modules/@s/b": { "version": "2.0.0", "hasInstallScript": true } } }' \
        > "$3/node_modules/.package-lock.json"
    : > "$3/node_modules/.bin/gemini"
fi
for file in away/bin/part settings/npmrc settings/ca.pem .config/uv/uv.toml listed other; do
    /bin/cat "$HOME/$file" >> "$3/read-by-$1" 2>/dev/null
done
exit 0
"#;

#[test]
#[cfg(target_os = "linux")]
fn an_installer_that_is_elsewhere_reads_its_parts_and_settings() {
    let place = Place::away("[sandbox]\nread = [\"~/listed\"]\n");
    let at = |file: &str| place.home().join(file);
    for (file, text) in [
        ("away/bin/npm", LINKED_NPM),
        ("away/bin/part", "part "),
        ("settings/npmrc", "npmrc "),
        ("settings/ca.pem", "certificate "),
        (".config/uv/uv.toml", "uv "),
        ("listed", "listed "),
        ("other", "other "),
    ] {
        std::fs::create_dir_all(at(file).parent().unwrap()).unwrap();
        std::fs::write(at(file), text).unwrap();
    }
    std::fs::set_permissions(at("away/bin/npm"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let bin = put_programs(&place, &[]);
    std::os::unix::fs::symlink(at("away/bin/npm"), bin.join("npm")).unwrap();
    let installed = outcome(
        place
            .command(&["agents", "install", "gemini", "--json", "--run-scripts"])
            .env("PATH", &bin)
            .env("NPM_CONFIG_USERCONFIG", at("settings/npmrc"))
            .env("NODE_EXTRA_CA_CERTS", at("settings/ca.pem")),
    );
    assert_eq!(installed.code, Some(0), "{}", installed.stderr);
    let report: Value = serde_json::from_str(&installed.stdout).unwrap();
    let command = PathBuf::from(report["command"].as_str().unwrap());
    let text = |name: &str| {
        std::fs::read_to_string(command.ancestors().nth(3).unwrap().join(name)).unwrap_or_default()
    };
    assert_eq!(text("read-by-install"), "part npmrc certificate uv listed ");
    assert_eq!(text("read-by-rebuild"), "part certificate listed ");
}

#[test]
fn a_client_installs_a_download() {
    let address = serve_registry();
    let place = Place::new("");
    let config = format!(
        "registry_url = \"http://{address}/registry.json\"\n[agents.mine]\ncommand = \"no-such\"\n{}",
        reads_fake_agent()
    );
    place.configure(&config);
    assert_eq!(acpd(&place, &["agents", "update"]).code, Some(0));
    let daemon = Daemon::at(place);
    let mut client = Client::new(&daemon);
    let wrong = client.refused("agent/install", &json!({ "agentType": "wrong" }));
    assert!(
        wrong["message"].as_str().unwrap().contains("its sha256 is"),
        "{wrong}"
    );
    let installed = client.call("agent/install", &json!({ "agentType": "looped" }));
    assert_eq!(installed["agent"]["source"], "installed");
    let unknown = client.refused("agent/install", &json!({ "agentType": "mine" }));
    assert_eq!(unknown["data"]["code"], "unsupported", "{unknown}");
}

#[test]
fn an_update_that_fails_changes_nothing() {
    let place = Place::new("");
    let before = acpd(&place, &["agents", "list"]).stdout;
    let address = serve(|_| [("/html", "<html>".into())]);
    for (url, reason) in [
        (format!("http://{address}/html"), "invalid ACP registry document"),
        (format!("http://{address}/none"), "404"),
        ("http://example.org/registry.json".to_owned(), "only https"),
        ("file:///etc/passwd".to_owned(), "only https"),
    ] {
        let refused = acpd(&place, &["agents", "update", "--url", &url]);
        assert_eq!(refused.code, Some(1), "{url}");
        assert!(refused.stderr.contains(reason), "{url}: {}", refused.stderr);
    }
    assert_eq!(acpd(&place, &["agents", "list"]).stdout, before);
}

#[test]
fn a_look_at_an_agent_that_works() {
    let place = Place::new("");
    let told = acpd(&place, &["agents", "doctor", "fake"]);
    assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""));
    for part in [
        "works: ACP version 1, ready after ",
        "agent: ",
        "authentication methods: ",
        "can: ",
        "loadSession",
    ] {
        assert!(told.stdout.contains(part), "{part:?} is missing: {}", told.stdout);
    }
    let told = acpd(&place, &["agents", "doctor", "fake", "--json"]);
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    let report: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(
        (&report["id"], &report["ok"], &report["runs"]),
        (&json!("fake"), &json!(true), &json!("path"))
    );
    assert_eq!(report["hello"]["protocolVersion"], 1);
    assert!(report["hello"]["agentCapabilities"].is_object(), "{report}");
    assert!(report["hello"]["agentInfo"]["name"].is_string(), "{report}");
    assert_eq!(report["error"], Value::Null);
    // Doctor has opened no session, and leaves no process or log behind.
    place.wait_for_no_agents();
    assert!(!place.data().join("log.db").exists());
}

#[test]
fn clients_have_an_agent_looked_at_as_well() {
    let daemon = Daemon::with("[agents.gone]\ncommand = \"no-such-program\"\n");
    let mut client = Client::new(&daemon);
    let told = client.call("agent/doctor", &json!({ "agentType": "fake" }));
    assert_eq!(
        (
            &told["agentType"],
            &told["error"],
            &told["hello"]["protocolVersion"]
        ),
        (&json!("fake"), &Value::Null, &json!(1))
    );
    assert!(told["hello"]["agentInfo"]["name"].is_string(), "{told}");
    let refused = client.refused("agent/doctor", &json!({ "agentType": "gone" }));
    assert!(
        refused["message"].as_str().unwrap().contains("no-such-program"),
        "{refused}"
    );
    let unknown = client.refused("agent/doctor", &json!({ "agentType": "nobody" }));
    assert_eq!(unknown["data"]["code"], "not_found", "{unknown}");
}

#[test]
fn a_look_at_an_agent_that_npx_runs() {
    let place = Place::new("");
    place.configure(&reads_fake_agent());
    let npx = format!(
        "#!/bin/sh\necho \"args: $*\" >&2\necho 'npm notice'\nexec '{}'\n",
        fake_agent().display()
    );
    let told = with_programs(
        &place,
        &[("npx", &npx)],
        &["agents", "doctor", "gemini", "--json"],
    );
    assert_eq!(told.code, Some(0), "{} {}", told.stdout, told.stderr);
    let report: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(
        (&report["runs"], &report["strayLines"]),
        (&json!("npx"), &json!(["npm notice"]))
    );
    let stderr = report["stderr"].as_str().unwrap();
    assert!(
        stderr.starts_with("args: --yes @google/gemini-cli@") && stderr.contains(" --acp"),
        "{stderr}"
    );
}

#[test]
fn a_check_of_a_program_that_is_not_an_agent() {
    let config = r#"
        [agents.talks]
        command = "/bin/sh"
        args = ["-c", "echo hello; echo oops >&2; exit 3"]
        [agents.refuses]
        command = "/bin/sh"
        args = ["-c", "read line; echo '{\"jsonrpc\":\"2.0\",\"id\":0,\"error\":{\"code\":-32000,\"message\":\"no licence\"}}'; read line"]
        [agents.future]
        command = "/bin/sh"
        args = ["-c", "read line; printf '{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":2}}'"]
        [agents.odd]
        command = "/bin/sh"
        args = ["-c", "read line; echo '{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}'"]
    "#;
    let place = Place::new(config);
    for (name, parts) in [
        (
            "talks",
            &[
                "exited with code 3 before it answered initialize",
                "no message: hello",
                "  oops",
            ][..],
        ),
        ("refuses", &["it refused initialize", "no licence"]),
        ("future", &["agent supports ACP version 2"]),
        ("odd", &["has no protocolVersion"]),
    ] {
        let told = acpd(&place, &["agents", "doctor", name]);
        assert_eq!(told.code, Some(1), "{name}");
        for part in parts {
            assert!(
                told.stdout.contains(part),
                "{name}: {part:?} is missing: {}",
                told.stdout
            );
        }
        let json = acpd(&place, &["agents", "doctor", name, "--json"]);
        let report: Value = serde_json::from_str(&json.stdout).unwrap();
        assert_eq!((json.code, &report["ok"]), (Some(1), &json!(false)), "{name}");
    }
    for (name, reason) in [("nobody", "does not exist"), ("../fake", "does not exist")] {
        let told = acpd(&place, &["agents", "doctor", name]);
        assert_eq!(told.code, Some(5));
        assert!(told.stderr.contains(reason), "{name}: {}", told.stderr);
    }
}

#[test]
fn a_look_at_an_agent_that_answers_odd_json_shows_the_rest() {
    let answer = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentInfo":{"name":"jar \ud83d lid","version":1e999},"agentCapabilities":[1e999],"authMethods":["x",{"id":"key"}]}}"#;
    let daemon = Daemon::with(&format!(
        "[agents.odd]\ncommand = \"/bin/sh\"\nargs = [\"-c\", \
         '''read line; printf '%s\\n' '{answer}'; read line''']\n"
    ));
    let elsewhere = Place::new("").with_env("ACPD_TOKEN", daemon.place.token());
    let url = format!("http://{}", daemon.address());
    for (place, options) in [(&daemon.place, &[][..]), (&elsewhere, &["--connect", &url][..])] {
        let doctor = [&["agents", "doctor", "odd"][..], options].concat();
        let told = acpd(place, &doctor);
        assert_eq!(told.code, Some(0), "{doctor:?}: {}{}", told.stdout, told.stderr);
        for part in [
            "works: ACP version 1",
            "agent: jar \u{fffd} lid 1e999\n",
            "authentication methods: key\n",
        ] {
            assert!(
                told.stdout.contains(part),
                "{doctor:?}: {part:?} is missing: {}",
                told.stdout
            );
        }
        assert!(!told.stdout.contains("\ncan: "), "{}", told.stdout);
        // Scripts see what the agent sent, not what acpd can use of it.
        let whole = acpd(place, &[&doctor[..], &["--json"]].concat());
        let report: Value = serde_json::from_str(&whole.stdout).unwrap();
        assert_eq!((&report["id"], &report["ok"]), (&json!("odd"), &json!(true)));
        assert_eq!(report["hello"]["authMethods"], json!(["x", { "id": "key" }]));
    }
    let checked = acpd(&daemon.place, &["doctor", "--agents", "--json"]);
    assert!(
        checked.stdout.contains("odd answers as jar \u{fffd} lid 1e999"),
        "{}",
        checked.stdout
    );
}

#[test]
fn a_silent_agent_times_out() {
    let place = Place::new(
        "[agents.silent]\ncommand = \"cat\"\nargs = [\"/dev/stdin\"]\n[limits]\nagent_start_secs = 0\n",
    );
    let told = acpd(&place, &["agents", "doctor", "silent"]);
    assert_eq!(told.code, Some(1));
    assert!(
        told.stdout
            .contains("agent did not answer initialize within 0 s (agent_start_secs"),
        "{}",
        told.stdout
    );
    let report: Value =
        serde_json::from_str(&acpd(&place, &["agents", "doctor", "silent", "--json"]).stdout).unwrap();
    assert_eq!((&report["id"], &report["ok"]), (&json!("silent"), &json!(false)));
}

#[test]
fn a_person_signs_in_with_the_agents_own_program() {
    needs_sandboxes();
    let place = Place::new("");
    let script = place.data().with_file_name("agent.sh");
    let hello = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"authMethods":[{"id":"key","name":"Key"},{"id":"tui","name":"TUI","type":"terminal","args":["login"],"env":{"WAY":"tui","PATH":"/evil","LD_PRELOAD":"/evil.so","NODE_OPTIONS":"-r /evil"}}]}}"#;
    let text = format!(
        "#!/bin/sh\nif [ \"$2\" = login ]; then cat '{}' 2>/dev/null && exit 9; case $PATH in /evil*) exit 8; esac; echo \"signed in by $WAY$LD_PRELOAD$NODE_OPTIONS as $1 in $ACPD_SANDBOX\"; exit 7; fi\nread line\necho '{hello}'\nread line\n",
        place.config().display()
    );
    std::fs::write(&script, text).unwrap();
    let config = format!(
        "[agents.sh]\ncommand = \"/bin/sh\"\nargs = [{:?}, \"agent\"]\npass_env = [\"WAY*\"]\n",
        script.display().to_string()
    );
    place.configure(&config);
    let asked = outcome(&mut without_terminal(&place.command(&["agents", "login", "sh"])));
    assert_eq!((asked.code, asked.stdout.as_str()), (Some(2), ""));
    let run = acpd(&place, &["agents", "login", "sh", "--yes"]);
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    assert_eq!(run.stdout, "signed in by tui as agent in workspace\n");
    for told in [&asked.stderr, &run.stderr] {
        assert!(
            told.contains("  WAY=tui /bin/sh ") && told.contains(" agent login\n"),
            "{told}"
        );
        assert!(
            told.contains("left out: LD_PRELOAD, NODE_OPTIONS, PATH"),
            "{told}"
        );
    }
    assert!(asked.stderr.contains("--yes"), "{}", asked.stderr);
    let wrong = acpd(&place, &["agents", "login", "sh", "key"]);
    assert!(wrong.stderr.contains("available: tui"), "{}", wrong.stderr);
}

/// The answer to `initialize` of an agent that has one way to sign in, in a terminal.
const SIGNS_IN: &str = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"authMethods":[{"id":"tui","name":"TUI","type":"terminal","args":["login"]}]}}"#;

#[test]
fn an_agent_that_a_command_starts_is_not_the_owner() {
    let place = Place::new("");
    let [script, answers, agent] =
        ["peer.py", "answers", "agent.sh"].map(|name| place.work().join(name).display().to_string());
    std::fs::write(&script, include_str!("../support/peer.py")).unwrap();
    let socket = place.data().join("acpd.sock").display().to_string();
    let text = format!(
        "#!/bin/sh\nfor way in http hidden; do python3 '{script}' $way '{socket}' >> '{answers}' 2>&1; done\n\
         if [ \"$1\" = login ]; then exit 0; fi\nread line\necho '{SIGNS_IN}'\nread line\n"
    );
    std::fs::write(&agent, text).unwrap();
    let config = |sandbox: &str| format!("command = \"/bin/sh\"\nargs = [{agent:?}]\n{sandbox}");
    place.configure(&format!("[agents.spy]\n{}", config("")));
    let daemon = Daemon::at(place);
    for sandbox in ["", "sandbox = \"off\"\n"] {
        daemon
            .place
            .configure(&format!("[agents.spy]\n{}", config(sandbox)));
        for command in [
            &["agents", "doctor", "spy"][..],
            &["doctor", "--agents"],
            &["agents", "login", "spy", "--yes"],
        ] {
            std::fs::write(&answers, "").unwrap();
            let run = acpd(&daemon.place, command);
            let answers = std::fs::read_to_string(&answers).unwrap();
            let shown = format!("{sandbox} {command:?}: {answers}\n{}{}", run.stdout, run.stderr);
            assert!(answers.contains("not the owner at this socket"), "{shown}");
            assert!(!answers.contains("\"owner\""), "{shown}");
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn an_installer_that_a_command_starts_is_not_the_owner() {
    let find = "import os, sys; print(os.path.realpath(sys.executable)); print(sys.base_prefix)";
    let found = outcome(Command::new("python3").args(["-c", find]));
    let (python, prefix) = found
        .stdout
        .trim()
        .split_once('\n')
        .expect("the tests need Python");
    let daemon = Daemon::at(Place::new(&format!("[sandbox]\nread = [{prefix:?}]\n")));
    let socket = daemon.place.data().join("acpd.sock");
    let npm = format!(
        "#!/bin/sh\nfor way in http hidden; do '{python}' \"${{0%/*}}/peer.py\" $way '{}'; done\nexit 1\n",
        socket.display()
    );
    let programs = [
        ("npm", npm.as_str()),
        ("peer.py", include_str!("../support/peer.py")),
    ];
    let installed = with_programs(&daemon.place, &programs, &["agents", "install", "gemini"]);
    assert_ne!(installed.code, Some(0));
    let refused = installed.stderr.matches("not the owner at this socket").count();
    assert!(refused >= 2, "{}", installed.stderr);
    assert!(!installed.stderr.contains("\"owner\""), "{}", installed.stderr);
}

/// Returns the configuration of an agent that is a Python program in a file. With `login` as its argument, it is `signs_in`.
fn python_agent(place: &Place, signs_in: &str) -> String {
    let file = place.data().with_file_name("agent.py");
    let text = format!(
        "import ctypes, fcntl, os, sys, termios, time\n\
         if sys.argv[1:] == ['login']:\n{signs_in}\n\
         input()\nprint('{SIGNS_IN}', flush=True)\ninput()\n"
    );
    std::fs::write(&file, text).expect("write the file");
    let file = file.display().to_string();
    format!("[agents.py]\ncommand = \"python3\"\nargs = [{file:?}]\n")
}

#[test]
fn a_sign_in_has_a_terminal_of_its_own_and_types_nothing_into_the_users() {
    needs_sandboxes();
    let place = Place::new("");
    place.configure(&python_agent(
        &place,
        "    def types(way, number, terminal):
        try:
            fcntl.ioctl(os.open(terminal, os.O_RDWR), number, b'x')
            print(way, 'types')
        except OSError:
            print(way, 'is refused')
    types('one', termios.TIOCSTI, '/dev/tty')
    types('two', termios.TIOCSTI, os.ttyname(0))
    # TIOCLINUX, and a number whose upper half the system ignores.
    types('three', 0x541c, '/dev/tty')
    wide = ctypes.c_ulong(1 << 32 | termios.TIOCSTI)
    print('four', 'types' if ctypes.CDLL(None).ioctl(0, wide, b'x') == 0 else 'is refused')
    print('size', *os.get_terminal_size())
    print('program', os.ttyname(0), flush=True)
    print('got', input('name? '), flush=True)
    if os.fork() == 0:
        os.setsid()
        time.sleep(1000)
    sys.exit(3)",
    ));
    let login = place.command(&["agents", "login", "py", "--yes"]);
    let mut shell = Command::new("sh");
    shell
        .args([
            "-c",
            "echo user $(tty); \"$@\"; stty -icanon min 0 time 1; echo \"left [$(head -c 9)]\"; stty sane",
            "sh",
        ])
        .arg(login.get_program())
        .args(login.get_args());
    copy_surroundings(&login, &mut shell);
    let screen = Screen::start(&shell, 90, 24);
    screen.wait_for("name?");
    let shown = screen.text();
    assert_eq!(shown.matches("is refused").count(), 4, "{shown}");
    assert!(
        !shown.contains("types") && shown.contains("size 90 24"),
        "{shown}"
    );
    let terminal = |whose: &str| {
        shown
            .lines()
            .find_map(|line| line.strip_prefix(whose))
            .map(str::to_owned)
    };
    assert!(
        terminal("user ").is_some() && terminal("program ").is_some(),
        "{shown}"
    );
    assert_ne!(terminal("user "), terminal("program "));
    screen.press("Ada\r");
    screen.wait_for("got Ada");
    screen.wait_for("ended with exit status: 3");
    screen.wait_for("left []");
    assert!(screen.finish().0.success());
}

#[test]
fn a_sign_in_that_writes_without_end_can_be_interrupted() {
    let place = Place::new("");
    place.configure(&python_agent(&place, "    os.execvp('yes', ['yes', 'more'])"));
    let screen = Screen::start(&place.command(&["agents", "login", "py", "--yes"]), 80, 20);
    screen.wait_for("more\nmore\n");
    screen.press("\u{3}");
    assert_eq!(screen.finish().0.code(), Some(130));
}

#[test]
fn a_sign_in_without_a_terminal_ends_with_the_command() {
    let place = Place::new("");
    place.configure(&python_agent(
        &place,
        "    print(os.getpid(), 'waits', flush=True)\n    time.sleep(1000)",
    ));
    for ending in [Signal::INT, Signal::QUIT, Signal::TERM, Signal::HUP] {
        let login = Running::start(&mut place.command(&["agents", "login", "py", "--yes"]));
        login.wait_for_output("waits");
        signal(login.pid(), ending);
        let ended = login.finish();
        assert!(ended.code.is_some(), "{ending:?}: {}", ended.stderr);
        let program = ended.stdout.split(' ').next().and_then(|pid| pid.parse().ok());
        let program: u32 = program.expect("the program has said its pid");
        wait_until("the program is gone", || !exists(program));
    }
}
