//! Argument drop order.
//!
//! A plain `async fn` drops its arguments in the reverse order of their declaration. An `async
//! move` block drops what it captured in the order in which its body first mentions it, and never
//! captures what is not mentioned. So the block mentions the arguments itself, last one first, in
//! code that never runs.

use std::collections::HashSet;

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{quote, quote_spanned};

use crate::arguments::Argument;
use crate::function::Function;

/// One statement per argument that the block is to capture. What cannot be named (`_`, the rest of
/// a destructured value) stays outside and is dropped after all that can.
pub(crate) fn in_order(function: &Function) -> TokenStream {
    let used = Words::of(function.body.stream());
    let captured = function
        .arguments
        .iter()
        .rev()
        .filter(|argument| used.need(argument));
    captured.map(mention).collect()
}

/// A name with a leading underscore is there to be unused, and clippy minds even this use of it.
fn mention(Argument { name, cfgs }: &Argument) -> TokenStream {
    let is_underscored = name.to_string().starts_with('_');
    let allowed = is_underscored.then(|| quote!(#[allow(clippy::used_underscore_binding)]));
    quote_spanned!(Span::mixed_site()=> #cfgs #allowed let _ = &#name;)
}

/// All words of a body, those in format strings included.
#[derive(Default)]
struct Words {
    names: HashSet<String>,
    strings: Vec<String>,
}

impl Words {
    fn of(body: TokenStream) -> Self {
        let mut words = Self::default();
        words.collect(body);
        words
    }

    fn collect(&mut self, tokens: TokenStream) {
        for tree in tokens {
            match tree {
                TokenTree::Group(group) => self.collect(group.stream()),
                TokenTree::Ident(name) => self.names.extend([name.to_string()]),
                TokenTree::Literal(literal) => self
                    .strings
                    .extend(Some(literal.to_string()).filter(|text| text.contains('{'))),
                TokenTree::Punct(_) => {}
            }
        }
    }

    /// An argument that the body never names stays outside, or rustc could not warn that it is
    /// unused. One that says so itself, as `_guard` does, is captured: it is there to be dropped.
    fn need(&self, argument: &Argument) -> bool {
        let name = argument.name.to_string();
        let is_formatted = || {
            self.strings
                .iter()
                .any(|text| text.contains(&format!("{{{name}")))
        };
        name.starts_with('_') || self.names.contains(&name) || is_formatted()
    }
}
