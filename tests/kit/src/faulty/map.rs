//! Downloads of a map, and faults in them.
//!
//! Law: without a fault, the messages are those of the games: of Teeworlds 0.6.5 for [`Variant::V6`], with one part for
//! each request, of DDNet with all parts for the first request, and of 0.7 with two parts for each request.

use crate::{
    codec::Variant,
    museum::{
        message::{Message, extended, system},
        talk::Talk,
    },
    peer::Role,
};

/// Size of the map in bytes.
const SIZE: i32 = 4000;

/// The crc32 and the SHA-256 digest of the map.
const CRC: i32 = 0x16fb_e9cb;
const SHA256: [u8; 32] = [
    0x96, 0x0c, 0x1e, 0x92, 0xdf, 0x20, 0x6a, 0x8f, 0xe9, 0xe4, 0x7b, 0x2c, 0x2a, 0x14, 0xf7, 0x2d, 0x47,
    0xb6, 0xfb, 0x82, 0xee, 0x1e, 0x43, 0x00, 0x70, 0x81, 0xb2, 0x0e, 0xed, 0x5f, 0x4b, 0x0e,
];

/// Size in bytes of each part but the last, in 0.6 and in 0.7.
const PART: usize = 896;
const PART_OF_SEVEN: usize = 1384;

/// Number of parts for each request in 0.7.
const BATCH: usize = 2;

/// The id of `map_details`, an extended message of DDNet.
const MAP_DETAILS: u128 = 0xf9117b3c_80393416_9fc0aef2_bcb75c03;

/// A message of a download after the announcement of the map.
#[derive(Clone, Debug)]
enum Step {
    /// The client requests this part, in 0.7 the next parts.
    Ask(i32),
    Part(Part),
    /// The client is ready, and enters the game.
    Ready,
}

/// A part of the map. Parts of 0.7 have only data.
#[derive(Clone, Debug)]
struct Part {
    last: i32,
    crc: i32,
    number: i32,
    data: Vec<u8>,
}

/// A session with the download of a map.
#[derive(Clone, Debug)]
pub struct MapTransfer {
    variant: Variant,
    /// The checksum in `map_details`.
    details_crc: i32,
    sha256: [u8; 32],
    crc: i32,
    size: i32,
    steps: Vec<Step>,
}

/// A fault in the download of a map.
#[derive(Clone, Copy, Debug)]
pub struct MapFault {
    /// The name.
    pub name: &'static str,
    /// The variants that can have the fault.
    pub variants: &'static [Variant],
    change: fn(&mut MapTransfer),
}

const SIX: &[Variant] = &[Variant::V6, Variant::Ddnet];
const SEVEN: &[Variant] = &[Variant::V7, Variant::D7];
const ALL: &[Variant] = &[Variant::V6, Variant::Ddnet, Variant::V7, Variant::D7];

const fn fault(name: &'static str, variants: &'static [Variant], change: fn(&mut MapTransfer)) -> MapFault {
    MapFault {
        name,
        variants,
        change,
    }
}

/// The faults of servers and clients.
pub const MAP_FAULTS: &[MapFault] = &[
    fault("parts of another map", SIX, |transfer| {
        transfer.parts(|part| part.crc ^= 0x55);
        transfer.steps.truncate(2);
    }),
    fault("part never sent", SIX, |transfer| {
        let is_first = |step: &Step| matches!(step, Step::Part(part) if part.number == 1);
        transfer.steps.retain(|step| !is_first(step));
        transfer.until(|step| matches!(step, Step::Part(part) if part.number == 2));
        transfer.steps.retain(|step| !matches!(step, Step::Ask(2)));
    }),
    fault("parts in reverse order", &[Variant::Ddnet], |transfer| {
        let of_part = |step: &Step| match step {
            Step::Part(part) => -part.number,
            Step::Ask(_) | Step::Ready => i32::MIN,
        };
        transfer
            .steps
            .retain(|step| matches!(step, Step::Ask(0) | Step::Part(_)));
        transfer.steps.sort_by_key(of_part);
    }),
    fault("first part again", &[Variant::V6], |transfer| {
        transfer.parts(|part| part.number = 0);
        transfer.steps.truncate(4);
    }),
    fault("last part too early", SIX, |transfer| {
        transfer.parts(|part| part.last = i32::from(part.number >= 2));
        transfer.until(|step| matches!(step, Step::Part(part) if part.number == 2));
    }),
    fault("no last part", SIX, |transfer| {
        transfer.parts(|part| part.last = 0);
        transfer.steps.pop();
        transfer.steps.push(Step::Ask(5));
    }),
    fault("size too small", ALL, |transfer| {
        transfer.size = 3000;
        transfer.steps.pop();
    }),
    fault("size too large", ALL, |transfer| {
        transfer.size = 4100;
        transfer.steps.pop();
    }),
    fault("part without data", SIX, |transfer| {
        transfer.parts(|part| part.data.clear());
        transfer.steps.truncate(2);
    }),
    fault("parts too small", SEVEN, |transfer| {
        transfer.parts(|part| part.data.truncate(1000));
        transfer.steps.truncate(3);
    }),
    fault("a wrong byte", ALL, |transfer| {
        transfer.parts(|part| {
            if let Some(byte) = part.data.first_mut() {
                *byte ^= 1;
            }
        });
        transfer.steps.pop();
    }),
    fault(
        "a wrong digest",
        &[Variant::Ddnet, Variant::V7, Variant::D7],
        |transfer| {
            transfer.sha256 = [0x11; 32];
            transfer.steps.pop();
        },
    ),
    fault(
        "details of another map",
        &[Variant::Ddnet, Variant::D7],
        |transfer| {
            transfer.details_crc ^= 1;
        },
    ),
    fault("first part never requested", &[Variant::V6], |transfer| {
        transfer.steps.drain(..2);
    }),
    fault("part never requested", &[Variant::V6], |transfer| {
        transfer.steps.drain(4..6);
    }),
    fault("same part again and again", &[Variant::V6], |transfer| {
        let first: Vec<Step> = transfer.steps.drain(..2).collect();
        transfer.steps = first.iter().cycle().take(12).cloned().collect();
    }),
    fault("part beyond the end", SIX, |transfer| {
        transfer.steps.insert(2, Step::Ask(77));
    }),
    fault("a size that clients refuse", SEVEN, |transfer| {
        transfer.size = 0;
        transfer.steps.clear();
    }),
    fault("ready during the download", ALL, |transfer| {
        transfer.steps.truncate(3);
        transfer.steps.push(Step::Ready);
    }),
    fault("ready after the first request", ALL, |transfer| {
        transfer.steps.truncate(1);
        transfer.steps.push(Step::Ready);
    }),
    fault("request for each part", SEVEN, |transfer| {
        transfer.steps.insert(2, Step::Ask(0));
    }),
    fault("request after the end", SEVEN, |transfer| {
        let end = transfer.steps.len() - 1;
        transfer.steps.insert(end, Step::Ask(0));
    }),
];

impl MapTransfer {
    /// Creates a download without a fault.
    #[must_use]
    pub fn new(variant: Variant) -> Self {
        let (part_len, batch) = match variant {
            Variant::Ddnet => (PART, usize::MAX),
            Variant::V7 | Variant::D7 => (PART_OF_SEVEN, BATCH),
            Variant::V6 | Variant::V65 => (PART, 1),
        };
        let data = data();
        let parts = data.chunks(part_len);
        let count = parts.len();
        let mut steps = Vec::new();
        for (number, data) in parts.enumerate() {
            let part = i32::try_from(number).unwrap_or_default();
            if number % batch == 0 {
                steps.push(Step::Ask(part));
            }
            steps.push(Step::Part(Part {
                last: i32::from(number + 1 == count),
                crc: CRC,
                number: part,
                data: data.to_vec(),
            }));
        }
        if variant == Variant::Ddnet {
            // The client requests the parts that it already has been sent.
            let parts = i32::try_from(count).unwrap_or_default();
            steps.extend((1..parts).map(Step::Ask));
        }
        steps.push(Step::Ready);
        Self {
            variant,
            details_crc: CRC,
            sha256: SHA256,
            crc: CRC,
            size: SIZE,
            steps,
        }
    }

    /// Creates a download with a fault.
    #[must_use]
    pub fn with(variant: Variant, fault: &MapFault) -> Self {
        let mut transfer = Self::new(variant);
        (fault.change)(&mut transfer);
        transfer
    }

    /// Plays the start of a session, with the first `count` messages of the download after `map_change`.
    fn begin(&self, count: usize) -> Talk {
        let mut talk = Talk::open(self.variant);
        talk.info();
        let mut first = self.clone();
        first.steps.truncate(count);
        first.download(&mut talk);
        talk
    }

    /// Returns the session as a pcap file.
    #[must_use]
    pub fn recording(&self) -> Vec<u8> {
        let mut talk = Talk::open(self.variant);
        talk.info();
        self.download(&mut talk);
        talk.file()
    }

    /// Returns a session in which the server changes to the same map during the download, after the first `count`
    /// messages, and the client then downloads it.
    #[must_use]
    pub fn reloaded_after(&self, count: usize) -> Vec<u8> {
        let mut talk = self.begin(count);
        self.download(&mut talk);
        talk.file()
    }

    /// Returns a session in which the server changes to a map that the client has, after the first `count` messages of
    /// the download. If the last of them is a request, the server answers it.
    #[must_use]
    pub fn left_after(&self, count: usize) -> Vec<u8> {
        let mut talk = self.begin(count);
        // The server answers the request for the first map with a part of the second one.
        let number = match self.steps.iter().take(count).next_back() {
            Some(Step::Ask(_)) if self.variant.is_seven() => Some(0),
            Some(Step::Ask(number)) => Some(*number),
            _ => None,
        };
        let mut second = self.clone();
        (second.crc, second.details_crc) = (second.crc ^ 1, second.details_crc ^ 1);
        second.parts(|part| part.crc = CRC ^ 1);
        second.steps.retain(|step| match step {
            Step::Part(part) => Some(part.number) == number,
            Step::Ask(_) | Step::Ready => false,
        });
        second.download(&mut talk);
        talk.enter();
        talk.play(100, 3);
        talk.file()
    }

    /// Returns the number of messages of the download after `map_change`.
    #[must_use]
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Returns true if no message follows the announcement.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    fn download(&self, talk: &mut Talk) {
        let variant = self.variant;
        let mut announced = Vec::new();
        if variant.is_ddnet() {
            let details = extended(MAP_DETAILS).text("kit").raw(&self.sha256);
            announced.push(details.ints(&[self.details_crc, self.size]).text(""));
        }
        let change = system(2).text("kit").ints(&[self.crc, self.size]);
        announced.push(match variant.is_seven() {
            true => {
                let len = i32::try_from(PART_OF_SEVEN).unwrap_or_default();
                let batch = i32::try_from(BATCH).unwrap_or_default();
                change.ints(&[batch, len]).raw(&self.sha256)
            }
            false => change,
        });
        talk.send(Role::Server, &announced);
        for step in &self.steps {
            match step {
                Step::Ask(number) => talk.send(Role::Client, &[request(variant, *number)]),
                Step::Part(part) => talk.send(Role::Server, &[part.message(variant)]),
                Step::Ready => {
                    talk.enter();
                    talk.play(100, 3);
                }
            }
        }
    }

    fn parts(&mut self, change: impl Fn(&mut Part)) {
        for step in &mut self.steps {
            if let Step::Part(part) = step {
                change(part);
            }
        }
    }

    /// Removes the steps after the first one for which `is_last` returns true.
    fn until(&mut self, is_last: impl Fn(&Step) -> bool) {
        if let Some(last) = self.steps.iter().position(is_last) {
            self.steps.truncate(last + 1);
        }
    }
}

impl Part {
    fn message(&self, variant: Variant) -> Message {
        let size = i32::try_from(self.data.len()).unwrap_or_default();
        let message = match variant.is_seven() {
            true => system(3),
            false => system(3).ints(&[self.last, self.crc, self.number, size]),
        };
        message.raw(&self.data)
    }
}

fn request(variant: Variant, number: i32) -> Message {
    match variant.is_seven() {
        true => system(23),
        false => system(19).int(number),
    }
}

/// Returns the bytes of the map.
fn data() -> Vec<u8> {
    (0..4000_u32)
        .map(|at| (at * 7 + at / 256).to_le_bytes()[0])
        .collect()
}
