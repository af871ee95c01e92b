//! `teetap_fuzz::recording` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| teetap_fuzz::recording(data));
