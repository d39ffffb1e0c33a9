//! A policy is fixed while compiling: it cannot see what exists once per call or per
//! instantiation. rustc would say so too, but about a `const` that the user never wrote.

use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::Error;

use crate::args::{Args, Slot};
use crate::errors::Errors;
use crate::function::Function;
use crate::keys::{Attribute, Key};

/// The keys of the function whose values are fixed, beside those of its breaker.
const FIXED: [Key; 10] = [
    Key::Name,
    Key::Max,
    Key::Queue,
    Key::Wait,
    Key::Timeout,
    Key::Deadline,
    Key::Margin,
    Key::Attempts,
    Key::Backoff,
    Key::Cap,
];

/// Reports each value that uses `self`, an argument or a type parameter of the function; no rule
/// is applied to such a value.
pub(crate) fn check(args: &mut Args, function: &Function, errors: &mut Errors) {
    let breaker = Attribute::Breaker.keys();
    for key in FIXED.iter().chain(breaker) {
        let key = *key;
        let slot = args.slot_mut(key);
        let expression = slot.value().filter(|value| !value.is_literal);
        if let Some(error) =
            expression.and_then(|value| first_unknowable(key, &value.tokens, function))
        {
            errors.push(error);
            *slot = Slot::Unreadable;
        }
    }
}

fn first_unknowable(key: Key, tokens: &TokenStream, function: &Function) -> Option<Error> {
    let mut before = [None, None];
    let mut trees = tokens.clone().into_iter().peekable();
    while let Some(tree) = trees.next() {
        let found = match &tree {
            TokenTree::Group(group) => first_unknowable(key, &group.stream(), function),
            // The `b` of `a::b`, of `a.b` and of `b::c` is no variable.
            TokenTree::Ident(_) if before[1] == Some(':') || before == [None, Some('.')] => None,
            TokenTree::Ident(word)
                if trees.peek().and_then(punct) == Some(':') && !is_generic(word, function) =>
            {
                None
            }
            TokenTree::Ident(word) => unknowable(key, word, function),
            _ => None,
        };
        if found.is_some() {
            return found;
        }
        before = [before[1], punct(&tree)];
    }
    None
}

fn punct(tree: &TokenTree) -> Option<char> {
    if let TokenTree::Punct(punct) = tree {
        Some(punct.as_char())
    } else {
        None
    }
}

fn is_generic(word: &Ident, function: &Function) -> bool {
    word == "Self" || function.generics.contains(word)
}

fn unknowable(key: Key, word: &Ident, function: &Function) -> Option<Error> {
    let name = key.as_str();
    let text = if word == "Self" {
        format!("`{name}` cannot use `Self`: write the name of the type")
    } else if word == "self" {
        format!(
            "`{name}` is fixed at compile time and cannot use `self`; {}",
            instead(key)
        )
    } else if function.generics.contains(word) {
        if is_of_retry(key) {
            format!(
                "`{name}` is fixed at compile time and cannot depend on `{word}`; {}",
                instead(key)
            )
        } else {
            let what = if Attribute::Breaker.keys().contains(&key) {
                "breaker"
            } else {
                "partition"
            };
            format!(
                "`{name}` cannot depend on `{word}`: one {what} is shared by all instantiations"
            )
        }
    } else if function
        .arguments
        .iter()
        .any(|argument| argument.name == *word)
    {
        format!(
            "`{name}` is fixed at compile time and cannot use the argument `{word}`; {}",
            instead(key)
        )
    } else {
        return None;
    };
    Some(Error::new(word.span(), text))
}

fn is_of_retry(key: Key) -> bool {
    Attribute::Retry.keys().contains(&key)
}

fn instead(key: Key) -> &'static str {
    match key {
        _ if is_of_retry(key) => "write a literal or a constant",
        Key::Timeout => "use `partition.call(future).timeout(…)` instead",
        Key::Deadline | Key::Margin => {
            "narrow the deadline at run time instead, with `bulkhead_runtime::Deadline`"
        }
        _ => "build the partition at run time instead, with `bulkhead_runtime::register`",
    }
}
