//! The state of a writer.

use crate::def::datum::EncodeError;
use crate::def::model::Def;

pub(super) type Result<T = ()> = std::result::Result<T, EncodeError>;
/// The destination: bytes or ints.
pub(super) enum Sink<'o> {
    Bytes(&'o mut Vec<u8>),
    Ints(&'o mut Vec<i32>),
}

pub(super) struct Writer<'d, 'o> {
    pub(super) def: &'d Def,
    pub(super) sink: Sink<'o>,
    /// The numbers written so far that other fields may refer to.
    pub(super) numbers: Vec<(u16, i64)>,
    /// True once a field was omitted, so that no further field can be written.
    pub(super) ended: bool,
    /// The number of ints left in an object in a message.
    pub(super) ints_left: Option<i64>,
}

impl<'d, 'o> Writer<'d, 'o> {
    pub(super) const fn new(def: &'d Def, sink: Sink<'o>) -> Self {
        Self {
            def,
            sink,
            numbers: Vec::new(),
            ended: false,
            ints_left: None,
        }
    }
}
