//! Removes secrets, texts and addresses from notices.
//!
//! Law: the match lists all fields of every kind of notice, so that the compiler reports every kind or field that is
//! added later.

use teetap_proxy::session::Notice;

use super::Scrubber;

impl Scrubber {
    /// Replaces addresses and texts, and removes datagrams of unknown meaning.
    pub(super) fn notice(&mut self, notice: &mut Notice) {
        match notice {
            Notice::UnknownSender { .. }
            | Notice::ProtocolRefused { .. }
            | Notice::OtherProtocol { .. }
            | Notice::AnsweredByProxy { .. }
            | Notice::DroppedByProxy { .. }
            | Notice::RelayLimit { .. } => self.notice_of_client(notice),
            Notice::Guessed {
                client: one,
                server: other,
                proto: _,
                sides_clear: _,
            }
            | Notice::Foreign {
                from: one,
                to: other,
                len: _,
            }
            | Notice::ListenerOpened {
                server: one,
                listen: other,
            } => {
                *one = self.socket(*one);
                *other = self.socket(*other);
            }
            Notice::UpstreamUnreachable { error: text }
            | Notice::UpstreamFailed { error: text }
            | Notice::RedirectPasses { why: text, port: _ } => *text = self.of_system(text).into(),
            Notice::InjectRefused { why } | Notice::ResyncRefused { why } => {
                *why = self.of_system(why).into();
            }
            Notice::Suppressed { of, count: _ } => *of = self.name(of).into(),
            Notice::Other { kind, text, level: _ } => {
                *kind = kind.take().map(|kind| self.name(&kind).into());
                *text = self.of_others(text).into();
            }
            Notice::Held { .. }
            | Notice::RulesSet { .. }
            | Notice::RuleFailed { .. }
            | Notice::RuleLog { .. }
            | Notice::AssertionFailed { .. }
            | Notice::ExitRequested { .. }
            | Notice::LoginStalled { .. }
            | Notice::PeerSilent { .. } => self.notice_with_texts(notice),
            // These kinds contain only numbers and words of the program.
            Notice::UpstreamSilent { time: _ }
            | Notice::Renumbered { dir: _ }
            | Notice::Released {
                dir: _,
                held: _,
                why: _,
                edited: _,
            }
            | Notice::HoldFull { dir: _ }
            | Notice::LinkFull { dir: _ }
            | Notice::NewToken { side: _ }
            | Notice::Redirected { port: _, listen: _ }
            | Notice::Candidate
            | Notice::OtherName
            | Notice::Restart
            | Notice::LegacyJoin
            | Notice::AcceptRepeated
            | Notice::Hole
            | Notice::Resync
            | Notice::Resynced
            | Notice::EarlyClose
            | Notice::HalfOpenLimit => {}
        }
    }

    /// Same as [`Self::notice`], for kinds about a client outside of sessions.
    fn notice_of_client(&mut self, notice: &mut Notice) {
        match notice {
            Notice::UnknownSender {
                client,
                len: _,
                what: _,
                start,
                bytes,
            } => {
                *client = self.socket(*client);
                *start = Box::default();
                *bytes = Box::default();
            }
            Notice::ProtocolRefused { client, proto: _ }
            | Notice::OtherProtocol {
                client,
                client_speaks: _,
                server_speaks: _,
            }
            | Notice::AnsweredByProxy { client, proto: _ }
            | Notice::DroppedByProxy { client }
            | Notice::RelayLimit { client } => *client = self.socket(*client),
            _ => {}
        }
    }

    /// Same as [`Self::notice`], for kinds with several values and texts of rules.
    fn notice_with_texts(&mut self, notice: &mut Notice) {
        match notice {
            Notice::RulesSet { rules } => rules
                .iter_mut()
                .for_each(|rule| *rule = self.of_rule(rule).into()),
            Notice::Held {
                rule,
                dir: _,
                held: _,
                max: _,
            } => *rule = self.of_rule(rule).into(),
            Notice::RuleFailed { rule, why } => {
                *rule = self.of_rule(rule).into();
                *why = self.of_others(why).into();
            }
            Notice::RuleLog { rule, logged, whole } => {
                *rule = self.of_rule(rule).into();
                *logged = self.of_others(logged).into();
                *whole = None;
            }
            Notice::AssertionFailed {
                rule,
                why,
                message,
                expected: _,
                dir: _,
            } => {
                *rule = self.of_rule(rule).into();
                // The sentence about an expected message contains the text of its rule.
                *why = self.of_rule(why).into();
                *message = message.take().map(|name| self.name(&name).into());
            }
            Notice::ExitRequested {
                rule,
                message,
                exit: _,
                dir: _,
            } => {
                *rule = self.of_rule(rule).into();
                *message = message.take().map(|name| self.name(&name).into());
            }
            Notice::LoginStalled {
                after,
                waits_for,
                why,
                acked: _,
                from: _,
                in_vain: _,
                kept: _,
            } => {
                *after = after.take().map(|name| self.name(&name).into());
                *waits_for = self.name(waits_for).into();
                // The reason may contain names of rules.
                *why = why.take().map(|why| self.of_others(&why).into());
            }
            Notice::PeerSilent {
                unacked,
                side: _,
                time: _,
            } => *unacked = unacked.take().map(|numbers| self.numbers(&numbers).into()),
            _ => {}
        }
    }
}
