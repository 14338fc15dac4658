//! Sandbox, filter, marks and limits hold for an agent that a shim holds as for any other.

use std::path::PathBuf;

use acpd_host::{Grants, Hold, Kernel, Sandbox};

use super::{Place, read_to_end, shim, stop, write};
use crate::support;

/// Paths that every program needs.
const SYSTEM: [&str; 7] = ["/usr", "/bin", "/lib", "/lib64", "/etc", "/dev/null", "/proc"];

fn status(pid: u32, name: &str) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_start_matches(':').trim().to_owned()
}

/// Returns the hard limit of real-time CPU time, which is the mark.
fn mark_in_limits(pid: u32) -> String {
    let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max realtime timeout"))
        .unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().to_owned()
}

#[tokio::test]
async fn the_sandbox_holds_for_the_agent_and_not_for_its_shim() {
    if Kernel::here().version() == 0 {
        support::not_tested("the kernel has no Landlock");
    }
    let place = Place::new();
    let here = place.data.path().canonicalize().unwrap();
    std::fs::create_dir(here.join("work")).unwrap();
    std::fs::write(here.join("secret"), "the secret\n").unwrap();
    let script = "read line
        cat ../secret && echo has read it
        echo x > ../written && echo has written there
        echo x > inside && cat inside
        read line";
    let mut program = support::shell(script, "", &here.join("work"));
    let grants = Grants {
        workspace: vec![here.join("work")],
        read: SYSTEM.iter().map(PathBuf::from).collect(),
        ..Grants::default()
    };
    program.sandbox = Some(Sandbox::new(&grants).unwrap());
    let mut agent = place.shims.start(&program, &Hold::new()).unwrap();
    let id = agent.process.id().unwrap();
    assert_eq!(status(id, "NoNewPrivs"), "1");
    assert_eq!(status(id, "Seccomp"), "2");
    let shim = shim().as_raw_pid().unsigned_abs();
    assert_eq!(status(shim, "Seccomp"), status(std::process::id(), "Seccomp"));
    assert_eq!(
        status(shim, "NoNewPrivs"),
        status(std::process::id(), "NoNewPrivs")
    );
    write(&mut agent, "go\ngo\n").await;
    assert_eq!(read_to_end(&mut agent.stdout).await, "x\n");
    stop(agent).await;
    assert!(!here.join("written").exists());
}

#[tokio::test]
async fn agent_and_shim_have_their_marks_and_the_agent_nothing_else_of_ours() {
    use std::os::fd::AsFd;
    let place = Place::new();
    let inherited = tempfile::tempfile().unwrap();
    rustix::io::fcntl_setfd(inherited.as_fd(), rustix::io::FdFlags::empty()).unwrap();
    // The last descriptor belongs to the listing itself.
    let script = "ls /proc/self/fd; env | grep -c TOKEN; read line";
    let (mut agent, hold) = place.start(script, "");
    let id = agent.process.id().unwrap();
    assert_eq!(super::read(&mut agent.stdout, 10).await, "0\n1\n2\n3\n0\n");
    let shim = shim().as_raw_pid().unsigned_abs();
    let line = std::fs::read(format!("/proc/{shim}/cmdline")).unwrap();
    assert!(!String::from_utf8_lossy(&line).contains(&hold.token));
    if mark_in_limits(std::process::id()) == "unlimited" {
        assert_eq!(mark_in_limits(id), hold.mark.to_string());
        assert_eq!(mark_in_limits(shim), (hold.mark + 1).to_string());
    }
    assert!(acpd_host::is_of_an_agent(i32::try_from(id).unwrap()));
    stop(agent).await;
}

#[tokio::test]
async fn a_held_agent_is_refused_where_only_an_agent_without_a_shim_has_room() {
    use std::os::fd::AsRawFd;

    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let place = Place::new();
    let program = place.program("cat", "");
    // The runtime permanently opens some descriptors on first use.
    stop(place.shims.start(&program, &Hold::new()).unwrap()).await;
    let before = getrlimit(Resource::Nofile);
    let next = std::fs::File::open("/").unwrap().as_raw_fd();
    let next = u64::try_from(next).unwrap();
    let room = |limit: &u64| limit - (limit / 4).min(48);
    let limit = (next..next + 100).find(|limit| room(limit) == next + 15).unwrap();
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: Some(limit),
            ..before
        },
    )
    .unwrap();
    let failure = place.shims.start(&program, &Hold::new()).unwrap_err();
    assert_eq!(failure.code, acpd_model::ErrorCode::Overloaded);
    assert!(
        failure.message.contains("too many open files"),
        "{}",
        failure.message
    );
    acpd_host::check_descriptors().unwrap();
    setrlimit(Resource::Nofile, before).unwrap();
    stop(place.shims.start(&program, &Hold::new()).unwrap()).await;
}
