//! Builds the binary of shims, and compresses it. A crate is built for one program; shims are another one, with other settings.
//!
//! In: the workspace, or the path of a built binary in `ACPD_SHIM_BINARY`. Out: `shim` in `OUT_DIR`, empty for systems that have no
//! shims. Never: needs another network access than the build of the workspace.

use std::env::{var, var_os};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// Names a binary that was built before.
const GIVEN: &str = "ACPD_SHIM_BINARY";
/// Separates flags in `CARGO_ENCODED_RUSTFLAGS`.
const SEPARATOR: &str = "\x1f";
const STATIC: &str = "-Ctarget-feature=+crt-static";

fn main() {
    for changed in [
        "build.rs",
        "../shim/src",
        "../shim/Cargo.toml",
        "../../Cargo.toml",
        "../../Cargo.lock",
    ] {
        println!("cargo::rerun-if-changed={changed}");
    }
    println!("cargo::rerun-if-env-changed={GIVEN}");
    let out = PathBuf::from(var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let binary = match var_os(GIVEN) {
        _ if var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") => Vec::new(),
        Some(path) => read(Path::new(&path)),
        None => read(&build(&out.join("build"))),
    };
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&binary).expect("a Vec can be written");
    let compressed = encoder.finish().expect("a Vec can be written");
    fs::write(out.join("shim"), compressed).expect("OUT_DIR can be written");
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()))
}

/// Builds the binary, and returns its path. A static one needs less memory, and not every system has a static C library.
fn build(folder: &Path) -> PathBuf {
    let target = var("TARGET").expect("cargo sets TARGET");
    let is_always_static =
        var("CARGO_CFG_TARGET_FEATURE").is_ok_and(|all| all.split(',').any(|one| one == "crt-static"));
    if !is_always_static && !cargo(folder, &target, &[STATIC]).status.success() {
        println!(
            "cargo::warning=shims are linked dynamically, since there is no static C library; each needs more memory"
        );
    }
    if is_always_static || !path(folder, &target).exists() {
        let built = cargo(folder, &target, &[]);
        let said = String::from_utf8_lossy(&built.stderr);
        assert!(
            built.status.success(),
            "the binary of shims cannot be built:\n{said}"
        );
    }
    path(folder, &target)
}

fn path(folder: &Path, target: &str) -> PathBuf {
    folder.join(target).join("release/acpd-shim")
}

/// Runs cargo for the shim alone, in a folder of its own: the cargo that runs this program has locked the usual one.
fn cargo(folder: &Path, target: &str, flags: &[&str]) -> Output {
    let given = var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let given = given.split(SEPARATOR).filter(|flag| !flag.is_empty());
    let flags: Vec<&str> = given.chain(flags.iter().copied()).collect();
    // What an earlier run has built says nothing about this one.
    let _ = fs::remove_file(path(folder, target));
    Command::new(var_os("CARGO").expect("cargo sets CARGO"))
        .args([
            "build",
            "--release",
            "--locked",
            "--package",
            "acpd-shim",
            "--bin",
            "acpd-shim",
        ])
        .args(["--target", target])
        .arg("--target-dir")
        .arg(folder)
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join(SEPARATOR))
        .env("CARGO_PROFILE_RELEASE_PANIC", "abort")
        .env("CARGO_PROFILE_RELEASE_STRIP", "symbols")
        .env("CARGO_PROFILE_RELEASE_DEBUG", "false")
        // Lints of the workspace are checked where it is built as a part of it.
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .output()
        .expect("cargo can be run")
}
