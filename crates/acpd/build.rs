//! Embeds the JSON Schema of the app protocol, compressed: it has 290 kB, and is seldom asked for.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::ZlibEncoder;

const SCHEMA: &str = "../../docs/app-protocol.schema.json";

fn main() {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={SCHEMA}");
    let text = fs::read(SCHEMA).unwrap_or_else(|error| panic!("cannot read {SCHEMA}: {error}"));
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&text).expect("a Vec can be written");
    let compressed = encoder.finish().expect("a Vec can be written");
    fs::write(out.join("schema"), compressed).expect("OUT_DIR can be written");
}
