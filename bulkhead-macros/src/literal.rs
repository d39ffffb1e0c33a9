//! A literal as it was written: its sign, its kind, and the unit that it lost.

use proc_macro2::Ident;
use quote::{ToTokens, quote};
use syn::{Error, Expr, Lit, UnOp};

use crate::duration;
use crate::keys::{Key, Takes};
use crate::span::Ends;

/// A literal and the sign before it.
pub(crate) struct Literally {
    pub(crate) lit: Lit,
    pub(crate) negative: bool,
}

impl Literally {
    /// Looks through the invisible group around a `$max:expr` or `$max:literal`.
    pub(crate) fn of(expr: &Expr) -> Option<Self> {
        match expr {
            Expr::Group(group) => Self::of(&group.expr),
            Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => {
                Self::of(&unary.expr).map(|literal| Self {
                    negative: true,
                    ..literal
                })
            }
            Expr::Lit(literal) => {
                let lit = syn::parse2::<Lit>(literal.lit.to_token_stream()).ok()?;
                // A `-1` that another macro made is one token.
                let negative = lit.to_token_stream().to_string().starts_with('-');
                Some(Self { lit, negative })
            }
            _ => None,
        }
    }

    pub(crate) fn is_number(&self) -> bool {
        matches!(self.lit, Lit::Int(_) | Lit::Float(_))
    }

    /// The article belongs to it: "a string", "a boolean".
    pub(crate) fn kind(&self) -> &'static str {
        match self.lit {
            Lit::Str(_) => "a string",
            Lit::ByteStr(_) => "a byte string",
            Lit::CStr(_) => "a C string",
            Lit::Byte(_) => "a byte",
            Lit::Char(_) => "a character",
            Lit::Int(_) | Lit::Float(_) => "a number",
            Lit::Bool(_) => "a boolean",
            _ => "another literal",
        }
    }
}

/// What kind of key it can be for, as far as that can be told: a number has a unit or none.
pub(crate) fn taken_by(expr: &Expr) -> Option<Takes> {
    let is_duration = match Literally::of(expr)?.lit {
        Lit::Int(int) => duration::is_unit(int.suffix()),
        Lit::Float(float) => duration::is_unit(float.suffix()),
        _ => return None,
    };
    Some(if is_duration {
        Takes::Duration
    } else {
        Takes::Count
    })
}

/// A number without a unit whose unit stands behind a space: `25 ms`.
pub(crate) fn has_lost_its_unit(key: Key, expr: &Expr, next: &Ident) -> Option<Error> {
    let Some(Literally {
        lit: number @ (Lit::Int(_) | Lit::Float(_)),
        negative: false,
    }) = Literally::of(expr)
    else {
        return None;
    };
    let is_bare = match &number {
        Lit::Int(int) => int.suffix().is_empty(),
        Lit::Float(float) => float.suffix().is_empty(),
        _ => false,
    };
    (key.takes() == Takes::Duration && is_bare && duration::is_unit(&next.to_string())).then(|| {
        let number = number.to_token_stream();
        let text = format!(
            "no space between a number and its unit: `{} = {number}{next}`",
            key.as_str()
        );
        Ends::of(&quote!(#number #next)).error(text)
    })
}
