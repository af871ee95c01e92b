//! Cells whose results differ, each with its reason.

/// The name of a cell, and the reason for its difference.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("0.7: Token from another port", OF_A_PORT),
    ("0.7: Connect from another port", OF_A_PORT),
    ("0.7 on ddnet: Token from another port", OF_A_PORT),
    ("0.7 on ddnet: Connect from another port", OF_A_PORT),
    ("ddnet: Connect from another port", OF_A_PORT),
    ("ddnet: Accept from another port", OF_A_PORT),
    ("0.6.4 on antispoof: Connect from another port", OF_A_PORT),
    ("0.6.4: Connect shorter by a byte", OF_A_BUFFER),
    ("0.6.4: Accept shorter by a byte", OF_A_BUFFER),
    ("ddnet on 0.6.4: Accept shorter by a byte", OF_A_BUFFER),
    ("0.6.4 on 0.6.5: Connect shorter by a byte", OF_A_BUFFER),
    ("0.6.4 on 0.6.5: Accept shorter by a byte", OF_A_BUFFER),
    ("ddnet on 0.6.5: Accept shorter by a byte", OF_A_BUFFER),
    ("0.6.4: first control of 3 bytes", OF_A_BUFFER),
    ("0.6.4: first resent control of 3 bytes", OF_A_BUFFER),
    ("ddnet on 0.6.4: first control of 3 bytes", OF_A_BUFFER),
    ("0.6.5 on 0.6.4: first control of 3 bytes", OF_A_BUFFER),
    ("0.6.4 on 0.6.5: first control of 3 bytes", OF_A_BUFFER),
    ("0.6.4 on 0.6.5: first resent control of 3 bytes", OF_A_BUFFER),
    ("ddnet on 0.6.5: first control of 3 bytes", OF_A_BUFFER),
    ("0.6.5: first control of 3 bytes", OF_A_BUFFER),
    ("0.6.5: first cut token of 7 bytes", OF_A_BUFFER),
    ("0.6.5: Info as an empty control packet", OF_A_BUFFER),
    ("0.6.4 on 0.6.5: Input before the game", OF_A_CHALLENGE),
    ("ddnet on 0.6.5: Input before the game", OF_A_CHALLENGE),
    ("0.6.5: waits 14 s before Ready", OF_A_CLOSE),
    ("0.6.5: waits 14 s before StartInfo", OF_A_CLOSE),
    ("0.6.5: waits 14 s before EnterGame", OF_A_CLOSE),
    ("0.6.5: waits 14 s in the game", OF_A_CLOSE),
    ("0.7: waits 20 s before Connect", OF_A_SEED),
    ("0.7: wrong port", OF_A_TOKEN),
    ("0.7 on ddnet: wrong port", OF_A_TOKEN),
];

/// These servers derive their tokens from the address without the port.
const OF_A_PORT: &str = "a session of the proxy belongs to one port of its client, and so do its tokens";

/// The datagram is a control packet without a message (0.6.5, network_server.cpp, `Recv`).
const OF_A_BUFFER: &str =
    "the server takes an empty control packet for the control message that came before it, whoever sent that";

/// The challenge is a random number used as a tick (0.6.5, server.cpp, `NETMSG_INPUT`).
const OF_A_CHALLENGE: &str =
    "the server answers an input only if its tick is later than the one of the last input in the slot";

/// The client ignores the server's CLOSE after 10 s. Its token is valid for 10 to 20 s (0.6.5, network_server.cpp, `IsCorrectToken`).
const OF_A_CLOSE: &str = "the server gives a client that goes on 4 s after its CLOSE a slot without its messages; the session of the proxy is over";

/// A seed lasts for 16 s (0.7.5, network_token.cpp, `CheckToken`).
const OF_A_SEED: &str =
    "the token of a server is valid for 16 to 32 s, as its seed has it, and one of the proxy for 32 s";

/// A request for a token costs neither a session nor a socket.
const OF_A_TOKEN: &str =
    "the proxy answers requests for tokens itself unless it knows that the server does not";

/// Returns the reason why a cell differs; `None` if it must not differ.
pub(crate) fn exception(name: &str) -> Option<&'static str> {
    let row = EXCEPTIONS.iter().find(|(cell, _)| *cell == name);
    row.map(|(_, reason)| *reason)
}
