//! Takes the built UI into the binary, or a page that says how to build it.

use std::path::Path;

fn main() {
    let dist = Path::new("../../web/dist");
    // It is looked at again when it changes, for which it has to be there. If it cannot be made, every build looks.
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
