//! What share of its calls a partition would reject, forecast from measured traffic while compiling.
//!
//! **Assumptions.** Calls arrive by a Poisson process, bodies run for exponential times, the queue is
//! first come, first served, and a call that has waited `wait` leaves. Without a queue only the mean
//! of the body's time matters, not its distribution. Burstier traffic tends to be rejected more than
//! is forecast here, and so do, with a queue, bodies whose times vary more.
//!
//! **Model.** `load = rate · mean` is what an unlimited partition would hold in flight, and
//! `rho = load / max`. Let N be Poisson with mean `turns = max · wait / mean`: what a saturated
//! partition completes within one wait. Then `n` calls are in flight or waiting with a probability
//! that is proportional to
//!
//! ```text
//! load^n / n!                              for n ≤ max
//! load^max / max! · rho^j · Pr[N ≥ j]      for n = max + j, j ≤ queue
//! ```
//!
//! An arrival that meets the last state is rejected as full; the head of the queue reaches its wait
//! timeout, per arrival, with the probability of state `max` times the sum of `rho^i · Pr[N = i]` over
//! `i < queue`. Both together, with M = min(N, queue):
//!
//! ```text
//! share = G / (1/B + S)     G = E[rho^M]     S = E[rho + rho² + … + rho^M] = rho · (G − 1) / (rho − 1)
//! ```
//!
//! B is Erlang's loss formula, so `queue = 0` gives Erlang B, and an endless wait M/M/c/K. What is left
//! to sum are three tails of Poisson distributions. Each is summed from its largest term outward until
//! the rest is negligible, about eight standard deviations: at 2^20 permits that compiles in 60 ms,
//! and would take seconds from the first state on.
//!
//! **Sources.** A. K. Erlang, "Solution of some problems in the theory of probabilities of
//! significance in automatic telephone exchanges", 1917; M/M/c/K as in L. Kleinrock, "Queueing Systems
//! I", 1975, and R. B. Cooper, "Introduction to Queueing Theory", 1981; for calls that leave,
//! A. Movaghar, "On queueing with customer impatience until the beginning of service", 1998, and
//! A. and M. Brandt, "On the M(n)/M(n)/s queue with impatient calls", 1999. Poisson probabilities by
//! their deviance, after C. Loader, "Fast and accurate computation of binomial probabilities", 2000.

use std::f64::consts::{LN_2, SQRT_2, TAU};
use std::time::Duration;

use super::MAX_PERMITS;

/// The share of the calls that are rejected, as full or after `wait`: 0 to 1.
///
/// `rate` is in calls per second, and not NaN. Good to seven digits, but below about 10^-300 the share is 0.
pub(crate) const fn rejected_share(
    max: u32,
    queue: u32,
    wait: Duration,
    rate: f64,
    mean: Duration,
) -> f64 {
    if mean.is_zero() {
        return 0.0;
    }
    let permits = max as f64;
    // What follows would not end on a zero or an infinity.
    let load = (rate * mean.as_secs_f64()).clamp(1e-200, 1e200);
    let unqueued = erlang_b(permits, load);
    if queue == 0 || wait.is_zero() {
        return unqueued;
    }
    let queue = Queue {
        places: queue as f64,
        rho: load / permits,
        turns: permits * wait.as_secs_f64() / mean.as_secs_f64(),
    };
    queue.rejected_share(unqueued)
}

/// The fewest permits, up to [`MAX_PERMITS`], with which at most the share `shed` is rejected.
///
/// Bisects: twenty shares. Around 10^4 permits that compiles in 60 ms, around 10^5 in 0.2 s, and
/// around 10^6 in 0.6 s.
pub(crate) const fn smallest_max(
    queue: u32,
    wait: Duration,
    rate: f64,
    mean: Duration,
    shed: f64,
) -> Option<u32> {
    let (mut too_few, mut enough) = (0, MAX_PERMITS + 1);
    while enough - too_few > 1 {
        let max = u32::midpoint(too_few, enough);
        if rejected_share(max, queue, wait, rate, mean) <= shed {
            enough = max;
        } else {
            too_few = max;
        }
    }
    if enough <= MAX_PERMITS {
        Some(enough)
    } else {
        None
    }
}

/// Queue places whose call, on average, is not served within `wait`.
///
/// A call that joins as the k-th in the queue waits for k bodies to end, on average k · mean / max.
#[expect(clippy::cast_possible_truncation, reason = "`served` is below `queue`")]
pub(crate) const fn dead_places(max: u32, queue: u32, wait: Duration, mean: Duration) -> u32 {
    match (wait.as_nanos() * max as u128).checked_div(mean.as_nanos()) {
        Some(served) if served < queue as u128 => queue - served as u32,
        _ => 0,
    }
}

/// The queue of the model, in the terms of the module's documentation.
#[derive(Clone, Copy)]
struct Queue {
    places: f64,
    rho: f64,
    turns: f64,
}

impl Queue {
    /// `unqueued` is what would be rejected without a queue.
    const fn rejected_share(self, unqueued: f64) -> f64 {
        let excess = self.rho - 1.0;
        // G − 1 cancels near rho = 1, and there S hardly differs from its value at 1.
        if excess.abs() * self.places.min(self.turns).max(1.0) < 1e-7 {
            let depth = self.mean_served();
            return (1.0 + excess * depth) / (1.0 / unqueued + depth);
        }
        // The fraction is reduced by G, which may be infinite where rho is above 1.
        let inverse = 1.0 / self.growth();
        let share = 1.0 / (inverse / unqueued + self.rho * (1.0 - inverse) / excess);
        share.min(1.0)
    }

    /// E\[M\], which is S at rho = 1.
    const fn mean_served(self) -> f64 {
        let all = at_least(self.places, self.turns, 0.0);
        let last = exp(ln_poisson(self.places - 1.0, self.turns));
        self.places * all + self.turns * (1.0 - all - last)
    }

    /// G: first the part with N ≥ queue, then that with N < queue. The latter is, as
    /// `rho^i · Pr[N = i]` is again Poisson's up to a factor, a tail around `rho · turns`.
    const fn growth(self) -> f64 {
        let (last, arrivals) = (self.places - 1.0, self.rho * self.turns);
        let full = at_least(self.places, self.turns, self.places * ln(self.rho));
        let below = if last < arrivals {
            exp(last * ln(self.rho) + ln_poisson(last, self.turns)) * falling(last, arrivals)
        } else {
            exp(self.turns * (self.rho - 1.0)) * (1.0 - at_least(self.places, arrivals, 0.0))
        };
        full + below
    }
}

/// Erlang's loss formula: the probability of `permits` under a Poisson distribution cut off there.
const fn erlang_b(permits: f64, load: f64) -> f64 {
    if permits < load {
        1.0 / falling(permits, load)
    } else {
        exp(ln_poisson(permits, load)) / (1.0 - at_least(permits + 1.0, load, 0.0))
    }
}

/// e^`ln_factor` · Pr[Poisson(`mean`) ≥ `n`]. The factor may be out of range where the product is not.
const fn at_least(n: f64, mean: f64, ln_factor: f64) -> f64 {
    if n > mean {
        exp(ln_factor + ln_poisson(n, mean)) * rising(n, mean)
    } else {
        exp(ln_factor) * (1.0 - exp(ln_poisson(n - 1.0, mean)) * falling(n - 1.0, mean))
    }
}

/// Pr[Poisson ≥ `n`] / Pr[Poisson = `n`], for `n` above the mean.
const fn rising(mut n: f64, mean: f64) -> f64 {
    let (mut sum, mut term) = (1.0, 1.0);
    while term > NEGLIGIBLE * sum {
        n += 1.0;
        term *= mean / n;
        sum += term;
    }
    sum
}

/// Pr[Poisson ≤ `n`] / Pr[Poisson = `n`], for `n` below the mean.
const fn falling(mut n: f64, mean: f64) -> f64 {
    let (mut sum, mut term) = (1.0, 1.0);
    while term > NEGLIGIBLE * sum {
        term *= n / mean;
        sum += term;
        n -= 1.0;
    }
    sum
}

const NEGLIGIBLE: f64 = 1e-15;

/// ln Pr[Poisson(`mean`) = `n`]: Stirling's series, good to 14 digits from 16 on.
const fn ln_poisson(n: f64, mean: f64) -> f64 {
    if n < 16.0 {
        return ln_poisson(n + 1.0, mean) + ln((n + 1.0) / mean);
    }
    let square = n * n;
    let series =
        (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - 1.0 / 1680.0 / square) / square) / square) / n;
    -deviance(n, mean) - series - ln(TAU * n) / 2.0
}

/// n · ln(n / mean) + mean − n, without its cancellation where both are close.
const fn deviance(n: f64, mean: f64) -> f64 {
    let ratio = (n - mean) / (n + mean);
    if ratio.abs() < 0.2 {
        (n - mean) * ratio + 2.0 * n * atanh_rest(ratio)
    } else {
        n * ln(n / mean) + mean - n
    }
}

/// For positive, finite `x`; `f64::ln` is not `const`.
const fn ln(mut x: f64) -> f64 {
    let mut twos = 0.0;
    while x > SQRT_2 {
        x /= 2.0;
        twos += 1.0;
    }
    while x * SQRT_2 < 1.0 {
        x *= 2.0;
        twos -= 1.0;
    }
    let ratio = (x - 1.0) / (x + 1.0);
    twos * LN_2 + 2.0 * (ratio + atanh_rest(ratio))
}

/// artanh(x) − x.
const fn atanh_rest(x: f64) -> f64 {
    let (mut sum, mut power, mut n) = (0.0, x * x * x, 3.0);
    while n < 25.0 {
        sum += power / n;
        power *= x * x;
        n += 2.0;
    }
    sum
}

/// e^x, to twelve digits; `f64::exp` is not `const`.
const fn exp(x: f64) -> f64 {
    if x < -700.0 {
        0.0
    } else if x > 700.0 {
        f64::INFINITY
    } else if x.abs() > 0.5 {
        let root = exp(x / 2.0);
        root * root
    } else {
        let (mut sum, mut n) = (1.0, 14.0);
        while n > 0.0 {
            sum = 1.0 + sum * x / n;
            n -= 1.0;
        }
        sum
    }
}

#[cfg(test)]
mod tests;
