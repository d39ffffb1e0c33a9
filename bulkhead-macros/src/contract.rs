//! What bounds a call of a function in the expansion: `deadline`, `margin`, and what a breaker has to know of them.
//!
//! The rules about a partition that was declared elsewhere name it, and so they stand behind it.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};

use crate::args::{Args, Shared, Slot};
use crate::keys::Key;
use crate::policy::{Policy, bind, constant, duration, optional};
use crate::span::Ends;

/// The keys of a function that bound its calls, beside the policy that they are held against.
pub(crate) struct Contract<'a> {
    pub(crate) policy: &'a Policy<'a>,
}

impl Contract<'_> {
    pub(crate) fn constants(&self) -> TokenStream {
        let args = self.policy.args;
        [
            bind(Key::Deadline, &args.deadline, &duration()),
            bind(Key::Margin, &args.margin, &duration()),
        ]
        .into_iter()
        .collect()
    }

    pub(crate) fn rules(&self) -> TokenStream {
        let (policy, args) = (self.policy, self.policy.args);
        [
            policy.about(&args.deadline, "deadline", constant(Key::Deadline)),
            policy.about(&args.margin, "margin", constant(Key::Margin)),
            self.about_margin_below_deadline(),
            self.about_worst_case(),
            self.about_breaker(),
            self.about_slow(),
        ]
        .into_iter()
        .collect()
    }

    fn about_margin_below_deadline(&self) -> TokenStream {
        let args = self.policy.args;
        if args.deadline.value().is_none() {
            return TokenStream::new();
        }
        let (margin, deadline) = (constant(Key::Margin), constant(Key::Deadline));
        let arguments = quote!(#margin, #deadline);
        self.policy
            .about(&args.margin, "margin_below_deadline", arguments)
    }

    fn about_worst_case(&self) -> TokenStream {
        match (&self.policy.args.shared, self.policy.queue_and_wait()) {
            (Shared::No, Some(queue_and_wait)) => {
                self.fits(["fits", "retries_fit"], &queue_and_wait)
            }
            _ => TokenStream::new(),
        }
    }

    /// `wait` comes from `waits`, which is what the first arguments of `rules` are about: of that for a single
    /// attempt, and of that for several.
    fn fits(&self, rules: [&str; 2], waits: &TokenStream) -> TokenStream {
        let args = self.policy.args;
        let known = (
            optional(&args.timeout, Key::Timeout),
            optional(&args.margin, Key::Margin),
        );
        let (Some(timeout), Some(margin)) = known else {
            return TokenStream::new();
        };
        let deadline = constant(Key::Deadline);
        let arguments = quote!(#waits, #timeout, #deadline, #margin);
        let (rule, arguments) = match (&args.retry, self.policy.retry().value()) {
            (Slot::Absent, _) => (rules[0], arguments),
            (_, Some(retry)) => (rules[1], quote!(#arguments, #retry)),
            (_, None) => return TokenStream::new(),
        };
        self.policy.about(&args.deadline, rule, arguments)
    }

    fn about_breaker(&self) -> TokenStream {
        let args = self.policy.args;
        args.breaker
            .value()
            .filter(|_| self.policy.is_of_a_function())
            .map_or_else(TokenStream::new, |breaker| {
                if let Some(settle) = self.settles_for_ever() {
                    return self
                        .policy
                        .rule(settle, "settle_has_timeout", TokenStream::new());
                }
                let is_bounded = is_bounded(args);
                let at = Ends::at(breaker.key.span());
                self.policy
                    .rule(at, "breaker_has_bound", quote!(#is_bounded))
            })
    }

    /// Where the word `settle` stands, if nothing else would end the body: a deadline does not.
    fn settles_for_ever(&self) -> Option<Ends> {
        let args = self.policy.args;
        let settle = args.settle.value().filter(|_| args.timeout.is_absent());
        settle.map(|settle| settle.ends)
    }

    fn about_slow(&self) -> TokenStream {
        match (self.policy.is_of_a_function(), self.bounds()) {
            (true, Some(bounds)) => {
                let slow = constant(Key::Slow);
                let arguments = quote!(#slow, #bounds);
                self.policy
                    .about(&self.policy.args.slow, "slow_is_reached", arguments)
            }
            _ => TokenStream::new(),
        }
    }

    /// `timeout`, `deadline` and `margin` as arguments of a rule, if all that is given could be read.
    fn bounds(&self) -> Option<TokenStream> {
        let args = self.policy.args;
        let timeout = optional(&args.timeout, Key::Timeout)?;
        if args.timeout.is_absent() && !args.settle.is_absent() {
            return None;
        }
        let deadline = optional(&args.deadline, Key::Deadline)?;
        let margin = optional(&args.margin, Key::Margin)?;
        Some(quote!(#timeout, #deadline, #margin))
    }

    /// The rules about `partition`, which was declared elsewhere, and stands at `path`.
    pub(crate) fn rules_about(&self, partition: &TokenStream, path: Ends) -> TokenStream {
        let (policy, args) = (self.policy, self.policy.args);
        let its_policy = quote_spanned!(Span::mixed_site()=> *#partition.policy());
        let timeout = constant(Key::Timeout);
        let below_timeout = quote!(#its_policy, #timeout);
        let has_no_breaker = match self.settles_for_ever() {
            Some(settle) => policy.rule(settle, "settle_has_no_breaker", partition.clone()),
            None if is_bounded(args) => TokenStream::new(),
            None => policy.rule(path, "has_no_breaker", partition.clone()),
        };
        let slow_is_reached = self.bounds().map(|bounds| {
            let bound = match args.timeout.value() {
                Some(_) => &args.timeout,
                None => &args.deadline,
            };
            policy.about(
                bound,
                "policy_slow_is_reached",
                quote!(#its_policy, #bounds),
            )
        });
        let rules = [
            policy.about(&args.timeout, "policy_below_timeout", below_timeout),
            self.fits(["policy_fits", "policy_retries_fit"], &its_policy),
            has_no_breaker,
            slow_is_reached.unwrap_or_default(),
        ];
        rules.into_iter().collect()
    }
}

/// Whether every call ends, whatever its body does. What could not be read was meant to see to that.
fn is_bounded(args: &Args) -> bool {
    !args.timeout.is_absent() || !args.deadline.is_absent()
}
