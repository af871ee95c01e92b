use super::*;

pub(super) fn examples() -> Vec<Example> {
    [first(), second(), third()].into_iter().flatten().collect()
}

fn first() -> Vec<Example> {
    vec![
        example("reconnect", DDNET, SERVER)
            .trips(online, |release| connect(release, OTHER, 5))
            .passes(online, plain_connect),
        example("rejoin", DDNET, SERVER)
            .trips(online, |release| packet(release, control(&[3])))
            .passes(online, |release| packet(release, control(&[3, 0]))),
        example("token-missing", &[Teeworlds065], BOTH)
            .trips(online, |_| write(Proto::V6, DATA))
            .passes(online, |_| write(Proto::V6, control(&[2]))),
        example("token-wrong", &[Teeworlds065, Teeworlds075], BOTH)
            .trips(online, foreign)
            .passes(online, data),
        example("token-wrong", DDNET, SERVER)
            .trips(seven, |_| write(Proto::V7, Parts { token: OTHER, ..DATA }))
            .passes(seven, |_| write(Proto::V7, DATA)),
        example("token-wrong", &[Ddnet20], CLIENT)
            .trips(seven, |_| write(Proto::V7, Parts { token: OTHER, ..DATA }))
            .passes(seven, |_| write(Proto::V7, DATA)),
        example("tail-short", DDNET, BOTH)
            .trips(online, |_| vec![0, 6, 1, 1, 2, 3])
            .passes(online, |_| vec![0, 6, 1, 1, 2, 3, 4]),
        example("tail-wrong", DDNET, BOTH)
            .trips(online, foreign)
            .passes(online, data),
        example("ack-window", ALL, BOTH)
            .trips(online, |release| packet(release, Parts { ack: 4, ..DATA }))
            .passes(online, |release| packet(release, Parts { ack: 5, ..DATA })),
        example("ack-window", ALL, BOTH)
            .trips(online, |release| packet(release, Parts { ack: 9, ..DATA }))
            .passes(online, |release| packet(release, Parts { ack: 8, ..DATA })),
        example("ack", ALL, BOTH)
            .trips(online, data)
            .passes(online, |release| packet(release, Parts { ack: 9, ..DATA })),
        example("resend", ALL, BOTH)
            .trips(online, |release| packet(release, Parts { resend: true, ..DATA }))
            .passes(online, data),
    ]
}

fn second() -> Vec<Example> {
    vec![
        example("first-data", &[Teeworlds064, Teeworlds075], SERVER)
            .trips(
                |release| at(release, Phase::Pending),
                |release| packet(release, Parts { ack: 0, ..DATA }),
            )
            .passes(
                |release| at(release, Phase::Pending),
                |release| {
                    packet(
                        release,
                        Parts {
                            ack: 0,
                            ..control(&[0])
                        },
                    )
                },
            ),
        example("close", ALL, BOTH)
            .trips(online, |release| packet(release, control(&[4])))
            .passes(online, keepalive),
        example("token", SEVEN, BOTH)
            .trips(online, |release| packet(release, control(&[5, 9, 9, 9, 9])))
            .passes(online, keepalive),
        example("token", &[Ddnet20], CLIENT)
            .trips(wanting, |_| seven_control(TOKEN, &[5, 9, 9, 9, 9]))
            .passes(seven, |_| write(Proto::V7, control(&[5, 9, 9, 9, 9]))),
        example("token-answer", &[Teeworlds075, Ddnet20], CLIENT)
            .trips(wanting, |_| seven_control(TOKEN, &[5, 9, 9, 9, 9]))
            .passes(seven, |_| write(Proto::V7, control(&[5, 9, 9, 9, 9]))),
        example("accept-short", &[Teeworlds065], CLIENT)
            .trips(waiting, |release| {
                packet(
                    release,
                    Parts {
                        ack: 0,
                        ..control(&[2, 9, 9, 9])
                    },
                )
            })
            .passes(waiting, |release| {
                packet(
                    release,
                    Parts {
                        ack: 0,
                        ..control(&[2, 9, 9, 9, 9])
                    },
                )
            }),
        example("accept-answer", &[Teeworlds064, Ddnet16, Ddnet20], CLIENT)
            .trips(
                |_| Leg::new(Proto::V6, Phase::Connecting, None),
                |_| vec![0x10, 0, 0, 2],
            )
            .passes(|_| online_with(Proto::V6), |_| vec![0x10, 6, 0, 2]),
        example("accept", ALL, CLIENT)
            .trips(waiting, |release| {
                packet(
                    release,
                    Parts {
                        ack: 0,
                        ..control(&[2, 9, 9, 9, 9])
                    },
                )
            })
            .passes(online, |release| packet(release, control(&[2, 9, 9, 9, 9]))),
        example("control-other", ALL, BOTH)
            .trips(online, keepalive)
            .passes(online, |release| packet(release, control(&[4]))),
    ]
}

fn third() -> Vec<Example> {
    vec![
        example("not-online", SEVEN, BOTH)
            .trips(waiting, |release| packet(release, Parts { ack: 0, ..DATA }))
            .passes(online, data),
        example("past-end", ALL, BOTH)
            .trips(online, |release| {
                packet(
                    release,
                    Parts {
                        payload: &[0, 2, 0x2d],
                        ..DATA
                    },
                )
            })
            .passes(online, data),
        example("past-end", ALL, BOTH)
            .trips(online, |release| {
                packet(
                    release,
                    Parts {
                        payload: &[0, 1, 0x2d],
                        count: 2,
                        ..DATA
                    },
                )
            })
            .passes(online, data),
        example("trailing", ALL, BOTH)
            .trips(online, |release| {
                packet(
                    release,
                    Parts {
                        payload: &[0, 0, 0x2d],
                        ..DATA
                    },
                )
            })
            .passes(online, data),
        example("not-vital", ALL, BOTH)
            .trips(online, data)
            .passes(online, |release| vital(11, release)),
        example("next", ALL, BOTH)
            .trips(online, |release| vital(11, release))
            .passes(online, |release| vital(12, release)),
        example("repeat", ALL, BOTH)
            .trips(online, |release| vital(10, release))
            .passes(online, |release| vital(11, release)),
        example("gap", ALL, BOTH)
            .trips(online, |release| vital(12, release))
            .passes(online, |release| vital(11, release)),
    ]
}
