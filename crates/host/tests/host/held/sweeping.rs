//! The next start of a daemon ends what an earlier one left, and spares the agents that it continues.

use acpd_host::{HeldError, Supervision};

use super::{PATIENCE, Place, read, shim, stop, write};
use crate::support::{token, with_token};

/// Some of its children have removed their mark from the environment, or have another one there.
const HIDING: &str = r#"sleep $0 &
    setsid sleep $0 &
    (env -i setsid sleep $0 &)
    (ACPD_PROCESS=$OTHER setsid sleep $0 &)
    until [ $(pgrep -cxf "sleep $0") -eq 4 ]; do :; done
    echo ready; cat"#;

async fn supervise(place: &Place, spared: Vec<u64>) -> Supervision {
    let data = place.data.path().to_owned();
    let begin = move || Supervision::begin(&data, &spared).unwrap();
    tokio::task::spawn_blocking(begin).await.unwrap()
}

/// Returns the mark in the environment of a process.
fn mark_of(pid: u32) -> String {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap();
    let mut values = environment.split(|byte| *byte == 0);
    let mark = values.find_map(|value| value.strip_prefix(b"ACPD_PROCESS=".as_slice()));
    String::from_utf8(mark.unwrap().to_vec()).unwrap()
}

#[tokio::test]
async fn the_next_daemon_spares_what_it_continues_and_ends_all_others() {
    let place = Place::new();
    let supervision = supervise(&place, Vec::new()).await;
    let (one, other) = (format!("{}1", token()), format!("{}2", token()));
    let mut agents = Vec::new();
    let mut mark = String::new();
    for token in [&one, &other] {
        let mut program = place.program(HIDING, token);
        program.env.insert("OTHER".to_owned(), mark);
        let hold = acpd_host::Hold::new();
        let mut agent = place.shims.start(&program, &hold).unwrap();
        assert_eq!(read(&mut agent.stdout, 6).await, "ready\n");
        // The second one puts the mark of the first one into the environment of a child.
        mark = mark_of(agent.process.id().unwrap());
        agent.process.leave(PATIENCE);
        agents.push(hold);
    }
    let left = agents.pop().unwrap();
    let continued = agents.pop().unwrap();
    // As the next daemon does it: it attaches first.
    let mut agent = place.shims.attach(&continued, 6).unwrap();
    let count = with_token(&one).len();
    let again = supervise(&place, vec![continued.mark, 0, u64::MAX]).await;
    assert_eq!(
        with_token(&one).len(),
        count,
        "the continued agent has all its processes"
    );
    assert_eq!(with_token(&other), [0; 0]);
    place.shims.remove_leftovers(&[]).unwrap();
    assert_eq!(place.names(), std::slice::from_ref(&continued.shim));
    assert!(matches!(
        place.shims.attach(&left, 6),
        Err(HeldError::Gone { .. })
    ));
    write(&mut agent, "still there\n").await;
    assert_eq!(read(&mut agent.stdout, 12).await, "still there\n");
    stop(agent).await;
    assert_eq!(with_token(&one), [0; 0]);
    for supervision in [supervision, again] {
        assert_eq!(
            tokio::task::spawn_blocking(|| supervision.end()).await.unwrap(),
            0
        );
    }
}

#[tokio::test]
async fn nothing_is_spared_without_a_mark() {
    let place = Place::new();
    drop(supervise(&place, Vec::new()).await);
    let (agent, _) = place.start_ready("echo ready; sleep $0", &token()).await;
    agent.process.leave(PATIENCE);
    let shim = shim();
    drop(supervise(&place, Vec::new()).await);
    assert_eq!(with_token(&token()), [0; 0]);
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", shim.as_raw_pid())).unwrap();
    assert!(stat.contains(") Z "), "the shim has ended: {stat}");
    place.shims.remove_leftovers(&[]).unwrap();
    assert_eq!(place.names(), [""; 0]);
}
