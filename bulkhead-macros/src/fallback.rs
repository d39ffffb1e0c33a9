//! What is emitted when something is wrong: every error, and the item all the same, so that
//! nothing that uses it turns red as well.

use proc_macro2::TokenStream;
use quote::quote;

use crate::args::Args;
use crate::errors::Errors;
use crate::function::Function;
use crate::keys::Attribute;
use crate::policy::Policy;

/// The errors, and the item as it was written.
pub(crate) fn beside(item: &TokenStream, errors: &Errors) -> TokenStream {
    let errors = errors.to_tokens();
    quote!(#errors #item)
}

/// The errors, and the function without a guard. The rules about values stay in its body, so that
/// they report their mistakes together with those of form; beside it there is no place for them
/// that is legal in an `impl` block too.
pub(crate) fn unguarded(function: &Function, args: &Args, errors: &Errors) -> TokenStream {
    let Function {
        header,
        inner_attributes,
        body,
        ..
    } = function;
    let rules = args.runtime().map_or_else(TokenStream::new, |runtime| {
        Policy::new(Attribute::Bulkhead, args, &runtime).constants()
    });
    let body = function.braces(quote!(#inner_attributes #rules match () { () => #body }));
    beside(&quote!(#header #body), errors)
}
