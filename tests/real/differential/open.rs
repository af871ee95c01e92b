//! Cells that are known to differ and shall not: each goes when its cause is repaired.

/// The beginning of the names, and their ends.
pub(super) const OPEN: &[(&str, &[&str])] = &[
    ("0.7", &["Info without NUL"]),
    (
        "0.7 on ddnet",
        &[
            "Token missing",
            "Token compressed",
            "Token marked as compressed",
            "Token without a wait for its answer",
            "Token with a wrong token",
            "Token with token 00000000",
            "Token without padding",
            "Token of 518 bytes",
            "Token with response token ffffffff",
            "Connect before Token",
            "Connect with a wrong token",
            "Connect with token ffffffff",
            "Connect with token 00000000",
            "Info without NUL",
        ],
    ),
    ("ddnet", &["Info without NUL"]),
    (
        "0.6.5",
        &[
            "Close, and then the join goes on",
            "of a wrong version",
            "Info without NUL",
            "Ready before the map",
        ],
    ),
    ("0.6.4 on 0.6.5", &["Connect longer by 600 bytes"]),
    ("ddnet on 0.6.5", &["Connect longer by 600 bytes"]),
];
