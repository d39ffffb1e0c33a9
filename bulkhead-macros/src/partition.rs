//! `#[partition]`: the initialiser of a `static NAME: Partition;`, and its registration.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::parse::ParseStream;
use syn::{Error, Result, Token, Type, Visibility};

use crate::args::{Args, default_runtime};
use crate::fallback;
use crate::item::{self, Found, Kind};
use crate::keys::Attribute;
use crate::list;
use crate::policy::Policy;
use crate::span::{self, Ends};

pub(crate) fn partition(tokens: TokenStream, item: &TokenStream) -> TokenStream {
    let (mut args, mut errors) = list::read(Attribute::Partition, tokens);
    let declaration = match span::parse(
        item::ungrouped(item.clone()),
        Span::call_site(),
        Static::parse,
    ) {
        Ok(declaration) => declaration,
        Err(error) => {
            errors.push(error);
            return fallback::beside(item, &errors);
        }
    };
    errors.extend(args.missing(Attribute::Partition, Span::call_site()));
    errors.extend(declaration.refused.clone());
    let runtime = args.runtime().unwrap_or_else(default_runtime);
    fallback::beside(&declaration.initialised(&args, &runtime), &errors)
}

/// `static NAME: Partition;`
struct Static {
    /// Everything before the colon.
    header: TokenStream,
    name: Ident,
    /// What the user wrote, unless that is wrong.
    ty: Option<Type>,
    refused: Option<Error>,
}

impl Static {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let attributes = input.call(syn::Attribute::parse_outer)?;
        let found = Found::at(input)?;
        if !matches!(found.kind, Kind::Other("a static")) {
            return Err(no_static(&found));
        }
        let visibility: Visibility = input.parse()?;
        let keyword: Token![static] = input.parse()?;
        let mutability: Option<Token![mut]> = input.parse()?;
        let name: Ident = input.parse()?;
        input.parse::<Token![:]>()?;
        let ty: Type = input.parse()?;
        let of_other_type = other_type(&ty);
        let with_initialiser = initialiser(input)?;
        input.parse::<Token![;]>()?;
        Ok(Self {
            header: quote!(#(#attributes)* #visibility #keyword #name),
            name,
            ty: Some(ty).filter(|_| of_other_type.is_none()),
            refused: mutability
                .map(mutable)
                .or(of_other_type)
                .or(with_initialiser),
        })
    }

    /// The registration stands inside the initialiser: there it is under every `#[cfg]` of the
    /// static.
    fn initialised(&self, args: &Args, runtime: &TokenStream) -> TokenStream {
        let Self {
            header, name, ty, ..
        } = self;
        let policy = Policy::new(Attribute::Partition, args, runtime);
        let (constants, partition) = (policy.constants(), policy.partition());
        let ty = ty
            .as_ref()
            .map_or_else(|| quote!(#runtime::Partition), ToTokens::to_token_stream);
        quote_spanned! {Span::mixed_site()=>
            #header: #ty = {
                #constants
                #runtime::__private::inventory::submit! {
                    #runtime::__private::Registration::new(&#name)
                }
                #partition
            };
        }
    }
}

fn mutable(token: Token![mut]) -> Error {
    Error::new(token.span, "a partition is shared as it is: remove `mut`")
}

pub(crate) fn is_partition(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "Partition"))
}

/// rustc would say it twice: about the initialiser, and about the registration.
fn other_type(ty: &Type) -> Option<Error> {
    (!is_partition(ty)).then(|| {
        let found = ty.to_token_stream();
        Ends::of(ty).error(format!(
            "a partition has the type `Partition`, found `{found}`"
        ))
    })
}

fn initialiser(input: ParseStream<'_>) -> Result<Option<Error>> {
    let Some(equals) = input.parse::<Option<Token![=]>>()? else {
        return Ok(None);
    };
    let mut value = equals.to_token_stream();
    while !input.peek(Token![;]) && !input.is_empty() {
        value.extend([input.parse::<TokenTree>()?]);
    }
    Ok(Some(Error::new_spanned(
        value,
        "`#[partition]` writes the initialiser: end the line after the type",
    )))
}

fn no_static(found: &Found) -> Error {
    let text = match found.kind {
        Kind::Function => {
            "`#[partition]` declares a partition on `static NAME: Partition;`; on a function, use `#[bulkhead]`"
        }
        Kind::Methods => "`#[partition]` can only be used on a `static NAME: Partition;`",
        Kind::Call(_) => {
            "`#[partition]` cannot see through a macro: put it on the static inside the macro"
        }
        Kind::Other(what) => {
            return Error::new(
                found.span,
                format!(
                    "`#[partition]` can only be used on a `static NAME: Partition;`, found {what}"
                ),
            );
        }
    };
    Error::new(found.span, text)
}
