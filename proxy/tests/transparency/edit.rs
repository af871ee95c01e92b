//! Recorded flows with changes: as on a bad network, or to find sessions.

use teetap_kit::capture::{Flow, Packet};

use crate::datagram::{Kind, variant_of};

/// Returns true if a flow is a session, and not traffic of the server browser.
pub(crate) fn is_session(flow: &Flow) -> bool {
    let variant = variant_of(flow);
    flow.packets
        .iter()
        .any(|packet| Kind::of(variant, &packet.payload) == Kind::Connect)
}

/// Returns the flow as on a bad network: data packets are lost, duplicated and reordered before they reach
/// the hub. The CLOSE is lost too, since it would ack messages that never arrived, and no peer would accept
/// it.
pub(crate) fn mangled(flow: &Flow) -> Flow {
    let variant = variant_of(flow);
    let kind = |packet: &Packet| Kind::of(variant, &packet.payload);
    let is_data = |packet: &Packet| kind(packet) == Kind::Data;
    let mut packets: Vec<Packet> = Vec::new();
    for (count, packet) in flow.packets.iter().enumerate() {
        if kind(packet) != Kind::Close && !(is_data(packet) && count % 7 == 3) {
            packets.push(packet.clone());
        }
        if is_data(packet) && count % 11 == 5 {
            packets.push(packet.clone());
        }
        if let [.., before, last] = &mut packets[..]
            && count % 13 == 8
            && before.from == last.from
            && is_data(before)
            && is_data(last)
        {
            std::mem::swap(&mut before.payload, &mut last.payload);
        }
    }
    Flow {
        packets,
        ..flow.clone()
    }
}
