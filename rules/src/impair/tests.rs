//! Tests of the statistics of each parameter, and of the independence of the draws. All seeds are fixed.

mod jitter;

use std::collections::BTreeSet;
use std::time::Duration;

use super::*;

const SESSION: Opening = Opening {
    seed: 42,
    session: 1,
    at: 0,
    is_new: true,
    client: None,
};
const MANY: u64 = 100_000;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn percent(percent: f64) -> Share {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a small number"
    )]
    Share::new((percent * 10_000.0).round() as u32).unwrap()
}

fn line(change: impl FnOnce(&mut LinkLine)) -> LinkLine {
    let mut line = LinkLine::new(Dirs::Both);
    change(&mut line);
    line
}

fn channel(lines: &[LinkLine]) -> Channel {
    open(lines, &SESSION, Dir::S2c)
}

fn open(lines: &[LinkLine], session: &Opening, dir: Dir) -> Channel {
    Links::new(lines.iter().cloned())
        .open(session, dir, None)
        .unwrap()
}

/// Returns a datagram of 100 bytes.
fn sent(ordinal: u64, at: u64) -> Sent<'static> {
    Sent::new(at, ordinal, &[0x10; 100])
}

/// Sends one datagram every `every` microseconds. Returns the copies of each.
fn run(channel: &mut Channel, count: u64, every: u64) -> Vec<Vec<Copy>> {
    (1..=count)
        .map(|n| channel.pass(&sent(n, n * every)).to_vec())
        .collect()
}

/// Returns the delay of each datagram that is not lost, in microseconds.
fn delays(channel: &mut Channel, count: u64, every: u64) -> Vec<u64> {
    let copies = run(channel, count, every);
    let delay = |(n, copies): (u64, &Vec<Copy>)| match copies[0].fate {
        Fate::Leaves(at) => Some(at - n * every),
        Fate::Lost(_) => None,
    };
    (1..).zip(&copies).filter_map(delay).collect()
}

fn is_lost(copies: &[Copy]) -> bool {
    matches!(copies[0].fate, Fate::Lost(_))
}

fn near(measured: f64, wanted: f64, tolerance: f64) {
    assert!(
        (measured / wanted - 1.0).abs() < tolerance,
        "{measured}, wanted {wanted}"
    );
}

fn share(count: usize, of: usize) -> f64 {
    count as f64 / of as f64
}

#[test]
fn independent_loss_has_its_rate_and_no_bursts() {
    let lossy = line(|line| line.loss = Some(Loss::Independent(percent(5.0))));
    let lost: Vec<bool> = run(&mut channel(&[lossy]), MANY, 1)
        .iter()
        .map(|copies| is_lost(copies))
        .collect();
    near(
        share(lost.iter().filter(|lost| **lost).count(), lost.len()),
        0.05,
        0.03,
    );
    near(mean_burst(&lost), 1.0 / 0.95, 0.02);
}

fn mean_burst(lost: &[bool]) -> f64 {
    let bursts: Vec<_> = lost
        .split(|lost| !lost)
        .filter(|burst| !burst.is_empty())
        .collect();
    let total: usize = bursts.iter().map(|burst| burst.len()).sum();
    share(total, bursts.len())
}

#[test]
fn gilbert_elliott_has_the_asked_loss_and_burst_length() {
    for (p, r) in [(1.0, 30.0), (2.0, 20.0), (0.5, 10.0), (5.0, 50.0)] {
        for seed in 1..=3 {
            let lossy = line(|line| {
                line.loss = Some(Loss::Gemodel {
                    p: percent(p),
                    r: percent(r),
                    bad: Share::WHOLE,
                    good: Share::NONE,
                });
            });
            let session = Opening { seed, ..SESSION };
            // The standard error of the loss is 1.6 % for the last pair. The rarer the steps, the more datagrams are
            // needed.
            let count = if p < 5.0 { 10 * MANY } else { MANY };
            let lost: Vec<bool> = run(&mut open(&[lossy], &session, Dir::C2s), count, 1)
                .iter()
                .map(|copies| is_lost(copies))
                .collect();
            near(
                share(lost.iter().filter(|lost| **lost).count(), lost.len()),
                p / (p + r),
                0.05,
            );
            near(mean_burst(&lost), 100.0 / r, 0.05);
        }
    }
}

#[test]
fn gilbert_elliott_loses_in_both_states_as_asked() {
    let lossy = line(|line| {
        line.loss = Some(Loss::Gemodel {
            p: percent(10.0),
            r: percent(40.0),
            bad: percent(70.0),
            good: percent(1.0),
        });
    });
    let lost = run(&mut channel(&[lossy]), MANY, 1);
    let lost = lost.iter().filter(|copies| is_lost(copies)).count();
    near(share(lost, 100_000), 0.2 * 0.7 + 0.8 * 0.01, 0.05);
}

fn time(copy: &Copy) -> u64 {
    match copy.fate {
        Fate::Leaves(at) => at,
        Fate::Lost(lost) => panic!("{lost}"),
    }
}

#[test]
fn duplicates_and_reordered_datagrams_have_their_share() {
    let odd = line(|line| {
        line.delay = Some(ms(50));
        line.dup = Some(percent(3.0));
        line.reorder = Some(Reorder {
            share: percent(10.0),
            gap: 1,
        });
    });
    let all = run(&mut channel(&[odd]), MANY, 1_000);
    let doubled = all.iter().filter(|copies| copies.len() == 2).count();
    near(share(doubled, all.len()), 0.03, 0.05);
    let ahead = all.iter().filter(|copies| copies[0].overtakes).count();
    near(share(ahead, all.len()), 0.1, 0.03);
    for (n, copies) in (1..).zip(&all) {
        let wanted = n * 1_000 + if copies[0].overtakes { 0 } else { 50_000 };
        assert_eq!(time(&copies[0]), wanted);
    }
}

/// Each line records its own effects, not the effects of earlier lines.
#[test]
fn effects_are_those_of_their_line() {
    let first = line(|line| {
        line.delay = Some(ms(50));
        line.dup = Some(Share::WHOLE);
        line.corrupt = Some(Share::WHOLE);
        line.reorder = Some(Reorder {
            share: Share::WHOLE,
            gap: 1,
        });
    });
    let second = line(|line| line.delay = Some(ms(5)));
    let mut channel = channel(&[first, second]);
    channel.pass(&sent(1, 0));
    let of = |line, copy, duplicate, delay, overtakes, flip| Impact {
        line,
        copy,
        duplicate,
        lost: None,
        delay,
        overtakes,
        flip,
    };
    let [one, twin] = [0, 1].map(|at| channel.impacts()[at].flip);
    assert!(one.is_some() && twin.is_some());
    assert_eq!(
        channel.impacts(),
        [
            of(0, 0, false, 0, true, one),
            of(0, 0, true, 0, true, twin),
            of(1, 0, false, 5_000_000, false, None),
            of(1, 1, false, 5_000_000, false, None),
        ]
    );
}

#[test]
fn with_a_gap_only_every_nth_datagram_overtakes() {
    let odd = line(|line| {
        line.delay = Some(ms(50));
        line.reorder = Some(Reorder {
            share: Share::WHOLE,
            gap: 5,
        });
    });
    let ahead: Vec<bool> = run(&mut channel(&[odd]), 20, 1_000)
        .iter()
        .map(|copies| copies[0].overtakes)
        .collect();
    let wanted: Vec<bool> = (1..=20).map(|n| n % 5 == 0).collect();
    assert_eq!(ahead, wanted);
}

#[test]
fn a_datagram_that_leaves_once_is_neither_doubled_nor_reordered() {
    let odd = line(|line| {
        line.delay = Some(ms(50));
        line.dup = Some(Share::WHOLE);
        line.reorder = Some(Reorder {
            share: Share::WHOLE,
            gap: 1,
        });
    });
    let mut channel = channel(&[odd]);
    let usual = channel.pass(&sent(1, 0)).to_vec();
    assert!(usual.len() == 2 && usual[0].overtakes);
    let once = Sent {
        once: true,
        ..sent(2, 0)
    };
    let copies = channel.pass(&once);
    assert!(copies.len() == 1 && !copies[0].overtakes && copies[0].fate == Fate::Leaves(50_000));
}

#[test]
fn a_corrupted_datagram_has_one_other_bit_and_never_looks_like_0_7() {
    let noisy = line(|line| line.corrupt = Some(Share::WHOLE));
    let mut bits = BTreeSet::new();
    for (seven, first) in [(false, 0x10u8), (false, 0x00), (false, 0x21 ^ 0x20), (true, 0x10)] {
        let bytes = [first, 0, 0, 0];
        let mut channel = channel(std::slice::from_ref(&noisy));
        for ordinal in 1..=2_000 {
            let copies = channel.pass(&Sent {
                seven,
                ..Sent::new(0, ordinal, &bytes)
            });
            let [bit] = copies[0].flips[..] else {
                panic!("{copies:?}")
            };
            assert!(bit < 32);
            let other = if bit < 8 { first ^ 1 << bit } else { first };
            let looks_seven = other & 0x04 != 0 || other & 0x20 != 0 && other & 3 == 1;
            assert!(seven || !looks_seven, "{first:#x} became {other:#x}");
            bits.insert((seven, bit));
        }
    }
    assert_eq!(bits.iter().filter(|(seven, _)| *seven).count(), 32);
    assert_eq!(bits.iter().filter(|(seven, _)| !*seven).count(), 31);
}

#[test]
fn a_rate_holds_and_its_queue_has_the_asked_size() {
    let narrow = line(|line| {
        line.rate = Some(256_000);
        line.queue = Some(16_000);
    });
    // 100 bytes every millisecond are 800 kbit/s.
    let mut channel = channel(&[narrow]);
    let all = run(&mut channel, 60_000, 1_000);
    let left: Vec<(u64, u64)> = (1..)
        .zip(&all)
        .filter(|(_, copies)| !is_lost(copies))
        .map(|(n, copies)| (n * 1_000, time(&copies[0])))
        .collect();
    let span = (left[left.len() - 1].1 - left[0].1) as f64 / 1e6;
    near((left.len() - 1) as f64 * 800.0 / span, 256_000.0, 0.02);
    let longest = left.iter().map(|(came, left)| left - came).max().unwrap();
    // 16 000 bytes need half a second.
    near(longest as f64, 500_000.0, 0.02);
    let lost = all.iter().filter(|copies| is_lost(copies)).count();
    near(share(lost, all.len()), 1.0 - 256.0 / 800.0, 0.02);
    assert!(
        all.iter()
            .all(|copies| matches!(copies[0].fate, Fate::Leaves(_) | Fate::Lost(Lost::Queue)))
    );
}

#[test]
fn an_idle_line_lets_the_largest_datagram_through() {
    let narrow = line(|line| {
        line.rate = Some(8_000);
        line.queue = Some(1);
    });
    let mut channel = channel(&[narrow]);
    assert_eq!(channel.pass(&sent(1, 0))[0].fate, Fate::Leaves(100_000));
    assert_eq!(channel.pass(&sent(2, 50_000))[0].fate, Fate::Lost(Lost::Queue));
    assert_eq!(channel.pass(&sent(3, 100_000))[0].fate, Fate::Leaves(200_000));
}

#[test]
fn a_window_counts_from_the_opening_of_the_session() {
    let shut = line(|line| {
        line.blackhole = true;
        line.from = Some(ms(20));
        line.to = Some(ms(24));
    });
    let session = Opening { at: 5_000, ..SESSION };
    let mut channel = open(&[shut], &session, Dir::C2s);
    let lost: Vec<u64> = (0..40)
        .filter(|at| is_lost(channel.pass(&sent(*at + 1, at * 1_000))))
        .collect();
    assert_eq!(lost, [25, 26, 27, 28]);
}

#[test]
fn lines_add_up_in_their_order() {
    let late = line(|line| line.delay = Some(ms(40)));
    let later = line(|line| line.delay = Some(ms(2)));
    let one_way = LinkLine {
        dirs: Dirs::C2s,
        ..line(|line| line.delay = Some(ms(500)))
    };
    let mut channel = channel(&[late.clone(), later, one_way.clone(), late]);
    assert_eq!(time(&channel.pass(&sent(1, 0))[0]), 82_000);
    let links = Links::new([one_way]);
    assert!(links.open(&SESSION, Dir::S2c, None).is_none() && !links.is_empty());
}

/// Returns whether each of the first datagrams is lost.
fn fates(lines: &[LinkLine], session: u32, dir: Dir) -> Vec<bool> {
    let session = Opening { session, ..SESSION };
    run(&mut open(lines, &session, dir), 1_000, 1_000)
        .iter()
        .map(|copies| is_lost(copies))
        .collect()
}

#[test]
fn neither_other_sessions_nor_other_lines_shift_a_decision() {
    let lossy = line(|line| line.loss = Some(Loss::Independent(percent(20.0))));
    let late = line(|line| line.delay = Some(ms(40)));
    let alone = fates(std::slice::from_ref(&lossy), 1, Dir::C2s);
    assert_eq!(alone, fates(&[late, lossy.clone()], 1, Dir::C2s));
    let doubled = line(|line| line.dup = Some(percent(50.0)));
    assert_eq!(alone, fates(&[lossy.clone(), doubled], 1, Dir::C2s));
    for (session, dir) in [(1, Dir::S2c), (2, Dir::C2s)] {
        let other = fates(std::slice::from_ref(&lossy), session, dir);
        let same = alone.iter().zip(&other).filter(|(a, b)| **a && **b).count();
        // Independent lines both lose one in 25.
        assert!((20..60).contains(&same), "{same}");
    }
    // The second line with the same text has independent draws.
    let twice = fates(&[lossy.clone(), lossy], 1, Dir::C2s);
    let lost = twice.iter().filter(|lost| **lost).count();
    assert!((310..410).contains(&lost), "{lost}");
}

#[test]
fn another_program_with_the_same_line_continues_where_it_was() {
    let narrow = line(|line| line.rate = Some(8_000));
    let late = line(|line| line.delay = Some(ms(1)));
    let links = Links::new([narrow.clone()]);
    let mut channel = links.open(&SESSION, Dir::C2s, None).unwrap();
    channel.pass(&sent(1, 0));
    let both = Links::new([late, narrow]);
    let mut next = both.open(&SESSION, Dir::C2s, Some(channel)).unwrap();
    assert_eq!(time(&next.pass(&sent(2, 0))[0]), 200_000);
    let mut fresh = both.open(&SESSION, Dir::C2s, None).unwrap();
    assert_eq!(time(&fresh.pass(&sent(2, 0))[0]), 101_000);
}

#[test]
fn copies_are_limited() {
    let doubled = line(|line| line.dup = Some(Share::WHOLE));
    let lines = vec![doubled; 20];
    assert_eq!(channel(&lines).pass(&sent(1, 0)).len(), 8);
}
