//! Agents and their terminals in the kernel's sandbox: what they can access, what works there, and what the user sees.

#![cfg(target_os = "linux")]

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use acpd_loopback::serve;
use serde_json::{Value, json};

use crate::support::{Client, Daemon, Place, acpd, needs_sandboxes, outcome, record_not_tested, scratch};

/// A client and a thread in the workspace of a daemon.
struct Scene {
    daemon: Daemon,
    client: Client,
    thread: String,
}

impl Scene {
    fn new(more: &str) -> Self {
        Self::at(Place::away(more))
    }

    fn at(place: Place) -> Self {
        let daemon = Daemon::at(place);
        let mut client = Client::new(&daemon);
        let thread = client.thread(&daemon);
        Self {
            daemon,
            client,
            thread,
        }
    }

    /// Runs a line of `sh` in a terminal of the agent; returns its exit code and output.
    fn shell(&mut self, line: &str) -> String {
        let script = self.daemon.place.work().join(".script");
        std::fs::write(&script, line).expect("it can be written");
        let turn = self.client.turn(&self.thread, "terminal sh .script");
        turn.said().clone()
    }

    fn works(&mut self, line: &str) -> String {
        let said = self.shell(line);
        assert!(said.starts_with("exit 0"), "{line}: {said}");
        said
    }

    fn fails(&mut self, line: &str) -> String {
        let said = self.shell(line);
        assert!(
            said.starts_with("exit ") && !said.starts_with("exit 0"),
            "{line}: {said}"
        );
        said
    }

    fn in_home(&self, name: &str, text: &str) -> PathBuf {
        let path = self.daemon.place.home().join(name);
        std::fs::create_dir_all(path.parent().expect("it is in the home")).expect("it can be made");
        std::fs::write(&path, text).expect("it can be written");
        path
    }
}

/// Returns the files that only the user may read.
fn secrets(scene: &Scene) -> [PathBuf; 4] {
    [
        scene.daemon.place.data().join("token"),
        scene.daemon.place.config(),
        scene.in_home(".ssh/id_ed25519", "key"),
        scene.in_home(".notes", "mine"),
    ]
}

#[test]
fn a_terminal_reaches_the_workspace_and_no_secrets() {
    let mut scene = Scene::new("");
    for secret in secrets(&scene) {
        let said = scene.fails(&format!("cat '{}'", secret.display()));
        assert!(said.contains("Permission denied"), "{said}");
        scene.fails(&format!("echo x >> '{}'", secret.display()));
    }
    let pid = scene.daemon.pid();
    scene.fails(&format!("readlink /proc/{pid}/cwd"));
    scene.fails(&format!("head -c 1 /proc/{pid}/mem"));
    scene.fails(&format!("kill -9 {pid}"));
    scene.fails(&format!("ls '{}'", scene.daemon.place.home().display()));
    let said =
        scene.works("mkdir -p a/b && echo x > a/b/c && mv a/b/c . && cat c && echo $ACPD_SANDBOX > /dev/tty");
    assert!(said.contains("workspace"), "{said}");
}

/// Returns an idle thread after a turn whose agent was stopped, and a directory with a secret in the file `key`.
/// Creates `directory` for the thread.
fn thread_that_rests(daemon: &mut Daemon, directory: &Path, start: &Value) -> (String, PathBuf) {
    let secrets = daemon.place.home().join("secrets");
    for made in [directory, &secrets] {
        std::fs::create_dir(made).expect("it can be made");
    }
    std::fs::write(secrets.join("key"), "OTHERSECRET").expect("it can be written");
    let mut client = Client::new(daemon);
    let started = client.call("thread/start", start);
    let thread = started["thread"]["id"].as_str().expect("it has an id").to_owned();
    client.turn(&thread, "say one");
    daemon.stop();
    daemon.restart();
    (thread, secrets)
}

/// Replaces a directory by a link, as an agent with access to its parent can.
fn swap(directory: &Path, target: &Path) {
    std::fs::rename(directory, directory.with_extension("old")).expect("it can be moved");
    std::os::unix::fs::symlink(target, directory).expect("it can be linked");
}

#[test]
fn a_workspace_that_was_made_a_link_is_not_worked_in() {
    let mut daemon = Daemon::at(Place::away(""));
    let sub = daemon.place.work().join("sub");
    let start = json!({ "agentType": "fake", "cwd": sub });
    let (thread, secrets) = thread_that_rests(&mut daemon, &sub, &start);
    swap(&sub, &secrets);
    let mut client = Client::new(&daemon);
    client.resume(&thread, 0);
    let line = "terminal sh -c 'echo x > made; cat key'";
    let refused = client.try_call("turn/start", &json!({ "threadId": thread, "text": line }));
    let report = match refused {
        Err(failure) => failure.to_string(),
        Ok(turn) => {
            let turn = client.finish(&thread, turn["turn"]["id"].as_str().unwrap());
            format!("{turn:?}")
        }
    };
    assert!(
        report.contains("it led to") && !report.contains("OTHERSECRET"),
        "{report}"
    );
    assert!(!secrets.join("made").exists());
    // A new thread there reports the real path.
    let real = secrets.canonicalize().unwrap();
    client.call("thread/start", &start);
    let notice = client.wait_for("thread/notice");
    let message = notice.params["message"].as_str().unwrap();
    assert!(
        message.contains("is a link") && message.contains(real.to_str().unwrap()),
        "{message}"
    );
    let run = acpd(
        &daemon.place,
        &[
            "run",
            "--agent",
            "fake",
            "--cwd",
            sub.to_str().unwrap(),
            "say two",
        ],
    );
    let works = format!("the agent works in {}", real.display());
    assert!(run.stderr.contains(&works), "{}", run.stderr);
    let run = acpd(
        &daemon.place,
        &[
            "run",
            "--agent",
            "fake",
            "--cwd",
            real.to_str().unwrap(),
            "say two",
        ],
    );
    assert!(!run.stderr.contains(&works), "{}", run.stderr);
}

#[test]
fn a_directory_that_was_missing_is_not_opened_later() {
    let mut daemon = Daemon::at(Place::away(""));
    let extra = daemon.place.home().join("extra");
    let (work, directories) = (daemon.place.work(), [&extra]);
    let start = json!({ "agentType": "fake", "cwd": work, "additionalDirectories": directories });
    let (thread, secrets) = thread_that_rests(&mut daemon, &extra, &start);
    std::fs::remove_dir(&extra).unwrap();
    let mut client = Client::new(&daemon);
    client.resume(&thread, 0);
    client.turn(&thread, "say two");
    std::os::unix::fs::symlink(&secrets, &extra).unwrap();
    let turn = client.turn(&thread, &format!("read path='{}/key\'", extra.display()));
    let said = turn.said();
    assert!(
        said.contains("could not be opened") && !said.contains("SECRET"),
        "{said}"
    );
}

#[test]
fn a_program_that_is_not_granted_is_refused_with_the_setting() {
    let mut scene = Scene::new("");
    let program = scene.in_home("tools/mine", "#!/bin/sh\n");
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let turn = scene
        .client
        .turn(&scene.thread, &format!("terminal '{}'", program.display()));
    let said = turn.said();
    assert!(
        said.contains("acpd's sandbox")
            && said.contains("\"read\" of its sandbox")
            && said.contains("tools/mine"),
        "{said}"
    );
}

/// Returns the configuration of an agent that runs a line of `sh` when prompted, and sends the outcome as text.
fn probe(line: &str, sandbox: &str) -> String {
    let script = format!(
        r#"
read -r line; echo '{{"jsonrpc":"2.0","id":0,"result":{{"protocolVersion":1}}}}'
read -r new; echo '{{"jsonrpc":"2.0","id":1,"result":{{"sessionId":"s"}}}}'
read -r prompt
said=$( ({line}) >/dev/null 2>&1; echo $?)
echo '{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"'$said'"}}}}}}}}'
echo '{{"jsonrpc":"2.0","id":2,"result":{{"stopReason":"end_turn"}}}}'
cat >/dev/null
"#
    );
    format!(
        "[agents.probe]\ncommand = \"sh\"\nargs = [\"-c\", '''{script}''']\nstart_in = \"workspace\"\n{sandbox}\n"
    )
}

/// Returns the outcome of a line in the agent's own process.
fn probed(place: Place, line: &str, sandbox: &str) -> String {
    let config = std::fs::read_to_string(place.config()).expect("it is there");
    place.configure(&format!("{config}\n{}", probe(line, sandbox)));
    let daemon = Daemon::at(place);
    let mut client = Client::new(&daemon);
    let params = json!({ "agentType": "probe", "cwd": daemon.place.work() });
    let started = client.call("thread/start", &params);
    let thread = started["thread"]["id"].as_str().expect("it has an id").to_owned();
    client.turn(&thread, "go").said().clone()
}

#[test]
fn the_agent_itself_reaches_no_secrets() {
    let token = |place: &Place| format!("cat '{}'", place.data().join("token").display());
    let place = Place::away("");
    let line = token(&place);
    assert_ne!(probed(place, &line, ""), "0");
    let place = Place::away("");
    let line = token(&place);
    assert_eq!(
        probed(place, &line, "sandbox = \"off\""),
        "0",
        "without a sandbox it does"
    );
    assert_eq!(probed(Place::away(""), "echo x > made", ""), "0");
    assert_ne!(
        probed(Place::away(""), "echo x > made", "sandbox = \"readonly\""),
        "0"
    );
}

#[test]
fn a_workspace_that_may_only_be_read() {
    let place = Place::away("");
    let config = std::fs::read_to_string(place.config()).expect("it is there");
    place.configure(&config.replace("sandbox = { ", "sandbox = { mode = \"readonly\", "));
    let mut scene = Scene::at(place);
    let there = scene.daemon.place.work().join("there");
    std::fs::write(&there, "text").unwrap();
    scene.works("cat there && ls && echo x > /tmp/$$ && rm /tmp/$$");
    for refused in ["echo x > there", "echo x > new", "rm there", "mkdir sub"] {
        scene.fails(refused);
    }
    let turn = scene
        .client
        .turn(&scene.thread, &format!("write path='{}' text=x", there.display()));
    let said = turn.said();
    assert!(said.contains("sandbox is \"readonly\""), "{said}");
    assert_eq!(std::fs::read_to_string(&there).unwrap(), "text");
}

#[test]
fn lists_of_the_configuration_grant_more() {
    let place = Place::away("");
    for made in ["data-sets", "models"] {
        std::fs::create_dir(place.home().join(made)).unwrap();
        std::fs::write(place.home().join(made).join("file"), "x").unwrap();
    }
    let config = std::fs::read_to_string(place.config()).unwrap();
    // The whole home directory is granted, except the daemon's own files in it.
    place.configure(&format!(
        "{config}\n[sandbox]\nread = [\"~/data-sets\", \"~\", \"{}\"]\nwrite = [\"~/models\"]\n",
        place.data().display()
    ));
    let mut scene = Scene::at(place);
    let home = scene.daemon.place.home().display().to_string();
    scene.works(&format!(
        "cat '{home}/data-sets/file' && echo y > '{home}/models/file\'"
    ));
    scene.fails(&format!("echo y > '{home}/data-sets/file'"));
    scene.fails(&format!(
        "cat '{}'",
        scene.daemon.place.data().join("token").display()
    ));
    scene.fails(&format!("cat '{}'", scene.daemon.place.config().display()));
}

#[test]
fn without_the_network_nothing_is_connected_to() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connect = format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'");
    Scene::new("").works(&connect);
    let said = Scene::new("[sandbox]\nnetwork = \"off\"").fails(&connect);
    assert!(said.contains("Permission denied"), "{said}");
    Scene::new("[sandbox]\nnetwork = [443]").fails(&connect);
    Scene::new(&format!("[sandbox]\nnetwork = [{port}]")).works(&connect);
}

#[test]
fn a_workspace_with_the_daemons_own_files_needs_no_sandbox() {
    let daemon = Daemon::at(Place::away(""));
    let mut client = Client::new(&daemon);
    for cwd in [daemon.place.home().to_owned(), daemon.place.data()] {
        let refused = client.refused("thread/start", &json!({ "agentType": "fake", "cwd": cwd }));
        let (message, detail) = (refused["message"].as_str().unwrap(), &refused["data"]["detail"]);
        assert!(message.contains("belongs to acpd itself"), "{refused}");
        let detail = detail.as_str().unwrap();
        assert!(detail.contains("run it in another directory"), "{refused}");
        assert!(detail.contains("sandbox = \"off\""), "{refused}");
    }
    let daemon = Daemon::at(Place::without_sandbox(""));
    let mut client = Client::new(&daemon);
    let cwd = daemon.place.home();
    client.call("thread/start", &json!({ "agentType": "fake", "cwd": cwd }));
}

#[test]
fn a_shared_process_has_no_sandbox_and_that_is_said() {
    let shared = |sandbox: &str| {
        let place = Place::without_sandbox("");
        let config = std::fs::read_to_string(place.config()).unwrap();
        place.configure(&config.replace("sandbox = \"off\"", &format!("share = true\n{sandbox}")));
        place
    };
    for both in [
        "sandbox = \"workspace\"",
        "sandbox = \"readonly\"",
        "[sandbox]\nmode = \"workspace\"",
    ] {
        let refused = acpd(&shared(both), &["serve"]);
        assert_eq!(refused.code, Some(2), "{both}");
        assert!(
            refused.stderr.contains("has share = true and a sandbox")
                && refused.stderr.contains("sandbox = \"off\""),
            "{both}: {}",
            refused.stderr
        );
    }
    let daemon = Daemon::at(shared(""));
    assert!(
        daemon.log().contains("runs without a sandbox"),
        "{}",
        daemon.log()
    );
    let doctor = acpd(&daemon.place, &["agents", "doctor", "fake"]);
    assert!(
        doctor
            .stdout
            .contains("sandbox: off (one process serves several workspaces"),
        "{}",
        doctor.stdout
    );
    let said = Daemon::at(shared("sandbox = \"off\"")).log();
    assert!(said.contains("as configured"), "{said}");
}

#[test]
fn a_doctor_says_what_is_granted_and_by_which_setting() {
    let place = Place::away("[sandbox]\nread = [\"~/none\"]\nnetwork = [443]");
    let doctor = acpd(&place, &["agents", "doctor", "fake"]);
    assert_eq!(doctor.code, Some(0), "{}", doctor.stdout);
    let sessions = place.home().join("sessions").display().to_string();
    for part in [
        "sandbox: workspace\n  writes the workspace\n",
        "  writes (sandbox.write): ",
        &sessions,
        "  reads (sandbox.read): ",
        "  TCP (sandbox.network): 443\n",
        "  does not exist: ~/none\n",
    ] {
        assert!(doctor.stdout.contains(part), "{part:?}: {}", doctor.stdout);
    }
    assert!(
        !doctor.stdout.contains(&place.data().display().to_string()),
        "{}",
        doctor.stdout
    );
    let daemon = Daemon::at(place);
    let report = Client::new(&daemon).call("agent/doctor", &json!({ "agentType": "fake" }));
    assert_eq!(
        (&report["error"], &report["sandbox"]["mode"]),
        (&Value::Null, &json!("workspace"))
    );
    assert_eq!(report["sandbox"]["network"], json!("443"));
    // The probe ran in the home directory, in which an agent cannot work.
    let reason = report["sandbox"]["reason"].as_str().unwrap();
    assert!(reason.contains("belongs to acpd itself"), "{report}");
}

#[test]
fn a_data_directory_among_temporary_files_is_said() {
    needs_sandboxes();
    let place = Place::new("");
    let said = format!(
        "agents cannot make new files directly in {}",
        std::env::temp_dir().display()
    );
    let doctor = acpd(&place, &["agents", "doctor", "fake"]);
    assert!(doctor.stdout.contains(&said), "{}", doctor.stdout);
    let daemon = Daemon::at(place);
    assert!(daemon.log().contains(&said), "{}", daemon.log());
    let away = Daemon::at(Place::away("")).log();
    assert!(!away.contains("cannot make new files"), "{away}");
}

/// The document specifies how to run an agent, and grants no access: neither by variables that name paths, nor by
/// arguments that name other agents and files.
#[test]
fn a_registrys_document_opens_nothing() {
    let place = Place::away("");
    let key = place.home().join(".ssh/id");
    std::fs::create_dir_all(key.parent().unwrap()).unwrap();
    std::fs::write(&key, "key").unwrap();
    for home in [".codex", ".gemini"] {
        std::fs::create_dir(place.home().join(home)).unwrap();
    }
    let run = json!({
        "package": "@google/gemini-cli@0.61.0",
        "args": ["codex-acp", "x/qwen", "npx", key],
        "env": { "PIP_CACHE_DIR": "/", "UV_CACHE_DIR": place.home().join(".ssh"), "CODEX_HOME": "/", "JAVA_HOME": "/srv/secrets" },
    });
    let entry = json!({ "id": "gemini", "name": "G", "version": "1.0.0", "description": "d", "distribution": { "npx": run } });
    let document = json!({ "version": "1.0.0", "agents": [entry] }).to_string();
    let address = serve(|_| [("/registry.json", document.into())]);
    place.configure(&format!("registry_url = \"http://{address}/registry.json\"\n"));
    let bin = place.work().join("bin");
    std::fs::create_dir(&bin).unwrap();
    for program in ["gemini", "pip", "uv"] {
        std::fs::write(bin.join(program), "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(
            bin.join(program),
            std::os::unix::fs::PermissionsExt::from_mode(0o755),
        )
        .unwrap();
    }
    let acpd = |args: &[&str]| outcome(place.command(args).env("PATH", &bin));
    assert_eq!(acpd(&["agents", "update"]).code, Some(0));
    let doctor = acpd(&["agents", "doctor", "gemini", "--json"]);
    let report: Value = serde_json::from_str(&doctor.stdout).unwrap();
    let granted =
        |list: &str| -> Vec<PathBuf> { serde_json::from_value(report["sandbox"][list].clone()).unwrap() };
    let all = [granted("read"), granted("write")].concat();
    assert!(
        granted("write").contains(&place.home().join(".gemini")),
        "{report}"
    );
    for secret in [key, place.home().join(".codex"), "/srv/secrets/x".into()] {
        assert!(
            !all.iter().any(|path| secret.starts_with(path)),
            "{}: {report}",
            secret.display()
        );
    }
}

#[test]
fn included_git_configuration_is_readable() {
    let mut scene = Scene::new("");
    scene.in_home(
        ".gitconfig",
        "[includeIf \"gitdir:/\"]\n\tpath = ~/.gitconfig-work\n[include]\n\tpath = ~/.gitconfig-work\n",
    );
    scene.in_home(".gitconfig-work", "[user]\n\tname = Worker\n");
    let thread = scene.client.thread(&scene.daemon);
    scene.thread = thread;
    let said = scene.works("git init -q && git config user.name");
    assert!(said.contains("Worker"), "{said}");
}

#[test]
fn settings_of_git_that_name_no_file_grant_nothing() {
    let mut scene = Scene::new("");
    let [_, _, key, _] = secrets(&scene);
    scene.in_home(
        ".gitconfig",
        "[core]\nexcludesfile =\nattributesfile = ~/\n[include]\npath = \"\"\n[commit] template = ~/.ssh\n",
    );
    let thread = scene.client.thread(&scene.daemon);
    scene.thread = thread;
    scene.fails(&format!("ls '{}'", scene.daemon.place.home().display()));
    scene.fails(&format!("cat '{}'", key.display()));
}

/// Users often keep dotfiles in a repository, and link them from the home directory.
#[test]
fn settings_that_an_agent_can_write_grant_nothing() {
    let mut scene = Scene::new("");
    let [_, _, key, notes] = secrets(&scene);
    let (home, work) = (scene.daemon.place.home().to_owned(), scene.daemon.place.work());
    for name in [".gitconfig", ".bashrc"] {
        std::fs::write(work.join(name), "").unwrap();
        std::os::unix::fs::symlink(work.join(name), home.join(name)).unwrap();
    }
    let line = format!(
        "printf '[include]\\npath = ~/.ssh/id_ed25519\\n' > .gitconfig && ln -sf '{}' .bashrc",
        notes.display()
    );
    scene.works(&line);
    let thread = scene.client.thread(&scene.daemon);
    scene.thread = thread;
    scene.works("cat ~/.gitconfig");
    for secret in [key, notes] {
        let said = scene.fails(&format!("cat '{}'", secret.display()));
        assert!(said.contains("Permission denied"), "{said}");
    }
}

/// Users often keep dotfiles in a repository.
#[test]
fn a_home_that_is_a_repository_is_not_granted() {
    let mut scene = Scene::new("");
    let config = scene.in_home(".git/config", "[core]\n");
    for part in ["objects", "refs"] {
        std::fs::create_dir(scene.daemon.place.home().join(".git").join(part)).unwrap();
    }
    let head = scene.in_home(".git/HEAD", "ref: refs/heads/main\n");
    let thread = scene.client.thread(&scene.daemon);
    scene.thread = thread;
    scene.fails(&format!("cat '{}'", head.display()));
    scene.fails(&format!("echo x >> '{}'", config.display()));
}

#[test]
fn the_programs_of_mcp_servers_are_readable() {
    let place = Place::away("");
    let server = place.home().join("servers/dist/index.js");
    std::fs::create_dir_all(server.parent().unwrap()).unwrap();
    std::fs::write(&server, "served").unwrap();
    let package = place.home().join("servers/package.json");
    std::fs::write(&package, "packed").unwrap();
    let config = std::fs::read_to_string(place.config()).unwrap();
    place.configure(&format!(
        "{config}\n[[agents.fake.mcp_servers]]\nname = \"s\"\ncommand = \"sh\"\nargs = [{server:?}]\n"
    ));
    let mut scene = Scene::at(place);
    let said = scene.works(&format!("cat '{}' '{}'", server.display(), package.display()));
    assert!(said.contains("served") && said.contains("packed"), "{said}");
}

/// Returns a place whose agents have the toolchains of this host, with a different home directory.
fn with_toolchains(place: Place) -> Place {
    let home = std::env::home_dir().expect("there is one");
    let own = |variable: &str, below: &str| {
        let path = std::env::var_os(variable).map_or_else(|| home.join(below), PathBuf::from);
        path.display().to_string()
    };
    let (rustup, pyenv) = (own("RUSTUP_HOME", ".rustup"), own("PYENV_ROOT", ".pyenv"));
    place
        .with_env("RUSTUP_HOME", &rustup)
        .with_env("PYENV_ROOT", &pyenv)
}

fn is_there(program: &str) -> bool {
    let there = outcome(Command::new("sh").args(["-c", &format!("command -v {program}")])).code == Some(0);
    if !there {
        record_not_tested(&format!("{program} is not installed"));
    }
    there
}

#[test]
fn cargo_builds() {
    // Cargo reads the configuration of every directory above the place.
    let place = scratch();
    let above = place.ancestors().map(|dir| dir.join(".cargo"));
    let above: Vec<_> = above.filter(|dir| dir.is_dir()).collect();
    let read = format!("[sandbox]\nread = {above:?}");
    let mut scene = Scene::at(with_toolchains(Place::away(&read)));
    scene.works(
        "printf '[package]\nname = \"built\"\nedition = \"2024\"\n[workspace]\n' > Cargo.toml && mkdir src \
         && echo 'fn main() {}' > src/main.rs && cargo build --offline && ./target/debug/built",
    );
}

#[test]
fn npm_installs() {
    let mut scene = Scene::at(with_toolchains(Place::away("")));
    scene.works(
        "mkdir -p dep app && echo '{\"name\":\"dep\",\"version\":\"1.0.0\"}' > dep/package.json && cd dep && npm pack --offline \
         && cd ../app && echo '{\"name\":\"app\",\"version\":\"1.0.0\",\"dependencies\":{\"dep\":\"file:../dep-1.0.0.tgz\"}}' > package.json \
         && mv ../dep/dep-1.0.0.tgz .. && npm install --offline --no-audit && rm -r node_modules && npm ci --offline --no-audit \
         && test -f node_modules/dep/package.json",
    );
}

#[test]
fn pip_installs() {
    let mut scene = Scene::at(with_toolchains(Place::away("")));
    scene.works(
        "mkdir -p pkg && printf '[project]\\nname = \"pkg\"\\nversion = \"1\"\\n[build-system]\\nrequires = []\\nbuild-backend = \"own\"\\nbackend-path = [\".\"]\\n' > pkg/pyproject.toml \
         && cat > pkg/own.py <<'P'\nimport zipfile\ndef build_wheel(directory, *_):\n    name = 'pkg-1-py3-none-any.whl'\n    with zipfile.ZipFile(directory + '/' + name, 'w') as z:\n        z.writestr('pkg.py', 'x = 1')\n        z.writestr('pkg-1.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: pkg\\nVersion: 1\\n')\n        z.writestr('pkg-1.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: own\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')\n        z.writestr('pkg-1.dist-info/RECORD', '')\n    return name\nP\n\
         python3 -m venv venv && venv/bin/pip install --no-index --disable-pip-version-check ./pkg && venv/bin/python -c 'import pkg'",
    );
}

/// `uvx` takes a lock next to the tools that a user has installed.
#[test]
fn uvx_runs() {
    if is_there("uvx") {
        let mut scene = Scene::at(with_toolchains(Place::away("")));
        scene.works(
            "mkdir tool && printf '[project]\\nname = \"tool\"\\nversion = \"1\"\\n[project.scripts]\\ntool = \"tool:main\"\\n[build-system]\\nrequires = []\\nbuild-backend = \"own\"\\nbackend-path = [\".\"]\\n' > tool/pyproject.toml \
             && cat > tool/own.py <<'P'\nimport zipfile\ndef build_wheel(directory, *_):\n    name = 'tool-1-py3-none-any.whl'\n    with zipfile.ZipFile(directory + '/' + name, 'w') as z:\n        z.writestr('tool.py', 'def main(): print(\"it\" + \"runs\")')\n        z.writestr('tool-1.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: tool\\nVersion: 1\\n')\n        z.writestr('tool-1.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: own\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')\n        z.writestr('tool-1.dist-info/entry_points.txt', '[console_scripts]\\ntool = tool:main\\n')\n        z.writestr('tool-1.dist-info/RECORD', '')\n    return name\nP\n\
             uvx --offline --no-python-downloads --from ./tool tool",
        );
    }
}

#[test]
fn go_builds() {
    if is_there("go") {
        let mut scene = Scene::at(with_toolchains(Place::away("")));
        scene.works("printf 'module m\\n' > go.mod && printf 'package main\\nfunc main() {}\\n' > m.go && go build && ./m");
    }
}

#[test]
fn git_commits_in_a_worktree() {
    let place = Place::away("");
    let run = |line: &str| {
        let done = outcome(Command::new("sh").args(["-c", line]).current_dir(place.home()));
        assert_eq!(done.code, Some(0), "{line}: {done:?}");
    };
    let name = "git -c user.name=t -c user.email=t@example.org";
    run(&format!(
        "git init -q main && {name} -C main commit -q --allow-empty -m one && rmdir work && git -C main worktree add -q ../work"
    ));
    let beside = place.home().join("main/file");
    std::fs::write(&beside, "x").unwrap();
    let mut scene = Scene::at(place);
    scene.works(&format!(
        "echo x > new && git add new && {name} commit -q -m two && git log --oneline"
    ));
    scene.fails(&format!("cat '{}'", beside.display()));
    // A file that an agent writes must not grant access.
    let keys = scene.in_home("keys/worktrees/w/gitdir", "x");
    scene.works(&format!(
        "rm .git && echo 'gitdir: {}' > .git",
        keys.parent().unwrap().display()
    ));
    let thread = scene.client.thread(&scene.daemon);
    scene.thread = thread;
    scene.fails(&format!("cat '{}'", keys.display()));
}

#[test]
fn git_commits_in_a_submodule() {
    let place = Place::away("");
    let git = "git -c user.name=t -c user.email=t@example.org -c protocol.file.allow=always -c init.defaultBranch=main";
    let line = format!(
        "{git} init -q lib && {git} -C lib commit -q --allow-empty -m one && {git} init -q work \
         && {git} -C work submodule --quiet add ../lib lib && echo x > work/beside"
    );
    let done = outcome(Command::new("sh").args(["-c", &line]).current_dir(place.home()));
    assert_eq!(done.code, Some(0), "{done:?}");
    let submodule = place.work().join("lib");
    let config = std::fs::read_to_string(place.config()).unwrap();
    let own = place.work().join(".git/modules/lib");
    let line = format!(
        "if test -e planted; then ls '{}'; else echo x > new && git add new && {git} commit -q -m two && git log; fi",
        own.display()
    );
    place.configure(&format!("{config}\n{}", probe(&line, "")));
    let daemon = Daemon::at(place);
    let mut client = Client::new(&daemon);
    let mut says = |cwd: &Path| {
        let started = client.call("thread/start", &json!({ "agentType": "probe", "cwd": cwd }));
        let thread = started["thread"]["id"].as_str().expect("it has an id").to_owned();
        client.turn(&thread, "go").said().clone()
    };
    assert_eq!(says(&submodule), "0");
    // Another `.git` file that names the same repository gets no access.
    let other = daemon.place.home().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("planted"), "").unwrap();
    std::fs::write(other.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
    assert_ne!(says(&other), "0");
}
