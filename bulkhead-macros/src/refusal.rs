//! What cannot be guarded, and what to do instead.

use syn::{Error, Signature};

use crate::item::{Found, Kind};
use crate::output;

pub(crate) fn no_function(found: &Found) -> Error {
    let text = match &found.kind {
        Kind::Methods => {
            "`#[bulkhead]` belongs on the methods; put it on each `async fn` that should take a permit".to_owned()
        }
        Kind::Call(path) => {
            format!("`#[bulkhead]` cannot see through `{path}!`: put it on the function inside the macro")
        }
        Kind::Other("a static") => {
            "`#[bulkhead]` can only be used on an `async fn`, found a static; a partition is declared with `#[partition]`"
                .to_owned()
        }
        Kind::Other(what) => format!("`#[bulkhead]` can only be used on an `async fn`, found {what}"),
        Kind::Function => "`#[bulkhead]` can only be used on an `async fn`".to_owned(),
    };
    Error::new(found.span, text)
}

/// Why a function cannot be guarded: the first reason that holds, or one mistake would be told twice.
pub(crate) fn of(signature: &Signature, is_boxed_future: bool) -> Option<Error> {
    if let Some(token) = &signature.constness {
        return Some(Error::new(
            token.span,
            "a permit cannot be taken in a `const fn`",
        ));
    }
    if let Some(variadic) = &signature.variadic {
        return Some(Error::new_spanned(
            variadic.dots,
            "a variadic function cannot be guarded",
        ));
    }
    if signature.asyncness.is_none() && !is_boxed_future {
        return Some(Error::new(signature.fn_token.span, not_async(signature)));
    }
    output::never(&signature.output).map(|never| {
        let text = "`#[bulkhead]` cannot report a rejection through the return type `!`\n\
                    note: return `Result<T, E>` where `E: From<bulkhead_runtime::BulkheadError>`";
        Error::new_spanned(never, text)
    })
}

fn not_async(signature: &Signature) -> &'static str {
    if output::is_impl_future(&signature.output) {
        "`#[bulkhead]` guards the body of an `async fn`; write this one as `async fn`, or guard the future with \
         `partition.call(..)`"
    } else {
        "`#[bulkhead]` can only be used on an `async fn`\n\
         help: add `async`; if another attribute such as `#[tokio::test]` is above, move `#[bulkhead]` above it"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signature(written: &str) -> Signature {
        syn::parse_str(written).unwrap_or_else(|error| panic!("{written}: {error}"))
    }

    #[test]
    fn what_cannot_be_guarded_is_refused_once() {
        for (written, expected) in [
            ("const fn f()", "a permit cannot be taken in a `const fn`"),
            (
                "async fn f(a: u8, ...)",
                "a variadic function cannot be guarded",
            ),
            (
                "fn f()",
                "`#[bulkhead]` can only be used on an `async fn`\n",
            ),
            (
                "fn f() -> impl Future<Output = u8> + Send",
                "`#[bulkhead]` guards the body of an `async fn`",
            ),
            (
                "async fn f() -> !",
                "`#[bulkhead]` cannot report a rejection through the return type `!`",
            ),
        ] {
            let text = of(&signature(written), false).map(|error| error.to_string());
            assert!(
                text.as_ref().is_some_and(|text| text.starts_with(expected)),
                "{written}: {text:?}"
            );
        }
    }
}
