//! The independent test kit of teetap: its own plain codec, scripted peers and lossy links in virtual time, hostile
//! datagrams, clients with faults, and readers of recorded sessions.
//!
//! Law: the kit does not use the product's wire code, so that a symmetric mistake cannot hide. (`rules` names its
//! types.)

pub mod binary;
pub mod capture;
pub mod codec;
pub mod control;
pub mod faulty;
pub mod hostile;
pub mod huffman;
pub mod limit;
pub mod link;
pub mod model;
pub mod museum;
pub mod peer;
pub mod real;
pub mod rules;
pub mod script;
pub mod terminal;
pub mod world;
