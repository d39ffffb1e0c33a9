//! Retries: how often and how soon a function tries again, and how many retries a partition affords.
//!
//! [`settings`] holds the numbers and their rules, [`error`] what is wrong with them. [`budget`] says how many retries
//! a partition can afford, and [`backoff`] how long to wait before one; both are pure. [`counts`] is what became of
//! them. The loop itself is the call's: `call/whole`.

pub(crate) mod backoff;
mod budget;
mod counts;
mod error;
mod settings;

pub(crate) use budget::Budget;
pub use counts::{Fallbacks, Retries};
pub use error::RetryPolicyError;
pub use settings::{RetryBudget, RetryPolicy};
pub(crate) use settings::{
    check_attempts, check_backoff, check_budget_window, check_cap, check_min, check_ratio,
};
