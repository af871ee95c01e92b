//! teetap.
fn main() {}
