//! What kind of item an attribute stands on, told from its first tokens.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Ident, LitStr, Path, Result, Token, Visibility};

/// An item that is not what the attribute needs.
pub(crate) struct Found {
    pub(crate) span: Span,
    pub(crate) kind: Kind,
}

pub(crate) enum Kind {
    Function,
    /// `impl` block or trait: its methods can be functions.
    Methods,
    /// A macro call, and the path of the macro.
    Call(String),
    /// The article belongs to it: "a struct".
    Other(&'static str),
}

impl Found {
    /// Looks at the item, whose outer attributes are already read.
    pub(crate) fn at(input: ParseStream<'_>) -> Result<Self> {
        let ahead = input.fork();
        ahead.parse::<Visibility>().map(drop)?;
        if let Some(span) = function(&ahead) {
            return Ok(Self {
                span,
                kind: Kind::Function,
            });
        }
        let mut word: Ident = ahead.call(Ident::parse_any)?;
        while matches!(
            word.to_string().as_str(),
            "unsafe" | "default" | "auto" | "safe"
        ) {
            word = ahead.call(Ident::parse_any)?;
        }
        let kind = match word.to_string().as_str() {
            "impl" | "trait" => Kind::Methods,
            "macro_rules" | "macro" => Kind::Other("a macro definition"),
            "extern" if ahead.peek(Token![crate]) => Kind::Other("an `extern crate`"),
            keyword => match other(keyword) {
                Some(what) => Kind::Other(what),
                None => Kind::Call(called(input)?),
            },
        };
        Ok(Self {
            span: word.span(),
            kind,
        })
    }
}

/// The `fn` token behind any qualifiers.
fn function(input: ParseStream<'_>) -> Option<Span> {
    let ahead = input.fork();
    loop {
        let word: Ident = ahead.call(Ident::parse_any).ok()?;
        match word.to_string().as_str() {
            "fn" => return Some(word.span()),
            "const" | "async" | "unsafe" | "safe" | "default" | "gen" => {}
            "extern" => ahead.parse::<Option<LitStr>>().map(drop).ok()?,
            _ => return None,
        }
    }
}

fn other(keyword: &str) -> Option<&'static str> {
    Some(match keyword {
        "struct" => "a struct",
        "enum" => "an enum",
        "union" => "a union",
        "type" => "a type alias",
        "static" => "a static",
        "const" => "a constant",
        "use" => "a `use` declaration",
        "mod" => "a module",
        "extern" => "an extern block",
        _ => return None,
    })
}

fn called(input: ParseStream<'_>) -> Result<String> {
    let ahead = input.fork();
    let path: Path = ahead.call(Path::parse_mod_style)?;
    ahead.parse::<Token![!]>()?;
    let names: Vec<_> = path
        .segments
        .iter()
        .map(|segment| segment.ident.to_string())
        .collect();
    Ok(names.join("::"))
}

/// A whole `$item:item` arrives in a group without delimiters.
pub(crate) fn ungrouped(item: TokenStream) -> TokenStream {
    let mut trees = item.clone().into_iter();
    match (trees.next(), trees.next()) {
        (Some(TokenTree::Group(group)), None) if group.delimiter() == Delimiter::None => {
            ungrouped(group.stream())
        }
        _ => item,
    }
}
