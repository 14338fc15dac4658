//! What operations cost at different sizes.

mod calls;
mod clients;
mod crowd;
mod deletion;
mod files;
mod lists;
mod long_thread;
mod probe;
mod stored;
mod table;

use crate::bench::Binaries;
use table::Table;

type Part = (&'static str, fn(&Binaries, bool) -> anyhow::Result<Table>);

const PARTS: [Part; 7] = [
    ("--thread", long_thread::run),
    ("--calls", calls::run),
    ("--files", files::run),
    ("--lists", lists::run),
    ("--crowd", crowd::run),
    ("--clients", clients::run),
    ("--deletion", deletion::run),
];

/// Runs the parts that `args` name, or all, and prints a table for each; smaller sizes with `--quick`.
pub fn run(args: &[&str]) -> anyhow::Result<()> {
    crate::only_parts(args, &PARTS.map(|(name, _)| name))?;
    let binaries = Binaries::beside_this()?;
    let quick = args.contains(&"--quick");
    let all = args.iter().all(|arg| *arg == "--quick");
    let mut missed = Vec::new();
    for (name, measure) in PARTS {
        if all || args.contains(&name) {
            let table = measure(&binaries, quick)?;
            println!("{table}");
            missed.extend(table.missed());
        }
    }
    match missed.len() {
        0 => println!("all within their bounds"),
        count => println!("{count} missed:\n  {}", missed.join("\n  ")),
    }
    Ok(())
}
