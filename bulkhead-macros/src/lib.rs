//! The attribute macros of `bulkhead-runtime`.
mod args;
mod captures;
mod duration;
mod errors;
mod expand;
mod fallback;
mod function;
mod item;
mod keys;
mod output;
mod partition;
mod policy;
mod scope;
mod span;
mod value;

use proc_macro::TokenStream;

/// guard
#[proc_macro_attribute]
pub fn bulkhead(list: TokenStream, item: TokenStream) -> TokenStream {
    expand::bulkhead(list.into(), item.into()).into()
}

/// declare
#[proc_macro_attribute]
pub fn partition(list: TokenStream, item: TokenStream) -> TokenStream {
    partition::partition(list.into(), item.into()).into()
}
