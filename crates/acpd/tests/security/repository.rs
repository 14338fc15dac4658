//! A repository with every file that runners, package managers and version managers read: nothing of it runs when a thread starts
//! in it, however its agent is started.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use acpd_catalog::{Catalog, Installer, find_program};
use acpd_loopback::serve;
use serde_json::{Value, json};

use crate::support::{
    Client, Daemon, Outcome, Place, acpd, fake_agent, needs_sandboxes, not_tested, outcome,
};

/// Files by which a folder decides what runs in it, for the programs that start agents.
const FILES: [&str; 39] = [
    ".npmrc",
    "package.json",
    "package-lock.json",
    "node_modules/.package-lock.json",
    "node_modules/.bin/gemini",
    "node_modules/.bin/node",
    "node_modules/.bin/sh",
    "node_modules/.bin/env",
    "node_modules/.bin/npx",
    "node_modules/.bin/npm",
    "node_modules/.bin/uvx",
    "node_modules/@google/gemini-cli/package.json",
    "node_modules/@google/gemini-cli/bundle/gemini.js",
    ".yarnrc",
    ".yarnrc.yml",
    ".yarn/releases/yarn.cjs",
    ".pnpmfile.cjs",
    "pnpm-workspace.yaml",
    "uv.toml",
    "pyproject.toml",
    "pip.conf",
    ".venv/bin/python",
    "sitecustomize.py",
    ".python-version",
    ".node-version",
    ".nvmrc",
    ".envrc",
    ".env",
    ".env.local",
    "mise.toml",
    ".mise.toml",
    ".config/mise/config.toml",
    ".tool-versions",
    "bunfig.toml",
    "deno.json",
    "node.config.json",
    "gemini",
    "uvx",
    "node",
];

/// The first line of these files. Stand-ins run no other file of this host.
const MARK: &str = "# of the repository";

/// Returns the file that lists what of the repository ran.
fn list(place: &Place) -> PathBuf {
    place.work().join("ran")
}

fn ran(place: &Place) -> Vec<String> {
    let text = std::fs::read_to_string(list(place)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("it is in a directory")).expect("it can be made");
    std::fs::write(path, text).expect("it can be written");
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).expect("it can be executed");
}

/// Fills the work directory. Each file notes that it ran.
fn fill(place: &Place) {
    let evil = |name: &str| format!("{MARK}\necho '{name}' >> '{}'\n", list(place).display());
    for name in FILES {
        write(&place.work().join(name), &evil(name));
    }
    for name in ["helper", "node_modules/.bin/helper"] {
        write(&place.work().join(name), &format!("#!/bin/sh\n{}", evil(name)));
    }
    // `python -m` looks for modules in the working directory first.
    let python = format!(
        "open({:?}, 'a').write('json.py\\n')\n",
        list(place).display().to_string()
    );
    write(&place.work().join("json.py"), &python);
}

/// Puts stand-ins for runners and shims on `PATH`, which has relative parts as well. They follow the files of the working directory
/// and of those above it, and find their helper by its name.
fn runners(place: Place) -> Place {
    let bin = place.home().join("bin");
    let script = format!(
        r#"#!/bin/sh
place=$PWD
while [ -n "$place" ]; do
    for file in {}; do
        first=
        {{ read -r first < "$place/$file"; }} 2>/dev/null
        if [ "$first" = "{MARK}" ]; then /bin/sh "$place/$file"; fi
    done
    place=${{place%/*}}
done
exec helper
"#,
        FILES.join(" ")
    );
    for runner in ["npx", "uvx", "bunx", "shim"] {
        write(&bin.join(runner), &script);
    }
    let agent = fake_agent().display().to_string();
    write(
        &bin.join("helper"),
        &format!("#!/bin/sh\nexec '{agent}' --pace 0\n"),
    );
    let module = format!("import json, os\nos.execv({agent:?}, [{agent:?}, '--pace', '0'])\n");
    write(&bin.join("agent_module.py"), &module);
    let path = format!(
        "node_modules/.bin:.::{}:/usr/local/bin:/usr/bin:/bin",
        bin.display()
    );
    place.with_env("PATH", path)
}

/// Returns the configuration: agents of the registry that npx and uvx run, and agents that the user has configured.
fn configuration(place: &Place, python: &str) -> String {
    format!(
        r#"
[agents.configured]
command = "npx"
args = ["-y", "@google/gemini-cli", "--acp"]
[agents.bun]
command = "bunx"
args = ["some-agent"]
[agents.shim]
command = "shim"
[agents.shared]
command = "shim"
share = true
[agents.off]
command = "shim"
sandbox = "off"
[agents.module]
command = {python:?}
args = ["-m", "agent_module"]
env = {{ PYTHONPATH = {:?} }}
[sandbox]
read = [{:?}, {:?}]
"#,
        place.home().join("bin").display().to_string(),
        fake_agent().display().to_string(),
        place.home().join("bin").display().to_string(),
    )
}

const AGENTS: [&str; 8] = [
    "gemini",
    "fast-agent",
    "configured",
    "bun",
    "shim",
    "shared",
    "off",
    "module",
];

fn hostile_place() -> Place {
    let place = Place::new("");
    let search = std::env::var("PATH").unwrap_or_default();
    let python = find_program("python3", &search).expect("the tests need Python");
    place.configure(&configuration(&place, &python.display().to_string()));
    fill(&place);
    runners(place)
}

#[test]
fn the_stand_ins_run_what_a_folder_names() {
    let place = hostile_place();
    let mut command = Command::new(place.home().join("bin/npx"));
    let path = format!(
        "node_modules/.bin:{}:/usr/bin:/bin",
        place.home().join("bin").display()
    );
    let done = outcome(command.current_dir(place.work()).env("PATH", path));
    assert_eq!(done.code, Some(0), "{done:?}");
    let mut expected: Vec<_> = FILES.map(str::to_owned).into();
    expected.push("node_modules/.bin/helper".to_owned());
    assert_eq!(ran(&place), expected);
}

#[test]
fn nothing_of_a_repository_runs_when_a_thread_starts_in_it() {
    let daemon = Daemon::at(hostile_place());
    let mut client = Client::new(&daemon);
    let start = daemon.place.data().join("start").display().to_string();
    let work = daemon.place.work().display().to_string();
    for agent in AGENTS {
        let params = json!({ "agentType": agent, "cwd": &work });
        let started = client.call("thread/start", &params);
        assert_eq!(ran(&daemon.place), [""; 0], "{agent}");
        let thread = started["thread"]["id"].as_str().expect("it has an id").to_owned();
        let said = client.turn(&thread, "cwd").said();
        assert_eq!(said, format!("session {work}, process {start}"), "{agent}");
        assert_eq!(ran(&daemon.place), [""; 0], "{agent}");
        let report = client.call("agent/doctor", &json!({ "agentType": agent }));
        assert_eq!(report["error"], Value::Null, "{agent}: {report}");
    }
    let made = std::fs::read_dir(&start).expect("it is there").count();
    assert_eq!(made, 0, "agents start in an empty directory");
    assert_eq!(ran(&daemon.place), [""; 0]);
}

/// `acpd` itself is run in the repository here.
#[test]
fn nothing_of_a_repository_runs_when_an_agent_is_probed_in_it() {
    let place = hostile_place();
    for agent in AGENTS {
        let Outcome { code, stdout, stderr } = acpd(&place, &["agents", "doctor", agent]);
        assert_eq!(code, Some(0), "{agent}: {stdout}{stderr}");
        assert_eq!(ran(&place), [""; 0], "{agent}");
        // The agent may have no way to sign in.
        acpd(&place, &["agents", "login", agent, "--yes"]);
        assert_eq!(ran(&place), [""; 0], "{agent}");
    }
    for command in [&["doctor"][..], &["agents", "list"]] {
        acpd(&place, command);
        assert_eq!(ran(&place), [""; 0], "{command:?}");
    }
}

#[test]
fn a_runner_does_not_start_in_the_workspace() {
    let place = hostile_place();
    place.configure(
        r#"
[agents.gemini]
start_in = "workspace"
[agents.configured]
command = "npx"
args = ["-y", "@google/gemini-cli", "--acp"]
start_in = "workspace"
[agents.bun]
command = "bunx"
args = ["some-agent"]
start_in = "workspace"
"#,
    );
    let daemon = Daemon::at(place);
    for (agent, advice) in [
        ("gemini", "acpd agents install gemini"),
        ("configured", "install it, and name its own program"),
        ("bun", "install it, and name its own program"),
    ] {
        let message = refusal_of(&daemon, agent);
        assert!(message.contains(advice), "{agent}: {message}");
    }
    assert_eq!(ran(&daemon.place), [""; 0]);
}

/// Returns why no thread starts with an agent.
fn refusal_of(daemon: &Daemon, agent: &str) -> String {
    let params = json!({ "agentType": agent, "cwd": daemon.place.work() });
    let refused = Client::new(daemon).refused("thread/start", &params);
    refused["message"].as_str().expect("it has a reason").to_owned()
}

/// Any agent may write the caches of runners. Codex confines itself, and has no sandbox of acpd's.
#[test]
fn an_agent_without_a_sandbox_is_not_run_from_a_cache() {
    needs_sandboxes();
    let place = hostile_place();
    let readable = [place.home().join("bin"), fake_agent()].map(|path| path.display().to_string());
    place.configure(&format!(
        r#"
[agents.gemini]
sandbox = "off"
[agents.claude-acp]
share = true
[agents.configured]
command = "npx"
args = ["-y", "some-agent"]
sandbox = "off"
[agents.fast-agent]
sandbox = "workspace"
[sandbox]
read = {readable:?}
"#
    ));
    let listed = acpd(&place, &["agents", "list"]).stdout;
    let daemon = Daemon::at(place);
    for (agent, advice) in [
        ("codex-acp", "acpd agents install codex-acp"),
        ("gemini", "acpd agents install gemini"),
        ("claude-acp", "acpd agents install claude-acp"),
        ("configured", "install it, and name its own program"),
    ] {
        let message = refusal_of(&daemon, agent);
        assert!(message.contains(advice), "{agent}: {message}");
        let mut rows = listed.lines();
        let row = rows
            .find(|row| row.split(' ').next() == Some(agent))
            .expect("it is listed");
        assert!(row.contains("not yet: ") && row.contains(advice), "{row}");
    }
    let thread = Client::new(&daemon).thread_of(&daemon, "fast-agent");
    assert!(!thread.is_empty());
}

/// All agents may be without a sandbox as well. Codex may have acpd's.
#[test]
fn the_settings_for_all_agents_decide_whether_one_is_run_from_a_cache() {
    needs_sandboxes();
    let place = hostile_place();
    let readable = [place.home().join("bin"), fake_agent()].map(|path| path.display().to_string());
    place.configure(&format!(
        "[agents.codex-acp]\nsandbox = \"workspace\"\n[sandbox]\nmode = \"off\"\nread = {readable:?}\n"
    ));
    let daemon = Daemon::at(place);
    let message = refusal_of(&daemon, "gemini");
    assert!(message.contains("acpd agents install gemini"), "{message}");
    let thread = Client::new(&daemon).thread_of(&daemon, "codex-acp");
    assert!(!thread.is_empty());
}

/// The registry of the real npx: one package, whose program becomes the fake agent.
fn npm_registry(place: &Place, dependencies: &Value) -> String {
    let package = place.home().join("published/package");
    let manifest = json!({
        "name": "stand-in-agent", "version": "1.0.0", "bin": { "stand-in-agent": "run.js" }, "dependencies": dependencies,
    });
    write(&package.join("package.json"), &manifest.to_string());
    let run = format!(
        "#!/usr/bin/env node\nrequire(\"child_process\").spawnSync({:?}, [\"--pace\", \"0\"], {{ stdio: \"inherit\" }});\n",
        fake_agent().display().to_string()
    );
    write(&package.join("run.js"), &run);
    let archive = place.home().join("package.tgz");
    let packed = outcome(
        Command::new("tar")
            .arg("czf")
            .arg(&archive)
            .arg("-C")
            .arg(place.home().join("published"))
            .arg("package"),
    );
    assert_eq!(packed.code, Some(0), "{packed:?}");
    let archive = std::fs::read(archive).expect("it was packed");
    let address = serve(move |address| {
        let mut version = manifest.clone();
        version["dist"] = json!({ "tarball": format!("http://{address}/package.tgz") });
        let document = json!({
            "name": "stand-in-agent", "dist-tags": { "latest": "1.0.0" }, "versions": { "1.0.0": version },
        });
        [
            ("/stand-in-agent", document.to_string().into()),
            ("/package.tgz", archive.into()),
        ]
    });
    format!("http://{address}")
}

/// Makes a repository that the real npx would run: a package of the right name and version, settings, and programs.
fn fill_for_npx(place: &Place) {
    let evil = format!("#!/bin/sh\necho \"$0\" >> '{}'\n", list(place).display());
    let work = place.work();
    let manifest =
        r#"{ "name": "stand-in-agent", "version": "1.0.0", "bin": { "stand-in-agent": "run.js" } }"#;
    write(&work.join("node_modules/stand-in-agent/package.json"), manifest);
    for program in [
        "evil",
        "node_modules/stand-in-agent/run.js",
        "node_modules/.bin/stand-in-agent",
        "node_modules/.bin/node",
        "node_modules/.bin/sh",
        "node_modules/.bin/env",
    ] {
        write(&work.join(program), &evil);
    }
    let project = r#"{ "name": "r", "bin": { "stand-in-agent": "./evil" }, "scripts": { "npx": "./evil", "preinstall": "./evil" } }"#;
    write(&work.join("package.json"), project);
    let settings = format!(
        "script-shell={0}/evil\nnode-options=--require={0}/evil\n",
        work.display()
    );
    write(&work.join(".npmrc"), &settings);
}

#[test]
fn the_real_npx_runs_nothing_of_a_repository() {
    let search = std::env::var("PATH").unwrap_or_default();
    let Some(npx) = find_program("npx", &search) else {
        not_tested("npx is not on PATH")
    };
    let place = Place::new("");
    let registry = npm_registry(&place, &json!({}));
    fill_for_npx(&place);
    let cache = place.home().join("npm-cache");
    std::fs::create_dir(&cache).expect("it can be made");
    let cache = cache.display().to_string();
    place.configure(&format!(
        r#"
[agents.real]
command = {:?}
args = ["--yes", "stand-in-agent@1.0.0", "--acp"]
env = {{ npm_config_registry = {registry:?}, npm_config_cache = {cache:?}, NO_PROXY = "127.0.0.1" }}
sandbox = {{ read = [{:?}], write = [{cache:?}] }}
"#,
        npx.display().to_string(),
        fake_agent().display().to_string(),
    ));
    let daemon = Daemon::at(place);
    let mut client = Client::new(&daemon);
    let thread = client.thread_of(&daemon, "real");
    assert_eq!(client.turn(&thread, "say hello").said(), "hello");
    assert_eq!(ran(&daemon.place), [""; 0]);
    // In the repository, it does.
    let settings: [(&str, OsString); 3] = [
        ("npm_config_registry", registry.into()),
        ("npm_config_cache", cache.into()),
        ("NO_PROXY", "127.0.0.1".into()),
    ];
    let mut command = Command::new(npx);
    command
        .args(["--yes", "stand-in-agent@1.0.0"])
        .current_dir(daemon.place.work())
        .envs(settings);
    outcome(&mut command);
    assert_ne!(ran(&daemon.place), [""; 0]);
}

/// Makes a repository of git, and returns npm's name for it.
fn git_repository(place: &Place, name: &str, files: &[(&str, &str)]) -> String {
    let directory = place.home().join(name);
    for (file, text) in files {
        write(&directory.join(file), text);
    }
    let line = "git init -q && git add -A && git -c user.name=t -c user.email=t@example.org commit -q -m one";
    let made = outcome(Command::new("sh").args(["-c", line]).current_dir(&directory));
    assert_eq!(made.code, Some(0), "{made:?}");
    format!("git+file://{}", directory.display())
}

/// npm installs the dependencies of a repository before it makes a package of it, by the settings in it: also those that name the program
/// to run as git.
#[test]
fn the_real_npm_runs_nothing_of_a_repository_to_install_an_agent() {
    let search = std::env::var("PATH").unwrap_or_default();
    let (Some(npm), Some(_)) = (find_program("npm", &search), find_program("git", &search)) else {
        not_tested("npm and git are not on PATH")
    };
    let place = Place::new("");
    let evil = format!("#!/bin/sh\necho \"$0\" >> '{}'\nexit 1\n", list(&place).display());
    let nested = r#"{ "name": "nested", "version": "1.0.0" }"#;
    let nested = git_repository(&place, "nested", &[("package.json", nested)]);
    let manifest = json!({
        "name": "dependency", "version": "1.0.0", "scripts": { "prepare": "./evil.sh" }, "dependencies": { "nested": nested },
    });
    let files = [
        ("package.json", manifest.to_string()),
        (".npmrc", "git=./evil.sh\n".to_owned()),
        ("evil.sh", evil),
    ];
    let files = files.each_ref().map(|(name, text)| (*name, text.as_str()));
    let dependency = git_repository(&place, "dependency", &files);
    let registry = npm_registry(&place, &json!({ "dependency": dependency }));
    let wrapper = format!(
        "#!/bin/sh\nexport npm_config_registry='{registry}' NO_PROXY=127.0.0.1 HOME='{}'\nexec '{}' \"$@\"\n",
        place.home().display(),
        npm.display()
    );
    write(&place.home().join("bin/npm"), &wrapper);
    let entry = json!({
        "id": "stand-in", "name": "S", "version": "1.0.0", "distribution": { "npx": { "package": "stand-in-agent@1.0.0" } },
    });
    let document = json!({ "version": "1.0.0", "agents": [entry] });
    let data = place.home().join("catalog");
    write(&data.join("registry.json"), &document.to_string());
    let path = format!("{}:{search}", place.home().join("bin").display());
    let installer = Installer {
        path: &path,
        watch: None,
        unverified: false,
        scripts: false,
        confine: &|_, _, _| Ok(None),
    };
    let refused = Catalog::new(&data).install("stand-in", installer);
    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(ran(&place), [""; 0]);
}
