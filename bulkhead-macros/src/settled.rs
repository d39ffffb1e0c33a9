//! The boxed future of a function that settles: what it borrows lives for ever.

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};

/// `'static` where the type says how long the future lives: behind a `+`, and in `BoxFuture<'a, …>`.
pub(crate) fn for_ever(ty: TokenStream) -> TokenStream {
    let mut replaced: Vec<TokenTree> = Vec::new();
    for tree in ty {
        let tree = match tree {
            TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
                Group::new(Delimiter::None, for_ever(group.stream())).into()
            }
            TokenTree::Ident(lifetime) if is_how_long(&replaced) => {
                Ident::new("static", lifetime.span()).into()
            }
            other => other,
        };
        replaced.push(tree);
    }
    replaced.into_iter().collect()
}

fn is_how_long(before: &[TokenTree]) -> bool {
    let is = |tree: &TokenTree, c| matches!(tree, TokenTree::Punct(punct) if punct.as_char() == c);
    match before {
        [.., plus, quote] if is(plus, '+') && is(quote, '\'') => true,
        [.., TokenTree::Ident(word), open, quote] if is(open, '<') && is(quote, '\'') => {
            word == "BoxFuture" || word == "LocalBoxFuture"
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_future_itself_lives_for_ever() {
        for (ty, expected) in [
            (
                "Pin<Box<dyn Future<Output = Result<Cow<'a, str>, E>> + Send + 'async_trait>>",
                "Pin<Box<dynFuture<Output=Result<Cow<'a,str>,E>>+Send+'static>>",
            ),
            ("BoxFuture<'a, A<'a>>", "BoxFuture<'static,A<'a>>"),
        ] {
            let ty = for_ever(ty.parse().expect("the type is made of tokens"));
            assert_eq!(ty.to_string().replace(' ', ""), expected);
        }
    }
}
