//! tests/kit
