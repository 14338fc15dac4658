//! Workspace tasks: `cargo run --release -p xtask -- bench`.

mod bench;
mod flood;
mod relay;
mod scale;

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["bench", ref rest @ ..] => bench::run(rest),
        ["flood", version] => flood::run(version),
        ["relay", ref rest @ ..] => relay::run(rest),
        ["scale", ref rest @ ..] => scale::run(rest),
        _ => anyhow::bail!(
            "usage: xtask bench [--quick] [PART] | scale [--quick] [PART…] | relay [--by-line] PROGRAM [ARG…] | flood 1|2"
        ),
    }
}

/// Fails if an argument is none of the parts of a benchmark, nor `--quick`.
fn only_parts(args: &[&str], parts: &[&str]) -> anyhow::Result<()> {
    match args
        .iter()
        .find(|arg| **arg != "--quick" && !parts.contains(*arg))
    {
        Some(arg) => anyhow::bail!(
            "{arg} is not a part of this benchmark; the parts are {}",
            parts.join(", ")
        ),
        None => Ok(()),
    }
}
