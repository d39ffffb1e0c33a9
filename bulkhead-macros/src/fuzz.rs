//! Any list on any item: whatever is written, the macro answers with tokens, the item among them,
//! and with one error at each place that is wrong.

mod grammar;

use std::collections::HashSet;
use std::ops::Range;

use proc_macro2::{Delimiter, Group, Literal, TokenStream, TokenTree};
use proptest::prelude::*;
use proptest::sample::select;

use crate::keys::Attribute;
use crate::{dependency, expand, list, partition};

/// What an attribute is given. Both come from one text, so that a place in it tells them apart, and
/// so that the place of what was never written is 0.
struct Given {
    list: TokenStream,
    item: TokenStream,
}

impl Given {
    fn lex(list: &str, item: &str) -> Self {
        let text = format!("({list}\n)\n{item}");
        let tokens: TokenStream = text.parse().expect("the grammar is made of tokens");
        let mut trees = tokens.into_iter();
        let Some(TokenTree::Group(list)) = trees.next() else {
            panic!("a list in parentheses stands first: {text}")
        };
        Self {
            list: as_from_a_macro(list.stream()),
            item: as_from_a_macro(trees.collect()),
        }
    }

    /// Whether it begins and ends inside of what was written.
    fn contains(&self, told: &Told) -> bool {
        let written = [&self.list, &self.item].map(|stream| {
            let places = stream
                .clone()
                .into_iter()
                .map(|tree| tree.span().byte_range());
            places.reduce(|all, place| all.start..place.end)
        });
        let is_inside = |place: &Range<usize>| {
            let mut written = written.iter().flatten();
            written.any(|all| all.start <= place.start && place.end <= all.end)
        };
        is_inside(&told.first) && is_inside(&told.last)
    }
}

/// Puts in what cannot be written as text.
fn as_from_a_macro(tokens: TokenStream) -> TokenStream {
    let mut made: Vec<TokenTree> = Vec::new();
    for tree in tokens {
        match tree {
            TokenTree::Group(group) => {
                let is_invisible = made
                    .pop_if(
                        |last| matches!(last, TokenTree::Ident(word) if word == grammar::INVISIBLE),
                    )
                    .is_some();
                let delimiter = if is_invisible {
                    Delimiter::None
                } else {
                    group.delimiter()
                };
                let mut new = Group::new(delimiter, as_from_a_macro(group.stream()));
                new.set_span(group.span());
                made.push(new.into());
            }
            TokenTree::Ident(word) if word == grammar::MINUS_ONE => {
                let mut literal = Literal::i32_unsuffixed(-1);
                literal.set_span(word.span());
                made.push(literal.into());
            }
            other => made.push(other),
        }
    }
    made.into_iter().collect()
}

/// All tokens but delimiters, in order.
fn leaves(tokens: &TokenStream) -> Vec<String> {
    tokens
        .clone()
        .into_iter()
        .flat_map(|tree| match tree {
            TokenTree::Group(group) => leaves(&group.stream()),
            other => vec![other.to_string()],
        })
        .collect()
}

/// What must be in the output: all of the item, but for a static that `#[partition]` completes.
fn kept(attribute: Attribute, item: &TokenStream) -> Vec<String> {
    let mut leaves = leaves(item);
    if attribute == Attribute::Partition && leaves.iter().any(|leaf| leaf == "static") {
        let colon = leaves.iter().position(|leaf| leaf == ":");
        leaves.truncate(colon.unwrap_or(leaves.len()));
        leaves.retain(|leaf| leaf != "mut");
    }
    leaves
}

fn is_subsequence(short: &[String], long: &[String]) -> bool {
    let mut long = long.iter();
    short.iter().all(|leaf| long.any(|other| other == leaf))
}

/// A `compile_error!`, or a call of a rule that becomes an error if it does not hold.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Told {
    text: String,
    first: Range<usize>,
    last: Range<usize>,
}

/// What stands behind a word and a `!`, or behind `check::`.
fn told(tokens: &TokenStream, word: &str, found: &mut Vec<Told>) {
    let trees: Vec<_> = tokens.clone().into_iter().collect();
    for (i, tree) in trees.iter().enumerate() {
        match tree {
            TokenTree::Ident(ident) if ident == word => {
                let group = trees[i..].iter().find_map(|tree| match tree {
                    TokenTree::Group(group) => Some(group),
                    _ => None,
                });
                let group = group.expect("an error has a text and a rule has arguments");
                found.push(Told {
                    text: group.stream().to_string(),
                    first: ident.span().byte_range(),
                    last: group.span_close().byte_range(),
                });
            }
            TokenTree::Group(group) => told(&group.stream(), word, found),
            _ => {}
        }
    }
}

fn check(attribute: Attribute, given: &Given) -> Result<(), TestCaseError> {
    let output = match attribute {
        Attribute::Bulkhead => expand::bulkhead(given.list.clone(), &given.item),
        Attribute::Dependency => dependency::dependency(given.list.clone(), &given.item),
        _ => partition::partition(given.list.clone(), &given.item),
    };
    let text = output.to_string();
    prop_assert!(
        text.parse::<TokenStream>().is_ok(),
        "not made of tokens: {text}"
    );
    let written = leaves(&output);
    prop_assert!(
        is_subsequence(&kept(attribute, &given.item), &written),
        "the item is not in the output: {text}"
    );

    let (mut errors, mut rules) = (Vec::new(), Vec::new());
    told(&output, "compile_error", &mut errors);
    told(&output, "check", &mut rules);
    let of_the_list = list::read(attribute, given.list.clone()).1.texts();
    prop_assert!(
        errors.len() >= of_the_list.len(),
        "{of_the_list:#?} in {errors:#?}"
    );
    if attribute == Attribute::Bulkhead {
        let is_guarded = written.iter().any(|leaf| leaf == "__BULKHEAD_FUNCTION");
        prop_assert_eq!(is_guarded, errors.is_empty(), "{}", text);
    }

    for error in errors.iter().chain(&rules) {
        // What is missing has no place, and neither has what is wrong with an item of nothing.
        let is_placeless =
            error.text.starts_with("\"missing ") || given.item.to_string().trim().is_empty();
        prop_assert!(
            is_placeless || given.contains(error),
            "beside what was written: {error:?}"
        );
    }
    let different: HashSet<_> = errors.iter().collect();
    prop_assert_eq!(different.len(), errors.len(), "told twice: {:#?}", &errors);
    Ok(())
}

const ATTRIBUTES: [Attribute; 5] = [
    Attribute::Bulkhead,
    Attribute::Bulkhead,
    Attribute::Partition,
    Attribute::Partition,
    Attribute::Dependency,
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_written_there_is_an_answer(
        list in grammar::list(),
        item in grammar::item(),
        attribute in select(&ATTRIBUTES[..]),
    ) {
        check(attribute, &Given::lex(&list, &item))?;
    }
}
