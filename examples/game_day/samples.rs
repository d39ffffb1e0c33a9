//! What was in flight, what waited and what was allocated, ten times a second.

use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::instance::Operators;

const EVERY: Duration = Duration::from_millis(100);

/// Everything at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    /// From the beginning of the load.
    pub(crate) at: Duration,
    /// Bytes.
    pub(crate) heap: u64,
    /// Requests that the service works on, and those at its door.
    pub(crate) inside: u64,
    pub(crate) at_door: u64,
    pub(crate) payment: Gauge,
    pub(crate) shipping: Gauge,
}

impl Sample {
    /// In both partitions.
    pub(crate) const fn in_flight(&self) -> u64 {
        self.payment.in_flight + self.shipping.in_flight
    }

    pub(crate) const fn waiting(&self) -> u64 {
        self.payment.waiting + self.shipping.waiting
    }
}

/// One partition.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gauge {
    pub(crate) in_flight: u64,
    pub(crate) waiting: u64,
}

/// Takes samples until the service has ended.
pub(crate) async fn take(operators: Operators, begin: Instant) -> Vec<Sample> {
    let mut samples = Vec::new();
    let mut ticks = interval_at(begin, EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        ticks.tick().await;
        let Ok(gauges) = operators.gauges().await else {
            return samples;
        };
        samples.push(Sample {
            at: begin.elapsed(),
            heap: number(&gauges["heap"]),
            inside: number(&gauges["inside"]),
            at_door: number(&gauges["at_door"]),
            payment: Gauge::of(&gauges["payment"]),
            shipping: Gauge::of(&gauges["shipping"]),
        });
    }
}

impl Gauge {
    /// From the gauges or the last words of the service.
    pub(crate) fn of(gauge: &Value) -> Self {
        Self {
            in_flight: number(&gauge["in_flight"]),
            waiting: number(&gauge["waiting"]),
        }
    }
}

fn number(gauge: &Value) -> u64 {
    gauge.as_u64().expect("every gauge is a number")
}
