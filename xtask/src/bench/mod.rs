//! The benchmark: the daemon compared with the bare relay, in one run. A host's speed varies, so only ratios count.

mod client;
mod crowd;
mod daemon;
mod editor;
mod hostile;
mod measure;
mod report;
mod stream;
mod terminal;

pub use self::client::Counter;
pub use self::daemon::Daemon;
pub use self::measure::{TURN_END, percentile};

use std::path::PathBuf;

use anyhow::Context;

use self::measure::Sizes;
use self::report::Report;

/// The working directory of threads. It must not contain the daemon's files, or the agents' sandbox cannot be created.
pub const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src");

/// Paths of the release binaries.
#[derive(Debug, Clone)]
pub struct Binaries {
    /// The daemon's binary.
    pub acpd: PathBuf,
    /// The binary of the fake agent, which generates the load.
    pub agent: PathBuf,
    /// This program, which is also the relay.
    pub relay: PathBuf,
}

impl Binaries {
    /// Returns the binaries beside this program.
    pub fn beside_this() -> anyhow::Result<Self> {
        let relay = std::env::current_exe()?;
        let binaries = Self {
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
        Ok(binaries)
    }
}

/// What can be run by itself.
const PARTS: [&str; 6] = [
    "--memory",
    "--updates",
    "--crowd",
    "--terminal",
    "--editor",
    "--hostile",
];

/// Runs everything, prints a table, writes `bench/out/bench.json`; with one of the parts, only runs and prints that.
pub fn run(args: &[&str]) -> anyhow::Result<()> {
    crate::only_parts(args, &PARTS)?;
    let parts = args.iter().filter(|arg| PARTS.contains(arg));
    anyhow::ensure!(parts.count() <= 1, "only one part can be run by itself");
    let sizes = if args.contains(&"--quick") {
        Sizes::quick()
    } else {
        Sizes::full()
    };
    let binaries = Binaries::beside_this()?;
    let mut report = Report::default();
    let quick = args.contains(&"--quick");
    let only = |part| args.contains(&part);
    if only("--memory") {
        return measure::memory(&binaries, &sizes, &mut report);
    }
    if only("--updates") {
        measure::updates(&binaries, &sizes, &mut report)?;
        println!("{report}");
        return Ok(());
    }
    if only("--terminal") {
        return terminal::flood(&binaries, quick, &mut report);
    }
    if only("--editor") {
        editor::throughput(&binaries, quick, &mut report)?;
        editor::versions(&binaries, quick, &mut report)?;
        editor::codex(&binaries, quick, &mut report)?;
        return editor::latency(&binaries, quick, &mut report);
    }
    if only("--hostile") {
        return hostile::loads(&binaries, quick, &mut report);
    }
    crowd::streaming(&binaries, quick, &mut report)?;
    if only("--crowd") {
        return Ok(());
    }
    measure::all(&binaries, &sizes, &mut report)?;
    stream::costs(&binaries, &mut report)?;
    terminal::flood(&binaries, quick, &mut report)?;
    editor::throughput(&binaries, quick, &mut report)?;
    editor::versions(&binaries, quick, &mut report)?;
    editor::codex(&binaries, quick, &mut report)?;
    editor::latency(&binaries, quick, &mut report)?;
    hostile::loads(&binaries, quick, &mut report)?;
    let out = PathBuf::from("bench/out");
    std::fs::create_dir_all(&out).context("bench/out cannot be made")?;
    std::fs::write(out.join("bench.json"), report.to_json())?;
    println!("\n{report}\nwritten to bench/out/bench.json");
    Ok(())
}
