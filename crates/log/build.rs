//! Requires the table of pages, which `SQLite` has only with a flag of its compiler.

const FLAG: &str = "SQLITE_ENABLE_DBPAGE_VTAB";

fn main() {
    println!("cargo:rerun-if-env-changed=LIBSQLITE3_FLAGS");
    let flags = std::env::var("LIBSQLITE3_FLAGS").unwrap_or_default();
    assert!(
        flags.contains(FLAG),
        "the log needs SQLite with {FLAG}: build inside the repository, whose .cargo/config.toml sets it, or set \
         LIBSQLITE3_FLAGS={FLAG} (now: {flags:?})"
    );
}
