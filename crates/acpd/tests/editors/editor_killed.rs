//! An editor with the lease vanishes before, during and after each callback: its socket is cut, as when its process is
//! killed. The agent receives the result that the lease's table specifies. A cut approves nothing, and repeats no
//! action.

#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use serde_json::{Value, json};

use crate::support::{Daemon, Editor, picked};

/// An editor with a socket that can be cut, and another editor that watches, prompts, and can answer permission
/// requests.
struct Pair<'d> {
    daemon: &'d Daemon,
    holder: Editor,
    line: UnixStream,
    other: Editor,
    /// The messages that the other editor has received.
    seen: Vec<Value>,
    session: String,
}

/// The time at which the editor vanishes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Cut {
    /// Before the turn.
    First,
    /// Instead of a response to this request.
    At(&'static str),
    /// After all responses, in the middle of the turn.
    Last,
}

/// A turn in which the editor vanishes, and the expected outcome.
struct Case {
    steps: &'static str,
    cut: Cut,
    /// The agent's message about its callback.
    said: &'static str,
    /// Content of the file `mine` afterwards: each executor of the action adds a line.
    done: &'static str,
}

const READ: &str = "read path=there";
const WRITE: &str = "write path=mine text=ours";
const RUN: &str = "terminal sh -c 'echo ours >>mine'";
const ASK: &str = "permission command=this";
const SAY: &str = "say one";
/// The command of the question that ends every turn; it is refused.
const LAST: &str = "last";
const REFUSED: &str = "rejected (reject_once)";
const UNKNOWN: &str = "it is not known whether";

const fn case(steps: &'static str, cut: Cut, said: &'static str, done: &'static str) -> Case {
    Case {
        steps,
        cut,
        said,
        done,
    }
}

const CASES: &[Case] = &[
    case(READ, Cut::First, "read 5 bytes: ours\n", ""),
    case(READ, Cut::At("fs/read_text_file"), "read 5 bytes: ours\n", ""),
    case(READ, Cut::Last, "read 7 bytes: theirs\n", ""),
    case(WRITE, Cut::First, "wrote 4 bytes", "ours"),
    case(WRITE, Cut::At("fs/write_text_file"), UNKNOWN, ""),
    case(WRITE, Cut::Last, "wrote 4 bytes", "theirs\n"),
    // The requests of a terminal are sequential: vanishing during one means vanishing before the next.
    case(RUN, Cut::First, "exit 0: ", "ours\n"),
    case(RUN, Cut::At("terminal/create"), UNKNOWN, ""),
    case(
        RUN,
        Cut::At("terminal/wait_for_exit"),
        "signal SIGHUP (truncated): ",
        "theirs\n",
    ),
    case(
        RUN,
        Cut::At("terminal/output"),
        "exit 0 (truncated): ",
        "theirs\n",
    ),
    case(RUN, Cut::At("terminal/release"), "exit 0: shown", "theirs\n"),
    case(RUN, Cut::Last, "exit 0: shown", "theirs\n"),
    // Vanishing approves nothing: the daemon asks the other editor, which refuses.
    case(ASK, Cut::First, REFUSED, ""),
    case(ASK, Cut::At("session/request_permission"), REFUSED, ""),
    case(ASK, Cut::Last, "allowed (allow_once)", ""),
    case(SAY, Cut::First, "one", ""),
    case(SAY, Cut::At("session/update"), "one", ""),
    case(SAY, Cut::Last, "one", ""),
];

impl<'d> Pair<'d> {
    fn start(daemon: &'d Daemon) -> Self {
        let work = daemon.place.work();
        std::fs::write(work.join("there"), "ours\n").unwrap();
        let _ = std::fs::remove_file(work.join("mine"));
        let line = UnixStream::connect(daemon.place.data().join("acp.sock")).unwrap();
        let [read, write] = [(); 2].map(|()| line.try_clone().unwrap());
        let mut holder = Editor::lines(read, write);
        let able = json!({ "fs": { "readTextFile": true, "writeTextFile": true }, "terminal": true });
        let info = json!({ "name": "holder", "version": "1" });
        let hello = json!({ "protocolVersion": 1, "clientInfo": info, "clientCapabilities": able });
        holder.call("initialize", &hello);
        let session = holder.open(daemon);
        let mut other = Editor::socket(&daemon.place);
        other.greet();
        let named = json!({ "sessionId": session, "cwd": work, "mcpServers": [] });
        other.call("session/load", &named);
        Self {
            daemon,
            holder,
            line,
            other,
            seen: Vec::new(),
            session,
        }
    }

    /// Cuts the editor off, and waits until the daemon has noticed.
    fn cut(&mut self) {
        self.line.shutdown(Shutdown::Both).unwrap();
        let told = self.other.until(|message| {
            message["method"] == "_acpd/lease/moved" && message["params"]["lease"].is_null()
        });
        self.seen.extend(told);
    }

    fn mine(&self) -> String {
        std::fs::read_to_string(self.daemon.place.work().join("mine")).unwrap_or_default()
    }

    /// Serves the editor's requests, until `until` or the last permission request arrives.
    fn serve(&mut self, until: &str) {
        let mine = self.daemon.place.work().join("mine");
        loop {
            let message = self.holder.until(|_| true).pop().unwrap();
            let method = message["method"].as_str().unwrap();
            if method == until || is_question(&message, LAST) {
                return;
            }
            if matches!(method, "fs/write_text_file" | "terminal/create") {
                std::fs::write(&mine, format!("{}theirs\n", self.mine())).unwrap();
            }
            let answer = match method {
                "fs/read_text_file" => json!({ "content": "theirs\n" }),
                "terminal/create" => json!({ "terminalId": "t" }),
                "terminal/wait_for_exit" => json!({ "exitCode": 0 }),
                "terminal/output" => json!({ "output": "shown", "truncated": false }),
                "session/request_permission" => picked(&message, "allow_once"),
                _ => json!({}),
            };
            if message.get("id").is_some() {
                self.holder.respond(&message, &answer);
            }
        }
    }

    /// Lets the other editor refuse the question about `command`.
    fn refuse(&mut self, command: &str) {
        if !self.seen.iter().any(|message| is_question(message, command)) {
            let told = self.other.until(|message| is_question(message, command));
            self.seen.extend(told);
        }
        let question = self.seen.iter().find(|message| is_question(message, command));
        self.other.pick(question.unwrap(), "reject_once");
    }
}

fn is_question(message: &Value, command: &str) -> bool {
    message["method"] == "session/request_permission"
        && message["params"]["toolCall"]["rawInput"]["command"] == command
}

fn said(messages: &[Value]) -> String {
    let texts = messages.iter().filter_map(|message| {
        let update = &message["params"]["update"];
        let is_said = update["sessionUpdate"] == "agent_message_chunk";
        is_said.then(|| update["content"]["text"].as_str().unwrap())
    });
    texts.collect()
}

#[test]
fn an_editor_that_vanishes_allows_nothing_and_has_nothing_done_twice() {
    let daemon = Daemon::start();
    for case in CASES {
        let mut pair = Pair::start(&daemon);
        let what = format!("{} / {:?}", case.steps, case.cut);
        if case.cut == Cut::First {
            pair.cut();
        }
        let steps = format!("{}; permission command={LAST}", case.steps);
        let prompt = pair.other.prompt(&pair.session, &steps);
        match case.cut {
            Cut::First => {}
            Cut::At(method) => pair.serve(method),
            Cut::Last => pair.serve("nothing"),
        }
        if case.cut != Cut::First {
            pair.cut();
        }
        if case.steps == ASK && case.cut != Cut::Last {
            pair.refuse("this");
        }
        pair.refuse(LAST);
        let end = pair.other.answer(prompt).unwrap();
        assert_eq!(end["stopReason"], "end_turn", "{what}");
        pair.seen.extend(pair.other.take());
        let heard = said(&pair.seen);
        let first = heard
            .strip_suffix(REFUSED)
            .unwrap_or_else(|| panic!("{what}: {heard}"));
        if case.said == UNKNOWN {
            assert!(first.contains(UNKNOWN), "{what}: {first}");
        } else {
            assert_eq!(first, case.said, "{what}");
        }
        assert_eq!(pair.mine(), case.done, "{what}");
        // A client that connects later receives the same history.
        let mut later = Editor::socket(&daemon.place);
        later.greet();
        let named = json!({ "sessionId": pair.session, "cwd": daemon.place.work(), "mcpServers": [] });
        later.call("session/load", &named);
        assert_eq!(later.said(), heard, "{what}");
    }
}

#[test]
fn a_terminal_that_vanishes_while_it_is_killed_has_ended() {
    let daemon = Daemon::start();
    for answered in [false, true] {
        let mut pair = Pair::start(&daemon);
        let prompt = pair.other.prompt(&pair.session, RUN);
        pair.serve("terminal/wait_for_exit");
        let named = json!({ "sessionId": pair.session });
        pair.other.notify("session/cancel", &named);
        let kill = pair.holder.wait_for("terminal/kill");
        if answered {
            pair.holder.respond(&kill, &json!({}));
        }
        pair.cut();
        let end = pair.other.answer(prompt).unwrap();
        assert_eq!(end["stopReason"], "cancelled");
        assert_eq!(pair.mine(), "theirs\n");
    }
}
