//! Where an error, or a generated call, is underlined.

use std::fmt::Display;

use proc_macro2::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::{ParseStream, Parser};
use syn::{Error, Result, braced};

/// The first and the last token of what the user wrote.
///
/// Stable Rust cannot join two spans. It underlines a call or a macro from its first token to its
/// last, so each of the two takes the span of one end.
#[derive(Clone, Copy)]
pub(crate) struct Ends {
    first: Span,
    last: Span,
}

impl Ends {
    pub(crate) fn at(span: Span) -> Self {
        Self {
            first: span,
            last: span,
        }
    }

    /// The ends of `tokens`, or the whole attribute where there are none.
    pub(crate) fn of(tokens: &impl ToTokens) -> Self {
        let tokens = tokens.to_token_stream();
        match (first(tokens.clone()), last(tokens)) {
            (Some(first), Some(last)) => Self { first, last },
            _ => Self::at(Span::call_site()),
        }
    }

    /// The ends of `item`, whose outer attributes are left out.
    pub(crate) fn behind(attributes: &[syn::Attribute], item: &impl ToTokens) -> Self {
        let before = attributes
            .iter()
            .map(|attribute| attribute.to_token_stream().into_iter().count())
            .sum();
        let rest: TokenStream = item.to_token_stream().into_iter().skip(before).collect();
        Self::of(&rest)
    }

    /// `&name`, where an error about the reference is shown from the first to the last.
    pub(crate) fn reference(self, name: &Ident) -> TokenStream {
        let mut and = Punct::new('&', Spacing::Alone);
        and.set_span(name.span().located_at(self.first));
        let mut name = name.clone();
        name.set_span(name.span().located_at(self.last));
        quote!(#and #name)
    }

    pub(crate) fn error(self, text: impl Display) -> Error {
        let (first, last) = (
            Ident::new("first", self.first),
            Ident::new("last", self.last),
        );
        Error::new_spanned(quote!(#first #last), text)
    }

    /// `path(arguments)`: an error about this call, or about the function that it calls, is shown
    /// under the user's own tokens, from the first to the last.
    pub(crate) fn call(self, path: TokenStream, arguments: TokenStream) -> TokenStream {
        let mut path: Vec<_> = path.into_iter().collect();
        let name = path.pop().map(|name| moved(name, self.last));
        let mut arguments = Group::new(Delimiter::Parenthesis, arguments);
        arguments.set_span(Span::mixed_site().located_at(self.last));
        let path = self.move_here(path.into_iter().collect());
        quote!(#path #name #arguments)
    }

    /// A literal of the macro's own, shown at the first of the ends: no lint is about one that a
    /// macro made.
    pub(crate) fn literal(self, mut literal: Literal) -> TokenStream {
        literal.set_span(Span::mixed_site());
        self.move_here(TokenTree::from(literal).into())
    }

    /// The same tokens with the same hygiene, shown at the first of the ends.
    pub(crate) fn move_here(self, tokens: TokenStream) -> TokenStream {
        tokens
            .into_iter()
            .map(|tree| moved(tree, self.first))
            .collect()
    }
}

/// Parses `tokens`. What is missing behind them is missed at the last of them, or at `next` if there
/// are none; syn by itself would blame the whole attribute.
pub(crate) fn parse<T>(
    tokens: TokenStream,
    next: Span,
    parser: impl FnOnce(ParseStream<'_>) -> Result<T>,
) -> Result<T> {
    let end = last(tokens.clone()).unwrap_or(next);
    let mut braces = Group::new(Delimiter::Brace, tokens);
    braces.set_span(end);
    let inside = |input: ParseStream<'_>| {
        let content;
        braced!(content in input);
        parser(&content)
    };
    inside.parse2(braces.to_token_stream())
}

fn moved(mut tree: TokenTree, to: Span) -> TokenTree {
    if let TokenTree::Group(group) = &tree {
        let stream = group
            .stream()
            .into_iter()
            .map(|tree| moved(tree, to))
            .collect();
        let mut moved = Group::new(group.delimiter(), stream);
        moved.set_span(group.span().located_at(to));
        return moved.into();
    }
    tree.set_span(tree.span().located_at(to));
    tree
}

/// Fragments of `macro_rules!` arrive in groups without delimiters. Such a group has the span of
/// the macro's own `$name`; what the user wrote is inside.
fn first(tokens: TokenStream) -> Option<Span> {
    tokens.into_iter().find_map(|tree| match tree {
        TokenTree::Group(group) if group.delimiter() == Delimiter::None => first(group.stream()),
        TokenTree::Group(group) => Some(group.span_open()),
        other => Some(other.span()),
    })
}

fn last(tokens: TokenStream) -> Option<Span> {
    let reversed = tokens.into_iter().collect::<Vec<_>>().into_iter().rev();
    reversed.into_iter().find_map(|tree| match tree {
        TokenTree::Group(group) if group.delimiter() == Delimiter::None => last(group.stream()),
        TokenTree::Group(group) => Some(group.span_close()),
        other => Some(other.span()),
    })
}
