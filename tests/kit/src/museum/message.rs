//! Messages, written field by field.

use crate::peer::game::put_int;

/// A message, and whether it is sent vital.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub(super) vital: bool,
    pub(super) data: Vec<u8>,
}

/// Returns a vital message of the engine without fields.
pub(super) fn system(id: i32) -> Message {
    Message::new(id << 1 | 1)
}

/// Returns a vital message of the game without fields.
pub(super) fn game(id: i32) -> Message {
    Message::new(id << 1)
}

/// Returns a vital message of the engine with a UUID as its id.
pub(super) fn extended(uuid: u128) -> Message {
    system(0).raw(&uuid.to_be_bytes())
}

impl Message {
    fn new(id: i32) -> Self {
        Self {
            vital: true,
            data: Vec::new(),
        }
        .int(id)
    }

    /// Makes the message non-vital.
    pub(super) fn loose(mut self) -> Self {
        self.vital = false;
        self
    }

    pub(super) fn int(mut self, value: i32) -> Self {
        put_int(&mut self.data, value);
        self
    }

    pub(super) fn ints(self, values: &[i32]) -> Self {
        values.iter().fold(self, |message, value| message.int(*value))
    }

    pub(super) fn text(self, text: &str) -> Self {
        self.raw(text.as_bytes()).raw(&[0])
    }

    pub(super) fn raw(mut self, bytes: &[u8]) -> Self {
        self.data.extend_from_slice(bytes);
        self
    }
}
