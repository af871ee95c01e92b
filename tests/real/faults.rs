//! The npm client with one fault each, as authors of clients make them, on a server of DDNet: the proxy names the fault.

use std::path::Path;
use std::sync::Mutex;
use std::thread;

use anyhow::{Result, ensure};
use serde_json::Value;
use teetap_kit::real::{DdnetServer, Server as _, Teetap, faulty, text, turn};

use crate::TEETAP;

/// The faults of `tests/peers/faulty.js`; the code of a note or the kind of a notice, and words of it.
const FAULTS: &[(&str, &str, &str)] = &[
    ("no-info", "login_stalled", "info from the client"),
    ("no-ready", "login_stalled", "ready from the client"),
    ("no-start-info", "login_stalled", "cl_start_info from the client"),
    ("no-enter-game", "login_stalled", "enter_game from the client"),
    ("wrong-token", "wrong-token", ""),
    ("no-token", "wrong-token", ""),
    ("ack-stuck", "ack-stuck", ""),
    ("ack-ahead", "ack-ahead", ""),
    ("skipped-number", "seq-ahead", ""),
    ("info-not-vital", "not-vital", ""),
    ("plain-as-compressed", "bad-huffman", ""),
    ("wrong-chunk-size", "chunk-truncated", ""),
    ("wrong-chunk-count", "chunk-count-too-high", ""),
    ("unterminated-text", "unterminated-text", ""),
    ("missing-fields", "missing-field", ""),
];

/// Clients at once.
const BESIDE: usize = 3;

/// Lets a client with this fault join through the proxy; returns the codes of notes about what it sent and the kinds of warnings,
/// each with its text.
fn oddities(fault: &str, server: &DdnetServer) -> Result<Vec<(String, String)>> {
    let teetap = Teetap::start(Path::new(TEETAP), server.addr(), &[])?;
    faulty(fault, teetap.listen())?;
    let objects = teetap.stop()?;
    Ok(objects.iter().flat_map(odd).collect())
}

fn odd(object: &Value) -> Vec<(String, String)> {
    if text(object, "event") == "notice" && text(object, "level") == "warning" {
        return vec![(text(object, "kind").to_owned(), text(object, "text").to_owned())];
    }
    let notes = object.get("notes").and_then(Value::as_array);
    let of_client = text(object, "dir") == "c2s";
    let notes = notes.into_iter().flatten().filter(|_| of_client);
    notes
        .map(|note| (text(note, "code").to_owned(), text(note, "text").to_owned()))
        .collect()
}

#[test]
fn each_fault_of_a_client_is_named() -> Result<()> {
    let _turn = turn::shared()?;
    let server = DdnetServer::start(&[])?;
    let (next, wrong) = (Mutex::new(FAULTS.iter()), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let fault = next.lock().unwrap().next();
            let Some((fault, code, words)) = fault else { return };
            let found = oddities(fault, &server);
            let is_named = found.as_ref().is_ok_and(|found| {
                let mut found = found.iter();
                found.any(|(kind, text)| kind == code && text.contains(words))
            });
            if !is_named {
                wrong
                    .lock()
                    .unwrap()
                    .push(format!("{fault}: not {code}: {found:?}"));
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..BESIDE {
            scope.spawn(work);
        }
    });
    let wrong = wrong.into_inner().unwrap();
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[test]
fn a_client_without_a_fault_is_not_accused() -> Result<()> {
    let _turn = turn::shared()?;
    let server = DdnetServer::start(&[])?;
    let mut found = oddities("none", &server)?;
    let of_others: Vec<&str> = FAULTS.iter().map(|(_, code, _)| *code).collect();
    found.retain(|(kind, _)| of_others.contains(&&**kind));
    ensure!(found.is_empty(), "{found:?}");
    Ok(())
}
