//! The benchmark: the daemon beside the bare relay, in one run. This machine's speed varies, so ratios count.

mod client;
mod crowd;
mod daemon;
mod editor;
mod measure;
mod report;
mod stream;
mod terminal;

use std::path::PathBuf;

use anyhow::Context;

use self::measure::Sizes;
use self::report::Report;

/// The directory of threads: one that holds nothing of the daemon, else no sandbox can be made for its agents.
const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src");

/// Where the release binaries are.
#[derive(Debug, Clone)]
pub struct Binaries {
    /// The daemon.
    pub acpd: PathBuf,
    /// The load generator.
    pub agent: PathBuf,
    /// This program, which is also the relay.
    pub relay: PathBuf,
}

/// Runs everything, prints a table, writes `bench/out/bench.json`; with `--crowd`, `--terminal` or `--editor`, only prints that part.
pub fn run(args: &[&str]) -> anyhow::Result<()> {
    let sizes = if args.contains(&"--quick") {
        Sizes::quick()
    } else {
        Sizes::full()
    };
    let relay = std::env::current_exe()?;
    let binaries = Binaries {
        acpd: relay.with_file_name("acpd"),
        agent: relay.with_file_name("acpd-fake-agent"),
        relay,
    };
    for binary in [&binaries.acpd, &binaries.agent] {
        anyhow::ensure!(
            binary.is_file(),
            "{} is missing: run cargo build --release first",
            binary.display()
        );
    }
    let mut report = Report::default();
    let quick = args.contains(&"--quick");
    let only = |part| args.contains(&part);
    if only("--terminal") {
        return terminal::flood(&binaries, quick, &mut report);
    }
    if only("--editor") {
        return editor::latency(&binaries, quick, &mut report);
    }
    crowd::streaming(&binaries, quick, &mut report)?;
    if only("--crowd") {
        return Ok(());
    }
    measure::all(&binaries, &sizes, &mut report)?;
    stream::costs(&binaries, &mut report)?;
    terminal::flood(&binaries, quick, &mut report)?;
    editor::latency(&binaries, quick, &mut report)?;
    let out = PathBuf::from("bench/out");
    std::fs::create_dir_all(&out).context("bench/out cannot be made")?;
    std::fs::write(out.join("bench.json"), report.to_json())?;
    println!("\n{report}\nwritten to bench/out/bench.json");
    Ok(())
}
