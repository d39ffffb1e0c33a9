//! The names that the arguments of a function bind.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{FnArg, Ident, Pat, Signature, Token};

use crate::span::Ends;

/// A name that an argument binds, with the `#[cfg]`s it stands under.
pub(crate) struct Argument {
    pub(crate) name: Ident,
    pub(crate) cfgs: TokenStream,
    /// What it says about lints.
    pub(crate) lints: TokenStream,
    /// The one before the name.
    pub(crate) mutability: Option<Token![mut]>,
    /// Where all of the argument stands, its type included.
    pub(crate) ends: Ends,
}

impl Argument {
    /// Whether it is written with a `mut` that rustc would call needless if nothing changed it.
    pub(crate) fn is_changeable(&self) -> bool {
        let is_quiet = || self.lints.to_string().contains("unused_mut");
        self.mutability.is_some() && self.name != "self" && !is_quiet()
    }
}

/// In the order in which they are written.
pub(crate) fn of(signature: &Signature) -> Vec<Argument> {
    signature.inputs.iter().flat_map(bound_names).collect()
}

/// A name, and the `mut` before it.
type Bound = (Ident, Option<Token![mut]>);

pub(crate) fn bound_names(argument: &FnArg) -> Vec<Argument> {
    let mut names = Vec::new();
    let (attributes, ends) = match argument {
        FnArg::Receiver(receiver) => {
            let name = Ident::new("self", receiver.self_token.span);
            names.push((name, receiver.mutability));
            (&receiver.attrs, Ends::behind(&receiver.attrs, receiver))
        }
        FnArg::Typed(typed) => {
            collect_names(&typed.pat, &mut names);
            (&typed.attrs, Ends::behind(&typed.attrs, typed))
        }
    };
    if attributes
        .iter()
        .any(|attribute| attribute.path().is_ident("cfg_attr"))
    {
        return Vec::new();
    }
    let of = |words: &[&str]| -> TokenStream {
        attributes
            .iter()
            .filter(|attribute| words.iter().any(|word| attribute.path().is_ident(word)))
            .map(ToTokens::to_token_stream)
            .collect()
    };
    let (cfgs, lints) = (of(&["cfg"]), of(&["allow", "expect", "warn", "deny"]));
    names
        .into_iter()
        .map(|(name, mutability)| Argument {
            name,
            cfgs: cfgs.clone(),
            lints: lints.clone(),
            mutability,
            ends,
        })
        .collect()
}

/// In a pattern, a word in upper case is a unit struct or a constant, and binds nothing.
fn collect_names(pattern: &Pat, names: &mut Vec<Bound>) {
    match pattern {
        Pat::Ident(binding) => {
            if !binding.ident.to_string().starts_with(char::is_uppercase) {
                // `ref mut` is no variable that can be changed.
                let mutability = binding.mutability.filter(|_| binding.by_ref.is_none());
                names.push((binding.ident.clone(), mutability));
            }
            if let Some((_, pattern)) = &binding.subpat {
                collect_names(pattern, names);
            }
        }
        Pat::Paren(inside) => collect_names(&inside.pat, names),
        Pat::Reference(referenced) => collect_names(&referenced.pat, names),
        Pat::Slice(slice) => slice
            .elems
            .iter()
            .for_each(|pattern| collect_names(pattern, names)),
        Pat::Tuple(tuple) => tuple
            .elems
            .iter()
            .for_each(|pattern| collect_names(pattern, names)),
        Pat::TupleStruct(tuple) => tuple
            .elems
            .iter()
            .for_each(|pattern| collect_names(pattern, names)),
        Pat::Struct(fields) => {
            let plain = fields.fields.iter().filter(|field| field.attrs.is_empty());
            plain.for_each(|field| collect_names(&field.pat, names));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(written: &str) -> Vec<Argument> {
        let signature = format!("async fn f({written})");
        of(&syn::parse_str(&signature).unwrap_or_else(|error| panic!("{signature}: {error}")))
    }

    fn names(arguments: &[Argument]) -> Vec<String> {
        arguments
            .iter()
            .map(|argument| argument.name.to_string())
            .collect()
    }

    #[test]
    fn the_names_of_every_pattern_are_found_in_order() {
        let arguments = arguments(
            "&self, State(app): State<App>, (a, mut b): (u8, u8), [x, .., y]: [u8; 4], w @ R { z, .. }: R, \
             &n: &u8, ref r: String, _: u8, _guard: G, Unit: Unit",
        );
        assert_eq!(
            names(&arguments),
            [
                "self", "app", "a", "b", "x", "y", "w", "z", "n", "r", "_guard"
            ]
        );
    }

    #[test]
    fn an_argument_keeps_its_cfg_and_is_skipped_when_it_may_have_one() {
        let arguments =
            arguments("#[cfg(any())] a: u8, #[allow(unused)] b: u8, #[cfg_attr(x, cfg(y))] c: u8");
        assert_eq!(names(&arguments), ["a", "b"]);
        assert_eq!(
            arguments[0].cfgs.to_string().replace(' ', ""),
            "#[cfg(any())]"
        );
        assert!(
            arguments[1].cfgs.is_empty(),
            "only `cfg` decides whether there is a name"
        );
    }
}
