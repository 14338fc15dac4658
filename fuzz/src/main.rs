//! One fuzz target under libFuzzer: the one that `ACPD_FUZZ_TARGET` names.

#![no_main]

use std::sync::LazyLock;

use acpd_fuzz::{TARGETS, Target};

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("ACPD_FUZZ_TARGET").unwrap_or_default();
    Target::find(&name).unwrap_or_else(|| {
        let names = TARGETS.each_ref().map(|target| target.name);
        eprintln!("set ACPD_FUZZ_TARGET to one of {names:?}");
        std::process::exit(2)
    })
});

libfuzzer_sys::fuzz_target!(|input: &[u8]| (TARGET.run)(input));
