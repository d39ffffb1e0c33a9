//! All mistakes at once: none hides another.

use proc_macro2::TokenStream;
use syn::Error;

#[derive(Default)]
pub(crate) struct Errors(Vec<Error>);

impl Errors {
    pub(crate) fn push(&mut self, error: Error) {
        self.0.push(error);
    }

    pub(crate) fn extend(&mut self, errors: impl IntoIterator<Item = Error>) {
        self.0.extend(errors);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `compile_error! {}` for each: with braces, it stands where any item can.
    pub(crate) fn to_tokens(&self) -> TokenStream {
        self.0.iter().map(Error::to_compile_error).collect()
    }

    #[cfg(test)]
    pub(crate) fn texts(&self) -> Vec<String> {
        self.0.iter().map(ToString::to_string).collect()
    }
}
