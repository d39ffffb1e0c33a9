//! The function under the attribute: its header as it was written, its body unread.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::ParseStream;
use syn::{Attribute, Error, GenericParam, Generics, Ident, Result, Signature, Token, Visibility};

use crate::arguments::{self, Argument};
use crate::item::{self, Found, Kind};
use crate::output::Output;
use crate::refusal;
use crate::span;

/// A function with a body.
pub(crate) struct Function {
    /// Everything before the body, byte for byte.
    pub(crate) header: TokenStream,
    /// `#![…]` at the start of the body: legal there, and nowhere deeper.
    pub(crate) inner_attributes: TokenStream,
    /// The user's own braces: when the temporaries of the last expression drop follows the edition
    /// of these very tokens. What is inside is never parsed: a half-typed body keeps its names in
    /// an editor.
    pub(crate) body: Group,
    pub(crate) name: Ident,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) shape: Shape,
    pub(crate) output: Output,
    /// The names that the arguments bind, in the order in which they are written.
    pub(crate) arguments: Vec<Argument>,
    /// The type and const parameters of the function itself.
    pub(crate) generics: Vec<Ident>,
    /// The rest of the header.
    pub(crate) signature: Signature,
    /// Why it cannot be guarded.
    pub(crate) refused: Option<Error>,
}

/// Who makes the future that is guarded.
pub(crate) enum Shape {
    Async,
    /// The body does, and returns it boxed, as this type.
    Boxed(TokenStream),
}

impl Function {
    /// # Errors
    /// On anything that is no function, or has no body.
    pub(crate) fn parse(item: TokenStream) -> Result<Self> {
        let (header, body) = split(item::ungrouped(item));
        let next = body.as_ref().map_or_else(Span::call_site, Group::span_open);
        let (attributes, signature) = span::parse(header.clone(), next, read_header)?;
        let Some(body) = body else {
            let text = "nothing to guard here: put `#[bulkhead]` on the implementation";
            return Err(Error::new(signature.ident.span(), text));
        };
        let (inner_attributes, body) = split_inner_attributes(body);
        let boxed =
            Output::of_boxed_future(&signature.output).filter(|_| signature.asyncness.is_none());
        let refused = refusal::of(&signature, boxed.is_some());
        let shape = match &boxed {
            Some(_) => Shape::Boxed(return_type(&signature)),
            None => Shape::Async,
        };
        Ok(Self {
            header,
            inner_attributes,
            body,
            attributes,
            shape,
            output: boxed.unwrap_or_else(|| Output::of(&signature.output, &signature.ident)),
            arguments: arguments::of(&signature),
            generics: parameters(&signature.generics),
            refused,
            name: signature.ident.clone(),
            signature,
        })
    }

    /// Another body, at the place of the user's: to lints and in errors, the function is as long as
    /// it was written.
    pub(crate) fn braces(&self, statements: TokenStream) -> Group {
        let mut braces = Group::new(Delimiter::Brace, statements);
        braces.set_span(self.body.span());
        braces
    }
}

/// The header, and the body if there is one: a last group in braces.
fn split(item: TokenStream) -> (TokenStream, Option<Group>) {
    let mut header: Vec<_> = item.into_iter().collect();
    let body = header
        .pop_if(|tree| braces(tree).is_some())
        .and_then(|tree| braces(&tree));
    (header.into_iter().collect(), body)
}

/// The group itself, or the one in a `$body:block`.
fn braces(tree: &TokenTree) -> Option<Group> {
    let TokenTree::Group(group) = tree else {
        return None;
    };
    match group.delimiter() {
        Delimiter::Brace => Some(group.clone()),
        Delimiter::None => {
            let mut inside = group.stream().into_iter();
            inside
                .next()
                .as_ref()
                .and_then(braces)
                .filter(|_| inside.next().is_none())
        }
        _ => None,
    }
}

fn split_inner_attributes(body: Group) -> (TokenStream, Group) {
    let trees: Vec<_> = body.stream().into_iter().collect();
    let is_inner_attribute = |three: &[TokenTree]| {
        let is =
            |tree: &TokenTree, c| matches!(tree, TokenTree::Punct(punct) if punct.as_char() == c);
        matches!(three, [hash, bang, TokenTree::Group(_)] if is(hash, '#') && is(bang, '!'))
    };
    let attributes = trees
        .chunks(3)
        .take_while(|three| is_inner_attribute(three))
        .count();
    if attributes == 0 {
        return (TokenStream::new(), body);
    }
    let (attributes, statements) = trees.split_at(attributes * 3);
    let mut rest = Group::new(Delimiter::Brace, statements.iter().cloned().collect());
    rest.set_span(body.span());
    (attributes.iter().cloned().collect(), rest)
}

fn read_header(input: ParseStream<'_>) -> Result<(Vec<Attribute>, Signature)> {
    let attributes = input.call(Attribute::parse_outer)?;
    let found = Found::at(input)?;
    if !matches!(found.kind, Kind::Function) {
        return Err(refusal::no_function(&found));
    }
    input.parse::<Visibility>().map(drop)?;
    input.parse::<Option<Token![default]>>()?;
    let signature = input.parse().map_err(|error: Error| {
        Error::new(
            error.span(),
            format!("`#[bulkhead]` cannot read this signature: {error}"),
        )
    })?;
    input.parse::<Option<Token![;]>>()?;
    Ok((attributes, signature))
}

fn return_type(signature: &Signature) -> TokenStream {
    match &signature.output {
        syn::ReturnType::Default => quote!(()),
        syn::ReturnType::Type(_, ty) => ty.to_token_stream(),
    }
}

fn parameters(generics: &Generics) -> Vec<Ident> {
    let names = generics
        .params
        .iter()
        .filter_map(|parameter| match parameter {
            GenericParam::Type(ty) => Some(&ty.ident),
            GenericParam::Const(number) => Some(&number.ident),
            GenericParam::Lifetime(_) => None,
        });
    names.cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(item: &str) -> Function {
        Function::parse(item.parse().expect("the item is made of tokens"))
            .unwrap_or_else(|error| panic!("{item}: {error}"))
    }

    #[test]
    fn a_body_that_is_half_typed_is_still_a_body() {
        let function = parsed("pub async fn f(a: u32) -> Result<u32, E> { let x = a. ; if x { } }");
        assert_eq!(function.name, "f");
        assert!(function.refused.is_none(), "it is an async fn");
    }

    #[test]
    fn inner_attributes_leave_the_body() {
        let function = parsed(
            "async fn f() { #![allow(unused)] #![doc = \"x\"] #[allow(dead_code)] fn g() {} }",
        );
        assert_eq!(
            function.inner_attributes.to_string().matches('#').count(),
            2,
            "{}",
            function.inner_attributes
        );
        assert!(
            function.body.stream().to_string().starts_with("# [allow"),
            "{}",
            function.body
        );
    }
}
