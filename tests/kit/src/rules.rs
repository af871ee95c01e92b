//! Programs whose rules are code, and programs compiled from text.

use std::sync::Arc;

use teetap_rules::{
    Decide, Diagnostic, Interest, Logic, Made, Message, Opening, Program, ProtoDirs, RuleId, Shared, Verdict,
};
use teetap_wire::{Dir, def::Registry};

/// Both directions.
pub const BOTH: &[Dir] = &[Dir::C2s, Dir::S2c];

struct Code<F> {
    interest: Interest,
    open: F,
}

impl<D: Decide, F: Fn(Opening) -> D + Send + Sync> Logic for Code<F> {
    fn interest(&self) -> Interest {
        self.interest
    }

    fn open(self: Arc<Self>, session: Opening, _: Option<Box<dyn Decide>>) -> Box<dyn Decide> {
        Box::new((self.open)(session))
    }

    fn rule(&self, _: RuleId) -> Option<&str> {
        None
    }
}

/// Returns a program that acts in `dirs`; `open` creates the state of a session.
pub fn program<D: Decide>(
    dirs: &[Dir],
    open: impl Fn(Opening) -> D + Send + Sync + 'static,
) -> Option<Arc<Program>> {
    let acts = ProtoDirs::from_fn(|_, dir| dirs.contains(&dir));
    let interest = Interest {
        acts,
        observes: acts,
        ..Interest::default()
    };
    Some(Arc::new(Program::new("code of a test", Code { interest, open })))
}

/// Compiles a program from text.
///
/// # Errors
/// Returns the errors in the text.
pub fn compiled(source: &str) -> Result<Arc<Program>, Vec<Diagnostic>> {
    Program::compile(source, Registry::builtin()).map(|(program, _)| Arc::new(program))
}

/// Returns a vital message as made by a rule or a command.
pub fn made(dir: Dir, data: impl Into<Vec<u8>>) -> Made {
    let (vital, data) = (true, data.into());
    Made {
        dir,
        vital,
        data,
        rule: None,
    }
}

/// Returns a program that may change everything and changes nothing.
pub fn pass_all() -> Option<Arc<Program>> {
    program(BOTH, |_| PassAll)
}

struct PassAll;

impl Decide for PassAll {
    fn decide(&mut self, _: &Message<'_>, _: &mut Shared) -> Verdict {
        Verdict::PASS
    }
}
