//! The return type: what a rejection has to be turned into, and where to say that it cannot.

use proc_macro2::{Delimiter, Group, Ident, Spacing, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{GenericArgument, PathArguments, PathSegment, ReturnType, Type, TypeParamBound};

use crate::span::Ends;

/// The type that carries a rejection.
pub(crate) struct Output {
    /// With `_` for every `impl Trait`: a `let` can have this type.
    pub(crate) nameable: TokenStream,
    /// Where an error about it belongs.
    pub(crate) ends: Ends,
}

impl Output {
    /// What an `async fn` returns; `name` stands for the type that is not written.
    pub(crate) fn of(output: &ReturnType, name: &Ident) -> Self {
        match output {
            ReturnType::Default => Self {
                nameable: quote!(()),
                ends: Ends::at(name.span()),
            },
            ReturnType::Type(_, ty) => Self {
                nameable: nameable(ty.to_token_stream()),
                ends: Ends::of(ty),
            },
        }
    }

    /// What a boxed future resolves to: `#[async_trait]` and `#[async_recursion]` leave such a
    /// function behind, and it can be written by hand.
    pub(crate) fn of_boxed_future(output: &ReturnType) -> Option<Self> {
        let ty = boxed_output(written(output)?)?;
        Some(Self {
            nameable: nameable(ty.to_token_stream()),
            ends: Ends::of(ty),
        })
    }

    /// Whether nothing is known about it: a bare `impl Trait`.
    pub(crate) fn is_unknown(&self) -> bool {
        self.nameable.to_string() == "_"
    }
}

/// The `!`, if that is all that is returned.
pub(crate) fn never(output: &ReturnType) -> Option<&Type> {
    written(output).filter(|ty| matches!(ty, Type::Never(_)))
}

pub(crate) fn is_impl_future(output: &ReturnType) -> bool {
    let Some(Type::ImplTrait(opaque)) = written(output) else {
        return false;
    };
    opaque.bounds.iter().any(|bound| future(bound).is_some())
}

fn written(output: &ReturnType) -> Option<&Type> {
    if let ReturnType::Type(_, ty) = output {
        Some(ungrouped(ty))
    } else {
        None
    }
}

fn ungrouped(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => ungrouped(&group.elem),
        Type::Paren(paren) => ungrouped(&paren.elem),
        other => other,
    }
}

fn boxed_output(ty: &Type) -> Option<&Type> {
    let outer = last_segment(ty)?;
    if outer.ident == "BoxFuture" || outer.ident == "LocalBoxFuture" {
        return type_argument(outer);
    }
    let inner = type_argument(outer)
        .filter(|_| outer.ident == "Pin")
        .and_then(last_segment)?;
    match type_argument(inner).filter(|_| inner.ident == "Box")? {
        Type::TraitObject(object) => object
            .bounds
            .iter()
            .find_map(|bound| associated_output(future(bound)?)),
        _ => None,
    }
}

fn last_segment(ty: &Type) -> Option<&PathSegment> {
    if let Type::Path(path) = ty {
        path.path.segments.last()
    } else {
        None
    }
}

fn type_argument(segment: &PathSegment) -> Option<&Type> {
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else {
        return None;
    };
    arguments.args.iter().find_map(|argument| {
        if let GenericArgument::Type(ty) = argument {
            Some(ungrouped(ty))
        } else {
            None
        }
    })
}

fn future(bound: &TypeParamBound) -> Option<&PathSegment> {
    let TypeParamBound::Trait(bound) = bound else {
        return None;
    };
    bound
        .path
        .segments
        .last()
        .filter(|segment| segment.ident == "Future")
}

fn associated_output(future: &PathSegment) -> Option<&Type> {
    let PathArguments::AngleBracketed(arguments) = &future.arguments else {
        return None;
    };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::AssocType(assoc) if assoc.ident == "Output" => Some(&assoc.ty),
        _ => None,
    })
}

/// Puts `_` where `impl Bound + Bound` stands, at any depth. It reads tokens, not types: there is
/// no way to replace the opaque part of a type that a later Rust will write differently.
fn nameable(tokens: TokenStream) -> TokenStream {
    let mut replaced = TokenStream::new();
    let mut trees = tokens.into_iter().peekable();
    while let Some(tree) = trees.next() {
        match tree {
            TokenTree::Ident(word) if word == "impl" => {
                replaced.extend([TokenTree::from(Ident::new("_", word.span()))]);
                let mut bounds = Bounds::default();
                while trees.next_if(|tree| bounds.contain(tree)).is_some() {}
            }
            TokenTree::Group(group) => replaced.extend([TokenTree::from(nameable_group(&group))]),
            other => replaced.extend([other]),
        }
    }
    replaced
}

fn nameable_group(group: &Group) -> Group {
    let mut replaced = Group::new(group.delimiter(), nameable(group.stream()));
    if group.delimiter() != Delimiter::None {
        replaced.set_span(group.span());
    }
    replaced
}

/// How far the bounds of an `impl Trait` reach: to a comma or a closing `>` of the type around it.
#[derive(Default)]
struct Bounds {
    depth: usize,
    is_arrow: bool,
}

impl Bounds {
    fn contain(&mut self, tree: &TokenTree) -> bool {
        let TokenTree::Punct(punct) = tree else {
            self.is_arrow = false;
            return true;
        };
        let closes = punct.as_char() == '>' && !self.is_arrow;
        self.is_arrow = punct.as_char() == '-' && punct.spacing() == Spacing::Joint;
        match punct.as_char() {
            '<' => self.depth += 1,
            '>' if closes && self.depth == 0 => return false,
            '>' if closes => self.depth -= 1,
            ',' | ';' if self.depth == 0 => return false,
            _ => {}
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(ty: &str) -> String {
        nameable(ty.parse().expect("the type is made of tokens"))
            .to_string()
            .replace(' ', "")
    }

    #[test]
    fn every_impl_trait_becomes_an_underscore() {
        for (ty, expected) in [
            ("Result<u32, E>", "Result<u32,E>"),
            ("impl IntoResponse", "_"),
            (
                "Result<impl Iterator<Item = Vec<u8>> + Send + 'a, E>",
                "Result<_,E>",
            ),
            (
                "Result<impl Fn(u32) -> Vec<u32> + use<'a>, E>",
                "Result<_,E>",
            ),
            ("Result<(impl A, [impl B; 2]), E>", "Result<(_,[_;2]),E>"),
            (
                "Result<Option<impl Fn() -> Box<dyn C>>, E>",
                "Result<Option<_>,E>",
            ),
        ] {
            assert_eq!(named(ty), expected, "{ty}");
        }
    }

    #[test]
    fn boxed_futures_are_told_from_other_boxes() {
        for (ty, expected) in [
            (
                "Pin<Box<dyn Future<Output = AppResult<u32>> + Send + 'a>>",
                Some("AppResult<u32>"),
            ),
            (
                "::core::pin::Pin<Box<dyn ::core::future::Future<Output = ()> + 'async_trait>>",
                Some("()"),
            ),
            (
                "futures::future::BoxFuture<'a, Result<(), E>>",
                Some("Result<(),E>"),
            ),
            ("Pin<Box<dyn Stream<Item = u32>>>", None),
            ("Box<dyn Future<Output = u32>>", None),
            ("Result<Pin<Box<dyn Future<Output = u32>>>, E>", None),
        ] {
            let output = syn::parse_str(&format!("-> {ty}")).expect("it is a return type");
            let found = Output::of_boxed_future(&output)
                .map(|output| output.nameable.to_string().replace(' ', ""));
            assert_eq!(found.as_deref(), expected, "{ty}");
        }
    }
}
