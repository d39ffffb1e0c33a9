//! `#[partition]`: the initialiser of a `static NAME: Partition;`, and its registration.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::parse::{ParseStream, Parser};
use syn::{Error, Result, Token, Type, Visibility};

use crate::args::Args;
use crate::fallback;
use crate::item::{self, Found, Kind};
use crate::keys::Attribute;
use crate::policy::Policy;
use crate::span::Ends;

pub(crate) fn partition(list: TokenStream, item: TokenStream) -> TokenStream {
    let (args, mut errors) = Args::parse(Attribute::Partition, list);
    let declaration = match Static::parse.parse2(item::ungrouped(item.clone())) {
        Ok(declaration) => declaration,
        Err(error) => {
            errors.push(error);
            return fallback::beside(&item, &errors);
        }
    };
    errors.extend(args.missing(Attribute::Partition));
    errors.extend(declaration.refused.clone());
    match args.runtime() {
        Some(runtime) => fallback::beside(&declaration.initialised(&args, &runtime), &errors),
        None => fallback::beside(&TokenStream::new(), &errors),
    }
}

/// `static NAME: Partition;`
struct Static {
    /// Everything before the semicolon.
    header: TokenStream,
    name: Ident,
    ty: Type,
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
        let static_token: Token![static] = input.parse()?;
        let mutability: Option<Token![mut]> = input.parse()?;
        let name: Ident = input.parse()?;
        let colon: Token![:] = input.parse()?;
        let ty: Type = input.parse()?;
        let refused = mutability
            .map(|token| Error::new(token.span, "a partition is shared as it is: remove `mut`"));
        let refused = refused.or(initialiser(input)?);
        input.parse::<Token![;]>()?;
        let header = quote!(#(#attributes)* #visibility #static_token #name #colon #ty);
        Ok(Self {
            header,
            name,
            ty,
            refused,
        })
    }

    /// The registration stands inside the initialiser: there it is under every `#[cfg]` of the
    /// static.
    fn initialised(&self, args: &Args, runtime: &TokenStream) -> TokenStream {
        let Self {
            header, name, ty, ..
        } = self;
        let policy = Policy::new(args, runtime);
        let (constants, partition) = (policy.constants(), policy.partition());
        // A static of another type is an error under that type.
        let typed = Ends::of(ty).move_here(quote_spanned!(Span::mixed_site()=> partition));
        quote_spanned! {Span::mixed_site()=>
            #header = {
                #constants
                #runtime::__private::inventory::submit! {
                    #runtime::__private::Registration::new(&#name)
                }
                let partition: #runtime::Partition = #partition;
                #typed
            };
        }
    }
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
