//! Compares the received messages with the expected ones.

use std::collections::BTreeSet;

use teetap_kit::world::World;

use crate::dice::{Kind, Memo};
use crate::run::{Side, server_peer};

/// Compares the messages that each side received with the messages that the rules intended.
pub(crate) fn check(
    world: &World,
    sides: &[Side; 2],
    memo: &Memo,
    injected: &[Vec<u8>],
) -> Result<(), String> {
    let server = server_peer(world).ok_or("no slot")?;
    let client = &world.clients[0].peer;
    if world.server.counters.opened != 1 || world.server.counters.rejoins != 0 {
        return Err(format!("{:?}", world.server.counters));
    }
    for peer in [client, server] {
        let counters = peer.counters;
        if counters.ahead + counters.malformed + counters.missing_chunks + counters.trailing + counters.stray
            > 0
        {
            return Err(format!("{:?}: {counters:?}", peer.role()));
        }
    }
    for (side, receiver) in [(&sides[0], server), (&sides[1], client)] {
        let vital = receiver.delivered.iter().filter(|message| message.vital);
        let got: Vec<&[u8]> = vital.map(|message| message.data.as_slice()).collect();
        compare(side, memo, injected, &got)?;
    }
    Ok(())
}

fn compare(side: &Side, memo: &Memo, injected: &[Vec<u8>], got: &[&[u8]]) -> Result<(), String> {
    let memo = memo.lock().unwrap();
    let mut meant = Vec::new();
    // Messages whose order relative to the others is not fixed.
    let mut loose: BTreeSet<Vec<u8>> = injected.iter().cloned().collect();
    let prefixed = |prefix: &str, message: &[u8]| [prefix.as_bytes(), message].concat();
    for ((c2s, message), kind) in memo.iter() {
        if *c2s != side.c2s && *kind == Kind::Reply {
            let reply = prefixed("R", message);
            meant.push(reply.clone());
            loose.insert(reply);
        }
    }
    for message in &side.sent {
        let kind = memo
            .get(&(side.c2s, message.clone()))
            .copied()
            .unwrap_or(Kind::Pass);
        match kind {
            Kind::Drop => {}
            Kind::Edit => meant.push(prefixed("M", message)),
            Kind::Before => meant.extend([prefixed("I", message), message.clone()]),
            Kind::After => meant.extend([message.clone(), prefixed("J", message)]),
            Kind::Twice | Kind::TwiceLater => meant.extend([message.clone(), message.clone()]),
            _ => meant.push(message.clone()),
        }
        if matches!(kind, Kind::Late | Kind::Reorder | Kind::TwiceLater) {
            loose.insert(message.clone());
        }
    }
    let suffix = if side.c2s { "c2s" } else { "s2c" };
    meant.extend(
        injected
            .iter()
            .filter(|made| made.ends_with(suffix.as_bytes()))
            .cloned(),
    );
    let fixed = |list: &mut dyn Iterator<Item = &[u8]>| -> Vec<String> {
        list.filter(|message| !loose.contains(*message))
            .map(|m| String::from_utf8_lossy(m).into_owned())
            .collect()
    };
    let ordered_meant = fixed(&mut meant.iter().map(Vec::as_slice));
    let ordered_got = fixed(&mut got.iter().copied());
    if ordered_meant != ordered_got {
        let at = ordered_meant
            .iter()
            .zip(&ordered_got)
            .take_while(|(meant, got)| meant == got)
            .count();
        return Err(format!(
            "{suffix}: {} meant, {} got; they part at {at}: meant {:?}, got {:?}",
            ordered_meant.len(),
            ordered_got.len(),
            ordered_meant.get(at),
            ordered_got.get(at)
        ));
    }
    let mut all_meant: Vec<&[u8]> = meant.iter().map(Vec::as_slice).collect();
    let mut all_got = got.to_vec();
    all_meant.sort_unstable();
    all_got.sort_unstable();
    (all_meant == all_got)
        .then_some(())
        .ok_or_else(|| format!("{suffix}: other messages than meant"))
}
