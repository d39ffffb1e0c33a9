//! The list between the attribute's parentheses, read into the slots of [`Args`].

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::discouraged::Speculative;
use syn::parse::{ParseStream, Parser};
use syn::{Error, Expr, Ident, Lit, Token};

use crate::args::{Args, Shared, Slot};
use crate::errors::Errors;
use crate::keys::{Attribute, Key};
use crate::span::Ends;
use crate::value::{self, Value};

/// Reads all it can; each mistake leaves one error.
pub(crate) fn read(attribute: Attribute, tokens: TokenStream) -> (Args, Errors) {
    let list = |input: ParseStream<'_>| {
        let mut list = List {
            attribute,
            input,
            args: Args::default(),
            errors: Errors::default(),
            is_first: true,
        };
        list.read();
        Ok((list.args, list.errors))
    };
    list.parse2(tokens).unwrap_or_else(|error| {
        let mut errors = Errors::default();
        errors.push(error);
        (Args::default(), errors)
    })
}

/// The list while it is being read.
struct List<'a> {
    attribute: Attribute,
    input: ParseStream<'a>,
    args: Args,
    errors: Errors,
    is_first: bool,
}

impl List<'_> {
    fn read(&mut self) {
        while !self.input.is_empty() {
            self.refuse_attributes();
            self.entry();
            self.separator();
            self.is_first = false;
        }
    }

    fn refuse_attributes(&mut self) {
        while self.input.peek(Token![#]) {
            let text = format!(
                "keys cannot carry attributes; use `#[cfg_attr(…, {}(…))]` on the item",
                self.attribute.as_str().trim_matches(['#', '[', ']'])
            );
            self.error_here(text);
            self.skip(1);
            if self.input.peek(syn::token::Bracket) {
                self.skip(1);
            }
        }
    }

    fn entry(&mut self) {
        let ahead = self.input.fork();
        let word = ahead.call(Ident::parse_any).ok();
        let is_end = ahead.is_empty() || ahead.peek(Token![,]);
        match word {
            Some(key) if is_equals(&ahead) => {
                self.skip(2);
                self.assignment(key);
            }
            Some(_) if ahead.peek(Token![::]) => self.path(),
            Some(word) if is_end => self.word(&word),
            Some(receiver) if receiver == "self" => {
                self.args.shared = Shared::Unreadable;
                let text = format!(
                    "a partition is fixed at compile time and cannot come from `self`; guard the future with `{}.call(..)`",
                    self.rest_of_entry().replace(' ', "")
                );
                self.errors.push(Error::new(receiver.span(), text));
            }
            Some(key) => self.without_equals(&key),
            None if self.input.peek(Token![::]) || self.input.peek(Token![<]) => self.path(),
            None if self.input.peek(Lit) => self.literal(),
            None if self.input.is_empty() => {}
            None if self.input.peek(Token![,]) => {
                self.error_here("expected a key before this comma, such as `max = 4`");
            }
            None => {
                self.error_here("keys are written `key = value`: `max = 4`");
                self.rest_of_entry();
            }
        }
    }

    fn assignment(&mut self, ident: Ident) {
        let key = match self.attribute.key(&ident) {
            Ok(key) => key,
            Err(unknown) => {
                self.errors.push(unknown.error);
                self.occupy(unknown.meant);
                self.skip_value();
                return;
            }
        };
        if !self.args.slot_mut(key).is_absent() {
            self.errors.push(Error::new(
                ident.span(),
                format!("`{}` is given twice", key.as_str()),
            ));
            self.skip_value();
            return;
        }
        let slot = match self.value(key, ident) {
            Ok(value) => Slot::Given(value),
            Err(error) => {
                self.errors.push(error);
                Slot::Unreadable
            }
        };
        *self.args.slot_mut(key) = slot;
    }

    fn value(&mut self, key: Key, ident: Ident) -> syn::Result<Value> {
        if self.input.is_empty() || self.input.peek(Token![,]) {
            return Err(needs_a_value(key, &ident));
        }
        let (expr, written) = match self.expression() {
            Ok(parsed) => parsed,
            Err(at) => {
                self.rest_of_entry();
                return Err(Error::new(
                    at,
                    format!("expected a value: `{}`", key.example()),
                ));
            }
        };
        let ahead = self.input.fork();
        if let Ok(next) = ahead.call(Ident::parse_any)
            && let Some(error) = value::has_lost_its_unit(key, &expr, &next)
        {
            self.skip(1);
            return Err(error);
        }
        Value::read(key, ident, &expr, written)
    }

    /// A key, or a path of one segment.
    fn word(&mut self, word: &Ident) {
        match self.attribute.key(word) {
            Ok(key) => {
                self.errors.push(needs_a_value(key, word));
                self.occupy(Some(key));
            }
            Err(_) if is_upper_case(word) => return self.path(),
            Err(unknown)
                if unknown.meant.is_none()
                    && self.is_first
                    && self.attribute == Attribute::Bulkhead =>
            {
                let text = format!(
                    "expected `name = \"{word}\"`, or the path of a partition such as `postgres::CHECKOUT`; found `{word}`"
                );
                self.errors.push(Error::new(word.span(), text));
                self.args.shared = Shared::Unreadable;
            }
            Err(unknown) => {
                self.errors.push(unknown.error);
                self.occupy(unknown.meant);
            }
        }
        self.skip(1);
    }

    fn path(&mut self) {
        let at = self.input.span();
        let parsed = self
            .expression()
            .ok()
            .filter(|(expr, _)| value::is_path(expr));
        let Some((_, path)) = parsed else {
            self.errors.push(Error::new(
                at,
                "expected the path of a partition, such as `postgres::CHECKOUT`",
            ));
            self.args.shared = Shared::Unreadable;
            self.rest_of_entry();
            return;
        };
        let text = match (self.attribute, &self.args.shared) {
            (Attribute::Partition, _) => {
                "`#[partition]` declares a partition and takes no path: `name = \"report\", max = 4`"
            }
            (Attribute::Bulkhead, Shared::At(_)) => {
                "a call takes its permit from one partition: remove this path"
            }
            (Attribute::Bulkhead, _) if !self.is_first => {
                "the path of the partition comes first, before the keys"
            }
            (Attribute::Bulkhead, _) => "",
        };
        if !text.is_empty() {
            self.errors.push(Ends::of(&path).error(text));
        }
        self.args.shared = match self.attribute {
            Attribute::Bulkhead => Shared::At(path),
            Attribute::Partition => Shared::Unreadable,
        };
    }

    fn without_equals(&mut self, ident: &Ident) {
        self.skip(1);
        match self.attribute.key(ident) {
            Ok(key) => {
                self.error_here(format!("expected `=` after `{}`", key.as_str()));
                self.occupy(Some(key));
            }
            Err(unknown) => {
                self.errors.push(unknown.error);
                self.occupy(unknown.meant);
            }
        }
        self.rest_of_entry();
    }

    fn literal(&mut self) {
        let at = self.input.span();
        let (key, example) = match self.input.parse::<Lit>() {
            Ok(Lit::Str(text)) => (Key::Name, format!("name = {}", text.to_token_stream())),
            Ok(Lit::Int(int)) if int.suffix().is_empty() => (Key::Max, format!("max = {int}")),
            Ok(lit @ (Lit::Int(_) | Lit::Float(_))) => {
                (Key::Timeout, format!("timeout = {}", lit.to_token_stream()))
            }
            _ => (Key::Name, Key::Name.example().to_owned()),
        };
        self.errors.push(Error::new(
            at,
            format!("keys are written `key = value`: `{example}`"),
        ));
        self.occupy(Some(key));
    }

    /// One comma, or an error and the way to the next one.
    fn separator(&mut self) {
        if self.input.is_empty() {
            return;
        }
        if self.input.peek(Token![,]) {
            return self.skip(1);
        }
        let ahead = self.input.fork();
        match ahead.call(Ident::parse_any) {
            Ok(key) if is_equals(&ahead) => {
                self.errors.push(Error::new(
                    key.span(),
                    format!("expected `,` before `{key}`"),
                ));
            }
            _ => {
                self.error_here("expected `,` or the end of the list");
                if self.input.peek(Token![;]) {
                    return self.skip(1);
                }
                self.rest_of_entry();
                self.skip(1);
            }
        }
    }

    /// Parsed, and as it stands; or where it ceases to be an expression.
    fn expression(&mut self) -> Result<(Expr, TokenStream), Span> {
        let ahead = self.input.fork();
        let expr = ahead.parse().map_err(|error: Error| error.span())?;
        let mut written = TokenStream::new();
        let mut cursor = self.input.cursor();
        while let Some((tree, next)) = cursor.token_tree().filter(|_| cursor < ahead.cursor()) {
            written.extend([tree]);
            cursor = next;
        }
        self.input.advance_to(&ahead);
        Ok((expr, written))
    }

    fn skip_value(&mut self) {
        if self.expression().is_err() {
            self.rest_of_entry();
        }
    }

    /// Skips to the next comma and returns what stood there.
    fn rest_of_entry(&mut self) -> String {
        let mut skipped = TokenStream::new();
        while !self.input.is_empty() && !self.input.peek(Token![,]) {
            skipped.extend(self.input.parse::<TokenTree>().ok());
        }
        skipped.to_string()
    }

    fn skip(&mut self, trees: usize) {
        for _ in 0..trees {
            self.input.parse::<TokenTree>().ok();
        }
    }

    /// A key that was meant, and whose error is reported, is not missing.
    fn occupy(&mut self, key: Option<Key>) {
        if let Some(slot) = key
            .map(|key| self.args.slot_mut(key))
            .filter(|slot| slot.is_absent())
        {
            *slot = Slot::Unreadable;
        }
    }

    fn error_here(&mut self, text: impl std::fmt::Display) {
        self.errors.push(Error::new(self.input.span(), text));
    }
}

fn needs_a_value(key: Key, ident: &Ident) -> Error {
    Error::new(
        ident.span(),
        format!("`{}` needs a value: `{}`", key.as_str(), key.example()),
    )
}

fn is_equals(input: ParseStream<'_>) -> bool {
    input.peek(Token![=]) && !input.peek(Token![==]) && !input.peek(Token![=>])
}

fn is_upper_case(ident: &Ident) -> bool {
    ident.to_string().starts_with(char::is_uppercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(attribute: Attribute, list: &str) -> (Args, Vec<String>) {
        let (args, mut errors) = read(attribute, list.parse().expect("the list is made of tokens"));
        args.missing(attribute)
            .into_iter()
            .chain(args.told_twice())
            .for_each(|error| errors.push(error));
        (args, errors.texts())
    }

    fn errors(list: &str) -> Vec<String> {
        parsed(Attribute::Bulkhead, list).1
    }

    #[track_caller]
    fn only_error(list: &str, expected: &str) {
        let found = errors(list);
        assert!(
            found.len() == 1 && found[0].starts_with(expected),
            "{list}\nfound: {found:#?}"
        );
    }

    #[test]
    fn a_complete_list_fills_its_slots() {
        let list = r#"name = "report", max = LIMITS[0] * 2, queue = 1_000, wait = 25ms, timeout = 1.5s,
                      reject = |e| f::<A, B>(e, 1), classify = own::verdict, crate = crate::facade,"#;
        let (args, errors) = parsed(Attribute::Bulkhead, list);
        assert_eq!(errors, Vec::<String>::new());
        let tokens = |slot: &Slot| slot.value().map(|value| value.tokens.to_string());
        assert_eq!(tokens(&args.max).as_deref(), Some("LIMITS [0] * 2"));
        assert_eq!(tokens(&args.queue).as_deref(), Some("1000"));
        assert_eq!(
            tokens(&args.timeout).as_deref(),
            Some(":: core :: time :: Duration :: new (1u64 , 500000000u32)")
        );
        assert_eq!(
            tokens(&args.reject).as_deref(),
            Some("| e | f ::< A , B > (e , 1)")
        );
    }

    #[test]
    fn a_path_stands_for_the_four_keys() {
        for list in [
            "postgres::CHECKOUT",
            "CHECKOUT, timeout = 2s",
            "crate::db::A",
            "<X as Y>::A",
            "::other::A,",
        ] {
            assert_eq!(errors(list), Vec::<String>::new(), "{list}");
        }
        only_error(
            "postgres::CHECKOUT, max = 4",
            "`max` is for the declaration of `postgres::CHECKOUT` to say",
        );
        only_error(
            "timeout = 2s, postgres::CHECKOUT",
            "the path of the partition comes first",
        );
        only_error(
            "self.partition",
            "a partition is fixed at compile time and cannot come from `self`",
        );
        only_error(
            "report",
            "expected `name = \"report\"`, or the path of a partition",
        );
    }

    #[test]
    fn what_is_missing_is_said_once() {
        only_error(
            "",
            "missing `name` and `max`: write `#[bulkhead(name = \"report\", max = 4)]`",
        );
        only_error("max = 4", "missing `name`");
        only_error("name = \"x\"", "missing `max`");
        only_error(
            "name = \"x\", mx = 4",
            "unknown key `mx`, did you mean `max`?",
        );
        only_error(
            "name = \"x\", limit = 4",
            "unknown key `limit`: it is called `max` here",
        );
        only_error(
            "\"x\", max = 4",
            "keys are written `key = value`: `name = \"x\"`",
        );
    }

    #[test]
    fn each_slip_between_key_and_value_has_its_error() {
        only_error("name: \"x\", max = 4", "expected `=` after `name`");
        only_error("name(\"x\"), max = 4", "expected `=` after `name`");
        only_error("name == \"x\", max = 4", "expected `=` after `name`");
        only_error("name = \"x\", max", "`max` needs a value: `max = 4`");
        only_error("name = \"x\", max =", "`max` needs a value: `max = 4`");
        only_error(
            "name = \"x\", max = , timeout = 2s",
            "`max` needs a value: `max = 4`",
        );
        only_error("name = \"x\" max = 4", "expected `,` before `max`");
        only_error(
            "name = \"x\", max = 4;",
            "expected `,` or the end of the list",
        );
        only_error(
            "name = \"x\", max = 4 + , timeout = 2s",
            "expected a value: `max = 4`",
        );
        only_error("name = \"x\", max = 4, max = 8", "`max` is given twice");
        only_error(
            "name = \"x\", max = 4, , timeout = 2s",
            "expected a key before this comma",
        );
        only_error(
            "#[cfg(x)] name = \"x\", max = 4",
            "keys cannot carry attributes",
        );
        only_error(
            "name = \"x\", max = 4, timeout = 25 ms",
            "no space between a number and its unit: `timeout = 25ms`",
        );
    }

    #[test]
    fn each_value_of_another_kind_has_its_error() {
        for (list, expected) in [
            ("max = -1, name = \"x\"", "`max` cannot be negative"),
            (
                "max = 4.0, name = \"x\"",
                "`max` takes a whole number, found `4.0`",
            ),
            (
                "max = \"4\", name = \"x\"",
                "`max` takes a number without quotes: `max = 4`",
            ),
            (
                "max = \"four\", name = \"x\"",
                "`max` takes a whole number, found a string",
            ),
            ("max = 4i32, name = \"x\"", "remove the suffix: `max = 4`"),
            (
                "max = true, name = \"x\"",
                "`max` takes a whole number, found a boolean",
            ),
            (
                "max = 4ms, name = \"x\"",
                "`max` is a number of calls, not a duration",
            ),
            (
                "max = 1.5s, name = \"x\"",
                "`max` is a number of calls, not a duration",
            ),
            (
                "max = 4, name = report",
                "`name` takes a string: `name = \"report\"`",
            ),
            (
                "max = 4, name = b\"x\"",
                "`name` takes a string, found a byte string: `name = \"report\"`",
            ),
            (
                "max = 4, name = c\"x\"",
                "`name` takes a string, found a C string: `name = \"report\"`",
            ),
            (
                "max = 4, name = \"x\", timeout = 500",
                "`timeout` needs a unit: `500ms` or `500s`?",
            ),
            (
                "max = 4, name = \"x\", timeout = -5s",
                "`timeout` cannot be negative",
            ),
            (
                "max = 4, name = \"x\", timeout = \"5 s\"",
                "a duration has no quotes: `timeout = 5s`",
            ),
            (
                "max = 4, name = \"x\", timeout = \"soon\"",
                "a duration has no quotes: `timeout = 500ms`",
            ),
            (
                "max = 4, name = \"x\", timeout = 5min",
                "unknown unit `min`, did you mean `m`?",
            ),
            (
                "max = 4, name = \"x\", crate = \"a b\"",
                "`crate` takes a path without quotes",
            ),
            ("max = 4, name = \"x\", crate = 5", "`crate` takes a path: "),
            (
                "max = 4, name = \"x\", reject = \"f\"",
                "`reject` takes a function without quotes",
            ),
        ] {
            only_error(list, expected);
        }
    }

    #[test]
    fn five_mistakes_give_five_errors() {
        let found =
            errors("nme = \"x\", max = -1, queue = 4.0, colour = 1, timeout = 500, name = \"x\"");
        assert_eq!(found.len(), 6, "{found:#?}");
        let found = errors("\"x\", max = \"4\" wait = 25 ms, queue 4, timeout = 5min");
        assert_eq!(found.len(), 6, "{found:#?}");
    }

    #[test]
    fn the_keys_of_a_function_are_sent_there() {
        let (_, errors) = parsed(Attribute::Partition, "name = \"x\", max = 4, timeout = 2s");
        assert!(
            errors.len() == 1 && errors[0].starts_with("`timeout` belongs on the function"),
            "{errors:?}"
        );
        let (_, errors) = parsed(Attribute::Partition, "X, name = \"x\", max = 4");
        assert!(errors.len() == 1, "{errors:?}");
    }

    #[test]
    fn what_is_too_large_for_a_number_is_left_to_the_rule() {
        let (args, errors) = parsed(
            Attribute::Bulkhead,
            "name = \"x\", max = 99999999999999999999",
        );
        assert_eq!(errors, Vec::<String>::new());
        assert_eq!(
            args.max
                .value()
                .map(|max| max.tokens.to_string())
                .as_deref(),
            Some("4294967295")
        );
    }
}
