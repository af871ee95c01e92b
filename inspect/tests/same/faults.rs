//! Scripted clients with one fault each: everything that a user can see of their sessions, directly and through the proxy.

use std::fmt::Write as _;

use teetap_capture::Item;
use teetap_kit::{
    codec::Variant,
    faulty::{FAULTS, Fault, Setting, play, through},
    link::{Conditions, MS},
};

use crate::observed::{Table, observed, observed_items};

/// Duration of a session in microseconds: the join, and a second in the game.
const LENGTH: u64 = 2_300 * MS;

/// Rules of the sessions through the proxy.
const RULES: &str = "
delay 20ms when c2s and vital every 3
lose when s2c and vital every 5
link both delay 10ms jitter 4ms
";

fn setting(variant: Variant, seed: u64) -> Setting {
    Setting {
        length: LENGTH,
        talks: true,
        ..Setting::new(variant, seed)
    }
}

/// Plays each fault in each of its protocols on a good network, and adds what is observed.
fn check(name: &'static str, of: impl Fn(&Fault, Variant) -> String) {
    let mut table = Table::new(name);
    for fault in FAULTS {
        let mut text = String::new();
        for variant in fault.variants {
            let _infallible = writeln!(text, "--- {variant:?}\n{}", of(fault, *variant));
        }
        table.add(fault.name, &text);
    }
    table.check();
}

#[test]
fn faults_of_clients_are_judged_as_before() {
    check("faults", |fault, variant| {
        let session = play(&setting(variant, 11), Some(fault));
        format!("{}{:?}", observed(&session.packets), session.reached)
    });
}

#[test]
fn faults_of_clients_are_judged_as_before_on_a_bad_network() {
    check("faults-bad-network", |fault, variant| {
        // One protocol for each fault is enough here.
        if Some(&variant) != fault.variants.last() {
            return String::new();
        }
        let half = Conditions {
            delay: 12 * MS,
            jitter: 30 * MS,
            loss: 0.04,
            duplicate: 0.03,
        };
        let setting = Setting {
            halves: [half; 2],
            ..setting(variant, 12)
        };
        observed(&play(&setting, Some(fault)).packets)
    });
}

#[test]
fn faults_of_clients_are_judged_as_before_through_the_proxy() {
    check("faults-through", |fault, variant| {
        if Some(&variant) != fault.variants.first() {
            return String::new();
        }
        let session = through(&setting(variant, 13), Some(fault), RULES).expect("rules without errors");
        let items = || session.events.iter().cloned().map(Item::Event).collect();
        format!("{}{:?}", observed_items(items), session.reached)
    });
}
