//! The predictions of the table, and their differences to the behaviour of a server.

use teetap_kit::codec::{Chunks, Variant, open};
use teetap_kit::peer::game::int;
use teetap_wire::receiver::{Answer, Leg, MessageVerdict, Phase, Receiver, Stage, Verdict, message};
use teetap_wire::{Side, Token};

use super::mutation::Case;
use super::peer::{Ids, Seen, ids};

/// The combined predictions of the table for the datagrams of a case.
#[derive(Debug, Default)]
pub(crate) struct Predicted {
    pongs: usize,
    asks_resend: bool,
    resends: bool,
    /// True if it only retransmits chunks that are still in transit, which the client cannot know.
    may_resend: bool,
    accepts: usize,
    con_ready: usize,
    restarts: bool,
    pub(crate) ends: bool,
    token: Option<Token>,
    /// True if the table calls the outcome unpredictable.
    pub(crate) unknown: bool,
    /// The names of the rows that applied.
    pub(crate) rows: Vec<&'static str>,
}

/// Predicts a case. Returns the prediction and the resulting leg.
pub(crate) fn predict(receiver: Receiver, variant: Variant, before: &Leg, case: &Case) -> (Predicted, Leg) {
    let mut predicted = Predicted {
        token: before.token_out,
        ..Predicted::default()
    };
    let mut leg = *before;
    let mut has_unacked = case.lag.is_some();
    for datagram in &case.datagrams {
        let mut accepted = Vec::new();
        leg = receiver.judge(&leg, datagram, |finding| {
            predicted.rows.push(finding.row.name);
            match finding.verdict {
                Verdict::Accepts => accepted.extend(finding.chunk.map(|place| place.index)),
                Verdict::AsksResend => predicted.asks_resend = true,
                Verdict::Resends if has_unacked => predicted.resends = true,
                Verdict::Resends => predicted.may_resend = true,
                Verdict::Answers(Answer::ConnectAccept) => predicted.accepts += 1,
                Verdict::Restarts => predicted.restarts = true,
                Verdict::Ends => predicted.ends = true,
                Verdict::ReadsLeftover => predicted.unknown = true,
                _ => {}
            }
        });
        // A retransmission precedes the release of chunks by the ack of the same datagram.
        has_unacked &= leg.peer_ack != leg.sequence.get();
        for index in accepted {
            count_message(receiver, variant, datagram, index, &mut predicted);
        }
        if predicted.restarts || predicted.ends || predicted.unknown {
            break;
        }
    }
    predicted.token = leg.token_out;
    (predicted, leg)
}

/// Counts the expected answer to the message of a chunk that the table accepts; an independent codec finds the chunk.
fn count_message(
    receiver: Receiver,
    variant: Variant,
    datagram: &[u8],
    index: u8,
    predicted: &mut Predicted,
) {
    let ids = ids(variant);
    // DDNet does not have a limit of 0.7.5 that the codec enforces for the variant.
    let variant = match variant {
        Variant::V7 if receiver.release.is_ddnet() => Variant::D7,
        variant => variant,
    };
    let Some((vital, id)) = chunk(variant, datagram, index) else {
        return;
    };
    let named = |name, id_of: fn(&Ids) -> i32| {
        let row = message(receiver.release, Side::Server, name)?;
        (id == id_of(&ids)).then(|| row.judge(Stage::Ingame, vital))
    };
    if let Some(MessageVerdict::Acts(_)) = named("ping", |ids| ids.ping) {
        predicted.pongs += 1;
    }
    if let Some(MessageVerdict::Acts(_) | MessageVerdict::AnswersOnly) = named("ready", |ids| ids.ready) {
        predicted.con_ready += 1;
    }
}

/// Returns the system message of a chunk; `None` for any other message.
fn chunk(variant: Variant, datagram: &[u8], index: u8) -> Option<(bool, i32)> {
    // DDNet reads a packet with this bit as 0.7, but its chunks in the protocol of the connection.
    let is_marked = variant == Variant::Ddnet && datagram.first()? & 0x04 != 0;
    let opened;
    let mut chunks = if is_marked {
        let payload = datagram.get(7..datagram.len().checked_sub(4)?)?;
        Chunks::new(variant, payload, *datagram.get(2)?)
    } else {
        opened = open(variant, datagram).ok()?;
        Chunks::new(variant, &opened.payload, opened.head.num_chunks)
    };
    let chunk = chunks.nth(usize::from(index))?;
    let (id, _) = int(chunk.data)?;
    (id & 1 == 1).then_some((chunk.seq.is_some(), id >> 1))
}

/// Returns the differences between the table and the server; empty if they agree.
pub(crate) fn differences(
    predicted: &Predicted,
    leg: &Leg,
    case: &Case,
    ids: &Ids,
    seen: &Seen,
) -> Vec<String> {
    let mut found = Vec::new();
    let mut check = |what: &str, expected: String, got: String| {
        if expected != got {
            found.push(format!("{what}: predicted {expected}, got {got}"));
        }
    };
    check(
        "restart",
        predicted.restarts.to_string(),
        seen.restarted.to_string(),
    );
    check("end", predicted.ends.to_string(), seen.silent.to_string());
    check("close", "None".to_owned(), format!("{:?}", seen.close));
    if predicted.restarts || predicted.ends {
        return found;
    }
    check("ack", leg.ack.to_string(), seen.ack.to_string());
    check("pings", predicted.pongs.to_string(), seen.pongs.to_string());
    check(
        "resend flag",
        predicted.asks_resend.to_string(),
        seen.asks_resend.to_string(),
    );
    check(
        "CONNECTACCEPT",
        predicted.accepts.to_string(),
        seen.accepts.to_string(),
    );
    let con_ready = seen.system.iter().filter(|id| **id == ids.con_ready).count();
    check(
        "con_ready",
        predicted.con_ready.to_string(),
        con_ready.to_string(),
    );
    if let Some(lag) = case.lag {
        let moved = leg.peer_ack != lag;
        check("ack taken", moved.to_string(), (!seen.first_probe).to_string());
    }
    // After a second the server retransmits the chunk by itself.
    if case.lag.is_some()
        && leg.phase == Phase::Online
        && (seen.is_early || predicted.resends)
        && !predicted.may_resend
    {
        check(
            "resend",
            predicted.resends.to_string(),
            (seen.resent > 0).to_string(),
        );
    }
    if seen.token.is_some() {
        check(
            "token",
            format!("{:?}", predicted.token),
            format!("{:?}", seen.token),
        );
    }
    found
}
