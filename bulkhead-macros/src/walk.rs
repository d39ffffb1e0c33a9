//! Walking along the list: what stands ahead, and how to get past it.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::discouraged::Speculative;
use syn::parse::{Parse, ParseStream, Peek};
use syn::token::Paren;
use syn::{Error, Expr, Ident, Token};

use crate::literal::Literally;

/// A place in the list.
#[derive(Clone, Copy)]
pub(crate) struct Walk<'a> {
    input: ParseStream<'a>,
}

/// What stands behind the next word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behind {
    Equals,
    PathSeparator,
    Parentheses,
    /// A comma, or nothing more.
    End,
    Other,
}

impl<'a> Walk<'a> {
    pub(crate) fn along(input: ParseStream<'a>) -> Self {
        Self { input }
    }

    pub(crate) fn is_at_end(self) -> bool {
        self.input.is_empty()
    }

    pub(crate) fn is_at<T: Peek>(self, token: T) -> bool {
        self.input.peek(token)
    }

    /// Whether an entry ends here.
    pub(crate) fn is_behind_entry(self) -> bool {
        is_behind_entry(self.input)
    }

    pub(crate) fn span(self) -> Span {
        self.input.span()
    }

    /// The next word, keywords included, and what stands behind it.
    pub(crate) fn word_ahead(self) -> Option<(Ident, Behind)> {
        let ahead = self.input.fork();
        let word = ahead.call(Ident::parse_any).ok()?;
        let behind = match &ahead {
            ahead if is_equals(ahead) => Behind::Equals,
            ahead if ahead.peek(Token![::]) => Behind::PathSeparator,
            ahead if ahead.peek(Paren) => Behind::Parentheses,
            ahead if is_behind_entry(ahead) => Behind::End,
            _ => Behind::Other,
        };
        Some((word, behind))
    }

    pub(crate) fn parse<T: Parse>(self) -> syn::Result<T> {
        self.input.parse()
    }

    /// Parsed, and as it stands; or where it ceases to be an expression.
    pub(crate) fn expression(self) -> Result<(Expr, TokenStream), Span> {
        let ahead = self.input.fork();
        let expr = ahead.parse().map_err(|error: Error| error.span())?;
        let mut written = TokenStream::new();
        let mut cursor = self.input.cursor();
        while let Some((tree, next)) = cursor.token_tree().filter(|_| cursor < ahead.cursor()) {
            written.extend([tree]);
            cursor = next;
        }
        self.input.advance_to(&ahead);
        Ok((expr, written))
    }

    /// A literal and the `%` behind it, which together are no expression; and as they stand.
    pub(crate) fn percentage(self) -> Option<(Literally, TokenStream)> {
        let ahead = self.input.fork();
        let mut written = TokenStream::new();
        while ahead.peek(Token![-]) {
            written.extend(ahead.parse::<TokenTree>());
        }
        written.extend([ahead.parse::<TokenTree>().ok()?]);
        let literal = Literally::of(&syn::parse2(written.clone()).ok()?)?;
        written.extend(ahead.parse::<Token![%]>().ok()?.to_token_stream());
        self.input.advance_to(&ahead);
        Some((literal, written))
    }

    pub(crate) fn skip_value(self) {
        if self.expression().is_err() {
            self.skip_entry();
        }
    }

    /// Skips to the next comma and returns what stood there.
    pub(crate) fn skip_entry(self) -> TokenStream {
        let mut skipped = TokenStream::new();
        while !self.is_behind_entry() {
            skipped.extend(self.input.parse::<TokenTree>().ok());
        }
        skipped
    }

    pub(crate) fn skip(self, trees: usize) {
        for _ in 0..trees {
            self.input.parse::<TokenTree>().ok();
        }
    }
}

fn is_equals(input: ParseStream<'_>) -> bool {
    input.peek(Token![=]) && !input.peek(Token![==]) && !input.peek(Token![=>])
}

fn is_behind_entry(input: ParseStream<'_>) -> bool {
    input.is_empty() || input.peek(Token![,])
}
