use super::*;

pub(super) fn examples() -> Vec<Example> {
    vec![
        example("connect-again", OLD, SERVER)
            .trips(online, |release| connect(release, TOKEN, 513))
            .passes(fresh, |release| connect(release, TOKEN, 513)),
        example("full", ALL, SERVER)
            .trips(|release| admitting(release, Admission::Full), opening)
            .passes(fresh, opening),
        example("per-address", ALL, SERVER)
            .trips(|release| admitting(release, Admission::PerAddress), opening)
            .passes(fresh, opening),
        example("too-fast", DDNET, SERVER)
            .trips(|release| admitting(release, Admission::TooFast), opening)
            .passes(fresh, opening),
        example("no-seven", DDNET, SERVER)
            .trips(
                |release| admitting(release, Admission::NoSeven),
                |_| seven_control(TOKEN, &[1, 9, 9, 9, 9]),
            )
            .passes(|release| admitting(release, Admission::NoSeven), opening),
        example("connect-ack", &[Teeworlds064, Teeworlds075], SERVER)
            .trips(fresh, |release| {
                packet(
                    release,
                    Parts {
                        ack: 1,
                        ..control(&[1, 9, 9, 9, 9])
                    },
                )
            })
            .passes(fresh, opening),
        example("open", ALL, SERVER)
            .trips(fresh, opening)
            .passes(fresh, foreign),
        example("connect", TEEWORLDS, SERVER)
            .trips(fresh, |release| connect(release, TOKEN, 513))
            .passes(online, |release| connect(release, TOKEN, 513)),
        example("connect-short", &[Teeworlds065], SERVER)
            .trips(challenging, |release| connect(release, TOKEN, 512))
            .passes(fresh, |release| connect(release, TOKEN, 512)),
        example("token-request", &[Teeworlds075, Ddnet16, Ddnet20], SERVER)
            .trips(fresh, |_| request(512))
            .passes(fresh, |_| request(511)),
        example("token-request", SEVEN, CLIENT)
            .trips(fresh, |_| request(512))
            .passes(fresh, |_| request(511)),
        example("token-request-short", SEVEN, SERVER)
            .trips(fresh, |_| request(511))
            .passes(fresh, |_| request(512)),
        example("no-token", SEVEN, BOTH)
            .trips(fresh, |_| seven_control(Token::NONE, &[1, 9, 9, 9, 9]))
            .passes(fresh, opening),
        example("foreign-token", SEVEN, BOTH)
            .trips(fresh, |_| seven_control(OTHER, &[1, 9, 9, 9, 9]))
            .passes(fresh, opening),
        example("token-reply", SEVEN, SERVER)
            .trips(fresh, |_| seven_control(TOKEN, &[5, 9, 9, 9, 9]))
            .passes(fresh, |_| seven_control(OTHER, &[5, 9, 9, 9, 9])),
        example("connect-tken", DDNET, SERVER)
            .trips(fresh, |release| connect(release, Token::NONE, 5))
            .passes(fresh, plain_connect),
        example("seven-short", DDNET, SERVER)
            .trips(fresh, |_| seven_control(TOKEN, &[1, 9, 9, 9]))
            .passes(fresh, |_| seven_control(TOKEN, &[1, 9, 9, 9, 9])),
        example("connect-seven", DDNET, SERVER)
            .trips(fresh, |_| seven_control(TOKEN, &[1, 9, 9, 9, 9]))
            .passes(fresh, |_| seven_control(TOKEN, &[2, 9, 9, 9, 9])),
        example("connect-seven-foreign", DDNET, SERVER)
            .trips(fresh, |_| seven_control(OTHER, &[1, 9, 9, 9, 9]))
            .passes(fresh, |_| seven_control(TOKEN, &[1, 9, 9, 9, 9])),
        example("connect-plain", DDNET, SERVER)
            .trips(fresh, plain_connect)
            .passes(challenging, plain_connect),
        example("connect-challenge", DDNET, SERVER)
            .trips(challenging, plain_connect)
            .passes(fresh, plain_connect),
        example("no-slot", ALL, SERVER)
            .trips(fresh, |_| seven_control(TOKEN, &[2, 9, 9, 9, 9]))
            .passes(online, |_| seven_control(TOKEN, &[2, 9, 9, 9, 9])),
    ]
}
