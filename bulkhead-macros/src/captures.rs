//! Argument drop order.
//!
//! A plain `async fn` drops its arguments in the reverse order of their declaration. An `async
//! move` block drops what it captured in the order in which its body first mentions it, and never
//! captures what is not mentioned. So the block mentions the arguments itself, last one first, in
//! code that never runs.

use std::collections::HashSet;

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;

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

/// What a body that runs more than once takes of its arguments.
pub(crate) struct Again<'a> {
    /// That of which each run has one of its own; the last one first.
    pub(crate) named: Vec<&'a Argument>,
    /// One statement for each that is only there to be dropped, when all is over.
    pub(crate) kept: TokenStream,
    /// [`in_order`] of one run.
    pub(crate) in_order: TokenStream,
}

pub(crate) fn again(function: &Function) -> Again<'_> {
    let used = Words::of(function.body.stream());
    let captured = function.arguments.iter().rev();
    let (named, kept): (Vec<_>, Vec<_>) = captured
        .filter(|argument| used.need(argument))
        .partition(|argument| used.contain(&argument.name));
    Again {
        kept: kept.into_iter().map(mention).collect(),
        in_order: named.iter().copied().map(mention).collect(),
        named,
    }
}

/// A name with a leading underscore is there to be unused, and clippy minds even this use of it.
fn mention(Argument { name, cfgs, .. }: &Argument) -> TokenStream {
    let is_underscored = name.to_string().starts_with('_');
    let allowed = is_underscored.then(|| quote!(#[allow(clippy::used_underscore_binding)]));
    quote_spanned!(Span::mixed_site()=> #cfgs #allowed let _ = &#name;)
}

/// All words of a body, those in format strings included.
#[derive(Default)]
pub(crate) struct Words {
    names: HashSet<String>,
    strings: Vec<String>,
}

impl Words {
    pub(crate) fn of(body: TokenStream) -> Self {
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
        argument.name.to_string().starts_with('_') || self.contain(&argument.name)
    }

    fn contain(&self, name: &Ident) -> bool {
        self.names.contains(&name.to_string()) || self.format(name)
    }

    /// Whether it stands in a format string.
    pub(crate) fn format(&self, name: &Ident) -> bool {
        let opened = format!("{{{}", name.unraw());
        let goes_on = |c: char| c.is_alphanumeric() || c == '_';
        let stands_in = |text: &String| {
            let behind = text.match_indices(&opened).map(|(at, _)| at + opened.len());
            let mut behind = behind.map(|at| text[at..].chars().next());
            behind.any(|next| !next.is_some_and(goes_on))
        };
        self.strings.iter().any(stands_in)
    }
}

/// The words of an expression that can be variables.
pub(crate) fn variables(tokens: TokenStream) -> Vec<Ident> {
    let mut variables = Vec::new();
    each_variable(tokens, &mut |variable| {
        variables.push(variable.clone());
        variable
    });
    variables
}

/// The same expression with something else for its variables. The `b` of `a.b`, of `a::b`, of `b::c`, of `b!` and of
/// `A { b: c }` is none.
pub(crate) fn each_variable(
    tokens: TokenStream,
    replace: &mut dyn FnMut(Ident) -> Ident,
) -> TokenStream {
    let mut before = [None, None];
    let mut replaced = TokenStream::new();
    let mut trees = tokens.into_iter().peekable();
    while let Some(tree) = trees.next() {
        let mark = punct(&tree);
        let is_part = before[1] == Some(':') && before[0] == Some(':')
            || before[1] == Some('.') && before[0] != Some('.');
        let tree = match tree {
            TokenTree::Group(group) => {
                let mut inside =
                    Group::new(group.delimiter(), each_variable(group.stream(), replace));
                inside.set_span(group.span());
                inside.into()
            }
            TokenTree::Ident(word)
                if !is_part && !matches!(trees.peek().and_then(punct), Some(':' | '!')) =>
            {
                replace(word).into()
            }
            other => other,
        };
        replaced.extend([tree]);
        before = [before[1], mark];
    }
    replaced
}

fn punct(tree: &TokenTree) -> Option<char> {
    if let TokenTree::Punct(punct) = tree {
        Some(punct.as_char())
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_variables_are_found_in_a_call() {
        let call = "self.a.b(&c, d::e(f), G { h: i }, j!(\"{k}\"), l..m, |n| n)";
        let found: Vec<_> = variables(call.parse().expect("the call is made of tokens"))
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(found, ["self", "c", "f", "G", "i", "l", "m", "n", "n"]);
    }
}
