//! What a process in a sandbox can and cannot do, as the kernel enforces it.

use std::fs::File;
use std::net::TcpListener;
use std::os::fd::AsRawFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use acpd_host::{Grants, Kernel, Network, Program, Sandbox, SandboxError, Terminal, TerminalSpec, Workspace};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::sync::mpsc;

use crate::support;

/// Paths that every program needs.
const SYSTEM: [&str; 7] = ["/usr", "/bin", "/lib", "/lib64", "/etc", "/dev/null", "/proc"];

/// A directory with a workspace, a secret, and a few others.
struct Scene(tempfile::TempDir);

impl Scene {
    fn new() -> Self {
        if Kernel::here().version() < 6 {
            support::not_tested("the kernel has no Landlock 6 (Linux 6.12)");
        }
        let scene = Self(tempfile::tempdir().expect("it can be made"));
        for made in ["work", "home/.ssh", "state/agents/a", "more"] {
            std::fs::create_dir_all(scene.path(made)).expect("it can be made");
        }
        for file in [
            "home/.ssh/key",
            "state/token",
            "state/agents/a/program",
            "more/file",
        ] {
            std::fs::write(scene.path(file), "contents\n").expect("it can be made");
        }
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().expect("it is there").join(name)
    }

    fn grants(&self) -> Grants {
        Grants {
            workspace: vec![self.path("work")],
            read: SYSTEM.iter().map(PathBuf::from).collect(),
            withheld: vec![self.path("state")],
            ..Grants::default()
        }
    }

    /// Runs a script with `sh` in the workspace, in a sandbox. Returns its exit code and output.
    async fn run(&self, grants: Grants, script: &str) -> (Option<i32>, String) {
        let mut program = support::shell(script, "token", &self.path("work"));
        program.sandbox = Some(Sandbox::new(&grants).expect("it can be made"));
        run(program).await
    }

    /// Returns whether a script succeeds.
    async fn can(&self, grants: &Grants, script: &str) -> bool {
        self.run(grants.clone(), script).await.0 == Some(0)
    }
}

async fn run(program: Program) -> (Option<i32>, String) {
    let (updates, mut told) = mpsc::channel(64);
    let output_bytes = 10_000;
    let terminal = Terminal::spawn(
        &TerminalSpec {
            program,
            directory: None,
            output_bytes,
        },
        updates,
    )
    .expect("it can be made");
    while told.recv().await.is_some() {}
    let exit = terminal.wait().await;
    (exit.code, terminal.output().0)
}

/// Returns a path as a word of a line of `sh`.
fn shown(path: &Path) -> String {
    format!("'{}'", path.display())
}

#[tokio::test]
async fn files_outside_of_the_lists_are_out_of_reach() {
    let scene = Scene::new();
    let grants = scene.grants();
    let [token, key, file] =
        ["state/token", "home/.ssh/key", "more/file"].map(|name| shown(&scene.path(name)));
    symlink(scene.path("state"), scene.path("work/link")).unwrap();
    assert!(
        scene
            .can(
                &grants,
                "echo x > made && mkdir sub && mv made sub/ && cat sub/made && rm -r sub"
            )
            .await
    );
    for refused in [
        format!("cat {token}"),
        "cat link/token".to_owned(),
        "cat ../state/token".to_owned(),
        format!("ls {}", shown(&scene.path("state"))),
        format!("cat {key}"),
        format!("echo x > {token}"),
        format!("rm {token}"),
        format!("ln {token} mine"),
        format!("mv {} mine", shown(&scene.path("state"))),
        format!("env -i setsid cat {token}"),
        format!("readlink /proc/{}/cwd", std::process::id()),
        format!("head -c 1 /proc/{}/mem", std::process::id()),
        format!("cat /proc/{}/root{token}", std::process::id()),
        "mknod disk b 8 0".to_owned(),
        "echo x > ../beside".to_owned(),
    ] {
        let (code, output) = scene.run(grants.clone(), &refused).await;
        assert!(code != Some(0), "{refused}: {output}");
    }
    assert!(!scene.can(&grants, &format!("cat {file}")).await);
    let more = Grants {
        read: [grants.read.clone(), vec![scene.path("more")]].concat(),
        ..grants.clone()
    };
    assert!(scene.can(&more, &format!("cat {file}")).await);
    assert!(!scene.can(&more, &format!("echo x > {file}")).await);
    let write = Grants {
        write: vec![scene.path("more")],
        ..grants
    };
    assert!(
        scene
            .can(&write, &format!("echo x > {file} && mv {file} mine"))
            .await
    );
}

#[tokio::test]
async fn a_workspace_that_may_only_be_read() {
    let scene = Scene::new();
    std::fs::write(scene.path("work/there"), "x").unwrap();
    let grants = Grants {
        readonly: true,
        // The workspace is inside of it.
        write: vec![scene.path("")],
        ..scene.grants()
    };
    assert!(scene.can(&grants, "cat there && ls").await);
    assert!(
        scene
            .can(&grants, &format!("echo x > {}", shown(&scene.path("more/new"))))
            .await
    );
    for refused in [
        "echo x > there",
        "echo x > new",
        "rm there",
        "mkdir sub",
        "mv there ../more/",
    ] {
        assert!(!scene.can(&grants, refused).await, "{refused}");
    }
    assert!(
        !scene.can(&grants, "cat ../state/token").await,
        "what is withheld is cut out"
    );
}

#[tokio::test]
async fn installed_programs_run_inside_of_withheld_folders() {
    let scene = Scene::new();
    let grants = Grants {
        spared: vec![scene.path("state/agents/a")],
        ..scene.grants()
    };
    let program = shown(&scene.path("state/agents/a/program"));
    assert!(scene.can(&grants, &format!("cat {program}")).await);
    assert!(!scene.can(&grants, &format!("echo x > {program}")).await);
    assert!(!scene.can(&grants, "cat ../state/token").await);
}

#[tokio::test]
async fn installations_can_write_inside_of_withheld_folders() {
    let scene = Scene::new();
    let grants = Grants {
        target: Some(scene.path("state/agents/a")),
        ..scene.grants()
    };
    let made = shown(&scene.path("state/agents/a/made"));
    assert!(
        scene
            .can(&grants, &format!("echo x > {made} && cat {made}"))
            .await
    );
    for refused in ["cat ../state/token", "echo x > ../state/agents/b"] {
        assert!(!scene.can(&grants, refused).await, "{refused}");
    }
}

#[tokio::test]
async fn connections_go_to_listed_ports_only() {
    let scene = Scene::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!(
        "exec python3 -S -c 'import socket; socket.create_connection((\"127.0.0.1\", {port})); socket.create_server((\"127.0.0.1\", 0))'"
    );
    let with = |network: Network| {
        let mut grants = scene.grants();
        grants.network = network;
        grants.read.push("/".into());
        grants
    };
    assert!(scene.can(&with(Network::On), &script).await);
    let (code, output) = scene.run(with(Network::Off), &script).await;
    assert!(code != Some(0) && output.contains("PermissionError"), "{output}");
    assert!(!scene.can(&with(Network::Ports(vec![1])), &script).await);
    let connect = script.split("; socket.create_server").next().unwrap().to_owned() + "'";
    assert!(scene.can(&with(Network::Ports(vec![port])), &connect).await);
}

#[tokio::test]
async fn processes_outside_are_not_signalled_and_new_privileges_are_not_had() {
    let scene = Scene::new();
    let grants = scene.grants();
    let own = std::process::id();
    let (code, output) = scene.run(grants.clone(), &format!("kill -0 {own}")).await;
    assert!(code != Some(0), "{output}");
    assert!(
        scene.can(&grants, "sleep 100 & kill $!").await,
        "its own children can be"
    );
    let (_, status) = scene.run(grants, "grep NoNewPrivs /proc/self/status").await;
    assert!(status.trim_end().ends_with('1'), "{status}");
}

/// Acts on the process of the first argument, on its own terminal and on the user's keyring by calls without a file, then on itself.
const CALLS: &str = r#"
import ctypes, fcntl, os, resource, sys, termios
libc = ctypes.CDLL(None, use_errno=True)
outside = int(sys.argv[1])

def system(call, *arguments):
    if libc.syscall(call, *arguments) < 0:
        raise OSError(ctypes.get_errno(), "")

KEYCTL, IOPRIO_SET = (250, 251) if os.uname().machine == "x86_64" else (219, 30)
lease = os.open("lease", os.O_RDWR | os.O_CREAT)
limits = (0, 0)
others = {
    "prlimit": lambda: resource.prlimit(outside, resource.RLIMIT_FSIZE, limits),
    "prlimit of the processor": lambda: resource.prlimit(outside, resource.RLIMIT_CPU, (1, 1)),
    "setpriority": lambda: os.setpriority(os.PRIO_PROCESS, outside, 19),
    "setpriority of all of the user's": lambda: os.setpriority(os.PRIO_USER, 0, 19),
    "setpriority of a group": lambda: os.setpriority(os.PRIO_PGRP, os.getpgid(outside), 19),
    "ioprio_set": lambda: system(IOPRIO_SET, 1, outside, 3 << 13),
    "ioprio_set of all of the user's": lambda: system(IOPRIO_SET, 3, os.getuid(), 3 << 13),
    "sched_setaffinity": lambda: os.sched_setaffinity(outside, {0}),
    "sched_setscheduler": lambda: os.sched_setscheduler(outside, os.SCHED_BATCH, os.sched_param(0)),
    "sched_setparam": lambda: os.sched_setparam(outside, os.sched_param(0)),
    "keyctl": lambda: system(KEYCTL, 0, -4, 0),
    "TIOCSTI": lambda: fcntl.ioctl(0, termios.TIOCSTI, b"x"),
    "TIOCLINUX": lambda: fcntl.ioctl(0, 0x541c, b"\x02"),
    "F_SETLEASE": lambda: fcntl.fcntl(lease, 1024, fcntl.F_WRLCK),
}
own = {
    "prlimit": lambda: resource.prlimit(0, resource.RLIMIT_CORE, (0, 0)),
    "setrlimit": lambda: resource.setrlimit(resource.RLIMIT_CPU, (900, 900)),
    "a look at a limit": lambda: resource.prlimit(os.getpid(), resource.RLIMIT_NOFILE),
    "nice": lambda: os.nice(1),
    "setpriority": lambda: os.setpriority(os.PRIO_PROCESS, 0, 2),
    "ioprio_set": lambda: system(IOPRIO_SET, 1, 0, 3 << 13),
    "sched_setaffinity": lambda: os.sched_setaffinity(0, os.sched_getaffinity(0)),
    "sched_setscheduler": lambda: os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0)),
    "a lock": lambda: fcntl.lockf(lease, fcntl.LOCK_EX),
    "the size of the terminal": lambda: os.get_terminal_size(0),
}
for calls in own, others:
    for name, call in calls.items():
        try:
            call()
            done = "done"
        except OSError as error:
            done = "refused"
        print("own" if calls is own else "other", name, done, flush=True)
"#;

#[tokio::test]
async fn calls_without_a_file_act_on_the_caller_alone() {
    let scene = Scene::new();
    std::fs::write(scene.path("work/calls.py"), CALLS).unwrap();
    let mut grants = scene.grants();
    grants.read.push("/".into());
    let mut outside = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    let script = format!("exec python3 -S calls.py {}", outside.id());
    let (code, output) = scene.run(grants.clone(), &script).await;
    let mut by_tools = Vec::new();
    for tool in [
        "renice -n 19 -p",
        "prlimit --nofile=0 --pid",
        "taskset -p 1",
        "chrt -b -p 0",
    ] {
        by_tools.push((
            tool,
            scene.can(&grants, &format!("{tool} {}", outside.id())).await,
        ));
    }
    outside.kill().unwrap();
    outside.wait().unwrap();
    assert_eq!(code, Some(0), "{output}");
    // Where Python is started by a version manager, that may print something as well.
    let calls: Vec<_> = output
        .lines()
        .filter(|line| line.starts_with("own ") || line.starts_with("other "))
        .collect();
    let wrong: Vec<_> = calls
        .iter()
        .filter(|line| line.ends_with("done") != line.starts_with("own "))
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    assert_eq!(calls.len(), 24, "{output}");
    assert!(by_tools.iter().all(|(_, done)| !done), "{by_tools:?}");
}

#[test]
fn a_workspace_that_holds_what_is_withheld_is_refused() {
    let scene = Scene::new();
    for (workspace, sentence) in [("", "contains"), ("state/agents", "is inside of")] {
        let grants = Grants {
            workspace: vec![scene.path(workspace)],
            ..scene.grants()
        };
        let error = Sandbox::new(&grants).unwrap_err();
        assert!(!matches!(error, SandboxError::Unavailable));
        assert!(error.to_string().contains(sentence), "{error}");
    }
}

/// Marks the child of the next test, which lowers its limit of open files.
const FEW_FILES: &str = "ACPD_TEST_FEW_FILES";

#[test]
fn without_descriptors_for_all_walks_no_sandbox_is_made() {
    let scene = Scene::new();
    if std::env::var_os(FEW_FILES).is_none() {
        let child = Command::new(std::env::current_exe().unwrap())
            .args([
                "sandbox::without_descriptors_for_all_walks_no_sandbox_is_made",
                "--exact",
            ])
            .env(FEW_FILES, "1")
            .output()
            .unwrap();
        assert!(
            child.status.success(),
            "{}",
            String::from_utf8_lossy(&child.stdout)
        );
        return;
    }
    // A walk to the secret needs more descriptors than all others.
    let secret = scene.path(&"d/".repeat(40)).join("secret");
    std::fs::create_dir_all(&secret).unwrap();
    symlink(&secret, scene.path("link")).unwrap();
    let grants = || Grants {
        read: vec![scene.path("d")],
        withheld: vec![scene.path("link")],
        ..scene.grants()
    };
    let limits = getrlimit(Resource::Nofile);
    let limit = |current: Option<u64>| {
        let maximum = limits.maximum;
        setrlimit(Resource::Nofile, Rlimit { current, maximum }).unwrap();
    };
    let next = File::open("/").unwrap().as_raw_fd();
    let used = u64::try_from(next).unwrap();
    let needed = u64::try_from(secret.components().count()).unwrap();
    for free in 0..needed {
        let grants = grants();
        limit(Some(used + free));
        let made = Sandbox::new(&grants);
        limit(limits.current);
        let error = made.expect_err("the secret could not be looked up");
        assert!(matches!(error, SandboxError::Lookup(_)), "{free}: {error}");
        let named = format!("{} cannot be looked up: ", scene.path("link").display());
        assert!(error.to_string().starts_with(&named), "{free}: {error}");
    }
    Sandbox::new(&grants()).unwrap();
}

#[test]
fn a_workspace_that_was_made_again_is_another_one() {
    let scene = Scene::new();
    let sandbox = || Sandbox::new(&scene.grants()).unwrap();
    let first = sandbox();
    assert_eq!(first, sandbox());
    let files = || Workspace::open(std::iter::once(scene.path("work")));
    assert_eq!(files().outside_of(&first), None);
    std::fs::rename(scene.path("work"), scene.path("old")).unwrap();
    // The first sandbox's rules grant a directory that is gone.
    assert_ne!(first, sandbox());
    std::fs::create_dir(scene.path("work")).unwrap();
    assert_ne!(first, sandbox());
    assert_eq!(sandbox(), sandbox());
    assert_eq!(files().outside_of(&first), Some(&*scene.path("work")));
    std::fs::remove_dir(scene.path("work")).unwrap();
    symlink(scene.path("home/.ssh"), scene.path("work")).unwrap();
    assert_eq!(files().outside_of(&first), Some(&*scene.path("work")));
}
