//! Messages, written field by field.

use crate::peer::game::put_int;

/// A message, and whether it is sent vital.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) vital: bool,
    pub(crate) data: Vec<u8>,
}

/// Returns a vital message of the engine without fields.
pub(crate) fn system(id: i32) -> Message {
    Message::new(id << 1 | 1)
}

/// Returns a vital message of the game without fields.
pub(crate) fn game(id: i32) -> Message {
    Message::new(id << 1)
}

/// Returns a vital message of the engine with a UUID as its id.
pub(crate) fn extended(uuid: u128) -> Message {
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
    pub(crate) fn loose(mut self) -> Self {
        self.vital = false;
        self
    }

    pub(crate) fn int(mut self, value: i32) -> Self {
        put_int(&mut self.data, value);
        self
    }

    pub(crate) fn ints(self, values: &[i32]) -> Self {
        values.iter().fold(self, |message, value| message.int(*value))
    }

    pub(crate) fn text(self, text: &str) -> Self {
        self.raw(text.as_bytes()).raw(&[0])
    }

    pub(crate) fn raw(mut self, bytes: &[u8]) -> Self {
        self.data.extend_from_slice(bytes);
        self
    }
}
