//! Two sides that take turns, and the ratio between them.

use std::fmt;
use std::time::Duration;

/// The quartiles of a ratio.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ratio {
    low: f64,
    median: f64,
    high: f64,
}

impl Ratio {
    /// Of a sample that is taken again and again.
    pub(crate) fn of(rounds: usize, mut sample: impl FnMut() -> f64) -> Self {
        // The first round warms up: statics resolve, tables grow, the branch predictor learns.
        sample();
        let mut ratios: Vec<f64> = (0..rounds).map(|_| sample()).collect();
        ratios.sort_by(f64::total_cmp);
        let at = |share: usize| ratios[(ratios.len() - 1) * share / 4];
        Self {
            low: at(1),
            median: at(2),
            high: at(3),
        }
    }

    /// Of two sides that take turns; every other round the second begins.
    pub(crate) fn of_pair(
        rounds: usize,
        mut ours: impl FnMut() -> Duration,
        mut theirs: impl FnMut() -> Duration,
    ) -> Self {
        let mut swapped = false;
        Self::of(rounds, || {
            swapped = !swapped;
            let (ours, theirs) = if swapped {
                let theirs = theirs();
                (ours(), theirs)
            } else {
                (ours(), theirs())
            };
            ours.as_secs_f64() / theirs.as_secs_f64()
        })
    }
}

/// A line of the table.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) situation: String,
    pub(crate) beside: &'static str,
    pub(crate) ratio: Ratio,
    pub(crate) goal: Goal,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Goal {
    AtMost(f64),
    AtLeast(f64),
    Report,
}

impl Row {
    pub(crate) const HEAD: &'static str =
        "| situation | beside | ratio | quartiles | to reach | |\n|---|---|---|---|---|---|";
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ratio { low, median, high } = self.ratio;
        let (goal, verdict) = match self.goal {
            Goal::AtMost(goal) => (
                format!("≤ {goal} ×"),
                if median <= goal { "reached" } else { "missed" },
            ),
            Goal::AtLeast(goal) => (
                format!("≥ {goal} ×"),
                if median >= goal { "reached" } else { "missed" },
            ),
            Goal::Report => (String::from("—"), ""),
        };
        let Self {
            situation, beside, ..
        } = self;
        write!(
            f,
            "| {situation} | {beside} | **{median:.2} ×** | {low:.2}–{high:.2} | {goal} | {verdict} |"
        )
    }
}
