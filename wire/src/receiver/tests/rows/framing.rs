use super::*;

pub(super) fn examples() -> Vec<Example> {
    [first(), second(), third()].into_iter().flatten().collect()
}

fn first() -> Vec<Example> {
    vec![
        example("short", SIXES, BOTH)
            .trips(online, |_| vec![0x10, 0])
            .passes(online, keepalive),
        example("short-seven", SEVEN, BOTH)
            .trips(online, |_| vec![4, 0, 0, 1, 2, 3])
            .passes(online, |_| vec![4, 0, 0, 1, 2, 3, 4]),
        example("short-seven", DDNET, SERVER)
            .trips(online, |_| vec![4, 0, 0, 1, 2, 3])
            .passes(online, keepalive),
        example("short-seven", &[Ddnet20], CLIENT)
            .trips(seven, |_| vec![4, 0, 0, 1, 2, 3])
            .passes(online, keepalive),
        example("short-seven", &[Ddnet16], CLIENT)
            .trips(online, |_| vec![4, 0, 0, 1, 2, 3])
            .passes(online, keepalive),
        example("short-token", &[Teeworlds065], BOTH)
            .trips(online, |_| vec![8, 0, 1, 1, 2, 3])
            .passes(online, keepalive),
        example("short-connless", SIXES, BOTH)
            .trips(online, |_| vec![0xfe; 5])
            .passes(online, |_| vec![0xfe; 6]),
        example("short-connless", SEVEN, BOTH)
            .trips(online, |_| vec![0x21; 8])
            .passes(online, |_| vec![0x21; 9]),
        example("connless-version", SEVEN, BOTH)
            .trips(online, |_| vec![0x20; 9])
            .passes(online, |_| vec![0x21; 9]),
        example("oversized", SEVEN, BOTH)
            .trips(online, |_| [&[0; 7][..], &[0; 1392]].concat())
            .passes(online, |_| [&[0; 7][..], &[0; 1391]].concat()),
        example("inflate", SIXES, BOTH)
            .trips(online, |_| [&[0x80, 6, 1][..], &[0; 40]].concat())
            .passes(online, |release| {
                packet(
                    release,
                    Parts {
                        compressed: true,
                        ..DATA
                    },
                )
            }),
        example("inflate", SEVEN, BOTH)
            .trips(online, |_| [&[0x10, 6, 1][..], &[0; 40]].concat())
            .passes(online, |release| {
                packet(
                    release,
                    Parts {
                        compressed: true,
                        ..DATA
                    },
                )
            }),
        example("first-reading", &[Ddnet16], SERVER)
            .trips(seven, |_| [&[0x80, 6, 1][..], &[0; 40]].concat())
            .passes(seven, |_| write(Proto::V7, DATA)),
        example("crash", &[Ddnet16], CLIENT)
            .trips(online, |_| vec![4, 0, 0, 1, 2, 3, 4])
            .passes(online, keepalive),
        example("unknown-flags", &[Ddnet20], BOTH)
            .trips(online, |_| vec![8, 6, 1, 0, 0])
            .passes(online, keepalive),
    ]
}

fn second() -> Vec<Example> {
    vec![
        example("control-count", &[Ddnet20], BOTH)
            .trips(online, |release| {
                packet(
                    release,
                    Parts {
                        count: 1,
                        ..control(&[0])
                    },
                )
            })
            .passes(online, keepalive),
        example("control-empty", &[Ddnet20], BOTH)
            .trips(online, |_| vec![0x10, 6, 0])
            .passes(online, keepalive),
        example("control-empty", &[Ddnet16], SERVER)
            .trips(online, |_| vec![0x10, 6, 0])
            .passes(online, keepalive),
        example("control-compressed", DDNET, BOTH)
            .trips(online, |release| {
                packet(
                    release,
                    Parts {
                        compressed: true,
                        ..control(&[0])
                    },
                )
            })
            .passes(online, keepalive),
        example("data-empty", &[Ddnet20], BOTH)
            .trips(online, |_| vec![0, 6, 0])
            .passes(online, |_| vec![0x40, 6, 0]),
        example("compressed-stranger", &[Ddnet20], SERVER)
            .trips(fresh, |release| {
                packet(
                    release,
                    Parts {
                        compressed: true,
                        ..DATA
                    },
                )
            })
            .passes(online, |release| {
                packet(
                    release,
                    Parts {
                        compressed: true,
                        ..DATA
                    },
                )
            }),
        example("compressed-token", &[Ddnet20], SERVER)
            .trips(seven, |_| {
                write(
                    Proto::V7,
                    Parts {
                        compressed: true,
                        token: OTHER,
                        ..DATA
                    },
                )
            })
            .passes(seven, |_| {
                write(
                    Proto::V7,
                    Parts {
                        compressed: true,
                        ..DATA
                    },
                )
            }),
    ]
}

fn third() -> Vec<Example> {
    vec![
        example("banned", ALL, SERVER)
            .trips(|release| admitting(release, Admission::Banned), keepalive)
            .passes(fresh, keepalive),
        example("leftover", TEEWORLDS, BOTH)
            .trips(online, |release| packet(release, control(&[])))
            .passes(online, keepalive),
        example("leftover", &[Ddnet16], CLIENT)
            .trips(|_| online_with(Proto::V6), |_| vec![0x10, 6, 0])
            .passes(online, keepalive),
        example("leftover-slotless", SEVEN, SERVER)
            .trips(fresh, |_| seven_control(TOKEN, &[]))
            .passes(fresh, |_| seven_control(TOKEN, &[0])),
        example("connless", SIXES, BOTH)
            .trips(online, connless)
            .passes(online, data),
        example("connless", SEVEN, SERVER)
            .trips(seven_from_zero, connless)
            .passes(online, connless),
        example("connless-in-session", SEVEN, CLIENT)
            .trips(seven_from_zero, connless)
            .passes(online, connless),
        example("connless-slotless", SEVEN, BOTH)
            .trips(fresh, connless)
            .passes(fresh, keepalive),
        example("connless-token", DDNET, SERVER)
            .trips(fresh, |_| connless_seven(OTHER))
            .passes(fresh, |_| connless_seven(TOKEN)),
        example("no-connection", ALL, CLIENT)
            .trips(|release| at(release, Phase::Ended), keepalive)
            .passes(online, keepalive),
    ]
}
