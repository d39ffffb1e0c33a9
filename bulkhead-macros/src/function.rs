//! The function under the attribute: its header as it was written, its body unread.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::{ParseStream, Parser};
use syn::{
    Attribute, Error, FnArg, GenericParam, Generics, Ident, Pat, Result, Signature, Token,
    Visibility,
};

use crate::item::{self, Found, Kind};
use crate::output::Output;
use crate::refusal;

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
    /// Why it cannot be guarded.
    pub(crate) refused: Option<Error>,
}

/// Who makes the future that is guarded.
pub(crate) enum Shape {
    Async,
    /// The body does, and returns it boxed, as this type.
    Boxed(TokenStream),
}

/// A name that an argument binds, with the `#[cfg]`s it stands under.
pub(crate) struct Argument {
    pub(crate) name: Ident,
    pub(crate) cfgs: TokenStream,
}

impl Function {
    /// # Errors
    /// On anything that is no function, or has no body.
    pub(crate) fn parse(item: TokenStream) -> Result<Self> {
        let (header, body) = split(item::ungrouped(item));
        let (attributes, signature) = read_header.parse2(header.clone())?;
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
            arguments: signature.inputs.iter().flat_map(bound_names).collect(),
            generics: parameters(&signature.generics),
            refused,
            name: signature.ident,
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

fn bound_names(argument: &FnArg) -> Vec<Argument> {
    let mut names = Vec::new();
    let attributes = match argument {
        FnArg::Receiver(receiver) => {
            names.push(Ident::new("self", receiver.self_token.span));
            &receiver.attrs
        }
        FnArg::Typed(typed) => {
            collect_names(&typed.pat, &mut names);
            &typed.attrs
        }
    };
    if attributes
        .iter()
        .any(|attribute| attribute.path().is_ident("cfg_attr"))
    {
        return Vec::new();
    }
    let cfgs: TokenStream = attributes
        .iter()
        .filter(|a| a.path().is_ident("cfg"))
        .map(ToTokens::to_token_stream)
        .collect();
    names
        .into_iter()
        .map(|name| Argument {
            name,
            cfgs: cfgs.clone(),
        })
        .collect()
}

/// In a pattern, a word in upper case is a unit struct or a constant, and binds nothing.
fn collect_names(pattern: &Pat, names: &mut Vec<Ident>) {
    match pattern {
        Pat::Ident(binding) => {
            if !binding.ident.to_string().starts_with(char::is_uppercase) {
                names.push(binding.ident.clone());
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

    fn parsed(item: &str) -> Function {
        Function::parse(item.parse().expect("the item is made of tokens"))
            .unwrap_or_else(|error| panic!("{item}: {error}"))
    }

    fn names(function: &Function) -> Vec<String> {
        function
            .arguments
            .iter()
            .map(|argument| argument.name.to_string())
            .collect()
    }

    #[test]
    fn a_body_that_is_half_typed_is_still_a_body() {
        let function = parsed("pub async fn f(a: u32) -> Result<u32, E> { let x = a. ; if x { } }");
        assert_eq!(function.name, "f");
        assert!(function.refused.is_none(), "it is an async fn");
    }

    #[test]
    fn the_names_of_every_pattern_are_found_in_order() {
        let function = parsed(
            "async fn f(&self, State(app): State<App>, (a, mut b): (u8, u8), [x, .., y]: [u8; 4], w @ R { z, .. }: R, \
             &n: &u8, ref r: String, _: u8, _guard: G, Unit: Unit) {}",
        );
        assert_eq!(
            names(&function),
            [
                "self", "app", "a", "b", "x", "y", "w", "z", "n", "r", "_guard"
            ]
        );
    }

    #[test]
    fn an_argument_keeps_its_cfg_and_is_skipped_when_it_may_have_one() {
        let function = parsed(
            "async fn f(#[cfg(any())] a: u8, #[allow(unused)] b: u8, #[cfg_attr(x, cfg(y))] c: u8) {}",
        );
        assert_eq!(names(&function), ["a", "b"]);
        assert_eq!(
            function.arguments[0].cfgs.to_string().replace(' ', ""),
            "#[cfg(any())]"
        );
        assert!(
            function.arguments[1].cfgs.is_empty(),
            "only `cfg` decides whether there is a name"
        );
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

    #[test]
    fn what_cannot_be_guarded_is_refused_once() {
        for (item, expected) in [
            (
                "const fn f() {}",
                "a permit cannot be taken in a `const fn`",
            ),
            (
                "async fn f(a: u8, ...) {}",
                "a variadic function cannot be guarded",
            ),
            (
                "fn f() {}",
                "`#[bulkhead]` can only be used on an `async fn`\n",
            ),
            (
                "fn f() -> impl Future<Output = u8> + Send { g() }",
                "`#[bulkhead]` guards the body of an `async fn`",
            ),
            (
                "async fn f() -> ! { loop {} }",
                "`#[bulkhead]` cannot report a rejection through the return type `!`",
            ),
        ] {
            let text = parsed(item).refused.map(|error| error.to_string());
            assert!(
                text.as_ref().is_some_and(|text| text.starts_with(expected)),
                "{item}: {text:?}"
            );
        }
    }
}
