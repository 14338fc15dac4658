//! The daemon as a service: what it exchanges with systemd, and `acpd service`. A script stands for systemctl.

use std::io::Write;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;

use crate::support::{
    self, Client, Daemon, PATIENCE, Place, built, outcome, record_not_tested, signal, wait_until,
};

/// The socket of a service manager.
struct Manager(UnixDatagram);

impl Manager {
    fn at(path: &Path) -> Self {
        let socket = UnixDatagram::bind(path).expect("it can be bound");
        socket.set_read_timeout(Some(PATIENCE)).expect("it can be set");
        Self(socket)
    }

    /// Returns the next message.
    fn next(&self) -> String {
        let mut buffer = [0; 4096];
        let length = self.0.recv(&mut buffer).expect("the daemon notifies");
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    }
}

/// A process that is killed at the end of the test.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the path of `acpd` as the process itself knows it.
fn program() -> String {
    let program = built("acpd").canonicalize().expect("it is there");
    program.to_str().expect("it is text").to_owned()
}

#[test]
fn the_manager_is_notified_of_the_start_a_reload_and_the_end() {
    let socket = tempfile::tempdir().expect("it can be made");
    let path = socket.path().join("notify");
    let manager = Manager::at(&path);
    let mut daemon = Daemon::at(Place::new("").with_env("NOTIFY_SOCKET", &path));
    let ready = format!("READY=1\nSTATUS=listening on http://{}", daemon.address());
    assert_eq!(manager.next(), ready);

    // SIGHUP applies the configuration at once, and the second message says when that is done.
    let config = std::fs::read_to_string(daemon.place.config()).expect("it can be read");
    daemon
        .place
        .configure(&format!("{config}\n[policy]\ndefault = \"deny\"\n"));
    signal(daemon.pid(), Signal::HUP);
    assert_eq!(manager.next(), "RELOADING=1");
    assert_eq!(manager.next(), ready);
    assert!(daemon.log().contains("reloaded policies"), "{}", daemon.log());

    // Agents do not see the socket.
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.turn(&thread, "say hello");
    for pid in daemon.place.agents() {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&environment).contains("NOTIFY_SOCKET"));
    }
    daemon.terminate();
    assert_eq!(manager.next(), "STOPPING=1\nSTATUS=stopping");
    assert!(daemon.wait().success());
}

/// Starts a daemon with a socket as its descriptor 3, as systemd does.
fn start_with(place: &Place, socket: OwnedFd) -> Started {
    let inner = place.command(&["serve"]);
    let mut command = Command::new("sh");
    command
        .args([
            "-c",
            "exec env LISTEN_PID=$$ LISTEN_FDS=1 \"$0\" serve 3<&0 0</dev/null",
        ])
        .arg(inner.get_program());
    support::copy_surroundings(&inner, &mut command);
    let log = std::fs::File::create(place.stderr()).expect("it can be created");
    let child = command
        .stdin(Stdio::from(socket))
        .stdout(Stdio::null())
        .stderr(log);
    Started(child.spawn().expect("it starts"))
}

#[test]
fn the_daemon_listens_on_the_socket_that_the_manager_has_opened() {
    let place = Place::new("");
    let socket = TcpListener::bind("127.0.0.1:0").expect("it can be bound");
    let address = socket.local_addr().expect("it has one");
    // A client that connects before the daemon runs is answered.
    let mut early = std::net::TcpStream::connect(address).expect("it can connect");
    let request = format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    early.write_all(request.as_bytes()).expect("it can be written");
    let mut daemon = start_with(&place, OwnedFd::from(socket));
    let mut answer = String::new();
    early.set_read_timeout(Some(PATIENCE)).expect("it can be set");
    std::io::Read::read_to_string(&mut early, &mut answer).expect("it is answered");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    signal(daemon.0.id(), Signal::HUP);
    signal(daemon.0.id(), Signal::TERM);
    wait_until("it ends", || {
        daemon.0.try_wait().expect("it can be waited for").is_some()
    });
    assert!(!place.log().contains("restart"), "{}", place.log());
}

#[test]
fn a_socket_that_does_not_listen_is_refused() {
    let place = Place::new("");
    let (socket, _other) = std::os::unix::net::UnixStream::pair().expect("it can be made");
    let mut daemon = start_with(&place, OwnedFd::from(socket));
    let status = daemon.0.wait().expect("it ends");
    assert_eq!(status.code(), Some(1));
    assert!(place.log().contains("one ListenStream="), "{}", place.log());
}

/// Makes a systemctl that writes down its arguments, and answers about states with the content of files.
fn systemctl(place: &Place, fails_with: Option<&str>) -> PathBuf {
    let bin = place.home().join("bin");
    std::fs::create_dir_all(&bin).expect("it can be made");
    let home = place.home().display();
    let end = match fails_with {
        Some(message) => format!("echo '{message}' >&2; exit 1"),
        None => format!("if [ -e '{home}/answers/'\"$2\" ]; then cat '{home}/answers/'\"$2\"; fi"),
    };
    let script = bin.join("systemctl");
    std::fs::write(
        &script,
        format!("#!/bin/sh\necho \"$*\" >> '{home}/calls'\n{end}\n"),
    )
    .expect("it is written");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("it can be set");
    bin
}

fn service(place: &Place, args: &[&str]) -> support::Outcome {
    let args: Vec<&str> = ["service"].iter().chain(args).copied().collect();
    let path = format!("{}:/usr/bin:/bin", place.home().join("bin").display());
    outcome(
        place
            .command(&args)
            .env("PATH", path)
            .env_remove("XDG_CONFIG_HOME"),
    )
}

#[test]
fn a_service_is_installed_shown_and_removed() {
    let place = Place::new("");
    systemctl(&place, None);
    let unit = place.home().join(".config/systemd/user/acpd.service");
    let installed = service(&place, &["install"]);
    assert_eq!(installed.code, Some(0), "{}", installed.stderr);
    let calls = || std::fs::read_to_string(place.home().join("calls")).expect("it was called");
    assert!(
        calls().ends_with("--user daemon-reload\n--user enable acpd.service\n--user start acpd.service\n"),
        "{}",
        calls()
    );
    let text = std::fs::read_to_string(&unit).expect("it is written");
    let program = &program();
    assert!(
        text.contains(&format!("ExecStart=\"{program}\" \"serve\"")),
        "{text}"
    );
    assert!(text.contains(&place.config().display().to_string()), "{text}");
    verify(&unit);

    std::fs::create_dir(place.home().join("answers")).expect("it can be made");
    for (question, answer) in [("is-active", "active"), ("is-enabled", "enabled")] {
        std::fs::write(place.home().join("answers").join(question), answer).expect("it is written");
    }
    let shown = service(&place, &["status"]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    assert!(
        shown.stdout.ends_with("at login: enabled\nstate: active\n"),
        "{}",
        shown.stdout
    );

    // A changed unit is the user's.
    let changed = format!("{text}# mine\n");
    std::fs::write(&unit, &changed).expect("it is written");
    for command in ["install", "uninstall"] {
        let refused = service(&place, &[command]);
        assert_eq!(refused.code, Some(1), "{}", refused.stdout);
        assert!(refused.stderr.contains("was changed"), "{}", refused.stderr);
        assert_eq!(std::fs::read_to_string(&unit).expect("it is there"), changed);
    }
    let forced = service(&place, &["install", "--force"]);
    assert_eq!(forced.code, Some(0), "{}", forced.stderr);
    assert_eq!(std::fs::read_to_string(&unit).expect("it is there"), text);
    let removed = service(&place, &["uninstall"]);
    assert_eq!(removed.code, Some(0), "{}", removed.stderr);
    assert!(!unit.exists());
    assert!(
        calls().ends_with("--user disable --now acpd.service\n--user daemon-reload\n"),
        "{}",
        calls()
    );
    assert_eq!(service(&place, &["uninstall"]).code, Some(5));
}

/// Returns the name of a user that is not root and that every system has.
const STRANGER: &str = "daemon";

#[test]
fn a_service_of_the_system_needs_root_and_a_user() {
    let place = Place::new("");
    systemctl(&place, None);
    let units = place.home().join("units");
    let run = |program: &Path, args: &[&str]| {
        let args: Vec<&str> = ["service"].iter().chain(args).copied().collect();
        let path = format!("{}:/usr/bin:/bin", place.home().join("bin").display());
        let mut command = Command::new(program);
        support::copy_surroundings(&place.command(&[]), &mut command);
        outcome(
            command
                .args(args)
                .env("PATH", path)
                .env("SYSTEMD_UNIT_PATH", &units),
        )
    };
    let system = |args: &[&str]| run(&built("acpd"), args);
    if !rustix::process::geteuid().is_root() {
        for verb in ["install", "uninstall"] {
            let refused = system(&[verb, "--system"]);
            assert_eq!(refused.code, Some(1), "{}", refused.stdout);
            assert!(refused.stderr.contains("needs root"), "{}", refused.stderr);
        }
        assert!(!units.exists());
        record_not_tested("only root can install a service of the system");
        return;
    }
    for (user, code, part) in [
        ("no-such-user-here", 1, "useradd --create-home"),
        ("root", 1, "do not run as root"),
        ("a b", 2, "it is not a user name"),
    ] {
        let refused = system(&["install", "--system", "--user", user]);
        assert_eq!(refused.code, Some(code), "{}", refused.stdout);
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
        assert!(!units.exists());
    }
    // Other users may be unable to enter the clone, so the program is a copy, which they can run once its directory is open.
    let directory = tempfile::tempdir_in("/tmp").expect("it can be made");
    let copy = directory.path().join("acpd");
    std::fs::copy(built("acpd"), &copy).expect("it can be copied");
    let open = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("it can be set");
    };
    open(&copy, 0o755);
    open(directory.path(), 0o700);
    let install = ["install", "--system", "--user", STRANGER];
    let refused = run(&copy, &install);
    assert_eq!(refused.code, Some(1), "{}", refused.stdout);
    assert!(refused.stderr.contains("cannot run"), "{}", refused.stderr);
    assert!(!units.exists());
    open(directory.path(), 0o755);
    let installed = run(&copy, &install);
    assert_eq!(installed.code, Some(0), "{}", installed.stderr);
    let unit = units.join("acpd.service");
    let text = std::fs::read_to_string(&unit).expect("it is written");
    for part in [
        &format!("\nUser={STRANGER}\n"),
        "\nNoNewPrivileges=yes\n",
        "\nKillMode=mixed\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    verify(&unit);
    let calls = std::fs::read_to_string(place.home().join("calls")).expect("it was called");
    assert!(
        calls.ends_with("\ndaemon-reload\nenable acpd.service\nstart acpd.service\n"),
        "{calls}"
    );
    std::fs::write(&unit, format!("{text}# mine\n")).expect("it is written");
    assert_eq!(system(&["uninstall", "--system"]).code, Some(1));
    std::fs::write(&unit, &text).expect("it is written");
    let removed = system(&["uninstall", "--system"]);
    assert_eq!(removed.code, Some(0), "{}", removed.stderr);
    assert!(!unit.exists());
}

/// Makes a launchctl that writes down its arguments, and prints a job if there is a file "loaded".
fn launchctl(place: &Place) {
    let bin = place.home().join("bin");
    std::fs::create_dir_all(&bin).expect("it can be made");
    let home = place.home().display();
    let script = format!(
        "#!/bin/sh\necho \"$*\" >> '{home}/calls'\ncase \"$1\" in\nbootstrap) touch '{home}/loaded' ;;\nbootout) rm '{home}/loaded' ;;\n\
         print) [ -e '{home}/loaded' ] || exit 113; echo '\tstate = running' ;;\nesac\n"
    );
    std::fs::write(bin.join("launchctl"), script).expect("it is written");
    std::fs::set_permissions(bin.join("launchctl"), std::fs::Permissions::from_mode(0o755))
        .expect("it can be set");
}

#[test]
fn a_job_of_launchd_is_installed_shown_and_removed() {
    let place = Place::new("");
    launchctl(&place);
    let job = |args: &[&str]| service(&place, &[args, &["--manager", "launchd"]].concat());
    let file = place.home().join("Library/LaunchAgents/acpd.plist");
    assert_eq!(job(&["uninstall"]).code, Some(5));
    assert_eq!(job(&["status"]).code, Some(1));
    let installed = job(&["install"]);
    assert_eq!(installed.code, Some(0), "{}", installed.stderr);
    let uid = rustix::process::getuid().as_raw();
    let calls = || std::fs::read_to_string(place.home().join("calls")).expect("it was called");
    let expected = format!(
        "print gui/{uid}/acpd\nenable gui/{uid}/acpd\nbootstrap gui/{uid} {}\n",
        file.display()
    );
    assert!(calls().ends_with(&expected), "{}", calls());
    let text = std::fs::read_to_string(&file).expect("it is written");
    let program = &program();
    for part in [
        &format!("<string>{program}</string>\n        <string>serve</string>\n"),
        &format!(
            "<string>{}</string>",
            place.home().join("Library/Logs/acpd.log").display()
        ),
        &format!("<string>{}</string>", place.config().display()),
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(place.home().join("Library/Logs").is_dir());
    let shown = job(&["status"]);
    assert_eq!(
        (shown.code, shown.stdout.ends_with("state: running\n")),
        (Some(0), true),
        "{}",
        shown.stdout
    );
    // A job that runs is not loaded once more, and a changed one is the user's.
    assert_eq!(job(&["install"]).code, Some(0));
    assert_eq!(calls().matches("bootstrap").count(), 1);
    std::fs::write(&file, text.replace("<true/>", "<false/>")).expect("it is written");
    for command in ["install", "uninstall"] {
        let refused = job(&[command]);
        assert!(refused.stderr.contains("was changed"), "{}", refused.stderr);
    }
    let replaced = job(&["install", "--force"]);
    assert!(replaced.stderr.contains("ran already"), "{}", replaced.stderr);
    let removed = job(&["uninstall"]);
    assert_eq!(removed.code, Some(0), "{}", removed.stderr);
    assert!(
        calls().ends_with(&format!("bootout gui/{uid}/acpd\n")),
        "{}",
        calls()
    );
    assert!(!file.exists());
    let refused = job(&["install", "--system"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    std::fs::remove_file(place.home().join("bin/launchctl")).expect("it can be removed");
    let refused = job(&["install"]);
    assert!(
        refused.stderr.contains("launchctl was not found"),
        "{}",
        refused.stderr
    );
}

#[test]
fn without_systemd_nothing_is_written() {
    let place = Place::new("");
    let bin = systemctl(&place, Some("Failed to connect to bus: No medium found"));
    let refused = service(&place, &["install"]);
    assert_eq!(refused.code, Some(1), "{}", refused.stdout);
    for part in ["No medium found", "no service was changed", "acpd serve"] {
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
    std::fs::remove_file(bin.join("systemctl")).expect("it can be removed");
    let refused = outcome(place.command(&["service", "install"]).env("PATH", &bin));
    assert!(
        refused.stderr.contains("systemctl was not found"),
        "{}",
        refused.stderr
    );
    assert!(!place.home().join(".config/systemd").exists());
}

#[test]
fn a_daemon_beside_the_service_is_in_the_way() {
    let daemon = Daemon::start();
    systemctl(&daemon.place, None);
    let refused = service(&daemon.place, &["install"]);
    assert_eq!(refused.code, Some(1), "{}", refused.stdout);
    assert!(refused.stderr.contains("stop it first"), "{}", refused.stderr);
    assert!(!daemon.place.home().join(".config/systemd").exists());
}

/// Makes a systemctl that runs the daemon of a place as the unit `acpd.service` of its user.
fn manager_of(place: &Place, pid: u32) {
    let bin = place.home().join("bin");
    std::fs::create_dir_all(&bin).expect("it can be made");
    let home = place.home().display();
    std::fs::write(place.home().join("pid"), pid.to_string()).expect("it is written");
    let script = format!(
        "#!/bin/sh\necho \"$*\" >> '{home}/calls'\ncase \"$*\" in\n\
         '--user show --property=MainPID --value acpd.service') cat '{home}/pid' ;;\n\
         'show '*) echo 0 ;;\n\
         '--user stop acpd.service') kill -TERM \"$(cat '{home}/pid')\" ;;\n\
         '--user restart acpd.service') old=\"$(cat '{home}/pid')\"; kill -TERM \"$old\"\n\
         while kill -0 \"$old\" 2>/dev/null && ! grep -q '^State:.Z' \"/proc/$old/status\"; do sleep 0.01; done\n\
         '{program}' serve < /dev/null > /dev/null 2>&1 & echo $! > '{home}/pid' ;;\n\
         *) echo 'not known' >&2; exit 1 ;;\nesac\n",
        program = program(),
    );
    std::fs::write(bin.join("systemctl"), script).expect("it is written");
    std::fs::set_permissions(bin.join("systemctl"), std::fs::Permissions::from_mode(0o755))
        .expect("it can be set");
}

/// Runs a command of acpd that finds the place's own systemctl.
fn managed(place: &Place, args: &[&str]) -> support::Outcome {
    let path = format!("{}:/usr/bin:/bin", place.home().join("bin").display());
    outcome(place.command(args).env("PATH", path))
}

#[test]
fn a_service_is_restarted_and_stopped_by_its_manager() {
    let mut daemon = Daemon::start();
    manager_of(&daemon.place, daemon.pid());
    let restarted = managed(&daemon.place, &["restart"]);
    let _guard = daemon.place.background();
    assert_eq!(restarted.code, Some(0), "{}", restarted.stderr);
    assert!(daemon.wait().success());
    let pid = daemon.place.noticed_pid().expect("the daemon runs");
    let managed_pid = std::fs::read_to_string(daemon.place.home().join("pid")).expect("it is there");
    assert_eq!(managed_pid.trim(), pid.to_string());
    assert!(
        restarted.stdout.contains(&format!("(process {pid})")),
        "{}",
        restarted.stdout
    );
    assert!(!restarted.stderr.contains("background"), "{}", restarted.stderr);
    let stopped = managed(&daemon.place, &["stop"]);
    assert_eq!(
        stopped.stdout,
        format!("stopped the service acpd.service of this user (process {pid})\n"),
        "{}",
        stopped.stderr
    );
    assert_eq!(daemon.place.noticed_pid(), None);
    let calls = std::fs::read_to_string(daemon.place.home().join("calls")).expect("it was called");
    let changes: Vec<&str> = calls.lines().filter(|call| !call.contains("show")).collect();
    assert_eq!(
        changes,
        ["--user restart acpd.service", "--user stop acpd.service"]
    );
}

#[test]
fn a_service_that_its_manager_does_not_stop_keeps_running() {
    let daemon = Daemon::start();
    manager_of(&daemon.place, daemon.pid());
    let script = daemon.place.home().join("bin/systemctl");
    let text = std::fs::read_to_string(&script).expect("it is there");
    let refusing = text.replace(
        "case \"$*\" in\n",
        "case \"$*\" in\n*stop*|*restart*) echo 'Access denied' >&2; exit 4 ;;\n",
    );
    std::fs::write(&script, refusing).expect("it is written");
    for command in ["stop", "restart"] {
        let refused = managed(&daemon.place, &[command]);
        assert_eq!(refused.code, Some(1), "{}", refused.stdout);
        assert!(refused.stderr.contains("Access denied"), "{}", refused.stderr);
    }
    assert_eq!(daemon.place.noticed_pid(), Some(daemon.pid()));
}

#[test]
fn the_packaged_units_are_valid() {
    let packaged = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/systemd");
    let directory = tempfile::tempdir().expect("it can be made");
    for unit in ["user/acpd.service", "user/acpd.socket", "system/acpd@.service"] {
        let text = std::fs::read_to_string(packaged.join(unit)).expect("it is there");
        // The path may have blanks.
        let program = &format!("\"{}\"", program());
        let text = text
            .replace("%h/.cargo/bin/acpd", program)
            .replace("/usr/local/bin/acpd", program);
        let name = Path::new(unit).file_name().expect("it has one");
        std::fs::write(directory.path().join(name), text).expect("it is written");
    }
    for unit in ["acpd.service", "acpd.socket", "acpd@.service"] {
        verify(&directory.path().join(unit));
    }
}

/// Has systemd check a unit, on systems that have it.
fn verify(unit: &Path) {
    let checked = Command::new("systemd-analyze").arg("verify").arg(unit).output();
    let Ok(checked) = checked else {
        return record_not_tested("systemd-analyze is not installed");
    };
    let said = String::from_utf8_lossy(&checked.stderr).into_owned();
    let name = unit.file_name().expect("it has one").to_string_lossy();
    let ours: Vec<&str> = said
        .lines()
        .filter(|line| line.contains(name.split('.').next().unwrap_or_default()))
        .collect();
    assert!(
        checked.status.success() && ours.is_empty(),
        "{}: {said}",
        unit.display()
    );
}
