//! Retries: how often and how soon a function tries again, and how many retries a partition affords.
//!
//! [`settings`] holds the numbers and their rules, [`error`] what is wrong with them.

mod error;
mod settings;

pub use error::RetryPolicyError;
pub use settings::{RetryBudget, RetryPolicy};
pub(crate) use settings::{
    check_attempts, check_backoff, check_budget_window, check_cap, check_min, check_ratio,
};
