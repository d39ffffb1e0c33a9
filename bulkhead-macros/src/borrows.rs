//! What `retry`, `fallback` and `settle` ask of the arguments, as far as the signature tells: a `&mut` cannot be
//! given twice, and a body that may outlive its caller cannot borrow from it.
//!
//! What only types can tell is a trait of the runtime.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Error, FnArg, GenericParam, Pat, Receiver, ReceiverKind, Signature, Type};

use crate::args::Args;
use crate::arguments::{self, Argument};
use crate::captures;
use crate::errors::Errors;
use crate::function::Function;
use crate::span::Ends;

pub(crate) fn check(args: &Args, function: &Function, errors: &mut Errors) {
    let signature = &function.signature;
    if !args.retry.is_absent() {
        errors.extend(signature.inputs.iter().filter_map(not_again));
    }
    if let Some(fallback) = args.fallback.value() {
        errors.extend(called_error(&function.arguments));
        let named = captures::variables(fallback.tokens.clone());
        let inputs = signature.inputs.iter().filter(|input| is_mut(input));
        errors.extend(inputs.filter_map(|input| not_for_later(input, &named)));
    }
    if !args.settle.is_absent() {
        let inputs = signature.inputs.iter();
        errors.extend(inputs.filter_map(|input| not_for_ever(input, signature)));
    }
}

/// A `&mut self`, or another `&mut`.
fn is_mut(input: &FnArg) -> bool {
    match input {
        FnArg::Receiver(receiver) => match &receiver.kind {
            ReceiverKind::Reference(_, _, mutability) => mutability.is_some(),
            ReceiverKind::Typed(_, ty) => is_mut_reference(ty),
            _ => false,
        },
        FnArg::Typed(typed) => match &*typed.pat {
            Pat::Ident(binding) if binding.by_ref.is_some() => binding.mutability.is_some(),
            Pat::Reference(_) => false,
            _ => is_mut_reference(&typed.ty),
        },
    }
}

fn is_mut_reference(ty: &Type) -> bool {
    match ty {
        Type::Reference(reference) => {
            let mut words = reference.to_token_stream().into_iter().skip(1).take(3);
            words.any(|tree| matches!(&tree, TokenTree::Ident(word) if word == "mut"))
        }
        Type::Group(group) => is_mut_reference(&group.elem),
        Type::Paren(paren) => is_mut_reference(&paren.elem),
        _ => false,
    }
}

fn not_again(input: &FnArg) -> Option<Error> {
    if !is_mut(input) {
        return None;
    }
    let text = match input {
        FnArg::Receiver(_) => {
            "`retry` runs the body again, and a `&mut self` can be given to it only once: take `&self`".to_owned()
        }
        FnArg::Typed(_) => format!(
            "`retry` runs the body again with clones of its arguments, and {} is a `&mut`, which has none: take an owned \
             value or a shared reference",
            name(input)
        ),
    };
    Some(ends(input).error(text))
}

/// The name of a `&mut` in the call of the fallback.
fn not_for_later(input: &FnArg, named: &[Ident]) -> Option<Error> {
    let bound = arguments::bound_names(input);
    let is_bound = |word: &&Ident| bound.iter().any(|argument| argument.name == **word);
    let word = named.iter().find(is_bound)?;
    let text = match input {
        FnArg::Receiver(_) => {
            "`fallback` runs after the body, which has taken the `&mut self`: take `&self`, or call a function that needs none"
                .to_owned()
        }
        FnArg::Typed(_) => format!(
            "`fallback` gets a clone of each argument that it names, and `{word}` is a `&mut`, which has none: leave it out"
        ),
    };
    Some(Error::new(word.span(), text))
}

fn called_error(arguments: &[Argument]) -> Option<Error> {
    let argument = arguments.iter().find(|argument| argument.name == "error")?;
    Some(Error::new(
        argument.name.span(),
        "`error` is what the caller would have seen, in the call of the `fallback`: give this argument another name",
    ))
}

fn not_for_ever(input: &FnArg, signature: &Signature) -> Option<Error> {
    let text = match input {
        FnArg::Receiver(receiver) if borrows_self(receiver, signature) => {
            "the body of a function that `settle`s may outlive its caller and cannot borrow from it: take `self: Arc<Self>`"
                .to_owned()
        }
        FnArg::Typed(typed) if borrows(&typed.pat, &typed.ty, signature) => format!(
            "the body of a function that `settle`s may outlive its caller and cannot borrow from it: make {} an owned \
             value, such as a `String` or an `Arc<…>`",
            name(input)
        ),
        _ => return None,
    };
    Some(ends(input).error(text))
}

fn borrows_self(receiver: &Receiver, signature: &Signature) -> bool {
    match &receiver.kind {
        ReceiverKind::Reference(_, None, _) => true,
        ReceiverKind::Reference(_, Some(lifetime), _) => is_of_a_call(&lifetime.ident, signature),
        ReceiverKind::Typed(_, ty) => has_short_lifetime(ty.to_token_stream(), signature),
        _ => false,
    }
}

fn borrows(pattern: &Pat, ty: &Type, signature: &Signature) -> bool {
    match pattern {
        // Nothing is bound, or a copy of what is behind the reference.
        Pat::Wild(_) | Pat::Reference(_) => false,
        Pat::Ident(binding) if binding.by_ref.is_some() => true,
        _ => has_short_lifetime(ty.to_token_stream(), signature),
    }
}

/// Whether `'a` is a parameter of the function, so that each call has its own, and not one for ever.
fn is_of_a_call(lifetime: &Ident, signature: &Signature) -> bool {
    lifetime == "_"
        || signature.generics.params.iter().any(|parameter| {
            matches!(parameter, GenericParam::Lifetime(parameter)
                if parameter.lifetime.ident == *lifetime
                    && parameter.bounds.iter().all(|bound| bound.ident != "static"))
        })
}

/// A `&` without a lifetime, or a lifetime of a call. What stands in the parentheses of a `Fn(&str)` is each call's
/// own of that.
fn has_short_lifetime(ty: TokenStream, signature: &Signature) -> bool {
    let mut trees = ty.into_iter().peekable();
    let mut before = None;
    while let Some(tree) = trees.next() {
        let is_short = match &tree {
            TokenTree::Group(group) => {
                let is_of_a_function = group.delimiter() == Delimiter::Parenthesis
                    && matches!(&before, Some(TokenTree::Ident(word)) if is_function(word));
                if is_of_a_function {
                    skip_returned(&mut trees);
                }
                !is_of_a_function && has_short_lifetime(group.stream(), signature)
            }
            TokenTree::Punct(punct) if punct.as_char() == '&' => {
                !matches!(trees.peek(), Some(TokenTree::Punct(next)) if next.as_char() == '\'')
            }
            TokenTree::Ident(lifetime) => {
                matches!(&before, Some(TokenTree::Punct(quote)) if quote.as_char() == '\'')
                    && is_of_a_call(lifetime, signature)
            }
            _ => false,
        };
        if is_short {
            return true;
        }
        before = Some(tree);
    }
    false
}

fn is_function(word: &Ident) -> bool {
    let word = word.to_string();
    word == "fn" || word.trim_start_matches("Async").starts_with("Fn")
}

/// The `-> &` of a `Fn(&str) -> &str`.
fn skip_returned(trees: &mut std::iter::Peekable<impl Iterator<Item = TokenTree>>) {
    for expected in ['-', '>', '&'] {
        let is = |tree: &TokenTree| matches!(tree, TokenTree::Punct(punct) if punct.as_char() == expected);
        if trees.next_if(is).is_none() {
            return;
        }
    }
}

fn ends(input: &FnArg) -> Ends {
    let attributes = match input {
        FnArg::Receiver(receiver) => &receiver.attrs,
        FnArg::Typed(typed) => &typed.attrs,
    };
    Ends::behind(attributes, input)
}

/// For a text.
fn name(input: &FnArg) -> String {
    match &arguments::bound_names(input)[..] {
        [argument] => format!("`{}`", argument.name),
        _ => "this argument".to_owned(),
    }
}
