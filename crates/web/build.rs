//! Embeds the built UI in the binary, or a page with build instructions.

use std::path::Path;

fn main() {
    let dist = Path::new("../../web/dist");
    // Cargo watches the directory for changes, so it must exist. If it cannot be created, every build runs this script.
    let _ = std::fs::create_dir_all(dist);
    println!("cargo::rerun-if-changed={}", dist.display());
    println!("cargo::rerun-if-changed=unbuilt");
    println!("cargo::rerun-if-changed=build.rs");
    let built = dist.join("index.html").is_file();
    println!("cargo::rustc-check-cfg=cfg(built)");
    if built {
        println!("cargo::rustc-cfg=built");
    }
    memory_serve::load_directory_with_embed(if built { dist } else { Path::new("unbuilt") }, true);
}
