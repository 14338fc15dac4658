//! Invalid output and actions of agents: each becomes an event, and nothing next to it is lost.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use serde_json::json;

use crate::support::{Client, Daemon, Incoming, Place, Turn, acpd, fake_agent, peak_kib};

/// Returns the notices about malformed lines.
fn malformed(turn: &Turn) -> Vec<&Incoming> {
    let notices = turn.of("thread/notice");
    notices
        .into_iter()
        .filter(|notice| notice.text("code") == "malformedLine")
        .collect()
}

/// `std::env::vars` panics at a variable that is not UTF-8.
#[test]
fn variables_with_invalid_text_keep_no_agent_from_starting() {
    let place = Place::new("").with_env("NOT_TEXT", OsStr::from_bytes(b"\xff"));
    let daemon = Daemon::at(place);
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    assert_eq!(client.turn(&thread, "say hello").status(), "completed");
    assert!(!daemon.log().contains("panicked"), "{}", daemon.log());
}

#[test]
fn garbage_is_recorded_and_its_neighbours_live() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let turn = client.turn(&thread, "garbage");
    assert_eq!(turn.status(), "completed");
    let said = turn.said();
    for k in 1..=12 {
        assert!(said.contains(&format!(" ok {k}")), "{k}: {said}");
    }
    assert!(said.ends_with("still here"), "{said}");
    let whole = turn.of("item/completed").pop().unwrap();
    assert!(whole.text("text").contains(" ok 8 big ok 9"), "{whole:?}");
    let found: Vec<_> = malformed(&turn)
        .into_iter()
        .map(|notice| notice.text("detail"))
        .collect();
    let expected = ["npm WARN", "42", "{\"jsonrpc\":\"2.0\",\"id\":987654321"];
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found} {expected}");
    }
    // Several messages on one line, bytes that are not UTF-8, and a control character: the messages count.
    for mended in ["batched", "twice", "nul \0 here"] {
        assert!(whole.text("text").contains(mended), "{mended}: {whole:?}");
    }
    let notices = turn.of("thread/notice").into_iter();
    let noted: Vec<_> = notices
        .filter(|notice| notice.text("code") == "protocolViolation")
        .collect();
    assert_eq!(noted.len(), 1, "{noted:#?}");
    assert!(noted[0].text("detail").starts_with("[{"), "{noted:#?}");
    let unknown = turn.of("agent/notification");
    let methods: Vec<_> = unknown.iter().map(|message| message.text("method")).collect();
    assert_eq!(
        methods,
        [
            "_example.com/bare",
            "_example.com/note",
            "session/update",
            "session/update"
        ]
    );
    assert_eq!(unknown[2].params["update"]["layers"][0]["odd"], json!(null));
}

#[test]
fn half_a_message_is_recorded() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let turn = client.turn(&thread, "say before; halfline");
    assert_eq!((turn.status(), &turn.said()[..]), ("failed", "before"));
    let [half] = malformed(&turn)[..] else {
        panic!("{turn:#?}")
    };
    assert!(
        half.text("detail")
            .starts_with("{\"jsonrpc\":\"2.0\",\"method\":\"session/update\""),
        "{half:?}"
    );
}

#[test]
fn a_long_line_comes_through_up_to_the_limit() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let turn = client.turn(&thread, "say before; longline bytes=2000000; say after");
    assert_eq!(turn.said().len(), "beforeafter".len() + 2_000_000);
    assert!(turn.said().starts_with("beforexxx") && turn.said().ends_with("xxxafter"));
    assert!(malformed(&turn).is_empty());
}

#[test]
fn a_line_beyond_a_configured_limit_is_recorded() {
    let daemon = Daemon::with("[limits]\nagent_line_bytes = 65536\n");
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let turn = client.turn(
        &thread,
        "say before; longline bytes=65536; say between; longline bytes=65000; say after",
    );
    assert_eq!(turn.status(), "completed");
    let expected = format!("beforebetween{}after", "x".repeat(65_000));
    assert!(turn.said() == expected, "{} bytes", turn.said().len());
    let [long] = malformed(&turn)[..] else {
        panic!("{turn:#?}")
    };
    assert!(long.params["bytes"].as_u64().unwrap() > 65_536, "{long:?}");
    assert!(
        long.text("detail").len() <= 4096 && long.text("message").contains("limit"),
        "{long:?}"
    );
}

#[test]
fn a_line_of_100_mib_costs_no_100_mib() {
    let place = Place::new("");
    let fake = place.agent("fake", &[], &[]);
    // Before it runs the agent, the script writes the line between two short ones.
    let script = "echo before; head -c 104857600 /dev/zero | tr '\\0' x; echo; echo after; exec \"$@\"";
    let agent = format!(
        "command = \"sh\"\nargs = [\"-c\", {script:?}, \"sh\", {:?}]",
        fake_agent()
    );
    let without_command = fake
        .lines()
        .filter(|line| !line.starts_with("command") && !line.starts_with("args"));
    let lines: Vec<_> = without_command.chain([&agent[..]]).collect();
    place.configure(&lines.join("\n"));
    let daemon = Daemon::at(place);
    let before = peak_kib(daemon.pid());
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let turn = client.turn(&thread, "say fine");
    assert_eq!((turn.status(), &turn.said()[..]), ("completed", "fine"));
    let notices = client
        .seen
        .iter()
        .filter(|message| message.text("code") == "malformedLine");
    let lengths: Vec<_> = notices
        .map(|notice| notice.params["bytes"].as_u64().unwrap())
        .collect();
    assert_eq!(lengths, [6, 104_857_600, 5]);
    let grown = (peak_kib(daemon.pid()) - before) / 1024;
    assert!(grown < 80, "the daemon grew by {grown} MiB");
}

#[test]
fn a_message_of_many_megabytes_reaches_its_clients() {
    let daemon = Daemon::start();
    let quiet = json!({ "optOutNotificationMethods": ["item/agentMessage/delta"] });
    let mut client = Client::named(&daemon, "quiet", &quiet);
    client.gaps = true;
    let thread = client.thread(&daemon);
    // The end of the call contains the line twice, as text and as blocks.
    let turn = client.turn(
        &thread,
        "longline bytes=17000000; longline bytes=17000000; say after",
    );
    assert_eq!(turn.status(), "completed");
    // It is divided into items of 1 MiB.
    let lengths: Vec<_> = turn
        .of("item/completed")
        .iter()
        .filter(|item| item.params["type"] == "agentMessage")
        .map(|item| item.text("text").len())
        .collect();
    assert!(lengths.iter().all(|length| *length <= 1 << 20), "{lengths:?}");
    // A client that is slow may have been told to read items again.
    let exported = acpd(&daemon.place, &["export", &thread, "--format", "md"]).stdout;
    let letters = exported.bytes().filter(|byte| *byte == b'x').count();
    assert!((34_000_000..34_001_000).contains(&letters), "{letters}");
    assert!(!daemon.log().contains("ERROR"), "{}", daemon.log());
}
