//! Runs a target on the contents of a file: `one TARGET FILE`.

#![expect(clippy::unwrap_used, reason = "a tool of the tests")]

fn main() {
    let mut args = std::env::args().skip(1);
    let target = teetap_fuzz::target(&args.next().unwrap()).unwrap();
    target(&std::fs::read(args.next().unwrap()).unwrap());
}
