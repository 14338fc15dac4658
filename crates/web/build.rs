//! Embeds the built UI and the built documents in the binary, or pages with build instructions.

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=unbuilt");
    println!("cargo::rerun-if-changed=build.rs");
    let ui = built("../../web/dist", "built").unwrap_or(Path::new("unbuilt/ui"));
    let docs = built("../../docs/dist", "built_docs").unwrap_or(Path::new("unbuilt/docs"));
    memory_serve::load_names_directories([("ui", ui), ("docs", docs)], true);
}

/// Returns the directory if it contains built pages, and sets `flag` for the sources.
fn built(directory: &'static str, flag: &str) -> Option<&'static Path> {
    let directory = Path::new(directory);
    // Cargo watches the directory for changes, so it must exist. If it cannot be created, every build runs this script.
    let _ = std::fs::create_dir_all(directory);
    println!("cargo::rerun-if-changed={}", directory.display());
    println!("cargo::rustc-check-cfg=cfg({flag})");
    let is_built = directory.join("index.html").is_file();
    if is_built {
        println!("cargo::rustc-cfg={flag}");
    }
    if !is_built && std::env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        println!(
            "cargo::warning={} is not built; the binary will serve build instructions instead. Run \"make web docs\" first, or build \
             from the source tarball of \"make dist\", which contains it",
            directory.strip_prefix("../..").unwrap_or(directory).display()
        );
    }
    is_built.then_some(directory)
}
