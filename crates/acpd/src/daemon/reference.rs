//! `acpd schema`, `completions` and `man`, which describe acpd to other programs, and the demo agent.

use std::io::Read as _;

use anyhow::Context;
use flate2::read::ZlibDecoder;

use crate::cli::help::command;
use crate::cli::{CompletionsArgs, DemoAgentArgs, ManArgs};
use crate::exit::Exit;
use crate::terminal::print;

/// Compressed by the build script.
static SCHEMA: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/schema"));

/// Prints the JSON Schema of the app protocol.
pub fn schema() -> anyhow::Result<Exit> {
    let mut text = Vec::new();
    ZlibDecoder::new(SCHEMA)
        .read_to_end(&mut text)
        .context("the schema in this program is damaged: install acpd again")?;
    print::bytes(&text);
    Ok(Exit::Success)
}

/// Prints completions for a shell.
pub fn completions(args: &CompletionsArgs) -> Exit {
    let whole = command();
    // clap completes hidden commands as well.
    let offered = whole.get_subcommands().filter(|command| !command.is_hide_set());
    let mut offered = clap::Command::new("acpd")
        .args(whole.get_arguments())
        .subcommands(offered.cloned());
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut offered, "acpd", &mut script);
    print::bytes(&script);
    Exit::Success
}

/// Runs the demo agent over standard input and output.
pub fn demo_agent(args: &DemoAgentArgs) -> Exit {
    acpd_demo_agent::run(args.pace);
    Exit::Success
}

/// Writes a man page for each command.
pub fn man(args: &ManArgs) -> anyhow::Result<Exit> {
    clap_mangen::generate_to(command(), &args.dir)
        .with_context(|| format!("the man pages cannot be written to {}", args.dir.display()))?;
    print::out(&format!("wrote man pages to {}\n", args.dir.display()));
    Ok(Exit::Success)
}
