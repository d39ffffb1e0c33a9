//! What the callers saw, beside what the partitions counted.

use std::time::Duration;

use bulkhead_runtime::Partition;
use tonic::{Code, Status};
use tonic_types::StatusExt;

#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) hanging: Calls,
    pub(crate) quick: Calls,
    rejection: Option<Status>,
}

#[derive(Default, Clone, Copy)]
pub(crate) struct Calls {
    pub(crate) accepted: u32,
    pub(crate) rejected: u32,
    /// How many of them the server ever saw.
    pub(crate) reached: u32,
}

impl Calls {
    pub(crate) fn sent(self) -> u32 {
        self.accepted + self.rejected
    }

    fn columns(self) -> [u32; 3] {
        [self.reached, self.accepted, self.rejected]
    }
}

impl Seen {
    /// One of them stands for all; each says the same.
    pub(crate) fn keep(&mut self, rejection: Status) {
        assert_eq!(rejection.code(), Code::Unavailable, "{rejection:?}");
        let again = come_back_in(&rejection).as_secs();
        assert!(
            (1..=2).contains(&again),
            "once to twice the hint of a second: {again} s"
        );
        self.rejection = Some(rejection);
    }

    pub(crate) fn show(&self, arrangement: &str) {
        for (label, calls, counts) in [
            (arrangement, "hanging", self.hanging),
            ("", "quick", self.quick),
        ] {
            let sent = counts.sent();
            let [reached, accepted, rejected] = counts.columns();
            println!("{label:<27}{calls:<9}{sent:>7}{reached:>11}{accepted:>11}{rejected:>11}");
        }
    }

    pub(crate) fn expect(&self, hanging: [u32; 3], quick: [u32; 3]) {
        let message = "calls that reached the server, were accepted, were rejected";
        assert_eq!(self.hanging.columns(), hanging, "hanging {message}");
        assert_eq!(self.quick.columns(), quick, "quick {message}");
    }

    pub(crate) fn told(&self) -> String {
        let rejection = self.rejection.as_ref().expect("somebody was rejected");
        let details = rejection.get_details_error_info();
        let info = details.expect("every rejection says why, and where");
        format!(
            "{:?}: {}; {} {:?}; come back in {} s",
            rejection.code(),
            rejection.message(),
            info.reason,
            info.metadata,
            come_back_in(rejection).as_secs(),
        )
    }
}

/// Compares what the partition counted with what its callers saw, now that everything has finished.
pub(crate) fn assert_counted(partition: &Partition, callers: &[Calls]) {
    let snapshot = partition.snapshot();
    let name = partition.name();
    let sum = |count: fn(&Calls) -> u32| u64::from(callers.iter().map(count).sum::<u32>());
    assert_eq!(
        snapshot.started,
        sum(|calls| calls.sent()),
        "`{name}`: sent"
    );
    assert_eq!(
        snapshot.admitted,
        sum(|calls| calls.accepted),
        "`{name}`: accepted"
    );
    assert_eq!(
        snapshot.outcomes.success, snapshot.admitted,
        "`{name}`: all finished"
    );
    assert_eq!(
        snapshot.rejected.full,
        sum(|calls| calls.rejected),
        "`{name}`: rejected"
    );
    assert_eq!(
        snapshot.headroom, snapshot.max,
        "`{name}`: all permits are back"
    );
}

fn come_back_in(rejection: &Status) -> Duration {
    let details = rejection.get_details_retry_info();
    let again = details.and_then(|retry| retry.retry_delay);
    again.expect("every rejection says when to come back")
}
