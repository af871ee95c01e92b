//! Upstream sockets that cannot be opened at first: the network is down, or descriptors are used up.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use teetap_kit::{
    link::{Conditions, MS, SECOND},
    world::Witness,
};
use teetap_proxy::session::{Input, Notice, Output, Time, UpstreamId};

use crate::stage::{Pair, Stage};

/// The number of sockets that the hub wanted.
#[derive(Debug)]
struct Opened(Arc<AtomicUsize>);

impl Witness for Opened {
    fn input(&mut self, _: Time, _: &Input<'_>) {}

    fn output(&mut self, output: &Output<'_>) {
        if matches!(output, Output::OpenUpstream { .. }) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[test]
fn a_socket_that_could_not_be_opened_is_tried_again_with_each_request() {
    for pair in Pair::ALL {
        let mut stage = Stage::new(pair, 1);
        let opened = Arc::new(AtomicUsize::new(0));
        stage.world.witness = Some(Box::new(Opened(Arc::clone(&opened))));
        let conditions = stage.world.up.conditions;
        stage.world.up.conditions = Conditions {
            loss: 1.0,
            ..conditions
        };
        stage.run(400 * MS);
        assert_eq!(opened.load(Ordering::Relaxed), 1, "{pair:?}");
        for tries in 2..5 {
            stage.world.input(Input::UpstreamFailed {
                upstream: UpstreamId(1),
                error: "network is unreachable",
            });
            stage.run(600 * MS);
            assert_eq!(opened.load(Ordering::Relaxed), tries, "{pair:?}");
        }
        let failed = Notice::UpstreamFailed {
            error: "network is unreachable".into(),
        };
        let reported = stage.notices().iter().filter(|notice| **notice == failed).count();
        assert_eq!(reported, 1, "{pair:?}");
        stage.world.up.conditions = conditions;
        stage.run(3 * SECOND);
        stage.assert_plays();
        assert_eq!(opened.load(Ordering::Relaxed), 4, "{pair:?}");
    }
}
