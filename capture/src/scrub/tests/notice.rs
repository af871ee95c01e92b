//! Tests of every text in every kind of notice.

use std::time::Duration;

use serde_json::{Value, json};
use teetap_proxy::session::{Event, EventKind, Notice, Time};

use super::*;

/// Returns a value for every field name of all notices. Most kinds of notices ignore fields that they do not have.
fn values() -> Value {
    json!({
        "for_s": 1.5, "error": "x", "client": "127.0.0.1:1", "server": "127.0.0.1:2", "listen": "127.0.0.1:3",
        "from": "127.0.0.1:4", "to": "127.0.0.1:5", "len": 7, "what": "other", "start": "", "proto": "0.7",
        "client_speaks": "0.7", "server_speaks": "0.6", "dir": "c2s", "held": 3, "rule": "x", "edited": false, "why": "timeout",
        "rules": ["x"], "logged": "x", "expected": true, "message": "x", "exit": 10, "after": "x", "acked": true,
        "waits_for": "x", "unacked": "x", "of": "x", "count": 9, "side": "client", "sides_clear": true, "port": 9, "kept": false,
    })
}

/// Returns a notice of this kind, with one of the values replaced.
fn notice(kind: &str, replaced: Option<(&str, Value)>) -> Option<Notice> {
    let mut values = values();
    values["kind"] = json!(kind);
    match kind {
        "login_stalled" => values["from"] = json!("client"),
        "redirected" => values["listen"] = json!(9),
        _ => {}
    }
    if let Some((name, value)) = replaced {
        values[name] = value;
    }
    let notice: Notice = serde_json::from_value(values).unwrap();
    (!matches!(notice, Notice::Other { .. })).then_some(notice)
}

/// Returns a notice in the form of files and lines.
fn scrubbed(scrubber: &mut Scrubber, notice: Notice) -> String {
    let event = Event {
        at: Time::ZERO + Duration::from_secs(1),
        session: None,
        what: EventKind::Notice(notice),
    };
    let EventKind::Notice(notice) = scrubber.event(event).what else {
        panic!("another event");
    };
    format!("{} {notice} {notice:?}", serde_json::to_string(&notice).unwrap())
}

#[test]
fn no_text_of_any_kind_of_notice_is_left() {
    const TEXT: &str = "Hunter2 /x \u{e4}";
    let mut texts = Vec::new();
    for (kind, ..) in Notice::KINDS {
        assert!(notice(kind, None).is_some(), "{kind}: give it its values above");
        for name in values().as_object().unwrap().keys() {
            let value = if name == "rules" {
                json!(["a", TEXT])
            } else {
                json!(TEXT)
            };
            // A value of another type than text makes the notice invalid.
            let Some(notice) = notice(kind, Some((name, value))) else {
                continue;
            };
            let is_text = format!("{notice:?}").contains("Hunter2");
            if !is_text {
                continue;
            }
            texts.push(format!("{kind}.{name}"));
            // Errors of the operating system stay, except for addresses, hosts and paths.
            let is_of_system = ["error", "why"].contains(&&**name)
                && [
                    "upstream_unreachable",
                    "upstream_failed",
                    "redirect_passes",
                    "inject_refused",
                    "resync_refused",
                ]
                .contains(kind);
            let text = scrubbed(&mut scrubber(), notice.clone());
            assert_eq!(text.contains("Hunter2"), is_of_system, "{kind}.{name}: {text}");
            let mut secrets = Secrets::default();
            secrets.add(b"hunter2");
            let text = scrubbed(&mut keeping_text().with_secrets(secrets), notice);
            assert!(!text.to_lowercase().contains("hunter2"), "{kind}.{name}: {text}");
        }
    }
    for text in [
        "rule_log.logged",
        "rules_set.rules",
        "held.rule",
        "assertion_failed.why",
        "login_stalled.why",
    ] {
        assert!(texts.iter().any(|found| found == text), "{text}: {texts:?}");
    }
}

#[test]
fn effects_of_the_link_are_kept() {
    use teetap_proxy::session::{Datagram, Origin, Transit};
    use teetap_wire::{Dir, Proto};

    let transit = Transit {
        delay: Duration::from_millis(41),
        corrupted: [17].into(),
        ..Transit::default()
    };
    let bytes = [0; 9];
    let mut datagram = Datagram::new(
        Dir::C2s,
        Proto::V7,
        Origin::Peer,
        &bytes,
        std::iter::once(&bytes[..]),
    );
    datagram.link = [transit].into();
    let event = Event {
        at: Time::ZERO,
        session: None,
        what: EventKind::Datagram(datagram.clone()),
    };
    let EventKind::Datagram(scrubbed) = super::scrubber().event(event).what else {
        panic!("another event");
    };
    assert_eq!(scrubbed.link, datagram.link);
}
