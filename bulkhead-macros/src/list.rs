//! The list between the attribute's parentheses, read into the slots of [`Args`].

use proc_macro2::{Span, TokenStream};
use syn::parse::ParseStream;
use syn::{Error, Ident, Token};

use crate::args::Args;
use crate::entry::Entry;
use crate::errors::Errors;
use crate::keys::{Attribute, Key};
use crate::span;
use crate::walk::{Behind, Walk};

/// Reads all it can; each mistake leaves one error.
pub(crate) fn read(attribute: Attribute, tokens: TokenStream) -> (Args, Errors) {
    let (mut args, mut errors) = (Args::default(), Errors::default());
    read_into(attribute, tokens, &mut args, &mut errors);
    (args, errors)
}

/// The same, for a list inside of another.
pub(crate) fn read_into(
    attribute: Attribute,
    tokens: TokenStream,
    args: &mut Args,
    errors: &mut Errors,
) {
    let list = |input: ParseStream<'_>| {
        let mut list = List {
            attribute,
            walk: Walk::along(input),
            args,
            errors: &mut *errors,
        };
        list.read();
        Ok(())
    };
    if let Err(error) = span::parse(tokens, Span::call_site(), list) {
        errors.push(error);
    }
}

impl Attribute {
    /// The key of an entry of this list that begins here.
    pub(crate) fn begins_with_key(self, walk: Walk<'_>) -> Option<Ident> {
        let is = |word: &Ident, kind: fn(Key) -> bool| self.key(word).is_ok_and(kind);
        match walk.word_ahead()? {
            (key, Behind::Equals) => Some(key),
            (key, Behind::Parentheses) if is(&key, |key| key.inside().is_some()) => Some(key),
            (key, Behind::End) if is(&key, Key::is_word) => Some(key),
            _ => None,
        }
    }
}

/// The list while it is being read.
struct List<'a> {
    attribute: Attribute,
    walk: Walk<'a>,
    args: &'a mut Args,
    errors: &'a mut Errors,
}

impl List<'_> {
    fn read(&mut self) {
        let mut is_first = true;
        while !self.walk.is_at_end() {
            self.refuse_attributes();
            self.entry(is_first);
            self.separator();
            is_first = false;
        }
    }

    fn refuse_attributes(&mut self) {
        while self.walk.is_at(Token![#]) {
            let text = format!(
                "keys cannot carry attributes; use `#[cfg_attr(…, {}(…))]` on the item",
                self.attribute.on_item()
            );
            self.error_here(text);
            self.walk.skip(1);
            if self.walk.is_at(syn::token::Bracket) {
                self.walk.skip(1);
            }
        }
    }

    fn entry(&mut self, is_first: bool) {
        let mut entry = Entry {
            attribute: self.attribute,
            is_first,
            walk: self.walk,
            args: self.args,
            errors: self.errors,
        };
        entry.read();
    }

    /// One comma, or an error and the way to the next one.
    fn separator(&mut self) {
        if self.walk.is_at_end() {
            return;
        }
        if self.walk.is_at(Token![,]) {
            return self.walk.skip(1);
        }
        if let Some(key) = self.attribute.begins_with_key(self.walk) {
            let text = format!("expected `,` before `{key}`");
            self.errors.push(Error::new(key.span(), text));
            return;
        }
        self.error_here("expected `,` or the end of the list");
        if !self.walk.is_at(Token![;]) {
            self.walk.skip_entry();
        }
        self.walk.skip(1);
    }

    fn error_here(&mut self, text: impl std::fmt::Display) {
        self.errors.push(Error::new(self.walk.span(), text));
    }
}

#[cfg(test)]
mod tests;
