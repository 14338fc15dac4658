//! The scenarios of the agent: one table, which dispatches the steps of a script and provides the help text.
//!
//! In: a turn and the arguments of a step. Out: messages of that turn. Owns: nothing that outlives the turn. Never:
//! responds to the prompt; a scenario returns how the turn ends.

#![expect(
    clippy::unnecessary_wraps,
    reason = "all scenarios have the signature that the table wants"
)]

mod args;
mod callbacks;
mod endings;
mod files;
mod load;
mod processes;
mod rubbish;
pub mod script;
mod state;
mod subagents;
mod text;
mod tools;
mod waiting;

use acpd_demo_agent::story;
use serde_json::Value;

use crate::scenarios::args::Args;
use crate::scenarios::script::{Script, Words};
use crate::turn::{End, Flow, Turn};
use crate::wire::RpcError;

/// One entry of the table.
pub struct Scenario {
    /// The first word of the step.
    pub name: &'static str,
    /// The other words and the keys, with their defaults.
    pub usage: &'static str,
    /// The effect, in one line.
    pub about: &'static str,
    /// The words that it accepts.
    pub words: Words,
    /// The keys that it accepts.
    pub keys: &'static [&'static str],
    run: fn(&mut Turn, &Args) -> Flow,
}

impl std::fmt::Debug for Scenario {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

const fn entry(
    name: &'static str,
    usage: &'static str,
    about: &'static str,
    words: Words,
    keys: &'static [&'static str],
    run: fn(&mut Turn, &Args) -> Flow,
) -> Scenario {
    Scenario {
        name,
        usage,
        about,
        words,
        keys,
        run,
    }
}

/// All scenarios, in the order of the help text.
#[rustfmt::skip]
pub const TABLE: &[Scenario] = &[
    // content
    entry("stream", "n=20 ms=0 text=T id=M", "n answer chunks \" T k\" (T: word), with messageId M if given",
        Words::None, &["n", "ms", "text", "id"], text::stream),
    entry("think", "n=3 ms=0 text=T id=M", "the same as thoughts (T: thought)",
        Words::None, &["n", "ms", "text", "id"], text::think),
    entry("say", "TEXT", "one answer chunk with exactly that text", Words::Text, &[], text::say),
    entry("echo", "", "says how many blocks the prompt has, their types and their text",
        Words::None, &[], text::echo),
    entry("recall", "", "says the prompts that the session remembers, or \"nothing\"",
        Words::None, &[], text::recall),
    entry("mirror", "", "sends the prompt back as user_message_chunks: its text joined, then its other blocks",
        Words::None, &[], text::mirror),
    entry("env", "NAME", "says an environment variable", Words::One, &[], text::env),
    entry("cwd", "", "says the session's and the process's working directory", Words::None, &[], text::cwd),
    entry("instructions", "", "says the mode and the texts of the session's system prompt",
        Words::None, &[], text::instructions),
    entry("image", "", "an image chunk", Words::None, &[], text::image),
    entry("audio", "", "an audio chunk", Words::None, &[], text::audio),
    entry("resource", "", "an embedded resource chunk, then a resource link chunk",
        Words::None, &[], text::resource),
    entry("longline", "bytes=1000000", "one chunk with a text of that length",
        Words::None, &["bytes"], text::longline),
    // session state
    entry("plan", "[empty]", "a plan of 3 entries, then its progress; or a plan without entries",
        Words::Maybe(&["empty"]), &[], state::plan),
    entry("plan-by-id", "[markdown|remove] id=p text=T path=P", "a plan by id with one step, or with a text, in the file P if given; or removes it",
        Words::Maybe(&["markdown", "remove"]), &["id", "text", "path"], state::plan_by_id),
    entry("mode", "ask|code", "switches the mode by itself", Words::One, &[], state::mode),
    entry("commands", "", "available_commands_update", Words::None, &[], state::set_commands),
    entry("config", "", "config_option_update", Words::None, &[], state::config),
    entry("title", "TEXT", "session_info_update", Words::Text, &[], state::title),
    entry("suggest", "TEXT", "prompt_suggestions_update, declared or not, with a suggestion for each text between \"|\"",
        Words::Text, &[], state::suggest),
    entry("usage", "used=1234 size=200000 cost=0.01", "usage_update with a cost in USD",
        Words::None, &["used", "size", "cost"], state::usage),
    entry("notice", "", "a notice, whether the client declared notices or not", Words::None, &[], state::notice),
    entry("compaction", "", "a compaction with a summary, declared or not", Words::None, &[], state::compaction),
    // tool calls
    entry("tool", "kind=edit id=I title=T then=THEN path=P status=S text=X",
        "a tool call from pending to S (default completed), an edit with a diff; THEN is its next title, X what it says if it fails",
        Words::None, &["kind", "id", "title", "then", "path", "status", "text"], tools::tool),
    entry("seed", "", "the seed's example turn: two deltas, then edit_file with a diff of src/auth.ts",
        Words::None, &[], tools::seed),
    entry("dup", "", "one tool call id opened twice", Words::None, &[], tools::dup),
    entry("orphan", "", "a tool_call_update for an id that was never opened", Words::None, &[], tools::orphan),
    entry("backwards", "", "a tool call that goes from completed to pending",
        Words::None, &[], tools::backwards),
    // calls to the client
    entry("read", "path=P line=N limit=N", "fs/read_text_file; says \"read N bytes: ...\" or the error",
        Words::None, &["path", "line", "limit"], callbacks::read),
    entry("write", "path=P text=T", "fs/write_text_file; says \"wrote N bytes\" or the error",
        Words::None, &["path", "text"], callbacks::write),
    entry("files", "n=400 bytes=6000 ms=0 by=write|tool|both",
        "n new files of that many random bytes: by fs/write_text_file, in the diff of a tool call each, or both",
        Words::None, &["n", "bytes", "ms", "by"], files::files),
    entry("terminal", "COMMAND [ARG...]", "runs it in a client terminal; says \"exit N: output\" or the error",
        Words::Some, &[], callbacks::terminal),
    entry("terminal-unread", "COMMAND [ARG...]", "the same, but never asks for the output; says \"exit N: \" or the error",
        Words::Some, &[], callbacks::terminal_unread),
    entry("permission", "kind=execute|edit|read command=C path=P bare=true yes=NAME no=NAME same=true",
        "asks; says \"allowed (optionId)\" or \"rejected (optionId)\"; a bare one names the call in the question only; \
         yes and no are names for the once-options; with same, \"always\" and \"no\" have one id",
        Words::None, &["kind", "command", "path", "bare", "yes", "no", "same"], callbacks::permission),
    entry("elicit", "[url]", "elicitation/create with a form, or a URL and elicitation/complete; says the answer",
        Words::Maybe(&["url"]), &[], callbacks::elicit),
    entry("ext", "", "notification _example.com/note and request _example.com/ask; says the answer",
        Words::None, &[], callbacks::ext),
    // subagents
    entry("subagent", "title=review id=S silent=true",
        "the steps that follow are those of a new subagent with that title and session; a silent one is not announced",
        Words::None, &["title", "id", "silent"], subagents::begin),
    entry("parent", "working=true", "ends the subagent: the steps that follow are those of its parent; one that is working does not stop",
        Words::None, &["working"], subagents::end),
    // waiting and cancel
    entry("wait", "ms=100", "nothing for that time, unless cancelled", Words::None, &["ms"], waiting::wait),
    entry("steered", "", "waits for words in mid-turn (see --steer) and says \"heard: WORDS\"",
        Words::None, &[], waiting::steered),
    entry("slow", "ms=60000", "one tool call that takes that long; a cancel ends the turn at once",
        Words::None, &["ms"], waiting::slow),
    entry("latecancel", "ms=60000", "the same, but two more chunks come after the cancel",
        Words::None, &["ms"], waiting::late_cancel),
    entry("stubborn", "ms=5000", "the same, but the whole turn ignores a cancel",
        Words::None, &["ms"], waiting::stubborn),
    entry("hang", "", "never answers, not even to a cancel", Words::None, &[], waiting::hang),
    // endings
    entry("stop", "reason=end_turn", "ends the turn with that stop reason", Words::None, &["reason"], endings::stop),
    entry("error", "code=-32603 message=M", "answers the prompt with an error",
        Words::None, &["code", "message"], endings::error),
    entry("late", "ms=50 text=T id=M", "a chunk that comes that long after the prompt's answer, with messageId M if given",
        Words::None, &["ms", "text", "id"], endings::late),
    entry("exit", "code=0", "ends the turn, then the process", Words::None, &["code"], endings::exit),
    entry("crash", "code=3 after=0", "that many chunks, two lines on stderr, then exits in mid-turn",
        Words::None, &["code", "after"], endings::crash),
    entry("abort", "", "dies of SIGABRT", Words::None, &[], endings::abort),
    entry("halfline", "", "writes half a message without a newline and exits",
        Words::None, &[], endings::half_line),
    // trouble
    entry("garbage", "", "twelve kinds of rubbish between good chunks, then \"still here\"",
        Words::None, &[], rubbish::garbage),
    entry("stderr", "TEXT", "a line on stderr", Words::Text, &[], processes::stderr),
    entry("spawn", "[hold|away] ms=600000",
        "a child that ignores SIGTERM: hold keeps our stdout open, away has a session of its own and no \
        environment; says its pid",
        Words::Maybe(&["hold", "away"]), &["ms"], processes::spawn),
    // load
    entry("flood", "n=100000 bytes=300 kind=update|delta|chunk|chunkmeta|call|diff|plan|commands",
        "n updates as fast as the pipe takes them, or n tool calls with a content or texts of a diff of that size",
        Words::None, &["n", "bytes", "kind"], load::flood),
    entry("lone", "n=200 ms=10 bytes=300 kind=update|delta",
        "n updates one at a time, each with _meta.sentNs; a delta says sentNs:DIGITS in its text",
        Words::None, &["n", "ms", "bytes", "kind"], load::lone),
];

/// Runs the turn of a prompt: the first text block that is a script, or else the demo.
pub fn run(turn: &mut Turn) -> Flow {
    let script = turn
        .texts()
        .map(script::parse)
        .find(|script| !matches!(script, Script::Talk));
    match script {
        None | Some(Script::Talk) => story::run(turn),
        Some(Script::Faulty(message)) => Err(End::Fail(RpcError::params(message))),
        Some(Script::Steps(steps)) => {
            turn.deaf = steps
                .iter()
                .any(|step| waiting::DEAF.contains(&step.scenario.name));
            for step in steps {
                (step.scenario.run)(turn, &step.args)?;
                turn.pause(0)?;
            }
            Ok(())
        }
    }
}

/// Returns the `available_commands_update` of this agent.
pub fn commands() -> Value {
    state::commands()
}
