//! Every command and snippet of the documents is run, or marked with the reason why not.
//!
//! | Language | How it is run |
//! |---|---|
//! | `sh` | by bash, in a home of its own for each document, with the real `acpd` and scripted agents |
//! | `text` | not at all: it shows output or a picture. Behind `<!-- output -->`, the block before it must print these lines |
//! | `toml` | loaded as acpd's configuration. With `<!-- config -->`, the blocks behind it use it |
//! | `json` | parsed; messages of the app protocol fit its schema; commands that start `acpd` work |
//! | `python`, `js`, `ts` | by the tests of the clients, which [`RUN_BY_CLIENTS`] lists |
//!
//! Any other block has a comment `<!-- not run: REASON -->` before it.

#[path = "../support/mod.rs"]
mod support;

mod blocks;
mod home;

use std::path::Path;

use blocks::{Block, Mark, blocks, documents, missing_line};
use home::Home;
use serde_json::Value;
use support::check_app_message;

/// Documents whose programs the tests of the clients run.
const RUN_BY_CLIENTS: [&str; 3] = [
    "web/client/README.md",
    "clients/python/README.md",
    "docs/tutorial.md",
];

/// Documents for users who have never used acpd before. For the others, it has one thread already.
const FIRST_USE: [&str; 2] = ["README.md", "docs/getting-started.md"];

/// The configuration, below a home.
const CONFIG: &str = ".config/acpd/config.toml";

/// How a block is run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Shell,
    Toml,
    Json,
    Client,
    Shown,
    Marked,
}

fn way(block: &Block) -> Result<Way, String> {
    if let Mark::NotRun(reason) = &block.mark {
        return match reason.split_whitespace().count() {
            0..2 => Err(format!("{block}: say why it is not run")),
            _ => Ok(Way::Marked),
        };
    }
    let by_client = RUN_BY_CLIENTS.iter().any(|known| block.document.ends_with(known));
    match &block.language[..] {
        "sh" => Ok(Way::Shell),
        "toml" => Ok(Way::Toml),
        "json" => Ok(Way::Json),
        "text" => Ok(Way::Shown),
        "python" | "js" | "ts" | "typescript" | "javascript" if by_client => Ok(Way::Client),
        "" => Err(format!("{block}: name its language; \"text\" for output")),
        _ => Err(format!(
            "{block}: it is not run: write <!-- not run: REASON --> before it"
        )),
    }
}

#[test]
fn every_snippet_is_run_or_marked() {
    let all: Vec<Block> = documents().iter().flat_map(|document| blocks(document)).collect();
    let (ways, faults): (Vec<_>, Vec<_>) = all.iter().map(way).partition(Result::is_ok);
    let faults: Vec<String> = faults.into_iter().filter_map(Result::err).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let count = |wanted: Way| ways.iter().filter(|way| **way == Ok(wanted)).count();
    eprintln!(
        "run: {} shell, {} toml, {} json, {} by the clients' tests; not run: {} marked; shown: {}",
        count(Way::Shell),
        count(Way::Toml),
        count(Way::Json),
        count(Way::Client),
        count(Way::Marked),
        count(Way::Shown)
    );
    assert!(
        count(Way::Shell) > count(Way::Marked),
        "more snippets are marked than run"
    );
}

/// Runs the snippets of each document whose number has this remainder.
fn run_quarter(quarter: usize) {
    let mut faults = Vec::new();
    for document in documents().into_iter().skip(quarter).step_by(4) {
        let blocks = blocks(&document);
        let is_run = |block: &Block| matches!(way(block), Ok(Way::Shell | Way::Toml | Way::Json));
        if !blocks.iter().any(is_run) {
            continue;
        }
        let home = Home::new();
        if !FIRST_USE.iter().any(|first| document == Path::new(first)) {
            let begun = home.run("acpd run --agent demo 'say hello'");
            assert_eq!(begun.code, Some(0), "{}", begun.stdout);
        }
        let mut output = String::new();
        for block in &blocks {
            output = run(&home, block, &output).unwrap_or_else(|fault| {
                faults.push(format!("{block}: {fault}"));
                String::new()
            });
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

#[test]
fn the_first_quarter_works() {
    run_quarter(0);
}

#[test]
fn the_second_quarter_works() {
    run_quarter(1);
}

#[test]
fn the_third_quarter_works() {
    run_quarter(2);
}

#[test]
fn the_last_quarter_works() {
    run_quarter(3);
}

/// Runs a block. Returns its output; `before` is that of the block before it.
fn run(home: &Home, block: &Block, before: &str) -> Result<String, String> {
    match way(block)? {
        Way::Shell => run_shell(home, block),
        Way::Toml => {
            if block.mark == Mark::Config {
                home.write(CONFIG, &block.text);
            }
            let file = home.write("snippet/config.toml", &block.text);
            succeed(home, &format!("acpd --config '{}' agents list", file.display()))
        }
        Way::Json => check_json(home, block).map(|()| String::new()),
        Way::Shown if block.mark == Mark::Output => match missing_line(&block.text, before) {
            Some(line) => Err(format!("{line:?} is not in the output before it:\n{before}")),
            None => Ok(before.to_owned()),
        },
        Way::Shown | Way::Client | Way::Marked => Ok(String::new()),
    }
}

fn run_shell(home: &Home, block: &Block) -> Result<String, String> {
    let mut script = block.text.clone();
    if script.contains("127.0.0.1:4127") {
        script = script.replace("127.0.0.1:4127", &home.address());
    }
    succeed(home, &script)
}

/// Runs a script, which must end with 0. Returns its output.
fn succeed(home: &Home, script: &str) -> Result<String, String> {
    let outcome = home.run(script);
    if outcome.code == Some(0) {
        return Ok(outcome.stdout);
    }
    let code = outcome.code.unwrap_or(-1);
    Err(format!(
        "exit code {code}:\n{script}\nIt prints:\n{}",
        outcome.stdout
    ))
}

/// Checks one JSON value, or one on each line.
fn check_json(home: &Home, block: &Block) -> Result<(), String> {
    let whole: Result<Value, _> = serde_json::from_str(&block.text);
    let values = match whole {
        Ok(value) => vec![value],
        Err(whole) => {
            let lines = block.text.lines().map(serde_json::from_str);
            let lines: Result<Vec<Value>, _> = lines.collect();
            lines.map_err(|_| format!("it is not JSON: {whole}"))?
        }
    };
    for value in &values {
        if value["jsonrpc"].is_string() && value["method"].is_string() {
            check_app_message(value);
        }
        check_commands(home, value)?;
    }
    Ok(())
}

/// Checks that the settings of an editor start `acpd` in a way that works.
fn check_commands(home: &Home, value: &Value) -> Result<(), String> {
    if value["command"] == "acpd" {
        let args = value["args"].as_array().into_iter().flatten();
        let args: Vec<&str> = args.filter_map(Value::as_str).collect();
        // It ends when the editor closes its input.
        succeed(home, &format!("acpd {} </dev/null", args.join(" ")))?;
    }
    match value {
        Value::Object(members) => members.values().try_for_each(|value| check_commands(home, value)),
        Value::Array(values) => values.iter().try_for_each(|value| check_commands(home, value)),
        _ => Ok(()),
    }
}

/// The program of docs/write-an-agent.md is an agent.
#[test]
fn the_agent_that_a_page_shows_works() {
    let page = blocks(Path::new("docs/write-an-agent.md"));
    let program = page
        .iter()
        .find(|block| block.language == "python")
        .expect("it has one");
    let home = Home::new();
    home.program("my-agent", &program.text);
    home.write(CONFIG, "[agents.mine]\ncommand = \"my-agent\"\n");
    let found = succeed(&home, "acpd agents doctor mine");
    assert!(found.is_ok_and(|found| found.contains("works: ACP version 1")));
    let shown = page
        .iter()
        .find(|block| block.language == "text")
        .expect("it shows the answer");
    let said = succeed(&home, "acpd run --agent mine hello").expect("it answers");
    assert_eq!(missing_line(&shown.text, &said), None, "{said}");
}
