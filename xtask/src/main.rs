//! Workspace tasks: `cargo run --release -p xtask -- bench`.

mod bench;
mod relay;
mod scale;

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["bench", ref rest @ ..] => bench::run(rest),
        ["relay", ref agent @ ..] => relay::run(agent),
        ["scale", ref rest @ ..] => scale::run(rest),
        _ => anyhow::bail!(
            "usage: xtask bench [--quick] [--memory|--updates|--crowd|--terminal|--editor] | xtask scale [--quick] [--thread] [--calls] [--files] [--lists] [--crowd] [--clients] [--deletion] | xtask relay PROGRAM [ARG…]"
        ),
    }
}
