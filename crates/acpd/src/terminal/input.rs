//! Input that blocks, beside the runtime: Ctrl-C must end the command meanwhile.

use std::io::Read;

use anyhow::Context;

/// Reads all of standard input.
pub async fn input() -> anyhow::Result<String> {
    let read = tokio::task::spawn_blocking(|| {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    });
    read.await?.context("standard input cannot be read as UTF-8 text")
}
