//! Floods of CONNECTs: limits on half-open sessions and on the sockets opened per second.
//!
//! Law: both numbers are bounded. A session whose client has proved its address is never ended for a client
//! that has not proved its own, so a host that forges addresses cannot keep out a client that can receive. A
//! CONNECT for which there is no room is answered without state (`stateless`). A client that sends the token
//! of that answer has proved its address.

use std::{cmp::Reverse, collections::BTreeMap, net::IpAddr, time::Duration};

use teetap_wire::Proto;

use super::{Hub, Link, Notice, SessionId, strangers::Kind};
use crate::session::{ClientAddr, ListenerId, Time, link::Standing};

/// Maximum number of half-open sessions of each standing.
const MAX_HALF_OPEN: usize = 256;
/// Maximum number of half-open sessions for one IP address. Loopback is exempt, since many test clients share
/// that address.
const MAX_HALF_OPEN_PER_IP: usize = 32;
/// Number of half-open sessions that each kind of CONNECT may have even at the total limit, so that the
/// server's answers to all kinds are known.
const SHARE: usize = 8;
/// Time for which the server is expected to answer a kind of CONNECT in the same way.
const KNOWN: Duration = Duration::from_secs(30);

/// Clients that send the same kind of CONNECT to the same listen socket.
pub(super) type Group = (ListenerId, Proto);

/// A resource that a stranger can make the proxy spend: a socket, or the time to inflate a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cost {
    /// A session for a CONNECT from an address that may be forged.
    Unproved(Group),
    /// A session for a client that has sent a token of the proxy.
    Proved,
    /// A session beside another session of the same client, or in place of it.
    Beside,
    /// A session for the first packet of a client without tokens.
    Tokenless,
    /// Inflating a packet that may be the first packet of a client.
    Inflating,
}

/// The state of the limits.
#[derive(Debug, Default)]
pub(super) struct Crowd {
    /// The time up to which each allowance is spent.
    spent: BTreeMap<Cost, Time>,
    /// The protocol in which the server last answered each kind of CONNECT, and the time of that answer.
    answers: BTreeMap<Group, (Proto, Time)>,
}

impl Cost {
    /// Returns the maximum that may be spent at once, and per second.
    const fn allowance(self) -> (u32, u32) {
        match self {
            Self::Unproved(_) => (256, 64),
            Self::Proved => (256, 256),
            Self::Beside | Self::Tokenless => (64, 64),
            Self::Inflating => (100, 800),
        }
    }

    /// Returns the standing of the sessions that this cost bounds.
    pub(super) const fn standing(self) -> Standing {
        match self {
            Self::Proved => Standing::Proved,
            Self::Tokenless => Standing::Responded,
            Self::Unproved(_) | Self::Beside | Self::Inflating => Standing::Unproved,
        }
    }
}

impl Crowd {
    /// Spends one unit of an allowance. Returns false if the allowance is used up.
    pub(super) fn spend(&mut self, cost: Cost, now: Time) -> bool {
        let (at_once, per_second) = cost.allowance();
        let one = Duration::from_secs(1) / per_second;
        let spent = self.spent.entry(cost).or_default();
        let start = (*spent).max(now);
        let is_left = start.since(now) < one * at_once;
        if is_left {
            *spent = start + one;
        }
        is_left
    }

    /// Records the protocol in which the server has answered a kind of CONNECT.
    pub(super) fn server_answered(&mut self, group: Group, proto: Proto, now: Time) {
        self.answers.insert(group, (proto, now));
    }

    /// Returns the protocol in which the server answers a kind of CONNECT; `None` if it has not answered one
    /// within [`KNOWN`].
    pub(super) fn answer(&self, group: Group, now: Time) -> Option<Proto> {
        let (proto, at) = self.answers.get(&group)?;
        (now.since(*at) < KNOWN).then_some(*proto)
    }
}

/// Sessions of one standing that are not online. A session lingers if it has ended or its client is late.
#[derive(Debug, Default)]
struct NotOnline {
    count: usize,
    /// The oldest session that lingers.
    lingers: Option<OpeningOrder>,
    /// Number of half-open sessions for each address, and the oldest of them.
    by_ip: BTreeMap<IpAddr, (usize, OpeningOrder)>,
    /// Number of half-open sessions of each kind, and the youngest of them. Sessions that the server has not
    /// answered count as younger.
    by_group: BTreeMap<Group, (usize, (bool, OpeningOrder))>,
}

/// The position of a session in the order of opening.
type OpeningOrder = (Time, SessionId);

impl NotOnline {
    fn add(&mut self, link: &Link, now: Time) {
        self.count += 1;
        let turn = (link.opened_at(), link.id());
        if !link.is_half_open() || link.is_late(now) {
            self.lingers = Some(self.lingers.map_or(turn, |first| first.min(turn)));
            return;
        }
        let client = link.client_addr();
        let (count, first) = self.by_ip.entry(client.addr.ip()).or_insert((0, turn));
        (*count, *first) = (*count + 1, turn.min(*first));
        let group = (client.listener, link.requested());
        let youth = (!link.is_answered(), turn);
        let (count, last) = self.by_group.entry(group).or_insert((0, youth));
        (*count, *last) = (*count + 1, youth.max(*last));
    }

    /// Returns the room for one more session of a client that already has a session, or that has sent more
    /// than a CONNECT. At the limit per address, the oldest session of the address has to be ended. At the
    /// total limit, it is a lingering session, or else the oldest session of the address with the most
    /// sessions.
    fn for_known(&self, ip: IpAddr) -> Room {
        let of_ip = self.by_ip.get(&ip).filter(|_| !ip.is_loopback());
        if let Some((_, (_, first))) = of_ip.filter(|(count, _)| *count >= MAX_HALF_OPEN_PER_IP) {
            return Room::Instead(*first);
        }
        let crowded = self.by_ip.values();
        let crowded = crowded.max_by_key(|(count, first)| (*count, Reverse(*first)));
        self.room(crowded.map(|(_, (_, first))| *first))
    }

    /// Returns the room for a CONNECT from an address that may be forged. At the total limit, a lingering
    /// session has to be ended. If none lingers, there is room only for a kind of CONNECT with less than its
    /// share, in place of the youngest session of the largest kind.
    fn for_forgeable(&self, ip: IpAddr, group: Group) -> Room {
        let of_ip = self.by_ip.get(&ip).filter(|_| !ip.is_loopback());
        if of_ip.is_some_and(|(count, _)| *count >= MAX_HALF_OPEN_PER_IP) {
            return Room::None;
        }
        let share = self.by_group.get(&group).map_or(0, |(count, _)| *count);
        let largest = self.by_group.values().max_by_key(|(count, _)| *count);
        let youngest = largest.filter(|(count, _)| share < SHARE && *count > SHARE);
        self.room(youngest.map(|(_, (_, (_, id)))| *id))
    }

    /// Returns the room for one more session. At the total limit, a lingering session has to be ended, or
    /// else `evicted`.
    fn room(&self, evicted: Option<SessionId>) -> Room {
        if self.count < MAX_HALF_OPEN {
            return Room::Free;
        }
        let evicted = self.lingers.map(|(_, id)| id).or(evicted);
        evicted.map_or(Room::None, Room::Instead)
    }
}

/// The room for one more session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    Free,
    /// There is room if this session is ended.
    Instead(SessionId),
    None,
}

impl Hub {
    /// Makes room for one more session of a client. Returns false if there is no room for it.
    pub(super) fn make_room(&mut self, addr: ClientAddr, cost: Cost) -> bool {
        if !self.admission.crowd.spend(cost, self.env.now) {
            return false;
        }
        let standing = cost.standing();
        let mut waiting = NotOnline::default();
        let links = self.sessions.links.values();
        let links = links.filter(|link| !link.is_online() && link.standing() == standing);
        let now = self.env.now;
        links.for_each(|link| waiting.add(link, now));
        let ip = addr.addr.ip();
        let room = match cost {
            Cost::Unproved(group) => waiting.for_forgeable(ip, group),
            _ => waiting.for_known(ip),
        };
        let id = match room {
            Room::Free => return true,
            Room::None => return false,
            Room::Instead(id) => id,
        };
        if self.sessions.links.get(&id).is_some_and(Link::is_half_open) {
            self.notice_stranger(Kind::HalfOpenLimit, Some(id), || Notice::HalfOpenLimit);
        }
        self.with_link(id, |link, _, env| link.leave(env));
        true
    }
}

impl Hub {
    /// Frees a socket by ending a session other than `except`: preferably a session that is closing,
    /// otherwise the least trusted half-open session whose client has not proved its address. Returns false
    /// if there is none.
    pub(super) fn free_socket(&mut self, except: Option<SessionId>) -> bool {
        let links = self.sessions.links.values();
        let evicted = links
            .filter(|link| link.has_socket() && !link.shares_socket() && Some(link.id()) != except)
            .filter(|link| link.is_closing() || link.is_half_open() && link.standing() != Standing::Proved)
            .min_by_key(|link| (!link.is_closing(), link.standing(), link.opened_at(), link.id()));
        let Some((id, is_half_open)) = evicted.map(|link| (link.id(), link.is_half_open())) else {
            return false;
        };
        if is_half_open {
            self.notice_stranger(Kind::HalfOpenLimit, Some(id), || Notice::HalfOpenLimit);
        }
        self.with_link(id, |link, _, env| link.leave(env));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allowance_is_spent_at_once_or_by_and_by() {
        let mut crowd = Crowd::default();
        let spend = |crowd: &mut Crowd, now, times: u32| {
            (0..times)
                .filter(|_| crowd.spend(Cost::Beside, Time(now)))
                .count()
        };
        assert_eq!(spend(&mut crowd, 5, 100), 64);
        assert_eq!(spend(&mut crowd, 5, 100), 0);
        assert_eq!(spend(&mut crowd, 500_005, 100), 32);
        assert_eq!(spend(&mut crowd, 9_000_000, 100), 64);
        // Each cost has its own allowance.
        assert!(crowd.spend(Cost::Proved, Time(9_000_000)));
    }

    /// A kind is displaced only if it has more than its share, and only for a kind that has less.
    #[test]
    fn a_kind_keeps_its_share() {
        // One group for each listener, with its count of sessions. The youngest session of a group has the
        // number of its listener.
        let room = |counts: &[usize], asks: u32| {
            let group = |listener: u32| (ListenerId(listener), Proto::Ddnet);
            let counts = (0..).zip(counts);
            let by_group = counts
                .clone()
                .map(|(listener, count)| (group(listener), (*count, (true, (Time(0), SessionId(listener))))));
            let waiting = NotOnline {
                count: counts.map(|(_, count)| count).sum(),
                lingers: None,
                by_ip: BTreeMap::new(),
                by_group: by_group.collect(),
            };
            waiting.for_forgeable(IpAddr::from([10, 0, 0, 1]), group(asks))
        };
        assert_eq!(
            room(&[SHARE; MAX_HALF_OPEN / SHARE], 99),
            Room::None,
            "all have just their share"
        );
        let mut counts = [SHARE; MAX_HALF_OPEN / SHARE];
        (counts[3], counts[5]) = (SHARE + 1, SHARE - 1);
        assert_eq!(room(&counts, 99), Room::Instead(SessionId(3)), "a new kind");
        assert_eq!(
            room(&counts, 5),
            Room::Instead(SessionId(3)),
            "a kind with less than its share"
        );
        assert_eq!(room(&counts, 4), Room::None, "a kind with its share");
        assert_eq!(room(&counts, 3), Room::None, "the largest kind itself");
    }

    #[test]
    fn answers_are_known_for_a_while() {
        let mut crowd = Crowd::default();
        let group = (ListenerId::FIRST, Proto::Ddnet);
        crowd.server_answered(group, Proto::V6, Time(7));
        assert_eq!(crowd.answer(group, Time(29_000_000)), Some(Proto::V6));
        assert_eq!(crowd.answer(group, Time(31_000_000)), None);
        assert_eq!(crowd.answer((ListenerId(1), Proto::Ddnet), Time(7)), None);
    }
}
