//! Seven permits in two arrangements: one partition for everything, or one for each kind of work.
//!
//! Ten reports hang, then four payments come that would take no time at all. With one partition of
//! seven the hanging reports leave the payments nothing. With three and four they cannot.
//!
//! ```text
//! cargo run --example isolation
//! ```
#![expect(clippy::print_stdout, reason = "an example shows its result")]

use std::future::Future;
use std::sync::Arc;

use bulkhead_runtime::{BulkheadError, Partition};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{JoinError, JoinSet};

const REPORTS: u32 = 10;
const PAYMENTS: u32 = 4;

/// Both kinds of work draw on the same seven permits.
mod shared {
    use bulkhead_runtime::{BulkheadError, Partition, bulkhead, partition};

    #[partition(name = "shared", max = 7)]
    pub(crate) static EVERYTHING: Partition;

    #[bulkhead(EVERYTHING)]
    pub(crate) async fn report(work: super::Work) -> Result<(), BulkheadError> {
        work.hang().await;
        Ok(())
    }

    #[bulkhead(EVERYTHING)]
    pub(crate) async fn payment() -> Result<(), BulkheadError> {
        Ok(())
    }
}

/// The same seven permits, three of them for reports and four for payments.
mod split {
    use bulkhead_runtime::{BulkheadError, Partition, bulkhead, partition};

    #[partition(name = "reports", max = 3)]
    pub(crate) static REPORTS: Partition;

    #[partition(name = "payments", max = 4)]
    pub(crate) static PAYMENTS: Partition;

    #[bulkhead(REPORTS)]
    pub(crate) async fn report(work: super::Work) -> Result<(), BulkheadError> {
        work.hang().await;
        Ok(())
    }

    #[bulkhead(PAYMENTS)]
    pub(crate) async fn payment() -> Result<(), BulkheadError> {
        Ok(())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), JoinError> {
    println!("Ten reports that hang, then four payments, over seven permits:");
    println!();
    println!("arrangement             calls       sent   accepted   rejected");

    let seen = run(shared::report, shared::payment).await?;
    seen.show("one partition of 7");
    seen.expect((7, 3), (0, 4));
    assert_counted(&shared::EVERYTHING, &[seen.reports, seen.payments]);

    let seen = run(split::report, split::payment).await?;
    seen.show("reports 3, payments 4");
    seen.expect((3, 7), (4, 0));
    assert_counted(&split::REPORTS, &[seen.reports]);
    assert_counted(&split::PAYMENTS, &[seen.payments]);

    println!();
    println!("The hanging reports took the payments with them only where they shared a partition.");
    Ok(())
}

/// Sends the reports, then the payments while the reports hang, then lets everything finish.
async fn run<R, P>(report: impl Fn(Work) -> R, payment: impl Fn() -> P) -> Result<Seen, JoinError>
where
    R: Future<Output = Result<(), BulkheadError>> + Send + 'static,
    P: Future<Output = Result<(), BulkheadError>>,
{
    let gate = Arc::new(Semaphore::new(0));
    let (begin, mut arrivals) = mpsc::unbounded_channel();
    let mut reports = JoinSet::new();
    for _ in 0..REPORTS {
        reports.spawn(report(Work {
            gate: Arc::clone(&gate),
            begin: begin.clone(),
        }));
    }
    drop(begin);

    // A report either says that it has begun, or is rejected: when each of them has done one of the
    // two, those that were accepted hang at the gate, and no sleep had to guess it.
    let mut seen = Seen::default();
    while seen.reports.sent() < REPORTS {
        tokio::select! {
            Some(()) = arrivals.recv() => seen.reports.accepted += 1,
            Some(ended) = reports.join_next() => seen.reports.count_rejection(&ended?),
        }
    }

    for _ in 0..PAYMENTS {
        match payment().await {
            Ok(()) => seen.payments.accepted += 1,
            rejected @ Err(_) => seen.payments.count_rejection(&rejected),
        }
    }

    gate.close();
    while let Some(ended) = reports.join_next().await {
        assert!(ended?.is_ok(), "a report that was accepted must finish");
    }
    Ok(seen)
}

/// A report that says when it begins, and then hangs until the gate opens.
struct Work {
    gate: Arc<Semaphore>,
    begin: mpsc::UnboundedSender<()>,
}

impl Work {
    async fn hang(self) {
        self.begin
            .send(())
            .expect("the receiver outlives the reports");
        // The gate has no permits to give: closing it is what opens it, for everybody.
        assert!(self.gate.acquire().await.is_err(), "the gate only closes");
    }
}

/// What the callers saw.
#[derive(Default, Clone, Copy)]
struct Seen {
    reports: Calls,
    payments: Calls,
}

#[derive(Default, Clone, Copy)]
struct Calls {
    accepted: u32,
    rejected: u32,
}

impl Calls {
    fn sent(self) -> u32 {
        self.accepted + self.rejected
    }

    fn count_rejection(&mut self, ended: &Result<(), BulkheadError>) {
        assert!(
            matches!(ended, Err(BulkheadError::Full(_))),
            "while the gate is shut, a call ends only because its partition is full: {ended:?}"
        );
        self.rejected += 1;
    }
}

impl Seen {
    fn show(&self, arrangement: &str) {
        for (label, calls, counts) in [
            (arrangement, "reports", self.reports),
            ("", "payments", self.payments),
        ] {
            let (sent, Calls { accepted, rejected }) = (counts.sent(), counts);
            println!("{label:<24}{calls:<9}{sent:>7}{accepted:>11}{rejected:>11}");
        }
    }

    fn expect(&self, reports: (u32, u32), payments: (u32, u32)) {
        let pair = |calls: Calls| (calls.accepted, calls.rejected);
        assert_eq!(pair(self.reports), reports, "reports: accepted, rejected");
        assert_eq!(
            pair(self.payments),
            payments,
            "payments: accepted, rejected"
        );
    }
}

/// Compares what the partition counted with what its callers saw, now that everything has finished.
fn assert_counted(partition: &Partition, callers: &[Calls]) {
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
