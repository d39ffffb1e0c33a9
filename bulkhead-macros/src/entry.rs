//! One entry of the list: a key with its value, or the path of a partition.

use proc_macro2::{Group, TokenStream};
use quote::{ToTokens, quote};
use syn::{Error, Ident, Lit, Token};

use crate::args::{Args, Shared, Slot};
use crate::errors::Errors;
use crate::keys::{Attribute, Key, Takes};
use crate::list;
use crate::literal;
use crate::percent;
use crate::span::Ends;
use crate::value::{self, Value};
use crate::walk::{Behind, Walk};

/// An entry while it is being read.
pub(crate) struct Entry<'a> {
    pub(crate) attribute: Attribute,
    /// A path is the first entry or a mistake.
    pub(crate) is_first: bool,
    pub(crate) walk: Walk<'a>,
    pub(crate) args: &'a mut Args,
    pub(crate) errors: &'a mut Errors,
}

impl Entry<'_> {
    /// Reads to its end, or as far as it can be understood. What is wrong leaves one error, and the
    /// slot that was meant is taken.
    pub(crate) fn read(&mut self) {
        match self.walk.word_ahead() {
            Some((key, Behind::Equals)) => {
                self.walk.skip(1);
                self.assignment(key);
            }
            Some((_, Behind::PathSeparator)) => self.without_a_key(),
            Some((word, Behind::End)) => self.word(&word),
            Some((receiver, Behind::Other)) if receiver == "self" && !self.takes_keys_only() => {
                self.receiver(&receiver);
            }
            Some((key, Behind::Parentheses)) => self.parenthesized(key),
            Some((key, Behind::Other)) => self.without_equals(&key),
            None => self.without_a_word(),
        }
    }

    fn assignment(&mut self, ident: Ident) {
        let key = match self.attribute.key(&ident) {
            Ok(key) => key,
            Err(unknown) => {
                self.errors.push(unknown.error);
                self.occupy(unknown.meant);
                self.walk.skip(1);
                self.walk.skip_value();
                return;
            }
        };
        if key.is_word() {
            return self.with_a_value(key, &ident);
        }
        if key.inside().is_some() {
            self.error_here(format!(
                "`{}` takes a list and no `=`: `{}`",
                key.as_str(),
                key.example()
            ));
            self.occupy(Some(key));
            self.walk.skip_entry();
            return;
        }
        self.walk.skip(1);
        if self.is_given_twice(key, &ident) {
            self.walk.skip_value();
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

    fn is_given_twice(&mut self, key: Key, ident: &Ident) -> bool {
        let is_given = !self.args.slot_mut(key).is_absent();
        if is_given {
            let text = format!("`{}` is given twice", key.as_str());
            self.errors.push(Error::new(ident.span(), text));
        }
        is_given
    }

    /// A list inside of the list, or parentheses where none belong.
    fn parenthesized(&mut self, ident: Ident) {
        let key = self.attribute.key(&ident).ok();
        if let Some(word) = key.filter(|key| key.is_word()) {
            self.walk.skip(1);
            return self.with_a_value(word, &ident);
        }
        let Some((key, inside)) = key.and_then(|key| Some((key, key.inside()?))) else {
            return self.without_equals(&ident);
        };
        self.walk.skip(1);
        let Ok(list) = self.walk.parse::<Group>() else {
            return;
        };
        if self.is_given_twice(key, &ident) {
            return;
        }
        list::read_into(inside, list.stream(), self.args, self.errors);
        self.errors.extend(self.args.missing(inside, ident.span()));
        *self.args.slot_mut(key) = Slot::Given(Value {
            ends: Ends::of(&quote!(#ident #list)),
            key: ident,
            tokens: list.stream(),
            is_literal: false,
        });
    }

    /// A key that is a word, and all of its entry.
    fn said(&mut self, key: Key, ident: &Ident) {
        if !self.is_given_twice(key, ident) {
            *self.args.slot_mut(key) = Slot::Given(Value {
                ends: Ends::at(ident.span()),
                key: ident.clone(),
                tokens: TokenStream::new(),
                is_literal: true,
            });
        }
    }

    /// What stands behind such a word. It was meant, whatever that is.
    fn with_a_value(&mut self, key: Key, ident: &Ident) {
        let value = self.walk.skip_entry();
        let name = key.as_str();
        let text = format!("`{name}` takes no value: write `{name}`");
        self.errors.push(Ends::of(&value).error(text));
        if !self.is_given_twice(key, ident) {
            self.occupy(Some(key));
        }
    }

    fn value(&mut self, key: Key, ident: Ident) -> syn::Result<Value> {
        if self.walk.is_behind_entry() {
            return Err(needs_a_value(key, &ident));
        }
        if key.takes() == Takes::Percentage {
            return percent::read(key, ident, self.walk);
        }
        let (expr, written) = match self.walk.expression() {
            Ok(parsed) => parsed,
            Err(at) => {
                self.walk.skip_entry();
                return Err(Error::new(
                    at,
                    format!("expected a value: `{}`", key.example()),
                ));
            }
        };
        if let Some((next, _)) = self.walk.word_ahead()
            && let Some(error) = literal::has_lost_its_unit(key, &expr, &next)
        {
            self.walk.skip(1);
            return Err(error);
        }
        Value::read(key, ident, &expr, written)
    }

    /// A key, or a path of one segment.
    fn word(&mut self, word: &Ident) {
        match self.attribute.key(word) {
            Ok(key) if key.is_word() => self.said(key, word),
            Ok(key) => {
                self.errors.push(needs_a_value(key, word));
                self.occupy(Some(key));
            }
            Err(_) if is_upper_case(word) => return self.without_a_key(),
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
        self.walk.skip(1);
    }

    /// A path, or a value alone.
    fn without_a_key(&mut self) {
        if self.takes_keys_only() {
            self.value_alone();
        } else if self.walk.is_at(Lit) {
            self.literal();
        } else {
            self.path();
        }
    }

    /// Whether nothing else than keys can stand in the list, not even by mistake.
    fn takes_keys_only(&self) -> bool {
        !matches!(self.attribute, Attribute::Bulkhead | Attribute::Partition)
    }

    fn value_alone(&mut self) {
        let (takes, written) = match self.walk.percentage() {
            Some((_, written)) => (Some(Takes::Percentage), written),
            None => match self.walk.expression() {
                Ok((expr, written)) => (literal::taken_by(&expr), written),
                Err(at) => {
                    let text = format!("keys are written `key = value`: `{}`", self.example());
                    self.errors.push(Error::new(at, text));
                    self.walk.skip_entry();
                    return;
                }
            },
        };
        let key = self.meant_by(takes);
        let value = written.to_string().replace(' ', "");
        let text = format!(
            "keys are written `key = value`: `{} = {value}`",
            key.as_str()
        );
        self.errors.push(Ends::of(&written).error(text));
        self.occupy(Some(key));
    }

    /// The key of a value alone: one that takes such a value, or has to be there; rather one that is absent.
    fn meant_by(&mut self, takes: Option<Takes>) -> Key {
        let (compulsory, keys) = (self.attribute.compulsory(), self.attribute.keys());
        let all = [compulsory, keys].concat();
        let suits = |key: &Key| takes == Some(key.takes());
        let mut candidates: Vec<_> = all.iter().copied().filter(suits).collect();
        if candidates.is_empty() {
            candidates = all;
            candidates.truncate(compulsory.len().max(1));
        }
        let absent = candidates
            .iter()
            .find(|key| self.args.slot_mut(**key).is_absent());
        *absent.unwrap_or(&candidates[candidates.len() - 1])
    }

    fn example(&self) -> &'static str {
        match self.attribute {
            Attribute::Bulkhead | Attribute::Partition => Key::Max.example(),
            _ => self.attribute.keys()[0].example(),
        }
    }

    fn path(&mut self) {
        let at = self.walk.span();
        let parsed = self
            .walk
            .expression()
            .ok()
            .filter(|(expr, _)| value::is_path(expr));
        let Some((_, path)) = parsed else {
            self.errors.push(Error::new(
                at,
                "expected the path of a partition, such as `postgres::CHECKOUT`",
            ));
            self.args.shared = Shared::Unreadable;
            self.walk.skip_entry();
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
            _ => "",
        };
        if !text.is_empty() {
            self.errors.push(Ends::of(&path).error(text));
        }
        self.args.shared = match self.attribute {
            Attribute::Bulkhead => Shared::At(path),
            _ => Shared::Unreadable,
        };
    }

    fn without_equals(&mut self, ident: &Ident) {
        self.walk.skip(1);
        match self.attribute.key(ident) {
            // What follows is an entry of its own, behind a comma that was left out.
            Ok(key) if key.is_word() && self.is_at_key() => return self.said(key, ident),
            Ok(key) if key.is_word() => return self.with_a_value(key, ident),
            Ok(key) => {
                self.error_here(match key.inside() {
                    None => format!("expected `=` after `{}`", key.as_str()),
                    Some(_) => {
                        format!("expected `(` after `{}`: `{}`", key.as_str(), key.example())
                    }
                });
                self.occupy(Some(key));
            }
            Err(unknown) => {
                self.errors.push(unknown.error);
                self.occupy(unknown.meant);
            }
        }
        self.walk.skip_entry();
    }

    /// Whether an entry of this list begins here.
    fn is_at_key(&self) -> bool {
        self.attribute.begins_with_key(self.walk).is_some()
    }

    fn literal(&mut self) {
        let at = self.walk.span();
        let (key, example) = match self.walk.parse::<Lit>() {
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

    /// `self.partition`
    fn receiver(&mut self, receiver: &Ident) {
        self.args.shared = Shared::Unreadable;
        let path = self.walk.skip_entry().to_string().replace(' ', "");
        let text = format!(
            "a partition is fixed at compile time and cannot come from `self`; guard the future with `{path}.call(..)`"
        );
        self.errors.push(Error::new(receiver.span(), text));
    }

    fn without_a_word(&mut self) {
        let example = self.example();
        if self.walk.is_at(Token![::]) || self.walk.is_at(Token![<]) || self.walk.is_at(Lit) {
            self.without_a_key();
        } else if self.walk.is_at(Token![,]) {
            self.error_here(format!(
                "expected a key before this comma, such as `{example}`"
            ));
        } else if !self.walk.is_at_end() {
            self.error_here(format!("keys are written `key = value`: `{example}`"));
            self.walk.skip_entry();
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
        self.errors.push(Error::new(self.walk.span(), text));
    }
}

fn needs_a_value(key: Key, ident: &Ident) -> Error {
    let (name, example) = (key.as_str(), key.example());
    let text = match key.inside() {
        None => format!("`{name}` needs a value: `{example}`"),
        Some(list) if list.compulsory().is_empty() => {
            format!("`{name}` needs a list: `{example}`, or `{name}()` with nothing but defaults")
        }
        Some(_) => format!("`{name}` needs a list: `{example}`"),
    };
    Error::new(ident.span(), text)
}

fn is_upper_case(ident: &Ident) -> bool {
    ident.to_string().starts_with(char::is_uppercase)
}
