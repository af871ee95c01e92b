//! Writes each seed of a target to a file, as libFuzzer expects: `seeds TARGET FOLDER`.

#![expect(clippy::unwrap_used, reason = "a tool of the tests")]

use std::{env, fs, path::PathBuf};

fn main() {
    let mut args = env::args().skip(1);
    let (target, folder) = (args.next().unwrap(), PathBuf::from(args.next().unwrap()));
    fs::create_dir_all(&folder).unwrap();
    for (number, input) in teetap_fuzz::seeds::of(&target).iter().enumerate() {
        fs::write(folder.join(format!("seed-{number:03}")), input).unwrap();
    }
}
