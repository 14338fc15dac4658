//! The shim: holds the descriptors of one agent or terminal, while daemons come and go.
//!
//! In: `acpd-shim DIRECTORY NAME`, and a connection to the daemon as stdin. Out: frames, and the exit of the process. Owns: the
//! process and all its descendants. Never: leaves one of them behind, outlives them for longer than the daemon asked for, or reads
//! what it carries.

#[cfg(target_os = "linux")]
mod holder;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    holder::main()
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    eprintln!("acpd-shim works on Linux only: elsewhere, turns end with their daemon");
    std::process::ExitCode::FAILURE
}
