//! One game day: an instance of the service, its partners and its users, and what happens to them when.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use crate::http::Error;
use crate::instance::{End, Instance};
use crate::partner::{Ledger, Partners};
use crate::samples::{self, Sample};
use crate::service::Arrangement;
use crate::users::{self, Visit};

const CALM: Duration = Duration::from_secs(4);
const SLOW: Duration = Duration::from_secs(8);
const RECOVERY: Duration = Duration::from_secs(8);
/// How long payment has been slow again when the signal comes: charges are under way then, with users and without.
const BEFORE_SIGTERM: Duration = Duration::from_millis(1_500);
/// How often a load balancer asks whether an instance is ready.
const LOOK: Duration = Duration::from_millis(20);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Calm,
    Slow,
    Recovery,
    Sigterm,
}

/// When a phase was, from the beginning of the load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) phase: Phase,
    pub(crate) from: Duration,
    pub(crate) to: Duration,
}

impl Span {
    pub(crate) const fn range(&self) -> Range<Duration> {
        self.from..self.to
    }

    pub(crate) fn has(&self, moment: Duration) -> bool {
        self.range().contains(&moment)
    }
}

/// All that was seen of one arrangement.
pub(crate) struct Run {
    pub(crate) arrangement: Arrangement,
    /// Of the load; every other time is told from there.
    pub(crate) begin: Instant,
    pub(crate) spans: Vec<Span>,
    pub(crate) visits: Vec<Visit>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) payment: Ledger,
    pub(crate) shipping: Ledger,
    /// The most requests that payment ever had at once.
    pub(crate) most_at_payment: u32,
    pub(crate) end: End,
}

impl Run {
    pub(crate) fn span(&self, phase: Phase) -> &Span {
        let found = self.spans.iter().find(|span| span.phase == phase);
        found.expect("a day is asked for no phase that it has not")
    }
}

/// The whole day, on a fresh instance with fresh partners.
pub(crate) async fn run(arrangement: Arrangement) -> Result<Run, Error> {
    let partners = Partners::start().await?;
    let instance = Instance::start(arrangement, &partners).await?;

    let begin = Instant::now();
    let enough = Arc::<AtomicBool>::default();
    let users = tokio::spawn(users::come(instance.users, begin, Arc::clone(&enough)));
    let samples = tokio::spawn(samples::take(instance.operators.clone(), begin));

    let mut spans = Vec::new();
    lasts(&mut spans, Phase::Calm, begin, CALM).await;
    partners.have_a_bad_day();
    lasts(&mut spans, Phase::Slow, begin, SLOW).await;
    partners.are_well();
    lasts(&mut spans, Phase::Recovery, begin, RECOVERY).await;
    match arrangement {
        Arrangement::Naive => {
            enough.store(true, Ordering::Relaxed);
            instance.terminate().await?;
        }
        Arrangement::Contract => {
            partners.have_a_bad_day();
            sleep(BEFORE_SIGTERM).await;
            instance.terminate().await?;
            // The load balancer's part: this instance gets no more requests.
            while instance.operators.is_ready().await {
                sleep(LOOK).await;
            }
            enough.store(true, Ordering::Relaxed);
        }
    }
    let visits = users.await?;
    let end = instance.end().await?;
    if arrangement == Arrangement::Contract {
        since_the_last(&mut spans, Phase::Sigterm, begin.elapsed());
    }
    Ok(Run {
        arrangement,
        begin,
        spans,
        visits,
        samples: samples.await?,
        payment: partners.payment.ledger().await,
        shipping: partners.shipping.ledger().await,
        most_at_payment: partners.payment.most_open(),
        end,
    })
}

/// Waits for so long, and notes when that was.
async fn lasts(spans: &mut Vec<Span>, phase: Phase, begin: Instant, time: Duration) {
    let from = spans.last().map_or(Duration::ZERO, |span| span.to);
    sleep_until(begin + from + time).await;
    since_the_last(spans, phase, from + time);
}

fn since_the_last(spans: &mut Vec<Span>, phase: Phase, to: Duration) {
    let from = spans.last().map_or(Duration::ZERO, |span| span.to);
    spans.push(Span { phase, from, to });
}
