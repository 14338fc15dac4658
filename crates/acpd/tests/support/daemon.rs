//! The real daemon, in its own directory.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Instant;

use rustix::process::Signal;
use tempfile::TempDir;

use super::location::{self, built};
use super::processes::{self, MARK};
use super::{PATIENCE, wait_until};

/// A daemon that a command has started in the background, by its pid; killed at the end of the test.
pub struct Background(pub u32);

impl Drop for Background {
    fn drop(&mut self) {
        if processes::exists(self.0) {
            processes::end(self.0, Signal::KILL);
        }
    }
}

/// Directories and a configuration for a daemon, which may or may not run.
pub struct Place {
    root: TempDir,
    env: Vec<(String, OsString)>,
}

/// A running daemon; dropping it kills the process.
pub struct Daemon {
    /// Its directories and configuration.
    pub place: Place,
    child: Option<Child>,
    address: SocketAddr,
}

impl Place {
    /// Creates a place with the agent `fake`, and `more` lines of configuration.
    pub fn new(more: &str) -> Self {
        let root = tempfile::tempdir().expect("a temporary directory can be made");
        Self::below(root, more)
    }

    /// Creates the same outside of the directories for temporary files, to which sandboxes grant access by default. Ends
    /// the test as not tested where the user has no such directory, or the kernel no sandbox.
    pub fn away(more: &str) -> Self {
        location::needs_sandboxes();
        Self::below(location::closed_directory(|_| true), more)
    }

    /// Creates the same in a path without blanks: the kernel reads the name of a script's interpreter up to a blank.
    pub fn away_without_blanks(more: &str) -> Self {
        location::needs_sandboxes();
        let has_none = |path: &Path| !path.to_string_lossy().contains(char::is_whitespace);
        Self::below(location::closed_directory(has_none), more)
    }

    /// Creates a place with the agent `fake` outside of any sandbox, and `more` lines of configuration.
    pub fn without_sandbox(more: &str) -> Self {
        let place = Self::new("");
        let agent = place.agent("fake", &["--pace", "0"], &[]);
        let (agent, _) = agent.split_once("sandbox = ").expect("it has a sandbox");
        place.configure(&format!("{agent}sandbox = \"off\"\n{more}\n"));
        place
    }

    fn below(root: TempDir, more: &str) -> Self {
        let place = Self {
            root,
            env: Vec::new(),
        };
        std::fs::create_dir(place.work()).expect("the work directory can be made");
        std::fs::create_dir(place.root.path().join("sessions")).expect("the sessions' directory can be made");
        let config = format!("{}\n{more}\n", place.agent("fake", &["--pace", "0"], &[]));
        place.configure(&config);
        place
    }

    /// Adds a variable to the environment of `acpd`.
    pub fn with_env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Replaces the configuration.
    pub fn configure(&self, text: &str) {
        // A daemon that runs reads the old text or the new one, and never half of it.
        let new = self.config().with_extension("new");
        std::fs::write(&new, text).expect("the configuration can be written");
        std::fs::rename(new, self.config()).expect("the configuration can be replaced");
    }

    /// Returns the configuration lines of a fake agent with this name; its sessions outlive its process.
    pub fn agent(&self, name: &str, args: &[&str], env: &[(&str, &str)]) -> String {
        let mut env: String = env.iter().fold(String::new(), |mut text, (name, value)| {
            let _ = write!(text, "{name} = {value:?}, ");
            text
        });
        let _ = write!(env, "{MARK} = {:?}, ", self.mark());
        let sessions = self.root.path().join("sessions").display().to_string();
        let _ = write!(env, "FAKE_AGENT_STATE = {sessions:?}");
        let command = fake_agent().display().to_string();
        // The agent is sandboxed as any other; acpd does not know the directory of its sessions, so it is granted here.
        format!(
            "[agents.{name}]\ncommand = {command:?}\nargs = {args:?}\nenv = {{ {env} }}\nsandbox = {{ write = [{sessions:?}] }}\n"
        )
    }

    /// Returns the daemon's data directory.
    pub fn data(&self) -> PathBuf {
        self.root.path().join("data")
    }

    /// Creates the data directory with the daemon's permissions.
    pub fn make_data(&self) {
        let mut private = std::fs::DirBuilder::new();
        private.mode(0o700).create(self.data()).expect("it can be made");
    }

    /// Returns the working directory for agents.
    pub fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// Returns the user's home directory.
    pub fn home(&self) -> &Path {
        self.root.path()
    }

    /// Returns the default path of the configuration file.
    pub fn home_config(&self) -> PathBuf {
        self.root.path().join(".config/acpd/config.toml")
    }

    /// Returns the configuration file.
    pub fn config(&self) -> PathBuf {
        self.root.path().join("acpd.toml")
    }

    /// Returns the file with the daemon's log output.
    pub fn stderr(&self) -> PathBuf {
        self.root.path().join("stderr")
    }

    /// Returns the value that all processes of this place's agents have in their environment.
    pub fn mark(&self) -> String {
        self.root.path().display().to_string()
    }

    /// Returns the living processes of this place's agents.
    pub fn agents(&self) -> Vec<u32> {
        processes::with_mark(&self.mark())
    }

    /// Waits until no process of this place's agents is alive.
    pub fn wait_for_no_agents(&self) {
        wait_until("all processes of the agents are gone", || {
            self.agents().is_empty()
        });
    }

    /// Returns an `acpd` command with this place's directories, and without the caller's own settings.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(built("acpd"));
        command
            .args(args)
            .current_dir(self.work())
            .env("HOME", self.root.path())
            .env("ACPD_CONFIG", self.config())
            .env("ACPD_DATA_DIR", self.data())
            .env("ACPD_LISTEN", "127.0.0.1:0")
            .env_remove("ACPD_TOKEN")
            .env_remove("ACPD_LOG")
            .env_remove("XDG_CACHE_HOME")
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("XDG_DATA_HOME")
            .env_remove("XDG_STATE_HOME")
            .env_remove("ACPD_CONNECT")
            .env_remove("ACPD_TLS_FINGERPRINT");
        for (name, value) in &self.env {
            command.env(name, value);
        }
        command
    }

    /// Returns an `acpd` command like [`command`](Self::command), run by a program that becomes acpd: its name and its
    /// arguments.
    pub fn command_behind(&self, wrapper: &[&str], args: &[&str]) -> Command {
        let inner = self.command(args);
        let mut command = Command::new(wrapper[0]);
        command
            .args(&wrapper[1..])
            .arg(inner.get_program())
            .args(inner.get_args())
            .current_dir(self.work());
        for (name, value) in inner.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }

    /// Returns the access token.
    pub fn token(&self) -> String {
        std::fs::read_to_string(self.data().join("token")).expect("the daemon has made a token")
    }

    /// Returns the pid in the notice file of this place's daemon.
    pub fn noticed_pid(&self) -> Option<u32> {
        let text = std::fs::read(self.data().join("daemon.json")).ok()?;
        let notice: serde_json::Value = serde_json::from_slice(&text).ok()?;
        notice["pid"].as_u64()?.try_into().ok()
    }

    /// Returns the background daemon of this place, to be killed at the end of the test.
    pub fn background(&self) -> Option<Background> {
        self.noticed_pid().map(Background)
    }

    /// Returns the daemon's log output.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.stderr()).unwrap_or_default()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for pid in self.agents() {
            processes::signal(pid, Signal::KILL);
        }
    }
}

/// Returns the path of the scripted agent, which is built next to the daemon.
pub fn fake_agent() -> PathBuf {
    built("acpd-fake-agent")
}

impl Daemon {
    /// Starts a daemon with the agent `fake` and the default limits.
    pub fn start() -> Self {
        Self::with("")
    }

    /// Starts a daemon with the agent `fake`, and `more` lines of configuration.
    pub fn with(more: &str) -> Self {
        Self::at(Place::new(more))
    }

    /// Starts a daemon in an existing place.
    pub fn at(place: Place) -> Self {
        let (child, address) = launch(&place);
        Self {
            place,
            child: Some(child),
            address,
        }
    }

    /// Starts a daemon with the demo agent and no configuration, in a place whose configuration file is `HOME`'s.
    pub fn demo() -> Self {
        let place = Place::new("");
        let mut command = place.command(&["serve", "--demo"]);
        command.env_remove("ACPD_CONFIG");
        let (child, address) = launch_as(&place, command);
        Self {
            place,
            child: Some(child),
            address,
        }
    }

    /// Starts a daemon in an existing place, with these options of `acpd serve`.
    pub fn serving(place: Place, options: &[&str]) -> Self {
        let args: Vec<&str> = std::iter::once("serve").chain(options.iter().copied()).collect();
        let command = place.command(&args);
        let (child, address) = launch_as(&place, command);
        Self {
            place,
            child: Some(child),
            address,
        }
    }

    /// Starts a daemon in an existing place, through a program that becomes the daemon: its name and its arguments.
    pub fn behind(place: Place, wrapper: &[&str]) -> Self {
        let command = place.command_behind(wrapper, &["serve"]);
        let (child, address) = launch_as(&place, command);
        Self {
            place,
            child: Some(child),
            address,
        }
    }

    /// Returns the daemon's address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the daemon's log output.
    pub fn log(&self) -> String {
        self.place.log()
    }

    /// Returns the process id.
    pub fn pid(&self) -> u32 {
        self.child.as_ref().expect("the daemon runs").id()
    }

    /// Kills the process as by `kill -9`, and waits until it has exited.
    pub fn kill(&mut self) {
        let mut child = self.child.take().expect("the daemon runs");
        child.kill().expect("it can be killed");
        child.wait().expect("it can be waited for");
    }

    /// Sends SIGTERM without waiting.
    pub fn terminate(&self) {
        processes::signal(self.pid(), Signal::TERM);
    }

    /// Waits until it exits by itself.
    pub fn wait(&mut self) -> ExitStatus {
        let mut child = self.child.take().expect("the daemon runs");
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = child.try_wait().expect("it can be waited for") {
                return status;
            }
            if Instant::now() > deadline {
                // No process may outlive the test.
                let _ = child.kill();
                panic!("the daemon does not stop; it says:\n{}", self.place.log());
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }

    /// Sends SIGTERM, and waits until it has exited.
    pub fn stop(&mut self) -> ExitStatus {
        self.terminate();
        self.wait()
    }

    /// Starts it again, with the same directories.
    pub fn restart(&mut self) {
        assert!(self.child.is_none(), "it still runs");
        let (child, address) = launch(&self.place);
        (self.child, self.address) = (Some(child), address);
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have exited already.
            let _ = child.kill();
            let _ = child.wait();
        }
        let log = self.place.log();
        if std::thread::panicking() {
            let from = log.floor_char_boundary(log.len().saturating_sub(4000));
            eprintln!("the daemon's log ends with:\n{}", &log[from..]);
        } else {
            assert!(!log.contains("panicked"), "the daemon panicked:\n{log}");
        }
    }
}

/// Starts the binary, and reads its address from its standard output.
fn launch(place: &Place) -> (Child, SocketAddr) {
    launch_as(place, place.command(&["serve"]))
}

fn launch_as(place: &Place, mut command: Command) -> (Child, SocketAddr) {
    let log = File::options()
        .append(true)
        .create(true)
        .open(place.stderr())
        .expect("a log can be opened");
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .expect("acpd starts");
    let stdout = child.stdout.take().expect("stdout is piped");
    let (told, heard) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            // Read the rest too, so that the daemon never blocks on a full pipe.
            let _ = told.send(line);
        }
    });
    let line = heard.recv_timeout(PATIENCE);
    let address = line.ok().and_then(|line| {
        let url = line.strip_prefix("acpd listens on ")?.split(',').next()?;
        url.strip_prefix("http://")
            .or(url.strip_prefix("https://"))?
            .parse()
            .ok()
    });
    let Some(address) = address else {
        let _ = child.kill();
        let _ = child.wait();
        panic!(
            "the daemon does not say where it listens; it says:\n{}",
            place.log()
        );
    };
    (child, address)
}
