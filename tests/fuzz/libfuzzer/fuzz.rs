//! Runs a target of `teetap_fuzz` under libFuzzer. `FUZZ_TARGET` selects the target.
#![no_main]

use std::sync::LazyLock;

static TARGET: LazyLock<teetap_fuzz::Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").expect("FUZZ_TARGET names a target");
    teetap_fuzz::target(&name).expect("FUZZ_TARGET names a target")
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| TARGET(data));
