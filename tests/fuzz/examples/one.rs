//! Runs one input of a target: `one TARGET FILE`.

#![expect(clippy::unwrap_used, reason = "a tool of the tests")]

fn main() {
    let mut args = std::env::args().skip(1);
    let name = args.next().unwrap();
    let (_, target) = teetap_fuzz::TARGETS
        .iter()
        .find(|(known, _)| *known == name)
        .unwrap();
    target(&std::fs::read(args.next().unwrap()).unwrap());
}
