//! Acceptance shapes of `#[bulkhead(..)]`: every item below is plain Rust and compiles without
//! warnings under editions 2021 and 2024.
//!
//! * A line `//@ok bulkhead(..)` becomes the attribute in all variants but the plain one, and the
//!   file must still compile with no new warning of rustc or clippy: see `build.rs`.
//! * A line `//@fail bulkhead(..)` marks a function that cannot be guarded. It stays a comment here;
//!   each of them is a case of its own in `tests/ui`.
#![allow(dead_code, async_fn_in_trait)]
#![deny(unused, unreachable_code, unsafe_op_in_unsafe_fn)]

pub mod support {
    use std::fmt;
    use std::future::Future;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    pub use bulkhead_runtime::BulkheadError;

    /// A typical application error: `?` from several sources, and from a rejection.
    #[derive(Debug)]
    pub enum AppError {
        Rejected(BulkheadError),
        Io(std::io::Error),
        Parse(std::num::ParseIntError),
        NotFound,
    }
    impl From<BulkheadError> for AppError {
        fn from(e: BulkheadError) -> Self {
            Self::Rejected(e)
        }
    }
    impl From<std::io::Error> for AppError {
        fn from(e: std::io::Error) -> Self {
            Self::Io(e)
        }
    }
    impl From<std::num::ParseIntError> for AppError {
        fn from(e: std::num::ParseIntError) -> Self {
            Self::Parse(e)
        }
    }
    impl fmt::Display for AppError {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "{self:?}")
        }
    }
    impl std::error::Error for AppError {}

    pub type AppResult<T> = Result<T, AppError>;

    // Stand-ins for web extractors (same shape as axum's).
    pub struct State<T>(pub T);
    pub struct Path<T>(pub T);
    pub struct Query<T>(pub T);
    pub struct Json<T>(pub T);

    #[derive(Clone, Default)]
    pub struct App {
        pub name: String,
    }
    #[derive(Clone, Default)]
    pub struct NewReport {
        pub title: String,
        pub pages: u32,
    }

    pub trait IntoResponse {
        fn into_response(self) -> String;
    }
    impl IntoResponse for String {
        fn into_response(self) -> String {
            self
        }
    }
    impl<T: IntoResponse, E: fmt::Display> IntoResponse for Result<T, E> {
        fn into_response(self) -> String {
            match self {
                Ok(v) => v.into_response(),
                Err(e) => e.to_string(),
            }
        }
    }

    /// One suspension point, so that locals really live across an await.
    pub fn tick() -> Tick {
        Tick(false)
    }
    pub struct Tick(bool);
    impl Future for Tick {
        type Output = ();
        fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
            if self.0 {
                return Poll::Ready(());
            }
            self.0 = true;
            cx.waker().wake_by_ref();
            Poll::Pending
        }
    }

    pub fn assert_send<T: Send>(t: T) -> T {
        t
    }
    pub fn assert_static<T: 'static>(t: T) -> T {
        t
    }
    /// The bound a web framework or `spawn` puts on a handler passed as a value.
    pub fn takes_handler<A, F, Fut, R>(_f: F)
    where
        F: Fn(A) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
    {
    }
}

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::{Debug, Display};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use support::*;

// =====================================================================================
// 1. Free functions: visibility, arguments, patterns
// =====================================================================================

// s01 free_fn. OK: acquire, run the body, release. Rejection is `Err(AppError::from(BulkheadError))`.
//@ok bulkhead(name = "s01", max = 4)
pub async fn s01_free_fn() -> Result<u32, AppError> {
    tick().await;
    Ok(1)
}

// s02 restricted visibility. OK: visibility token kept as written, also `pub(in path)`.
pub mod s02 {
    pub mod inner {
        use crate::support::*;
        //@ok bulkhead(name = "s02a", max = 4)
        pub(in crate::s02) async fn in_path() -> AppResult<()> {
            tick().await;
            Ok(())
        }
        //@ok bulkhead(name = "s02b", max = 4)
        pub(super) async fn in_super() -> AppResult<()> {
            in_path().await
        }
    }
    pub async fn call() -> crate::support::AppResult<()> {
        inner::in_super().await
    }
}

// s03 handler with extractors (tuple-struct patterns in argument position). OK: patterns stay in
// the signature, so the framework sees the same argument types.
//@ok bulkhead(name = "s03", max = 4)
pub async fn s03_handler(
    State(app): State<Arc<App>>,
    Path(id): Path<u64>,
    Json(NewReport { title, pages }): Json<NewReport>,
) -> Result<Json<String>, AppError> {
    tick().await;
    Ok(Json(format!("{} {id} {title} {pages}", app.name)))
}

// s04 nested, ref, at, slice, reference and tuple patterns. OK: no pattern is turned into an expression.
//@ok bulkhead(name = "s04", max = 4)
pub async fn s04_patterns(
    (a, mut b): (u32, u32),
    [x, .., y]: [u8; 4],
    whole @ NewReport { .. }: NewReport,
    &n: &u64,
    ref by_ref: String,
    Query((ref k, _)): Query<(String, u8)>,
) -> AppResult<u64> {
    tick().await;
    b += a;
    Ok(u64::from(b) + u64::from(x) + u64::from(y) + n + (whole.title.len() + by_ref.len() + k.len()) as u64)
}

// s05 `mut` arguments. OK, and no `unused_mut` warning.
//@ok bulkhead(name = "s05", max = 4)
pub async fn s05_mut_args(mut n: u32, mut v: Vec<u32>) -> AppResult<Vec<u32>> {
    n += 1;
    tick().await;
    v.push(n);
    Ok(v)
}

// s06 wildcard and underscore arguments. OK; `_x` must not raise clippy::used_underscore_binding,
// `_` arguments must stay alive to the end of the body as in a plain async fn.
//@ok bulkhead(name = "s06", max = 4)
pub async fn s06_underscore(_: String, _unused: Vec<u8>, _: ()) -> AppResult<()> {
    tick().await;
    Ok(())
}

// s07 no arguments used, many arguments. OK; no clippy::too_many_arguments beyond the user's own.
//@ok bulkhead(name = "s07", max = 4)
pub async fn s07_many_args(
    a: u8, b: u8, c: u8, d: u8, e: u8, f: u8, g: u8, h: u8, i: u8, j: u8, k: u8, l: u8, m: u8, n: u8, o: u8, p: u8,
) -> AppResult<u32> {
    tick().await;
    Ok([a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p].iter().map(|v| u32::from(*v)).sum())
}

// s08 user names that a macro might also use. OK: the generated bindings are hygienic, the module
// static and the arguments below are the user's.
pub static PARTITION: u32 = 7;
//@ok bulkhead(name = "s08", max = 4)
pub async fn s08_names(permit: u32, __permit: u32, partition: u32, result: u32, fut: u32, e: u32) -> AppResult<u32> {
    tick().await;
    let guard = permit + __permit + partition;
    Ok(guard + result + fut + e + PARTITION)
}

// s09 raw identifiers. OK: the partition name never contains `r#`.
//@ok bulkhead(name = "s09", max = 4)
pub async fn r#match(r#type: u32) -> AppResult<u32> {
    tick().await;
    Ok(r#type)
}

// s10 a large argument by value. OK; the future may hold one more copy of it only when a `timeout`
// is set. Without a timeout its size must be that of the plain async fn plus the permit and acquire state.
//@ok bulkhead(name = "s10", max = 4)
pub async fn s10_large_arg(buf: [u8; 4096]) -> AppResult<usize> {
    tick().await;
    Ok(buf.len())
}

// =====================================================================================
// 2. Lifetimes and generics
// =====================================================================================

// s11 two elided lifetimes in, nothing borrowed out. OK.
//@ok bulkhead(name = "s11", max = 4)
pub async fn s11_elided(a: &str, b: &mut Vec<u8>) -> AppResult<usize> {
    tick().await;
    b.push(0);
    Ok(a.len() + b.len())
}

// s13 outlives bounds in a where clause, and an invariant lifetime. OK.
//@ok bulkhead(name = "s13", max = 4)
pub async fn s13_where_lifetimes<'a, 'b>(a: &'a mut &'b str, b: &'b str) -> AppResult<&'a str>
where
    'b: 'a,
{
    *a = b;
    tick().await;
    Ok(a)
}

// s14 `'static` next to elided and path lifetimes (three different lifetimes). OK.
//@ok bulkhead(name = "s14", max = 4)
pub async fn s14_mixed(a: &'static str, b: &str, c: Cow<'_, str>) -> AppResult<usize> {
    tick().await;
    Ok(a.len() + b.len() + c.len())
}

// s15 type generics with bounds in both places. OK: ONE partition for all instantiations.
//@ok bulkhead(name = "s15", max = 4)
pub async fn s15_generic<T: Debug, K>(t: T, k: K) -> AppResult<String>
where
    K: Display + Send,
{
    tick().await;
    Ok(format!("{t:?}{k}"))
}

// s16 const generics. OK: ONE partition for all N (a static cannot depend on N).
//@ok bulkhead(name = "s16", max = 4)
pub async fn s16_const_generic<const N: usize>(a: [u8; N]) -> AppResult<[u8; N]> {
    tick().await;
    Ok(a)
}

// s17 argument-position impl Trait, also nested. OK (an inner helper fn would break it).
//@ok bulkhead(name = "s17", max = 4)
pub async fn s17_impl_arg(a: impl Into<String>, b: &impl Display, c: Option<impl Fn(u32) -> u32>) -> AppResult<String> {
    tick().await;
    Ok(format!("{}{b}{}", a.into(), c.map_or(0, |f| f(1))))
}

// s19 trait objects in arguments. OK.
//@ok bulkhead(name = "s19", max = 4)
pub async fn s19_dyn(a: &dyn Display, b: Box<dyn Fn() -> u32 + Send>, c: &mut (dyn Iterator<Item = u32> + Send)) -> AppResult<String> {
    tick().await;
    Ok(format!("{a}{}{:?}", b(), c.next()))
}

// s20 higher-ranked bounds. OK.
//@ok bulkhead(name = "s20", max = 4)
pub async fn s20_hrtb<F>(f: F, s: String) -> AppResult<usize>
where
    F: for<'x> Fn(&'x str) -> &'x str,
{
    tick().await;
    Ok(f(&s).len())
}

// s21 generic error type. OK because of the bound (see f08 for the one without it).
//@ok bulkhead(name = "s21", max = 4)
pub async fn s21_generic_error<E>(ok: bool) -> Result<(), E>
where
    E: From<BulkheadError> + From<std::io::Error>,
{
    if !ok {
        Err(std::io::Error::other("x"))?;
    }
    tick().await;
    Ok(())
}

// =====================================================================================
// 3. Receivers, Self, impl blocks
// =====================================================================================

#[derive(Default, Clone)]
pub struct Repo<T> {
    rows: Vec<T>,
    name: String,
}

impl<T: Clone + Send + Sync + Default> Repo<T> {
    const LIMIT: usize = 3;

    // s22 `&self`. OK: still `Send` when `Repo<T>: Sync`; one partition for every T.
    //@ok bulkhead(name = "s22", max = 4)
    pub async fn s22_ref_self(&self, i: usize) -> AppResult<T> {
        tick().await;
        self.rows.get(i).cloned().ok_or(AppError::NotFound)
    }

    // s23 `&mut self`. OK.
    //@ok bulkhead(name = "s23", max = 4)
    pub async fn s23_mut_self(&mut self, t: T) -> AppResult<&mut T> {
        self.rows.push(t);
        tick().await;
        self.rows.last_mut().ok_or(AppError::NotFound)
    }

    // s24 `mut self`. OK.
    //@ok bulkhead(name = "s24", max = 4)
    pub async fn s24_owned_self(mut self) -> AppResult<Self> {
        self.rows.clear();
        tick().await;
        Ok(self)
    }

    // s25 `self: Arc<Self>`. OK.
    //@ok bulkhead(name = "s25", max = 4)
    pub async fn s25_arc_self(self: Arc<Self>) -> AppResult<usize> {
        tick().await;
        Ok(self.rows.len())
    }

    // s26 `self: &Arc<Self>`, `self: Pin<&mut Self>`, `self: Box<Self>`. OK.
    //@ok bulkhead(name = "s26a", max = 4)
    pub async fn s26_ref_arc(self: &Arc<Self>) -> AppResult<Arc<Self>> {
        tick().await;
        Ok(Arc::clone(self))
    }
    //@ok bulkhead(name = "s26b", max = 4)
    pub async fn s26_pin(self: Pin<&mut Self>) -> AppResult<usize> {
        tick().await;
        Ok(self.rows.len())
    }
    //@ok bulkhead(name = "s26c", max = 4)
    pub async fn s26_box(self: Box<Self>) -> AppResult<Box<Self>> {
        tick().await;
        Ok(self)
    }

    // s27 no receiver, `Self` in the return type, in arguments and as constructor. OK.
    //@ok bulkhead(name = "s27", max = 4)
    pub async fn s27_ctor(rows: Vec<T>, other: Option<Self>) -> AppResult<Self>
    where
        Self: Sized,
    {
        tick().await;
        let limit = rows.len().min(Self::LIMIT);
        Ok(Self { rows: rows[..limit].to_vec(), name: other.map(|o| o.name).unwrap_or_default() })
    }

    // s28 a method with its own generics in a generic impl, and Self inside macros. OK.
    //@ok bulkhead(name = "s28", max = 4)
    pub async fn s28_own_generics<U: From<T>>(&self, f: impl Fn(&Self) -> bool) -> AppResult<Vec<U>> {
        assert!(f(self), "{} {}", Self::LIMIT, self.name);
        tick().await;
        Ok(self.rows.iter().cloned().map(U::from).collect())
    }
}

pub struct Session<'a> {
    token: &'a str,
}
impl<'a> Session<'a> {
    // s29 a lifetime of the impl block comes out, not that of `&self`. OK.
    //@ok bulkhead(name = "s29", max = 4)
    pub async fn s29_impl_lifetime(&self) -> AppResult<&'a str> {
        tick().await;
        Ok(self.token)
    }
    // s30 `'_` of `&self` comes out. OK.
    //@ok bulkhead(name = "s30", max = 4)
    pub async fn s30_self_lifetime<'b>(&'b self, _other: &str) -> AppResult<&'b Session<'a>> {
        tick().await;
        Ok(self)
    }
}

pub struct Tuple(u32);
impl Tuple {
    // s31 `Self(..)` as constructor and pattern in the body. OK.
    //@ok bulkhead(name = "s31", max = 4)
    pub async fn s31_self_ctor(self) -> AppResult<Self> {
        let Self(n) = self;
        tick().await;
        Ok(Self(n + 1))
    }
}

// =====================================================================================
// 4. Traits
// =====================================================================================

pub trait Store {
    type Item: Send;
    type Error: From<BulkheadError>;

    async fn get(&self, id: u64) -> Result<Self::Item, Self::Error>;

    // s32 default body in a trait with native async fn. OK: ONE partition shared by all
    // implementors that do not override the method (documented).
    //@ok bulkhead(name = "s32", max = 4)
    async fn get_twice(&self, id: u64) -> Result<(Self::Item, Self::Item), Self::Error> {
        Ok((self.get(id).await?, self.get(id).await?))
    }
}

impl Store for App {
    type Item = String;
    type Error = AppError;
    // s33 native async fn in a trait impl. OK: it stays an `async fn`, no refinement lint.
    //@ok bulkhead(name = "s33", max = 4)
    async fn get(&self, id: u64) -> Result<Self::Item, Self::Error> {
        tick().await;
        Ok(format!("{} {id}", self.name))
    }
}

pub trait SendStore {
    fn load(&self, id: u64) -> impl Future<Output = AppResult<u64>> + Send;
}
impl SendStore for App {
    // s34 an async fn that implements an `-> impl Future + Send` method. OK: the guarded future
    // must still be Send.
    //@ok bulkhead(name = "s34", max = 4)
    async fn load(&self, id: u64) -> AppResult<u64> {
        tick().await;
        Ok(id)
    }
}

pub mod s35_async_trait {
    use crate::support::*;

    #[async_trait::async_trait]
    pub trait Port: Send + Sync {
        async fn call(&self, s: &str) -> AppResult<usize>;

        // s35a default method under #[async_trait]. By the time our attribute runs, the method is
        // `fn .. -> Pin<Box<dyn Future<Output = ..> + Send + 'async_trait>>` with the body inside
        // `Box::pin(async move { .. })`. OK: the FUTURE is guarded (acquire at first poll), not the
        // call that builds the box.
        //@ok bulkhead(name = "s35a", max = 4)
        async fn call_twice(&self, s: &str) -> AppResult<usize> {
            Ok(self.call(s).await? + self.call(s).await?)
        }
    }

    pub struct Client {
        pub base: String,
    }

    #[async_trait::async_trait]
    impl Port for Client {
        // s35b impl method under #[async_trait]. OK, as s35a.
        //@ok bulkhead(name = "s35b", max = 4)
        async fn call(&self, s: &str) -> AppResult<usize> {
            tick().await;
            Ok(self.base.len() + s.len())
        }
    }

    pub fn still_object_safe(p: Box<dyn Port>) -> Box<dyn Port> {
        p
    }

    #[async_trait::async_trait(?Send)]
    pub trait LocalPort {
        // s35c ?Send variant: no Send bound may be added. OK.
        //@ok bulkhead(name = "s35c", max = 4)
        async fn local(&self, r: std::rc::Rc<u32>) -> AppResult<u32> {
            tick().await;
            Ok(*r)
        }
    }
}

// =====================================================================================
// 5. Return types
// =====================================================================================

// s36 type alias that hides `Result`. OK: decided by type, never by the spelling `Result`.
pub type Outcome = std::result::Result<u32, AppError>;
//@ok bulkhead(name = "s36", max = 4)
pub async fn s36_alias() -> Outcome {
    tick().await;
    Ok(1)
}

// s37 full paths. OK.
//@ok bulkhead(name = "s37", max = 4)
pub async fn s37_full_path() -> ::core::result::Result<::std::string::String, crate::support::AppError> {
    tick().await;
    Ok(String::new())
}

// s38 opaque type inside Result. OK. (Doc: the permit is released when the function returns, not when
// the returned iterator or stream has been drained.)
//@ok bulkhead(name = "s38", max = 4)
pub async fn s38_result_impl(n: u32) -> Result<impl Iterator<Item = u32> + Send, AppError> {
    tick().await;
    Ok((0..n).map(|i| i * 2))
}

// s39 opaque type that borrows an argument. OK.
//@ok bulkhead(name = "s39", max = 4)
pub async fn s39_result_impl_borrow<'a>(s: &'a str) -> Result<impl Iterator<Item = &'a str> + 'a, AppError> {
    tick().await;
    Ok(s.split(' '))
}

// s40 boxed trait object: the body returns a concrete box and relies on coercion. OK.
//@ok bulkhead(name = "s40", max = 4)
pub async fn s40_result_box_dyn(n: u32) -> Result<Box<dyn Fn(u32) -> u32 + Send + Sync>, AppError> {
    tick().await;
    Ok(Box::new(move |x| x + n))
}

// s42 boxed dyn error. OK: `Box<dyn Error + Send + Sync>: From<BulkheadError>` because BulkheadError is
// `Error + Send + Sync + 'static`.
//@ok bulkhead(name = "s42", max = 4)
pub async fn s42_box_error(s: &str) -> Result<u32, Box<dyn std::error::Error + Send + Sync>> {
    tick().await;
    if s.is_empty() {
        return Err("empty".into());
    }
    Ok(s.parse::<u32>()?)
}

// s43 the rejection error itself. OK (`From<T> for T`).
//@ok bulkhead(name = "s43", max = 4)
pub async fn s43_reject_itself() -> Result<(), BulkheadError> {
    tick().await;
    Ok(())
}

// s44 never-returning worker with an error. OK: no unreachable_code warning.
//@ok bulkhead(name = "s44", max = 4)
pub async fn s44_infallible_loop() -> Result<std::convert::Infallible, AppError> {
    loop {
        tick().await;
    }
}

// s45 diverging bodies. OK: no unreachable_code / diverging_sub_expression warning.
//@ok bulkhead(name = "s45a", max = 4)
pub async fn s45_todo() -> AppResult<u32> {
    todo!()
}
//@ok bulkhead(name = "s45b", max = 4)
pub async fn s45_return_only() -> AppResult<u32> {
    return Ok(1);
}
//@ok bulkhead(name = "s45c", max = 4)
pub async fn s45_panic_branch(b: bool) -> AppResult<u32> {
    if b {
        return Err(AppError::NotFound);
    } else {
        panic!("no")
    }
}

// s46 bare `impl Trait` whose hidden type is a suitable Result. OK if the strategy infers it (inline
// body does); otherwise the clear error of f05. Never a "type annotations needed" error.
//@ok bulkhead(name = "s46", max = 4)
pub async fn s46_impl_into_response(State(app): State<Arc<App>>) -> impl IntoResponse {
    tick().await;
    Ok::<_, AppError>(app.name.clone())
}

// s47 nested Result and Option inside Result. OK: the OUTER Result carries the rejection.
//@ok bulkhead(name = "s47", max = 4)
pub async fn s47_nested() -> Result<Result<Option<u32>, String>, AppError> {
    tick().await;
    Ok(Err("domain".to_owned()))
}

// =====================================================================================
// 6. Bodies: `?`, return, loops, closures, nested items
// =====================================================================================

// s48 `?` with several error types, closures with their own `?`, and collect inference. OK.
//@ok bulkhead(name = "s48", max = 4)
pub async fn s48_question_marks(s: &str) -> AppResult<Vec<u32>> {
    let n: u32 = s.parse()?;
    std::io::Result::Ok(())?;
    tick().await;
    let f = |x: &str| -> AppResult<u32> { Ok(x.parse::<u32>()? + n) };
    s.split(',').map(f).collect()
}

// s49 early returns at several depths, let-else, labelled break with value. OK.
//@ok bulkhead(name = "s49", max = 4)
pub async fn s49_early_return(v: Option<u32>, m: HashMap<u32, u32>) -> AppResult<u32> {
    let Some(v) = v else { return Err(AppError::NotFound) };
    let found = 'outer: loop {
        for (k, x) in &m {
            if *k == v {
                break 'outer *x;
            }
            if *x == v {
                return Ok(*k);
            }
        }
        tick().await;
        return Err(AppError::NotFound);
    };
    match found {
        0 => return Ok(0),
        n if n > 10 => Err(AppError::NotFound)?,
        n => Ok(n),
    }
}

// s50 while-let, continue, await inside conditions and macros. OK.
//@ok bulkhead(name = "s50", max = 4)
pub async fn s50_loops(mut v: Vec<u32>) -> AppResult<String> {
    let mut out = 0;
    while let Some(x) = v.pop() {
        if x % 2 == 0 {
            continue;
        }
        tick().await;
        out += x;
    }
    Ok(format!("{out} {}", s01_free_fn().await?))
}

// s52 nested items, `use`, a nested async fn, a nested macro_rules that uses the arguments. OK; no
// clippy::items_after_statements that the user did not cause.
//@ok bulkhead(name = "s52", max = 4)
pub async fn s52_nested_items(n: u32) -> AppResult<u32> {
    use std::collections::BTreeMap;
    const K: u32 = 2;
    struct Local(u32);
    impl Local {
        //@ok bulkhead(name = "s52b", max = 4)
        async fn go(&self) -> AppResult<u32> {
            tick().await;
            Ok(self.0)
        }
    }
    async fn inner(x: u32) -> AppResult<u32> {
        tick().await;
        Ok(x)
    }
    macro_rules! twice {
        ($e:expr) => {
            n + $e * 2
        };
    }
    let m: BTreeMap<u32, u32> = BTreeMap::new();
    Ok(twice!(K) + inner(n).await? + Local(1).go().await? + m.len() as u32)
}

// s53 a glob import in the body that shadows names of the signature (`Ok`, `Err`, `Result`). OK: the
// body keeps a scope of its own; generated code names everything by absolute path.
pub mod s53_shadow {
    use crate::support::{tick, AppResult};
    pub mod odd {
        pub enum Odd {
            Ok,
            Err,
            Some,
            None,
        }
        pub struct Result;
        pub struct Box;
        pub struct From;
        pub struct Future;
    }
    //@ok bulkhead(name = "s53", max = 4)
    pub async fn shadowed() -> AppResult<u32> {
        #[allow(unused_imports)]
        use odd::{Odd::*, *};
        tick().await;
        let x = if true { Ok } else { Err };
        match x {
            Ok => core::result::Result::Ok(1),
            Err | Some | None => core::result::Result::Err(crate::support::AppError::NotFound),
        }
    }
}

// s54 no implicit prelude. OK.
pub mod s54_no_prelude {
    #![no_implicit_prelude]
    //@ok bulkhead(name = "s54", max = 4)
    pub async fn no_prelude(n: u32) -> crate::support::AppResult<u32> {
        crate::support::tick().await;
        ::std::result::Result::Ok(n)
    }
}

// s55 user modules called like our crate, `std` and `core`. OK: generated paths start with `::`.
pub mod s55_module_names {
    pub mod bulkhead {}
    pub mod std {}
    pub mod core {}
    //@ok bulkhead(name = "s55", max = 4)
    pub async fn clash() -> crate::support::AppResult<u32> {
        crate::support::tick().await;
        Ok(1)
    }
}

// s56 recursion through Box::pin. OK to compile; doc must say that every level takes a permit of the
// same partition, so a depth over `max` waits for itself or is rejected.
//@ok bulkhead(name = "s56", max = 4)
pub async fn s56_recursive(n: u32) -> AppResult<u32> {
    if n == 0 {
        return Ok(0);
    }
    tick().await;
    Ok(n + Box::pin(s56_recursive(n - 1)).await?)
}

// s57 mutual recursion with an explicit Send box. OK: no "cycle detected" or auto-trait error.
//@ok bulkhead(name = "s57", max = 4)
pub async fn s57_even(n: u32) -> AppResult<bool> {
    if n == 0 { Ok(true) } else { s57_odd(n - 1).await }
}
pub fn s57_odd(n: u32) -> Pin<Box<dyn Future<Output = AppResult<bool>> + Send>> {
    Box::pin(async move { if n == 0 { Ok(false) } else { s57_even(n - 1).await } })
}

// s58 temporaries with a destructor in the tail expression. OK in both editions: no new borrow error;
// the permit is released after the temporary is dropped.
//@ok bulkhead(name = "s58a", max = 4)
pub async fn s58_tail_temporary(m: &Mutex<Vec<u32>>) -> AppResult<usize> {
    tick().await;
    Ok(m.lock().unwrap().len())
}
//@ok bulkhead(name = "s58b", max = 4)
pub async fn s58_tail_match(c: &RefCell<Option<u32>>) -> AppResult<u32> {
    tick().await;
    match *c.borrow() {
        Some(n) => Ok(n),
        None => Err(AppError::NotFound),
    }
}
//@ok bulkhead(name = "s58c", max = 4)
pub async fn s58_tail_if_let(m: &Mutex<Option<u32>>) -> AppResult<u32> {
    tick().await;
    if let Some(n) = m.lock().unwrap().as_ref() { Ok(*n) } else { Err(AppError::NotFound) }
}

// s60 empty-ish body. OK: no needless_question_mark, let_unit_value, unused_async that is not there
// without the attribute.
//@ok bulkhead(name = "s60", max = 4)
pub async fn s60_no_await() -> AppResult<()> {
    Ok(())
}

// =====================================================================================
// 7. Auto traits, fn values, local scopes
// =====================================================================================

// s61 not Send (Rc across an await). OK: the attribute must not require Send.
//@ok bulkhead(name = "s61", max = 4)
pub async fn s61_not_send(r: Rc<u32>) -> AppResult<u32> {
    let c = Rc::clone(&r);
    tick().await;
    Ok(*c)
}

// s62 Send and 'static must survive. OK: these calls must keep compiling with the attributes on.
pub fn s62_auto_traits(repo: &'static Repo<u32>, app: &'static App) {
    let _ = assert_static(assert_send(s01_free_fn()));
    let _ = assert_static(assert_send(s05_mut_args(1, vec![])));
    let _ = assert_send(repo.s22_ref_self(0));
    let _ = assert_send(SendStore::load(app, 1));
    let _ = assert_send(s40_result_box_dyn(1));
    let _ = assert_send(s56_recursive(1));
    let _ = assert_send(s58_tail_temporary(&Mutex::new(vec![])));
}

// s63 the function as a value for a router or spawn. OK: still a plain `fn` item with the same
// argument types; `Fn + Clone + Send + Sync + 'static` and the future Send + 'static.
//@ok bulkhead(name = "s63", max = 4)
pub async fn s63_as_value(Path(id): Path<u64>) -> AppResult<u64> {
    tick().await;
    Ok(id)
}
pub fn s63_route() {
    takes_handler(s63_as_value);
    let f: fn(Path<u64>) -> _ = s63_as_value;
    let _ = f(Path(1));
}

// s65 the error type is not Send/Sync. OK: it must not be stored across an await by the expansion.
pub struct LocalError(pub Rc<str>);
impl From<BulkheadError> for LocalError {
    fn from(e: BulkheadError) -> Self {
        Self(e.to_string().into())
    }
}
//@ok bulkhead(name = "s65", max = 4)
pub async fn s65_error_not_send(n: u32) -> Result<u32, LocalError> {
    tick().await;
    if n == 0 { Err(LocalError("zero".into())) } else { Ok(n) }
}
pub fn s65_future_is_send() {
    let _ = assert_send(s65_error_not_send(1));
}

// s66 async fn local to a function, and in an impl local to a function. OK.
pub fn s66_local() {
    //@ok bulkhead(name = "s66", max = 4)
    async fn local(n: u32) -> AppResult<u32> {
        tick().await;
        Ok(n)
    }
    let _ = assert_send(local(1));
}

// =====================================================================================
// 8. Attributes, cfg, unsafe, extern
// =====================================================================================

// s67 attributes on the function: kept, each once, in order. OK: doc shows up in rustdoc, must_use
// and deprecated fire at the caller, the expect is fulfilled exactly once.
/// Documented.
#[doc = "More."]
#[must_use = "check it"]
#[deprecated(note = "old")]
#[inline]
#[expect(unused_variables, reason = "kept for the API")]
//@ok bulkhead(name = "s67", max = 4)
pub async fn s67_attributes(unused: u32) -> AppResult<u32> {
    tick().await;
    Ok(1)
}

// s68 attributes on arguments. OK: stay on the argument.
//@ok bulkhead(name = "s68", max = 4)
pub async fn s68_arg_attributes(#[allow(unused_variables)] a: u32, #[allow(unused_mut)] mut b: u32) -> AppResult<u32> {
    tick().await;
    Ok(b)
}

// s69 cfg on arguments, generics, statements and the function. OK: the macro sees cfg'd-out
// arguments (cfg is not applied before an attribute macro), and must not mention them.
//@ok bulkhead(name = "s69", max = 4)
#[cfg(not(extra))]
pub async fn s69_cfg<#[cfg(any())] G, T: Into<u32>>(#[cfg(any())] gone: G, #[cfg(all())] here: T) -> AppResult<u32> {
    #[cfg(any())]
    drop(gone);
    tick().await;
    #[cfg(all())]
    {
        Ok(here.into())
    }
    #[cfg(any())]
    {
        Err(AppError::NotFound)
    }
}

// s70 inner attributes at the start of the body. OK: still legal, still scoped to the whole function.
//@ok bulkhead(name = "s70", max = 4)
pub async fn s70_inner_attribute(n: u32) -> AppResult<u32> {
    #![allow(unused_variables)]
    let unused = n;
    tick().await;
    Ok(n)
}

// s71 async unsafe fn. OK: qualifier order `async unsafe` kept; calling it still needs unsafe; no
// unsafe block is added around the body.
//@ok bulkhead(name = "s71", max = 4)
pub async unsafe fn s71_unsafe(p: *const u32) -> AppResult<u32> {
    // SAFETY: the caller promises that `p` is valid.
    let n = unsafe { *p };
    tick().await;
    Ok(n)
}

// s72 async extern fn. OK (rare): the ABI string is kept.
//@ok bulkhead(name = "s72", max = 4)
pub async extern "Rust" fn s72_extern(n: u32) -> AppResult<u32> {
    tick().await;
    Ok(n)
}

// s73 under `forbid(unsafe_code)` and `deny(missing_docs)`. OK: nothing generated breaks either.
pub mod s73_strict {
    //! Strict module.
    #![forbid(unsafe_code)]
    #![deny(missing_docs, unreachable_pub, unused_qualifications, elided_lifetimes_in_paths, single_use_lifetimes)]
    use crate::support::*;
    /// Documented.
    ///
    /// # Errors
    /// On rejection.
    //@ok bulkhead(name = "s73", max = 4)
    pub async fn strict(n: u32) -> AppResult<u32> {
        tick().await;
        Ok(n)
    }
}

// =====================================================================================
// 9. Generated by macro_rules (None-delimited groups, fragments of every kind)
// =====================================================================================

macro_rules! make_handler {
    ($(#[$m:meta])* $vis:vis $name:ident($($a:ident: $t:ty),*) -> $ret:ty $body:block) => {
        $(#[$m])*
        $vis async fn $name($($a: $t),*) -> $ret $body
    };
}
// s74 ident, ty, vis, meta and block fragments. OK: `$ret:ty` and `$body:block` arrive inside
// None-delimited groups. (With the attribute: pass it through `$m:meta`, see s74b, or write it in
// the macro, see s75.)
make_handler! {
    /// Generated.
    pub s74_generated(a: u32, b: &str) -> Result<u32, AppError> {
        tick().await;
        Ok(a + b.len() as u32)
    }
}

macro_rules! make_method {
    ($ty:ident, $name:ident, $max:expr, $label:literal, $self_:ident, $body:expr) => {
        impl $ty {
            // s75 the attribute's own values come from fragments: `$max:expr` and `$label:literal`
            // arrive as None-delimited groups around the literal. OK: the groups are looked through.
            // The receiver comes from the caller, so `self` must resolve with the caller's hygiene.
            //@ok bulkhead(name = $label, max = $max)
            pub async fn $name(&$self_) -> AppResult<String> {
                tick().await;
                $body
            }
        }
    };
}
make_method!(App, s75_method, 4, "s75", self, Ok(self.name.clone()));

macro_rules! make_item {
    ($item:item) => {
        $item
    };
}
// s76 a whole `item` fragment. OK: syn must look into the group.
make_item! {
    //@ok bulkhead(name = "s76", max = 4)
    pub async fn s76_item(n: u32) -> AppResult<u32> { tick().await; Ok(n) }
}

macro_rules! make_tt {
    ($($tt:tt)*) => { $($tt)* };
}
// s77 token-muncher style. OK.
make_tt! {
    //@ok bulkhead(name = "s77", max = 4)
    pub async fn s77_tt<'a, T>(t: &'a T) -> AppResult<&'a T> where T: Debug + ?Sized { tick().await; Ok(t) }
}

macro_rules! make_const {
    ($name:ident, $n:ident, $t:ty, $lt:lifetime) => {
        //@ok bulkhead(name = "s78", max = 4)
        pub async fn $name<$lt, const $n: usize>(a: &$lt [$t; $n]) -> AppResult<&$lt $t> {
            tick().await;
            a.first().ok_or(AppError::NotFound)
        }
    };
}
// s78 lifetime and const-generic fragments. OK.
make_const!(s78_const, N, u8, 'x);

// s79 bodies on one line. OK: re-emitting the user's braces as a nested block makes rustc report
// `unused_braces` on exactly these; there must be no such warning.
//@ok bulkhead(name = "s79a", max = 4)
pub async fn s79_one_line() -> AppResult<u32> { Ok(1) }
//@ok bulkhead(name = "s79b", max = 4)
pub async fn s79_one_line_await(n: u32) -> AppResult<u32> { s05_mut_args(n, vec![]).await.map(|v| v.len() as u32) }
//@ok bulkhead(name = "s79c", max = 4)
pub async fn s79_one_line_block(n: Option<u32>) -> AppResult<u32> { match n { Some(n) => Ok(n), None => Err(AppError::NotFound) } }

// s80 valid in edition 2024 only: a tail temporary that borrows a local. OK in 2024. The braces
// around the user's statements must be the user's own tokens, because the drop rule for tail
// temporaries follows the edition of the braces (a macro crate of an older edition breaks this).
// Compiled when the edition is 2024.
#[cfg(edition2024)]
//@ok bulkhead(name = "s80", max = 4)
pub async fn s80_edition_2024_tail() -> AppResult<usize> {
    let c = RefCell::new(vec![1]);
    tick().await;
    Ok(c.borrow().len())
}

// s81 `#[track_caller]` is a no-op with a warning on async fns today. OK: same single warning
// (allowed here), no hard error from an inner closure or block.
#[allow(ungated_async_fn_track_caller)]
#[track_caller]
//@ok bulkhead(name = "s81", max = 4)
pub async fn s81_track_caller(n: u32) -> AppResult<u32> {
    tick().await;
    Ok(n)
}

// s82 precise capturing in a nested opaque type. OK: the signature is passed through as tokens.
//@ok bulkhead(name = "s82", max = 4)
pub async fn s82_use_bound<'a>(s: &'a str) -> Result<impl Iterator<Item = char> + use<'a>, AppError> {
    tick().await;
    Ok(s.chars())
}

// s85 two partitions on one function. OK, and documented: the LOWER attribute is acquired first
// (attributes expand from the top, each one wraps what is there), so name them in one order everywhere.
//@ok bulkhead(name = "s85_second", max = 4)
//@ok bulkhead(name = "s85_first", max = 4)
pub async fn s85_two_partitions(n: u32) -> AppResult<u32> {
    tick().await;
    Ok(n)
}

// s86 implemented for a reference and through a blanket impl. OK.
impl<T: Store + ?Sized> Store for &T {
    type Item = T::Item;
    type Error = T::Error;
    //@ok bulkhead(name = "s86", max = 4)
    async fn get(&self, id: u64) -> Result<Self::Item, Self::Error> {
        (**self).get(id).await
    }
}

// s87 `mut` on a typed receiver. OK, no `unused_mut`.
impl App {
    //@ok bulkhead(name = "s87", max = 4)
    pub async fn s87_mut_typed_self<'a>(mut self: &'a Self, other: &'a Self) -> AppResult<&'a str> {
        if self.name.is_empty() {
            self = other;
        }
        tick().await;
        Ok(&self.name)
    }
}

// s88 a hand-written boxed future. OK: it is the same shape that #[async_trait] leaves behind (s35), so
// it is guarded exactly like it - the future, never the call that only builds the box.
//@ok bulkhead(name = "s88", max = 4)
pub fn s88_boxed_future<'a>(s: &'a str) -> Pin<Box<dyn Future<Output = AppResult<usize>> + Send + 'a>> {
    Box::pin(async move {
        tick().await;
        Ok(s.len())
    })
}

// =====================================================================================
// 10. Shapes that must give a clear compile error (all valid Rust without the attribute)
// =====================================================================================

// f01 no return type. ERROR at the fn name:
//   `#[bulkhead]` cannot report a rejection through the return type `()`
//   note: return `Result<T, E>` where `E: From<bulkhead_runtime::BulkheadError>`
//@fail bulkhead(name = "f01", max = 4)
pub async fn f01_unit() {
    tick().await;
}

// f02 `-> !`. ERROR at `!`, same text as f01, and only that one (a `let x: !` in the expansion would add
// "the `!` type is experimental": catch this case by syntax).
//@fail bulkhead(name = "f02", max = 4)
pub async fn f02_never() -> ! {
    loop {
        tick().await;
    }
}

// f03 Option. ERROR at the return type: a rejection has no place in an `Option`; suggest Result.
//@fail bulkhead(name = "f03", max = 4)
pub async fn f03_option() -> Option<u32> {
    tick().await;
    Some(1)
}

// f04 plain values and tuples. ERROR at the return type.
//@fail bulkhead(name = "f04a", max = 4)
pub async fn f04_plain() -> u32 {
    tick().await;
    1
}
//@fail bulkhead(name = "f04b", max = 4)
pub async fn f04_tuple() -> (u32, String) {
    tick().await;
    (1, String::new())
}

// f05 bare impl Trait whose hidden type is no Result. ERROR at `impl IntoResponse`:
//   the rejection must be turned into the returned type; name the type, or return Result.
//@fail bulkhead(name = "f05", max = 4)
pub async fn f05_impl_trait() -> impl IntoResponse {
    tick().await;
    String::from("x")
}

// f06 error type without the conversion. ERROR at the error type (or the return type):
//   `#[bulkhead]` cannot turn a rejection into the error type `String`
//   label: `String` does not implement `From<bulkhead_runtime::BulkheadError>`
//@fail bulkhead(name = "f06a", max = 4)
pub async fn f06_string_error() -> Result<u32, String> {
    tick().await;
    Ok(1)
}
//@fail bulkhead(name = "f06b", max = 4)
pub async fn f06_io_error() -> std::io::Result<u32> {
    tick().await;
    Ok(1)
}

// f08 generic error without the bound. ERROR at the return type, and the help names the bound:
//   consider adding `E: From<BulkheadError>`
//@fail bulkhead(name = "f08", max = 4)
pub async fn f08_generic_error<E>(e: Option<E>) -> Result<u32, E> {
    tick().await;
    match e {
        Some(e) => Err(e),
        None => Ok(1),
    }
}

// f09 sync fn. ERROR at `fn`: `#[bulkhead]` can only be used on `async fn`; help: add `async`.
//@fail bulkhead(name = "f09", max = 4)
pub fn f09_sync() -> AppResult<u32> {
    Ok(1)
}

// f10 sync fn that returns a future. ERROR at `fn`: write it as `async fn`; or guard the future by
// hand with `partition.run(fut)`.
//@fail bulkhead(name = "f10", max = 4)
pub fn f10_impl_future() -> impl Future<Output = AppResult<u32>> {
    async {
        tick().await;
        Ok(1)
    }
}

// f11 required trait method, no body. ERROR at the fn name: nothing to guard here; put the attribute on the impl.
pub trait F11 {
    //@fail bulkhead(name = "f11", max = 4)
    async fn f11_no_body(&self) -> AppResult<u32>;
}

// f12 const fn. ERROR at `const`: a permit cannot be taken in a const fn. (Only this error.)
//@fail bulkhead(name = "f12", max = 4)
pub const fn f12_const() -> u32 {
    1
}

// f13 not a function. ERROR at the item keyword, naming what was found:
//   `#[bulkhead]` can only be used on `async fn`, found a struct / impl block / trait / module / static
//@fail bulkhead(name = "f13a", max = 4)
pub struct F13Struct;
//@fail bulkhead(name = "f13b", max = 4)
impl F13Struct {
    pub async fn method(&self) -> AppResult<u32> {
        Ok(1)
    }
}
//@fail bulkhead(name = "f13c", max = 4)
pub trait F13Trait {}
//@fail bulkhead(name = "f13d", max = 4)
pub mod f13_module {}
//@fail bulkhead(name = "f13e", max = 4)
pub static F13_STATIC: u32 = 1;
//@fail bulkhead(name = "f13f", max = 4)
pub use std::collections::BTreeMap as F13Use;

// f15 a macro call in item position. ERROR at the macro call: the attribute sees only the call, put
// it inside the macro (or pass it in as `$(#[$m:meta])*`).
//@fail bulkhead(name = "f15", max = 4)
make_tt! {
    pub async fn f15_macro_call() -> AppResult<u32> { tick().await; Ok(1) }
}
