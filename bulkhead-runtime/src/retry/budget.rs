//! How many retries a partition can afford. Pure: it takes `now` and returns a decision.
//!
//! The retry budget of Finagle (`com.twitter.finagle.service.RetryBudget`): each first attempt deposits a
//! share of a retry, each retry withdraws a whole one, and both are forgotten after the window. So in nine tenths of any
//! window no more than `min` and that share of the first attempts are retries, however many calls fail. `min` is what
//! lets a lone call retry.
//!
//! The window goes by tenths: what was deposited or withdrawn counts for nine to ten of them, and never for longer than
//! the window.

use super::RetryBudget;
use crate::time::Stamp;

/// What one retry costs; deposits are parts of it.
const RETRY: i64 = 1_000_000;

const TENTHS: usize = 10;

/// Deposits less withdrawals, in parts of a million of a retry.
#[derive(Debug)]
pub(crate) struct Budget {
    deposit: i64,
    /// What is always there, less what was withdrawn.
    min: i64,
    /// A tenth of the window, in nanoseconds.
    tenth: u64,
    /// Of each tenth, by its number modulo ten.
    balances: [i64; TENTHS],
    /// The number of the tenth that is filled now.
    newest: u64,
}

impl Budget {
    pub(crate) fn of(budget: RetryBudget) -> Self {
        let window = u64::try_from(budget.window().as_nanos()).unwrap_or(u64::MAX);
        Self {
            deposit: budget.ratio_ppm().into(),
            min: i64::from(budget.min()) * RETRY,
            tenth: (window / TENTHS as u64).max(1),
            balances: [0; TENTHS],
            newest: 0,
        }
    }

    /// A first attempt was admitted.
    pub(crate) fn deposit(&mut self, now: Stamp) {
        *self.now_at(now) += self.deposit;
    }

    /// A retry is decided on, if this tells that it can be afforded. There is no refund.
    #[must_use = "a retry that cannot be afforded is not made"]
    pub(crate) fn withdraw(&mut self, now: Stamp) -> bool {
        let balance = self.now_at(now);
        *balance -= RETRY;
        let is_afforded = self.min + self.balances.iter().sum::<i64>() >= 0;
        if !is_afforded {
            *self.now_at(now) += RETRY;
        }
        is_afforded
    }

    /// The balance of the tenth in which `now` lies; a clock that goes back stays in the newest.
    fn now_at(&mut self, now: Stamp) -> &mut i64 {
        let number = (now.0 / self.tenth).max(self.newest);
        let passed = number - self.newest;
        for over in 1..=passed.min(TENTHS as u64) {
            self.balances[at(self.newest + over)] = 0;
        }
        self.newest = number;
        &mut self.balances[at(number)]
    }
}

fn at(number: u64) -> usize {
    usize::try_from(number % TENTHS as u64).expect("it is below ten")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn of_20_percent(min: u32) -> Budget {
        Budget::of(RetryBudget::new().with_min(min))
    }

    fn afforded(budget: &mut Budget, now: Stamp) -> u32 {
        let mut afforded = 0;
        while budget.withdraw(now) {
            afforded += 1;
        }
        afforded
    }

    #[test]
    fn a_lone_call_may_retry_and_no_more_often_than_min_says() {
        let mut budget = of_20_percent(3);
        let now = Stamp(50 * SECOND);
        budget.deposit(now);
        assert_eq!(afforded(&mut budget, now), 3, "a fifth is not a whole one");
        assert_eq!(afforded(&mut of_20_percent(0), now), 0);
    }

    #[test]
    fn a_thousand_failures_are_retried_two_hundred_times_and_min() {
        let mut budget = of_20_percent(3);
        let mut retries = 0;
        for number in 0..1_000 {
            let now = Stamp(50 * SECOND + number * 5_000_000);
            budget.deposit(now);
            retries += u32::from(budget.withdraw(now));
        }
        assert_eq!(retries, 203);
    }

    #[test]
    fn what_was_refused_is_not_owed() {
        let mut budget = of_20_percent(0);
        let now = Stamp(SECOND);
        for _ in 0..100 {
            assert!(!budget.withdraw(now), "there is nothing");
        }
        for _ in 0..5 {
            budget.deposit(now);
        }
        assert_eq!(afforded(&mut budget, now), 1);
    }

    #[test]
    fn deposits_and_withdrawals_are_forgotten_after_the_window() {
        let mut budget = of_20_percent(2);
        let begin = 100 * SECOND;
        for _ in 0..50 {
            budget.deposit(Stamp(begin));
        }
        assert_eq!(afforded(&mut budget, Stamp(begin + SECOND)), 12);
        assert_eq!(
            afforded(&mut budget, Stamp(begin + 10 * SECOND)),
            0,
            "the deposits have gone first"
        );
        assert_eq!(afforded(&mut budget, Stamp(begin + 11 * SECOND)), 2);
        assert_eq!(afforded(&mut budget, Stamp(begin + 500 * SECOND)), 2);
    }

    #[test]
    fn a_clock_that_goes_back_forgets_nothing() {
        let mut budget = of_20_percent(1);
        assert!(budget.withdraw(Stamp(100 * SECOND)), "the one of `min`");
        assert!(!budget.withdraw(Stamp(50 * SECOND)), "it is spent");
    }

    /// In nine tenths of a window that end with a retry there are no more than the share of the window and `min`.
    #[test]
    fn no_nine_tenths_of_a_window_have_more_retries_than_it_can_afford() {
        let mut budget = of_20_percent(3);
        let mut random = 7_u64;
        let mut now = 1_000 * SECOND;
        let (mut deposits, mut withdrawals) = (Vec::new(), Vec::new());
        for _ in 0..20_000 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            now += (random >> 33) % 40_000_000;
            if random >> 62 == 0 {
                budget.deposit(Stamp(now));
                deposits.push(now);
            } else if budget.withdraw(Stamp(now)) {
                withdrawals.push(now);
                let within = |all: &[u64], seconds: u64| {
                    let young = all.iter().rev();
                    young.take_while(|&&at| at + seconds * SECOND > now).count()
                };
                let retries = within(&withdrawals, 9);
                let paid = within(&deposits, 10);
                assert!(5 * retries <= paid + 5 * 3, "{retries} by {paid} at {now}");
            }
        }
        assert!(withdrawals.len() > 500, "{}", withdrawals.len());
    }
}
