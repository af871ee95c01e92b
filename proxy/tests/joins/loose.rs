//! Messages that are not vital and wait in the proxy: their order, and the room for them.

use std::time::Duration;

use teetap_proxy::session::{Action, Notice};
use teetap_rules::{Fate, Order};
use teetap_wire::Dir;

use crate::bench::{fate, on_each_kind, with_rules};

const fn delay(ms: u64, order: Order) -> Fate {
    Fate::Delay {
        for_: Duration::from_millis(ms),
        order,
    }
}

/// A message that keeps its order is sent no earlier than those delayed before it.
#[test]
fn delayed_messages_stay_in_order_unless_they_may_overtake() {
    for (order, expected) in [
        (Order::Kept, vec!["90: C a1 -:slow -:quick", "115: C a1 -:slow"]),
        (
            Order::Free,
            vec!["20: C a1 -:quick", "90: C a1 -:slow", "115: C a1 -:slow"],
        ),
    ] {
        let script = vec![
            fate("slow", delay(100, Order::Kept)),
            fate("quick", delay(20, order)),
        ];
        with_rules(&script, |bench| {
            bench.is("S a1 -:slow", &["C a1 keepalive"]);
            bench.after(10, &[]);
            bench.send("S a1 -:quick");
            let sent = bench.wait(15);
            bench.send("S a1 -:slow");
            let later = bench.wait(200);
            // The times of the second wait begin 15 ms later.
            let at = |line: &String, since: u64| {
                let (ms, line) = line.split_once(": ").unwrap();
                format!("{}: {line}", ms.parse::<u64>().unwrap() + since)
            };
            let sent: Vec<_> = sent.iter().map(|line| at(line, 0)).collect();
            let later: Vec<_> = later.iter().map(|line| at(line, 15)).collect();
            assert_eq!([sent, later].concat(), expected, "{:?} {order:?}", bench.kind);
        });
    }
}

/// A full queue refuses messages until half of it is empty.
#[test]
fn messages_without_room_are_refused() {
    const MOST: usize = 300;
    let script = vec![
        fate("n", delay(1000, Order::Kept)),
        fate("late", delay(3000, Order::Free)),
    ];
    with_rules(&script, |bench| {
        for _ in 0..MOST {
            bench.send("S a1 -:n");
        }
        for line in ["S a1 -:late", "S a1 -:n", "S a1 -:x"] {
            bench.send(line);
        }
        let actions: Vec<_> = bench.placed.iter().map(|placed| placed.action).collect();
        assert_eq!(actions[..MOST], vec![Action::Hold; MOST]);
        assert_eq!(actions[MOST..], [Action::Refuse, Action::Refuse, Action::Pass]);
        let full = bench
            .notices
            .iter()
            .filter(|notice| **notice == Notice::HoldFull { dir: Dir::S2c });
        assert_eq!(full.count(), 1);
        let sent = bench.wait(1500).len();
        assert!(sent > 0);
        bench.send("S a1 -:late");
        assert_eq!(bench.placed.last().unwrap().action, Action::Hold);
    });
}

/// Without rules nothing waits.
#[test]
fn messages_that_are_not_vital_pass_at_once() {
    on_each_kind(|bench| {
        bench.is("S a1 -:n -:n", &["C a1 -:n -:n"]);
        bench.after(1000, &[]);
    });
}
