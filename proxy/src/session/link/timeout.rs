//! The deadlines of a session.

use teetap_wire::Side;

use super::{
    Env, Link,
    phase::{BOTH_SILENT, Closing, Ending, LEFT, Phase, SERVER_SILENT},
};
use crate::session::{Time, splice::Splice};

impl Link {
    /// Returns the time at which this session has to be handled without a datagram.
    pub(crate) fn deadline(&self) -> Option<Time> {
        let late = [
            self.lanes.deadline(),
            self.phase_deadline(),
            self.rules.delayed.deadline(),
        ];
        late.into_iter().flatten().min()
    }

    fn phase_deadline(&self) -> Option<Time> {
        let heard = self.legs.client.last_received;
        match &self.phase {
            // There is nothing to repeat until a CONNECT has passed the rules.
            Phase::Opening(opening) if !opening.has_begun => Some(heard + opening.patience()),
            Phase::Opening(opening) => {
                let request = opening.asks_itself().then_some(opening.next_request);
                let patience = heard + opening.patience();
                request.into_iter().chain([opening.next_notice, patience]).min()
            }
            Phase::Answered(answered) => Some(self.last_sign() + answered.patience()),
            Phase::Online(online) => {
                let accept = online.accept.as_ref().map(|accept| accept.repeat_at());
                let silent =
                    (!online.is_silence_reported).then(|| self.legs.server.last_received + SERVER_SILENT);
                [
                    self.dirs.iter().filter_map(Splice::deadline).min(),
                    accept,
                    self.rules.deadline(),
                    silent,
                    Some(match online.left {
                        Some(_) => heard + LEFT,
                        None => self.last_sign() + BOTH_SILENT,
                    }),
                ]
                .into_iter()
                .flatten()
                .min()
            }
            Phase::Closing(closing) => Some(closing.until),
            Phase::Closed(_) => None,
        }
    }

    /// Handles every deadline that has passed.
    pub(crate) fn on_timeout(&mut self, env: &mut Env) {
        self.send_late(env.now, env);
        self.handle_later(env);
        let silence = env.now.since(self.last_sign());
        match &mut self.phase {
            Phase::Opening(_) => self.opening_timeout(env),
            Phase::Answered(answered) if silence >= answered.patience() => match answered.left.take() {
                Some(reason) => self.begin_closing(Ending::Peer(Side::Client), Some(&reason), env),
                None => self.forget(b"the client sent no packet after the handshake", env),
            },
            Phase::Online(_) => self.online_timeout(env),
            Phase::Closing(Closing { until, .. }) if *until <= env.now => self.finish(env),
            Phase::Answered(_) | Phase::Closing(_) | Phase::Closed(_) => {}
        }
    }
}
