//! The module under `#[dependency]`: its partitions, found without parsing what they stand among.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::discouraged::Speculative;
use syn::parse::{ParseStream, Parser};
use syn::{Attribute, Error, Meta, Result, Token, Type, Visibility};

use crate::args::Shared;
use crate::conditions::{self, Conditional};
use crate::item::{self, Found, Kind};
use crate::keys;
use crate::list;
use crate::partition::is_partition;
use crate::span;

/// An inline module.
pub(crate) struct Module {
    /// Everything before the braces, byte for byte.
    pub(crate) header: TokenStream,
    /// The user's own braces, unread.
    pub(crate) body: Group,
    pub(crate) name: Ident,
    /// The `#[cfg]`s of the module itself.
    pub(crate) cfgs: TokenStream,
    pub(crate) partitions: Vec<Member>,
    /// What stands in it and makes no sense in a dependency.
    pub(crate) refused: Vec<Error>,
}

/// A static under `#[partition]`.
pub(crate) struct Member {
    pub(crate) name: Ident,
    pub(crate) ty: Type,
    /// Under which it is there, and is a partition.
    pub(crate) cfgs: TokenStream,
}

impl Module {
    /// # Errors
    /// On anything that is no inline module.
    pub(crate) fn parse(item: TokenStream) -> Result<Self> {
        let item = item::ungrouped(item);
        let (header, body) = split(item.clone());
        let next = body.as_ref().map_or_else(Span::call_site, Group::span_open);
        let (attributes, name) = span::parse(header.clone(), next, read_header)?;
        let Some(body) = body else {
            let text = "`#[dependency]` has to see the partitions: write the module inline";
            return Err(Error::new(name.span(), text));
        };
        let mut inside = Inside::default();
        inside.read(&body);
        if !inside.has_partition {
            inside.refused.push(Error::new(
                name.span(),
                "a dependency has at least one partition: `#[partition(name = \"report\", max = 4)] static REPORT: Partition;` in this module",
            ));
        }
        Ok(Self {
            header,
            body,
            name,
            cfgs: [attributes, inside.attributes]
                .iter()
                .map(|attributes| conditions::cfgs(&conditions::unwrapped(attributes)))
                .collect(),
            partitions: inside.partitions,
            refused: inside.refused,
        })
    }

    /// The module with `more` behind its items.
    pub(crate) fn with(&self, more: Option<TokenStream>) -> TokenStream {
        let mut items = self.body.stream();
        items.extend(more);
        let mut body = Group::new(Delimiter::Brace, items);
        body.set_span(self.body.span());
        let mut module = self.header.clone();
        module.extend([TokenTree::from(body)]);
        module
    }
}

/// The header, and the braces if there are any.
fn split(item: TokenStream) -> (TokenStream, Option<Group>) {
    let mut header: Vec<_> = item.into_iter().collect();
    let body = match header.last() {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
            Some(group.clone())
        }
        _ => None,
    };
    header.truncate(header.len() - usize::from(body.is_some()));
    (header.into_iter().collect(), body)
}

fn read_header(input: ParseStream<'_>) -> Result<(Vec<Attribute>, Ident)> {
    let attributes = input.call(Attribute::parse_outer)?;
    let found = Found::at(input)?;
    if !matches!(found.kind, Kind::Other("a module")) {
        return Err(no_module(&found));
    }
    input.parse::<Visibility>().map(drop)?;
    input.parse::<Option<Token![unsafe]>>()?;
    input.parse::<Token![mod]>()?;
    let name = input.parse()?;
    input.parse::<Option<Token![;]>>()?;
    Ok((attributes, name))
}

fn no_module(found: &Found) -> Error {
    let what = match &found.kind {
        Kind::Function => "a function",
        Kind::Methods => "an `impl` block or a trait",
        Kind::Call(_) => "a macro call",
        Kind::Other(what) => what,
    };
    let text = match &found.kind {
        Kind::Other("a static") => ": it stands on the module around the partitions".to_owned(),
        _ => format!(", found {what}"),
    };
    Error::new(
        found.span,
        format!("`#[dependency]` can only be used on an inline module{text}"),
    )
}

/// What is inside of the braces, as far as it matters.
#[derive(Default)]
struct Inside {
    /// `#![…]`, of the module itself.
    attributes: Vec<Attribute>,
    partitions: Vec<Member>,
    has_partition: bool,
    refused: Vec<Error>,
}

impl Inside {
    fn read(&mut self, body: &Group) {
        let items = |input: ParseStream<'_>| {
            let ahead = input.fork();
            if let Ok(attributes) = ahead.call(Attribute::parse_inner) {
                input.advance_to(&ahead);
                self.attributes = attributes;
            }
            while !input.is_empty() {
                self.attributed(input);
            }
            Ok(())
        };
        // It takes whatever comes, and never fails.
        items.parse2(flat(body.stream())).ok();
    }

    /// Attributes and a look at what stands behind them, or one tree of something else: an item without
    /// an attribute is none of ours.
    fn attributed(&mut self, input: ParseStream<'_>) {
        let ahead = input.fork();
        match ahead.call(Attribute::parse_outer) {
            Ok(attributes) if !attributes.is_empty() => {
                input.advance_to(&ahead);
                self.item(&conditions::unwrapped(&attributes), input);
            }
            _ => {
                input.parse::<TokenTree>().ok();
            }
        }
    }

    fn item(&mut self, attributes: &[Conditional], input: ParseStream<'_>) {
        let is_partition = |attribute: &&Conditional| attribute.is("partition");
        let is_called_so = attributes.iter().any(|attribute| is_partition(&attribute));
        self.has_partition |= is_called_so;
        // One that is wrong in itself is the business of `#[partition]`. One whose attribute has another name
        // here has no initialiser either, and only that attribute can make it legal.
        if let Ok((name, ty)) = declaration(&input.fork()) {
            let mut cfgs = conditions::cfgs(attributes);
            if is_called_so {
                cfgs.extend(conditions::any_of(attributes.iter().filter(is_partition)));
            }
            self.has_partition = true;
            self.partitions.push(Member { name, ty, cfgs });
        }
        let is_function = || matches!(Found::at(&input.fork()), Ok(found) if matches!(found.kind, Kind::Function));
        let mut guards = attributes
            .iter()
            .filter(|attribute| attribute.is("bulkhead"));
        if let Some(guard) = guards.find_map(unseen)
            && is_function()
        {
            self.refused.push(guard);
        }
    }
}

/// `static NAME: Partition;`, as it stands before `#[partition]` has written the initialiser.
fn declaration(input: ParseStream<'_>) -> Result<(Ident, Type)> {
    input.parse::<Visibility>().map(drop)?;
    input.parse::<Token![static]>()?;
    input.parse::<Option<Token![mut]>>()?;
    let name = input.parse()?;
    input.parse::<Token![:]>()?;
    let ty: Type = input.parse()?;
    if is_partition(&ty) && input.peek(Token![;]) {
        Ok((name, ty))
    } else {
        Err(input.error("no partition"))
    }
}

/// The partition that a function in the module declares for itself.
fn unseen(guard: &Conditional) -> Option<Error> {
    let Meta::List(list) = &guard.meta else {
        return None;
    };
    let (args, _) = list::read(keys::Attribute::Bulkhead, list.tokens.clone());
    let name = args
        .name
        .value()
        .filter(|_| matches!(args.shared, Shared::No))?;
    let written = &name.tokens;
    Some(name.ends.error(format!(
        "the sum of the dependency cannot see the partition of a function: declare it as a static here, so that the \
         sum counts it: `#[partition(name = {written}, …)] static NAME: Partition;`, and write `#[bulkhead(NAME)]`"
    )))
}

/// Without the invisible groups around fragments of `macro_rules!`.
fn flat(tokens: TokenStream) -> TokenStream {
    let flattened = tokens.into_iter().map(|tree| match tree {
        TokenTree::Group(group) if group.delimiter() == Delimiter::None => flat(group.stream()),
        other => other.into(),
    });
    flattened.collect()
}

/// The name as a text has it.
pub(crate) fn text_of(name: &Ident) -> String {
    name.unraw().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(item: &str) -> Module {
        Module::parse(item.parse().expect("the item is made of tokens"))
            .unwrap_or_else(|error| panic!("{item}: {error}"))
    }

    fn members(body: &str) -> Vec<(String, String)> {
        let members = parsed(&format!("mod a {{ {body} }}"))
            .partitions
            .into_iter();
        members
            .map(|member| {
                let cfgs = member.cfgs.to_string().replace(' ', "");
                (member.name.to_string(), cfgs)
            })
            .collect()
    }

    #[test]
    fn partitions_are_found_among_whatever_else_there_is() {
        let found = members(
            "#![allow(x)] use a::{b, c}; impl A<{ N }> for B { #[x] fn f() {} } /// doc
             #[partition(name = \"a\", max = 1)] pub(super) static A: Partition;
             const X: [u8; { 3 }] = { [0; 3] }; make! { #[partition] static NOT: Partition; } #[derive(X)] struct S;
             #[cfg(x)] #[bulkhead_runtime::partition(max = 1)] static B: bulkhead_runtime::Partition;
             #[cfg_attr(y, partition(max = 1))] static C: Partition; #[doc = \"x\"] static D: Partition = d();
             #[partition(max = 1)] static E: u8; #[share(max = 1)] static F: Partition; #[doc = \"x\"] static G: Partition = g();
             fn half() -> impl F",
        );
        let expected = [
            ("A", ""),
            ("B", "#[cfg(x)]"),
            ("C", "#[cfg(any(all(y,),))]"),
            ("F", ""),
        ];
        let found: Vec<_> = found
            .iter()
            .map(|(a, b)| (a.as_str(), b.as_str()))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_no_dependency_is_refused_once() {
        for (item, expected) in [
            ("mod a;", "`#[dependency]` has to see the partitions"),
            (
                "fn f() {}",
                "`#[dependency]` can only be used on an inline module, found a function",
            ),
            (
                "static A: Partition;",
                "`#[dependency]` can only be used on an inline module: it stands",
            ),
            (
                "struct A;",
                "`#[dependency]` can only be used on an inline module, found a struct",
            ),
            (
                "impl A {}",
                "`#[dependency]` can only be used on an inline module, found an `impl`",
            ),
            (
                "a! {}",
                "`#[dependency]` can only be used on an inline module, found a macro call",
            ),
        ] {
            let text = Module::parse(item.parse().expect("the item is made of tokens"))
                .err()
                .map(|error| error.to_string());
            assert!(
                text.as_ref().is_some_and(|text| text.starts_with(expected)),
                "{item}: {text:?}"
            );
        }
        for (body, errors) in [
            ("", 1),
            ("static A: Partition;", 1),
            ("#[partition] const A: u8 = 1;", 0),
            (
                "#[partition] static A: Partition; #[bulkhead(A)] async fn f() {}",
                0,
            ),
            (
                "#[partition] static A: Partition; #[bulkhead(name = \"x\")] async fn f() {}",
                1,
            ),
            (
                "#[partition] static A: Partition; #[cfg_attr(x, bulkhead(name = \"x\"))] pub async fn f() {}",
                1,
            ),
        ] {
            let refused = parsed(&format!("mod a {{ {body} }}")).refused;
            assert_eq!(refused.len(), errors, "{body}: {refused:?}");
        }
    }
}
