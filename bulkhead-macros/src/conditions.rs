//! Under which `#[cfg]`s an item stands, also through `#[cfg_attr]`: what names the item elsewhere has
//! to stand under the same ones.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::{Attribute, Meta};

/// An attribute, and the predicates of every `#[cfg_attr]` around it.
pub(crate) struct Conditional {
    pub(crate) meta: Meta,
    when: Vec<TokenStream>,
}

/// The attributes of an item, none of them a `cfg_attr`.
pub(crate) fn unwrapped(attributes: &[Attribute]) -> Vec<Conditional> {
    let metas = attributes.iter().map(|attribute| &attribute.meta);
    metas
        .flat_map(|meta| unwrapped_meta(meta.clone(), Vec::new()))
        .collect()
}

fn unwrapped_meta(meta: Meta, when: Vec<TokenStream>) -> Vec<Conditional> {
    let Meta::List(list) = &meta else {
        return vec![Conditional { meta, when }];
    };
    if !list.path.is_ident("cfg_attr") {
        return vec![Conditional { meta, when }];
    }
    let mut parts = between_commas(list.tokens.clone()).into_iter();
    let when: Vec<_> = when.into_iter().chain(parts.next()).collect();
    parts
        .filter_map(|part| syn::parse2(part).ok())
        .flat_map(|meta| unwrapped_meta(meta, when.clone()))
        .collect()
}

fn between_commas(tokens: TokenStream) -> Vec<TokenStream> {
    let mut parts = vec![TokenStream::new()];
    for tree in tokens {
        match (&tree, parts.last_mut()) {
            (TokenTree::Punct(punct), _) if punct.as_char() == ',' => {
                parts.push(TokenStream::new());
            }
            (_, Some(part)) => part.extend([tree]),
            (_, None) => {}
        }
    }
    parts
}

impl Conditional {
    /// Whether the last word of its path is `name`.
    pub(crate) fn is(&self, name: &str) -> bool {
        let last = self.meta.path().segments.last();
        last.is_some_and(|segment| segment.ident == name)
    }
}

/// The `#[cfg]`s among them: of `#[cfg_attr(a, cfg(b))]`, that is "not `a`, or `b`".
pub(crate) fn cfgs(attributes: &[Conditional]) -> TokenStream {
    let cfgs = attributes.iter().filter_map(|attribute| {
        let Meta::List(list) = &attribute.meta else {
            return None;
        };
        let predicate = list.path.is_ident("cfg").then(|| list.tokens.clone())?;
        Some(if attribute.when.is_empty() {
            cfg(&predicate)
        } else {
            let unless = list_of("not", [list_of("all", attribute.when.clone())]);
            cfg(&list_of("any", [unless, predicate]))
        })
    });
    cfgs.collect()
}

/// The `#[cfg]` under which at least one of these attributes is there; nothing if one always is.
pub(crate) fn any_of<'a>(attributes: impl Iterator<Item = &'a Conditional>) -> TokenStream {
    let attributes: Vec<_> = attributes.collect();
    if attributes.iter().any(|attribute| attribute.when.is_empty()) {
        return TokenStream::new();
    }
    let all = attributes
        .iter()
        .map(|attribute| list_of("all", attribute.when.clone()));
    cfg(&list_of("any", all))
}

fn cfg(predicate: &TokenStream) -> TokenStream {
    quote_spanned!(Span::mixed_site()=> #[cfg(#predicate)])
}

fn list_of(word: &str, parts: impl IntoIterator<Item = TokenStream>) -> TokenStream {
    let word = Ident::new(word, Span::mixed_site());
    let mut inside = TokenStream::new();
    for part in parts {
        inside.extend(quote_spanned!(Span::mixed_site()=> #part,));
    }
    let parentheses = Group::new(Delimiter::Parenthesis, inside);
    quote_spanned!(Span::mixed_site()=> #word #parentheses).to_token_stream()
}

#[cfg(test)]
mod tests {
    use syn::parse::Parser;

    use super::*;

    fn read(written: &str) -> Vec<Conditional> {
        let attributes = Attribute::parse_outer.parse_str(written);
        unwrapped(&attributes.unwrap_or_else(|error| panic!("{written}: {error}")))
    }

    fn text(tokens: &TokenStream) -> String {
        tokens.to_string().replace(' ', "")
    }

    #[test]
    fn every_cfg_is_copied_as_it_counts() {
        for (written, expected) in [
            ("#[doc = \"x, y\"] #[inline]", ""),
            (
                "#[cfg(a)] #[allow(x)] #[cfg(not(b))]",
                "#[cfg(a)]#[cfg(not(b))]",
            ),
            (
                "#[cfg_attr(a, allow(x), cfg(b))]",
                "#[cfg(any(not(all(a,),),b,))]",
            ),
            (
                "#[cfg_attr(a, cfg_attr(any(b, c), cfg(d)))]",
                "#[cfg(any(not(all(a,any(b,c),),),d,))]",
            ),
        ] {
            assert_eq!(text(&cfgs(&read(written))), expected, "{written}");
        }
    }

    #[test]
    fn an_attribute_is_there_when_one_of_its_conditions_holds() {
        let present = |written: &str| {
            let attributes = read(written);
            let named = attributes
                .iter()
                .filter(|attribute| attribute.is("partition"));
            text(&any_of(named))
        };
        assert_eq!(present("#[x::partition(max = 4)]"), "");
        assert_eq!(
            present("#[cfg_attr(a, partition(max = 4))]"),
            "#[cfg(any(all(a,),))]"
        );
        assert_eq!(
            present("#[cfg_attr(a, partition(x))] #[cfg_attr(b, cfg_attr(c, partition(y)))]"),
            "#[cfg(any(all(a,),all(b,c,),))]"
        );
        assert_eq!(present("#[cfg_attr(a, partition(x))] #[partition(y)]"), "");
    }
}
