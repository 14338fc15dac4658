//! Embeds the built UI and the built documents in the binary, or pages with build instructions.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

fn main() {
    println!("cargo::rerun-if-changed=unbuilt");
    println!("cargo::rerun-if-changed=build.rs");
    let ui = built("../../web/dist", "built").unwrap_or(Path::new("unbuilt/ui"));
    let docs = built("../../docs/dist", "built_docs").unwrap_or(Path::new("unbuilt/docs"));
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let lists = [list("UI", ui, &out), list("DOCS", docs, &out)];
    fs::write(out.join("embedded.rs"), lists.concat()).expect("OUT_DIR can be written");
}

/// Returns the directory if it contains built pages, and sets `flag` for the sources.
fn built(directory: &'static str, flag: &str) -> Option<&'static Path> {
    let directory = Path::new(directory);
    // Cargo watches the directory for changes, so it must exist. If it cannot be created, every build runs this script.
    let _ = fs::create_dir_all(directory);
    println!("cargo::rerun-if-changed={}", directory.display());
    println!("cargo::rustc-check-cfg=cfg({flag})");
    let is_built = directory.join("index.html").is_file();
    if is_built {
        println!("cargo::rustc-cfg={flag}");
    }
    if !is_built && is_release() {
        println!(
            "cargo::warning={} is not built; the binary will serve build instructions instead. Run \"make web docs\" first, or build \
             from the source tarball of \"make dist\", which contains it",
            directory.strip_prefix("../..").unwrap_or(directory).display()
        );
    }
    is_built.then_some(directory)
}

fn is_release() -> bool {
    std::env::var("PROFILE").is_ok_and(|profile| profile == "release")
}

/// Compresses the files of a directory into `out`, and returns a list of them as Rust code.
fn list(name: &str, directory: &Path, out: &Path) -> String {
    let mut files = Vec::new();
    walk(directory, &mut files);
    files.sort();
    let mut code = format!("pub static {name}: [File; {}] = [\n", files.len());
    for (place, file) in files.iter().enumerate() {
        let content =
            fs::read(file).unwrap_or_else(|error| panic!("cannot read {}: {error}", file.display()));
        let compressed = compress(&content);
        let is_brotli = compressed.len() < content.len();
        let stored = format!("{name}.{place}");
        fs::write(out.join(&stored), if is_brotli { &compressed } else { &content })
            .expect("OUT_DIR can be written");
        let path = file
            .strip_prefix(directory)
            .expect("it is inside of the directory");
        let path = path.to_str().expect("names of built files are ASCII");
        let hash: String = Sha256::digest(&content)[..16]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        writeln!(
            code,
            "    File {{ path: {path:?}, content_type: {:?}, etag: {:?}, is_brotli: {is_brotli}, bytes: {}, \
             stored: include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{stored}\")), gzip: std::sync::OnceLock::new() }},",
            content_type(file),
            format!("W/\"{hash}\""),
            content.len()
        )
        .expect("a String takes all text");
    }
    code + "];\n"
}

fn walk(directory: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(directory)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", directory.display()));
    for entry in entries {
        let path = entry.expect("a directory can be read to its end").path();
        if path.is_dir() {
            walk(&path, files);
        } else {
            files.push(path);
        }
    }
}

/// Compresses by brotli: as well as possible for a release, quickly for other builds.
fn compress(content: &[u8]) -> Vec<u8> {
    let quality = if is_release() { 11 } else { 5 };
    let mut writer = brotli::CompressorWriter::new(Vec::new(), 1 << 16, quality, 22);
    writer.write_all(content).expect("a Vec takes all bytes");
    writer.into_inner()
}

fn content_type(file: &Path) -> &'static str {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("json") => "application/json",
        Some("webmanifest") => "application/manifest+json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("woff2") => "font/woff2",
        Some("txt") => "text/plain; charset=utf-8",
        _ => panic!(
            "{}: add the type of such files to crates/web/build.rs",
            file.display()
        ),
    }
}
