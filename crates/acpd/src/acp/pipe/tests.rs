use super::*;

fn pipe() -> Pipe {
    let mut pipe = Pipe::new(Purpose {
        agent: Some("a".into()),
        cwd: None,
        thread: None,
    });
    pipe.attached();
    outputs(&mut pipe);
    pipe
}

/// Returns the pending effects: `>` to the daemon, `<` to the editor.
fn outputs(pipe: &mut Pipe) -> Vec<String> {
    std::iter::from_fn(|| pipe.poll_output())
        .map(|output| match output {
            Output::ToEditor(text) => format!("< {text}"),
            Output::ToDaemon(text) => format!("> {text}"),
            Output::Say(text) | Output::Fail(text) => format!("! {text}"),
        })
        .collect()
}

fn request(id: u64, method: &str, session: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"sessionId":"{session}"}}}}"#)
}

fn update(text: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":"{text}"}}}}"#)
}

fn mark(more: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"_acpd/mark","params":{{"sessionId":"s",{more}}}}}"#)
}

/// Returns a pipe whose editor is initialized and has seen session `s` up to event 5.
fn with_session() -> Pipe {
    with_session_of(r#"{"clientInfo":{"name":"e","version":"1"},"x":1.10}"#)
}

/// Returns the same pipe of an editor with these params of `initialize`.
fn with_session_of(hello: &str) -> Pipe {
    let mut pipe = pipe();
    for (line, answer) in [
        (
            format!(r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{hello}}}"#),
            r#"{"jsonrpc":"2.0","id":0,"result":{}}"#,
        ),
        (
            request(1, "session/new", "none"),
            r#"{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}"#,
        ),
    ] {
        pipe.handle_editor_message(line);
        pipe.handle_daemon_message(answer.to_owned());
    }
    pipe.handle_daemon_message(mark(r#""seq":5,"live":true"#));
    outputs(&mut pipe);
    pipe
}

/// Reconnects a pipe, answers its `initialize`, and returns the connection header.
fn reconnect(pipe: &mut Pipe) -> String {
    pipe.attached();
    let written = outputs(pipe);
    let repeated = r#"> {"id":"acpd-pipe-hello","jsonrpc":"2.0","method":"initialize","params":{"#;
    assert!(
        written[1].starts_with(repeated) && written[1].ends_with(r#""x":1.10}}"#),
        "{written:?}"
    );
    pipe.handle_daemon_message(r#"{"jsonrpc":"2.0","id":"acpd-pipe-hello","result":{}}"#.to_owned());
    let resumed = outputs(pipe);
    assert!(
        resumed.len() == 1 && resumed[0].contains("session/resume"),
        "{resumed:?}"
    );
    assert!(!pipe.takes_lines());
    written[0].clone()
}

fn resumed(pipe: &mut Pipe, number: u64) {
    pipe.handle_daemon_message(format!(
        r#"{{"jsonrpc":"2.0","id":"acpd-pipe-{number}","result":{{}}}}"#
    ));
}

#[test]
fn passing_messages_are_not_changed() {
    let mut pipe = with_session();
    let odd = r#"{ "jsonrpc":"2.0", "method":"_x/y", "params":{"n":1.10} }"#;
    pipe.handle_editor_message(odd.to_owned());
    pipe.handle_editor_message("nonsense".to_owned());
    pipe.handle_daemon_message(odd.to_owned());
    assert_eq!(
        outputs(&mut pipe),
        [format!("> {odd}"), "> nonsense".into(), format!("< {odd}")]
    );
}

#[test]
fn a_prompt_is_taken_up_again_and_what_was_shown_is_not_shown_again() {
    let mut pipe = with_session();
    pipe.handle_editor_message(request(2, "session/prompt", "s"));
    pipe.handle_daemon_message(
        r#"{"jsonrpc":"2.0","method":"_acpd/prompt","params":{"id":2,"name":"acp:c:1"}}"#.to_owned(),
    );
    pipe.handle_daemon_message(update("one"));
    outputs(&mut pipe);
    pipe.lost();
    assert_eq!(
        outputs(&mut pipe),
        Vec::<String>::new(),
        "nobody knows yet how it ends"
    );
    assert!(pipe.is_awaited());
    let written = reconnect(&mut pipe);
    assert!(
        written.contains(r#""after":{"s":5},"prompts":[{"id":2,"thread":"s","name":"acp:c:1"}]"#),
        "{written}"
    );
    resumed(&mut pipe, 1);
    for text in [update("one"), update("two"), mark(r#""seq":7,"live":true"#)] {
        pipe.handle_daemon_message(text);
    }
    let answer = r#"{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}"#;
    pipe.handle_daemon_message(answer.to_owned());
    assert_eq!(
        outputs(&mut pipe),
        [format!("< {}", update("two")), format!("< {answer}")]
    );
    assert!(pipe.takes_lines() && !pipe.is_awaited());
}

#[test]
fn a_request_with_an_unknown_fate_is_an_error_and_an_idempotent_one_is_retried() {
    let mut pipe = with_session();
    let list = request(4, "session/list", "s");
    for line in [
        request(2, "session/set_mode", "s"),
        request(3, "session/prompt", "s"),
        list.clone(),
    ] {
        pipe.handle_editor_message(line);
    }
    outputs(&mut pipe);
    pipe.lost();
    let written = outputs(&mut pipe);
    assert_eq!(written.len(), 2, "{written:?}");
    for (answer, method) in written.iter().zip(["session/set_mode", "session/prompt"]) {
        assert!(
            answer.contains(method) && answer.contains("connection_lost"),
            "{answer}"
        );
    }
    reconnect(&mut pipe);
    resumed(&mut pipe, 1);
    pipe.handle_daemon_message(mark(r#""seq":5,"live":true"#));
    assert_eq!(outputs(&mut pipe), [format!("> {list}")]);
}

#[test]
fn a_question_is_put_once_and_taken_back_when_it_is_over() {
    let mut pipe = with_session();
    let question = |id: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":"{id}","method":"session/request_permission","params":{{"sessionId":"s"}}}}"#
        )
    };
    pipe.handle_daemon_message(question("q1"));
    pipe.handle_daemon_message(question("q2"));
    outputs(&mut pipe);
    pipe.lost();
    reconnect(&mut pipe);
    resumed(&mut pipe, 1);
    pipe.handle_daemon_message(mark(r#""seq":5,"open":["q2"]"#));
    pipe.handle_daemon_message(question("q2"));
    pipe.handle_daemon_message(question("q3"));
    pipe.handle_daemon_message(mark(r#""seq":5,"live":true"#));
    let cancel = r#"< {"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"q1"}}"#;
    assert_eq!(
        outputs(&mut pipe),
        [cancel.to_owned(), format!("< {}", question("q3"))]
    );
}

#[test]
fn messages_of_subagents_are_those_of_their_session() {
    let mut pipe = with_session();
    let of_lane = |id: &str| {
        format!(
            r#"{{"jsonrpc":"2.0",{id}"method":"session/update","params":{{"sessionId":"s/lane_1","update":1}}}}"#
        )
    };
    pipe.handle_daemon_message(of_lane(""));
    pipe.handle_daemon_message(of_lane(r#""id":"q1","#));
    assert_eq!(outputs(&mut pipe).len(), 2);
    pipe.lost();
    reconnect(&mut pipe);
    resumed(&mut pipe, 1);
    pipe.handle_daemon_message(mark(r#""seq":5,"open":[]"#));
    let cancel = r#"< {"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"q1"}}"#;
    assert_eq!(outputs(&mut pipe), [cancel]);
    pipe.handle_daemon_message(of_lane(""));
    assert_eq!(outputs(&mut pipe), [""; 0], "the editor has it");
}

#[test]
fn the_turn_of_an_answered_prompt_is_named_to_the_next_connection() {
    let mut pipe = with_session();
    pipe.handle_editor_message(request(2, "session/prompt", "s"));
    let answer =
        r#"{"jsonrpc":"2.0","id":2,"result":{"messageId":"m","_meta":{"acpd":{"turnId":"turn_1"}}}}"#;
    pipe.handle_daemon_message(answer.to_owned());
    pipe.handle_editor_message(request(3, "session/prompt", "s"));
    pipe.handle_daemon_message(r#"{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"no"}}"#.to_owned());
    outputs(&mut pipe);
    pipe.lost();
    let written = reconnect(&mut pipe);
    assert!(written.contains(r#""own":{"s":"turn_1"}"#), "{written}");
}

/// Such editors may lose the messages behind a method that they do not know.
#[test]
fn older_editors_receive_no_new_notifications() {
    for hello in [r#"{"x":1.10}"#, r#"{"clientInfo":null,"x":1.10}"#] {
        let mut pipe = with_session_of(hello);
        pipe.handle_daemon_message(
            r#"{"jsonrpc":"2.0","id":"q1","method":"session/request_permission","params":{"sessionId":"s"}}"#
                .to_owned(),
        );
        outputs(&mut pipe);
        pipe.lost();
        reconnect(&mut pipe);
        resumed(&mut pipe, 1);
        pipe.handle_daemon_message(mark(r#""seq":5,"open":[]"#));
        pipe.handle_daemon_message(mark(r#""seq":5,"live":true"#));
        assert_eq!(outputs(&mut pipe), [""; 0], "{hello}");
        assert!(pipe.takes_lines());
    }
}

#[test]
fn a_cancel_that_may_be_lost_is_sent_again() {
    let mut pipe = with_session();
    pipe.handle_editor_message(request(2, "session/prompt", "s"));
    pipe.handle_daemon_message(
        r#"{"jsonrpc":"2.0","method":"_acpd/prompt","params":{"id":2,"name":"n"}}"#.to_owned(),
    );
    let cancel = r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}"#;
    pipe.handle_editor_message(cancel.to_owned());
    outputs(&mut pipe);
    pipe.lost();
    reconnect(&mut pipe);
    resumed(&mut pipe, 1);
    pipe.handle_daemon_message(mark(r#""seq":5,"live":true"#));
    assert_eq!(outputs(&mut pipe), [format!("> {cancel}")]);
}

#[test]
fn a_session_that_opened_early_is_named_to_the_next_connection() {
    let mut pipe = with_session();
    pipe.lost();
    assert!(!reconnect(&mut pipe).contains("early"));
    resumed(&mut pipe, 1);
    pipe.handle_daemon_message(mark(r#""seq":6,"live":true,"early":true"#));
    pipe.lost();
    let written = reconnect(&mut pipe);
    let expected = r#""after":{"s":6},"early":["s"],"prompts":[]"#;
    assert!(written.contains(expected), "{written}");
    resumed(&mut pipe, 2);
    pipe.handle_daemon_message(mark(r#""seq":6,"live":true,"early":true"#));
    pipe.handle_editor_message(request(2, "session/load", "s"));
    pipe.handle_daemon_message(r#"{"jsonrpc":"2.0","id":2,"result":{}}"#.to_owned());
    outputs(&mut pipe);
    pipe.lost();
    assert!(!reconnect(&mut pipe).contains("early"));
}

#[test]
fn prompts_of_a_lost_session_are_refused() {
    let mut pipe = with_session();
    pipe.handle_editor_message(request(2, "session/prompt", "s"));
    pipe.handle_daemon_message(
        r#"{"jsonrpc":"2.0","method":"_acpd/prompt","params":{"id":2,"name":"n"}}"#.to_owned(),
    );
    outputs(&mut pipe);
    pipe.lost();
    reconnect(&mut pipe);
    let refusal =
        r#"{"jsonrpc":"2.0","id":"acpd-pipe-1","error":{"code":-32002,"message":"no such thread"}}"#;
    pipe.handle_daemon_message(refusal.to_owned());
    let written = outputs(&mut pipe);
    assert!(
        written[0].starts_with("< ") && written[0].contains("no such thread"),
        "{written:?}"
    );
    assert!(written[1].starts_with("! ") && pipe.takes_lines(), "{written:?}");
    pipe.handle_editor_message(request(3, "session/prompt", "s"));
    pipe.lost();
    pipe.give_up("it is over");
    let written = outputs(&mut pipe);
    assert!(written.last().unwrap().contains("connection_lost"), "{written:?}");
}

#[test]
fn a_refused_handshake_is_named() {
    for (error, said) in [
        (r#"{"code":-32000,"message":"too old"}"#, "too old"),
        (r#"{"code":-32000,"message":7}"#, "it does not say why"),
    ] {
        let mut pipe = with_session();
        pipe.lost();
        pipe.attached();
        outputs(&mut pipe);
        pipe.handle_daemon_message(format!(r#"{{"jsonrpc":"2.0","id":{HELLO},"error":{error}}}"#));
        let expected = format!("! the daemon does not resume the connection: {said}");
        assert_eq!(outputs(&mut pipe), [expected]);
    }
}

/// Returns a pipe whose editor speaks version 2, and has seen session `s` up to event 5.
fn with_session_of_2() -> Pipe {
    let mut pipe = pipe();
    let hello = r#"{"protocolVersion":2,"info":{"name":"e","version":"1"},"x":1.10}"#;
    pipe.handle_editor_message(format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{hello}}}"#
    ));
    pipe.handle_daemon_message(r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":2}}"#.to_owned());
    pipe.handle_editor_message(request(1, "session/new", "none"));
    pipe.handle_daemon_message(r#"{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}"#.to_owned());
    pipe.handle_daemon_message(mark(r#""seq":5,"live":true"#));
    outputs(&mut pipe);
    pipe
}

fn state(state: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":{{"sessionUpdate":"state_update","state":"{state}"}}}}}}"#
    )
}

/// Has a prompt of version 2 begin: its response comes with its message.
fn begins(pipe: &mut Pipe) {
    pipe.handle_editor_message(request(2, "session/prompt", "s"));
    pipe.handle_daemon_message(state("running"));
    pipe.handle_daemon_message(r#"{"jsonrpc":"2.0","id":2,"result":{"messageId":"m"}}"#.to_owned());
    pipe.handle_daemon_message(mark(r#""seq":7,"live":true"#));
    outputs(pipe);
}

const CANCEL: &str = r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}"#;

/// Loses the connection, and returns what the pipe repeats on the next one, the `number`th, after its sessions are resumed.
fn repeats(pipe: &mut Pipe, number: u64, meanwhile: &[String]) -> Vec<String> {
    pipe.lost();
    reconnect(pipe);
    resumed(pipe, number);
    for text in meanwhile {
        pipe.handle_daemon_message(text.clone());
    }
    pipe.handle_daemon_message(mark(r#""seq":9,"live":true"#));
    outputs(pipe)
}

#[test]
fn a_cancel_of_version_2_is_sent_again_until_the_session_is_idle() {
    let cancel = format!("> {CANCEL}");
    let mut pipe = with_session_of_2();
    begins(&mut pipe);
    pipe.handle_editor_message(CANCEL.to_owned());
    outputs(&mut pipe);
    assert_eq!(repeats(&mut pipe, 1, &[]), [cancel.as_str()]);
    let idle = format!("< {}", state("idle"));
    assert_eq!(repeats(&mut pipe, 2, &[state("idle")]), [idle]);
    assert_eq!(repeats(&mut pipe, 3, &[state("running")]).len(), 1, "others work");
    // What is sent later is not cancelled.
    pipe.handle_editor_message(CANCEL.to_owned());
    pipe.handle_editor_message(request(3, "session/prompt", "s"));
    outputs(&mut pipe);
    pipe.lost();
    outputs(&mut pipe);
    assert_eq!(repeats(&mut pipe, 4, &[]), [""; 0]);
}

#[test]
fn a_cancel_without_work_is_not_sent_again() {
    let mut pipe = with_session_of_2();
    pipe.handle_editor_message(CANCEL.to_owned());
    outputs(&mut pipe);
    assert_eq!(repeats(&mut pipe, 1, &[]), [""; 0]);
}

#[test]
fn a_state_of_an_agent_of_version_1_is_none() {
    let mut pipe = with_session();
    pipe.handle_editor_message(request(2, "session/prompt", "s"));
    pipe.handle_daemon_message(
        r#"{"jsonrpc":"2.0","method":"_acpd/prompt","params":{"id":2,"name":"n"}}"#.to_owned(),
    );
    pipe.handle_editor_message(CANCEL.to_owned());
    pipe.handle_daemon_message(state("idle"));
    pipe.handle_daemon_message(mark(r#""seq":6"#));
    outputs(&mut pipe);
    assert_eq!(repeats(&mut pipe, 1, &[]), [format!("> {CANCEL}")]);
}

/// The daemon may have started with another configuration, or another version of acpd.
#[test]
fn the_version_stays_that_of_the_first_connection() {
    let answer = |version: u64| {
        format!(r#"{{"jsonrpc":"2.0","id":{HELLO},"result":{{"protocolVersion":{version}}}}}"#)
    };
    for (asked, agreed, other) in [(2, 1, 2), (2, 2, 1)] {
        let mut pipe = pipe();
        pipe.handle_editor_message(format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":{asked},"x":1.10}}}}"#
        ));
        pipe.handle_daemon_message(format!(
            r#"{{"jsonrpc":"2.0","id":0,"result":{{"protocolVersion":{agreed}}}}}"#
        ));
        outputs(&mut pipe);
        pipe.lost();
        pipe.attached();
        let written = outputs(&mut pipe).pop().unwrap();
        let params = format!(r#""params":{{"protocolVersion":{agreed},"x":1.10}}"#);
        assert!(written.contains(&params), "{written}");
        pipe.handle_daemon_message(answer(other));
        let failed = outputs(&mut pipe);
        assert!(
            failed[0].starts_with(&format!("! the daemon now speaks version {other} of ACP")),
            "{failed:?}"
        );
        pipe.lost();
        pipe.attached();
        pipe.handle_daemon_message(answer(agreed));
        assert!(pipe.takes_lines());
    }
}

#[test]
fn an_editor_of_version_2_learns_that_a_question_is_over() {
    let mut pipe = with_session_of_2();
    pipe.handle_daemon_message(
        r#"{"jsonrpc":"2.0","id":"q1","method":"session/request_permission","params":{"sessionId":"s"}}"#
            .to_owned(),
    );
    outputs(&mut pipe);
    let over = mark(r#""seq":5,"open":[]"#);
    let cancel = r#"< {"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"q1"}}"#;
    assert_eq!(repeats(&mut pipe, 1, &[over]), [cancel]);
}

#[test]
fn messages_that_are_only_shown_live_are_forgotten_with_their_mark() {
    let mut pipe = with_session_of_2();
    for _ in 0..3 {
        pipe.handle_daemon_message(update("output"));
        pipe.handle_daemon_message(mark(r#""seq":5,"live":true"#));
    }
    assert!(pipe.sessions["s"].since.is_empty());
    // What belongs to the next event is still shown once.
    pipe.handle_daemon_message(update("one"));
    outputs(&mut pipe);
    let shown = format!("< {}", update("two"));
    assert_eq!(repeats(&mut pipe, 1, &[update("one"), update("two")]), [shown]);
}
