//! The value of a key: what tokens can tell about it. Every rule about what it *amounts to* is a
//! `const fn` of the runtime, so that it holds for `max = LIMIT * 2` too.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::ToTokens;
use syn::{Error, Expr, Lit, Result};

use crate::duration;
use crate::keys::{Key, Takes};
use crate::literal::Literally;
use crate::span::Ends;

/// What stands behind `key =`.
pub(crate) struct Value {
    pub(crate) key: Ident,
    /// Ready to be emitted: a literal is rewritten to what it means, an expression stays as it is.
    pub(crate) tokens: TokenStream,
    /// Where the user wrote it.
    pub(crate) ends: Ends,
    /// An expression can name things that are not known while compiling; a literal cannot.
    pub(crate) is_literal: bool,
}

impl Value {
    /// Reads `written`, which syn parsed as `expr`.
    pub(crate) fn read(key: Key, ident: Ident, expr: &Expr, written: TokenStream) -> Result<Self> {
        let ends = Ends::of(&written);
        let literal = Literally::of(expr);
        let is_literal = literal.is_some();
        let read = Read { key, ends, expr };
        let tokens = match literal {
            Some(literal) => read.literal(&literal)?,
            None => read.expression(written)?,
        };
        Ok(Self {
            key: ident,
            tokens,
            ends,
            is_literal,
        })
    }

    /// Whether the tokens say that it is 0.
    pub(crate) fn is_zero(&self) -> bool {
        self.is_literal && self.tokens.to_string() == "0"
    }
}

/// One value on its way from syntax to meaning.
pub(crate) struct Read<'a> {
    pub(crate) key: Key,
    pub(crate) ends: Ends,
    expr: &'a Expr,
}

impl Read<'_> {
    fn literal(&self, literal: &Literally) -> Result<TokenStream> {
        match self.key.takes() {
            Takes::Text => self.name(literal),
            Takes::Count => self.count(literal),
            Takes::Rate => self.rate(literal),
            Takes::Duration => self.duration(literal),
            Takes::Function => Err(self.without_quotes("a function", literal)),
            Takes::Path => Err(self.without_quotes("a path", literal)),
            Takes::Call => Err(self.no_call()),
            Takes::List(_) | Takes::Percentage | Takes::Nothing => {
                Err(self.error(self.takes("no value of this kind")))
            }
        }
    }

    fn expression(&self, written: TokenStream) -> Result<TokenStream> {
        match self.key {
            Key::Name if self.is_lower_case_word() => {
                let example = self.with(format_args!("\"{written}\""));
                Err(self.error(format_args!("`name` takes a string: `{example}`")))
            }
            Key::Crate if !is_path(self.expr) => Err(self.error(self.takes("a path"))),
            Key::Fallback => self.call(written),
            _ => Ok(written),
        }
    }

    fn name(&self, literal: &Literally) -> Result<TokenStream> {
        match &literal.lit {
            Lit::Str(text) => Ok(self.ends.literal(Literal::string(&text.value()))),
            _ => Err(self.error(self.takes(&format!("a string, found {}", literal.kind())))),
        }
    }

    fn duration(&self, literal: &Literally) -> Result<TokenStream> {
        let key = self.key.as_str();
        self.not_negative(literal)?;
        let (digits, unit) = match &literal.lit {
            Lit::Int(int) => (int.base10_digits(), int.suffix()),
            Lit::Float(float) => (float.base10_digits(), float.suffix()),
            Lit::Str(text) => {
                let example = duration::read_text(&text.value())
                    .map_or(self.key.example().to_owned(), |text| self.with(text));
                return Err(self.error(format_args!("a duration has no quotes: `{example}`")));
            }
            _ => {
                let found = format!("a duration, found {}", literal.kind());
                return Err(self.error(self.takes(&found)));
            }
        };
        match duration::read(digits, unit) {
            Ok(duration) => Ok(duration::tokens(duration, literal.lit.span())),
            Err(fault) => Err(self.error(fault.text(key, digits))),
        }
    }

    /// A call of a function or a method, which is made later, and only if it is needed.
    fn call(&self, written: TokenStream) -> Result<TokenStream> {
        match ungrouped(self.expr) {
            Expr::Call(_) | Expr::MethodCall(_) => Ok(written),
            _ => Err(self.no_call()),
        }
    }

    fn no_call(&self) -> Error {
        let key = self.key.as_str();
        let text = match ungrouped(self.expr) {
            Expr::Await(awaited) => format!(
                "`{key}` takes a call without `.await`: `{}`",
                self.with(shown(&awaited.base))
            ),
            Expr::Try(tried) => format!(
                "`{key}` takes a call without `?`: `{}`",
                self.with(shown(&tried.expr))
            ),
            path @ (Expr::Path(_) | Expr::Field(_)) => {
                let call = format!("{}(error)", shown(path));
                format!("`{key}` takes a call: `{}`", self.with(call))
            }
            Expr::Closure(_) => format!(
                "`{key}` takes a call and no closure, and `error` stands for what the caller would have seen: `{}`",
                self.key.example()
            ),
            Expr::Async(_) | Expr::Block(_) | Expr::Unsafe(_) => format!(
                "`{key}` takes a call and no block: move what it does to an async function, and write `{}`",
                self.key.example()
            ),
            Expr::Macro(_) => format!(
                "`{key}` takes the call of an async function and no macro: `{}`",
                self.key.example()
            ),
            _ => format!(
                "`{key}` takes the call of an async function, which is made only when there is nothing better: `{}`",
                self.key.example()
            ),
        };
        self.error(text)
    }

    fn is_lower_case_word(&self) -> bool {
        let Expr::Path(path) = ungrouped(self.expr) else {
            return false;
        };
        path.path
            .get_ident()
            .is_some_and(|ident| ident.to_string().starts_with(char::is_lowercase))
    }

    fn without_quotes(&self, what: &str, literal: &Literally) -> Error {
        let quotes = if matches!(literal.lit, Lit::Str(_)) {
            " without quotes"
        } else {
            ""
        };
        self.error(self.takes(&format!("{what}{quotes}")))
    }

    pub(crate) fn takes(&self, what: &str) -> String {
        format!(
            "`{}` takes {what}: `{}`",
            self.key.as_str(),
            self.key.example()
        )
    }

    pub(crate) fn with(&self, value: impl std::fmt::Display) -> String {
        format!("{} = {value}", self.key.as_str())
    }

    pub(crate) fn error(&self, text: impl std::fmt::Display) -> Error {
        self.ends.error(text)
    }
}

/// An expression as it may be shown in an error: with no more spaces than somebody would write.
fn shown(expr: &Expr) -> String {
    let text = expr.to_token_stream().to_string();
    [" . ", " :: ", " ("]
        .iter()
        .fold(text, |text, spaced| text.replace(spaced, spaced.trim()))
        .replace(" ,", ",")
        .replace("& ", "&")
}

pub(crate) fn is_path(expr: &Expr) -> bool {
    matches!(ungrouped(expr), Expr::Path(path) if path.attrs.is_empty())
}

pub(crate) fn ungrouped(expr: &Expr) -> &Expr {
    match expr {
        Expr::Group(group) => ungrouped(&group.expr),
        other => other,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proc_macro2::Span;

    use super::*;

    pub(crate) fn read(key: Key, written: &str) -> Result<Value> {
        let ident = Ident::new("key", Span::call_site());
        let expr = syn::parse_str(written).expect("the value is an expression");
        let written = written.parse().expect("the value is made of tokens");
        Value::read(key, ident, &expr, written)
    }

    #[test]
    fn each_value_of_another_kind_has_its_error() {
        for (key, written, expected) in [
            (
                Key::Name,
                "report",
                "`name` takes a string: `name = \"report\"`",
            ),
            (
                Key::Name,
                r#"b"x""#,
                "`name` takes a string, found a byte string: `name = \"report\"`",
            ),
            (
                Key::Name,
                r#"c"x""#,
                "`name` takes a string, found a C string: `name = \"report\"`",
            ),
            (
                Key::Timeout,
                "500",
                "`timeout` needs a unit: `500ms` or `500s`?",
            ),
            (Key::Timeout, "-5s", "`timeout` cannot be negative"),
            (Key::Mean, "80", "`mean` needs a unit: `80ms` or `80s`?"),
            (
                Key::Timeout,
                r#""5 s""#,
                "a duration has no quotes: `timeout = 5s`",
            ),
            (
                Key::Timeout,
                r#""soon""#,
                "a duration has no quotes: `timeout = 500ms`",
            ),
            (
                Key::Timeout,
                "5min",
                "unknown unit `min`, did you mean `m`?",
            ),
            (
                Key::Crate,
                r#""a b""#,
                "`crate` takes a path without quotes",
            ),
            (Key::Crate, "5", "`crate` takes a path: "),
            (
                Key::Reject,
                r#""f""#,
                "`reject` takes a function without quotes",
            ),
        ] {
            let text = read(key, written).err().map(|error| error.to_string());
            assert!(
                text.as_ref().is_some_and(|text| text.starts_with(expected)),
                "{written}: {text:?}"
            );
        }
    }
}
