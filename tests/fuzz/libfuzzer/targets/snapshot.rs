//! `teetap_fuzz::snapshot` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| teetap_fuzz::snapshot(data));
