//! What can be written: lists and items from the grammar, and much that is none.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

/// Stands for a group without delimiters, as a fragment of `macro_rules!` arrives in one.
pub(super) const INVISIBLE: &str = "invisible";
/// Stands for a `-1` that another macro made as one token.
pub(super) const MINUS_ONE: &str = "minus_one";

const KEYS: &str = "
    name ¦ max ¦ queue ¦ wait ¦ timeout ¦ reject ¦ classify ¦ crate ¦ r#max ¦ reserve ¦ per_key ¦
    measured ¦ status ¦ capacity ¦ spare ¦ replicas ¦ deadline ¦ margin ¦ breaker ¦ slow ¦
    retry ¦ fallback ¦ fallback ¦ settle ¦ retry_budget ¦ idempotent ¦ attempts
";
const KEYS_INSIDE: &str = "
    rate ¦ mean ¦ shed ¦ shed ¦ max ¦ rps ¦ measured ¦ crate ¦ failure_rate ¦ slow_rate ¦ slow ¦ window ¦
    min_calls ¦ consecutive ¦ open_for ¦ max_open_for ¦ probes ¦ timeout ¦ reset_timeout ¦ breaker ¦ idempotent ¦
    attempts ¦ backoff ¦ cap ¦ when ¦ ratio ¦ min ¦ max_retries ¦ settle ¦ retry
";
const NO_KEYS: &str = "
    mx ¦ limit ¦ max_wait ¦ größe ¦ self ¦ Self ¦ fn ¦ _ ¦ report ¦ r#fn ¦ static ¦ minus_one
";
const VALUES: &str = r##"
    "report" ¦ r#"re"port"# ¦ "" ¦ "ein größerer name" ¦ b"x" ¦ c"x" ¦ '4' ¦ b'4' ¦ 4 ¦ 0 ¦ -1 ¦
    minus_one ¦ - -1 ¦ 4.0 ¦ 4i32 ¦ 0x10 ¦ 1_000 ¦ 1e3 ¦ 1e3s ¦ 99999999999999999999 ¦ 4ms ¦ 25ms ¦
    0ms ¦ 1.5s ¦ 2m ¦ 5min ¦ 500us ¦ 5µs ¦ 25 ms ¦ 0.5 s ¦
    99999999999999999999999999999999999999999h ¦ 1.00000000000000000001s ¦ "500ms" ¦ "5 s" ¦ true ¦
    LIMIT ¦ LIMIT * 2 ¦ limits::MAX ¦ ::limits::MAX ¦ report ¦ a ¦ N ¦ T::MAX ¦ self.n ¦ Self::N ¦
    size_of::<T>() ¦ to_mine ¦ |e| f::<A, B>(e, 1) ¦ crate::facade ¦ <X as Y>::A ¦
    Duration::from_secs(2) ¦ { 4 } ¦ if x { 1 } else { 2 } ¦ invisible(4) ¦ invisible(-1) ¦
    invisible(invisible(25ms)) ¦ invisible("x") ¦ invisible() ¦ invisible(LIMIT) ¦ invisible(a) ¦
    4 + ¦ - ¦ ! ¦ & ¦ | ¦ || ¦ f() ¦ 4 5 ¦ 4 4 4 ¦ match ¦ 'a ¦ .. ¦ a. ¦ x as ¦ &mut ¦ return ¦
    1% ¦ 0.5% ¦ 100 % ¦ -1% ¦ 1ms% ¦ 1u8% ¦ 1e1% ¦ 0.00001% ¦ "1%" ¦ "1"% ¦ LIMIT % ¦ 1 % 2 ¦ 0.01 ¦
    invisible(1)% ¦ minus_one % ¦ % ¦ 1 percent ¦ 0.5 ¦ 0.0001 ¦ 4294967296 ¦
    cached(a, error) ¦ self.stale(&a, error) ¦ cached(error).await ¦ cached(b)? ¦ invisible(cached(w, error)) ¦
    cached(self::a, error) ¦ a.b.c(x, y) ¦ cached(format!("{a}{error}")) ¦ |error| cached(error) ¦ async { 1 } ¦
    cached!(error) ¦ error ¦ is_transient ¦ |e| e.is_transient() ¦ idempotent ¦
    #[cfg(x)] 4 ¦ (4) ¦ [1, 2] ¦ 4; ¦ ? 4 ¦ self ¦ "a" "b" ¦ é ¦ move ¦ async {}
"##;
const PATHS: &str = "
    CHECKOUT ¦ postgres::CHECKOUT ¦ ::other::A ¦ <X as Y>::A ¦ self.partition ¦ Self::CHECKOUT ¦
    crate::db::A ¦ a::<u8>::B ¦ a:: ¦ :: ¦ < ¦ a::b() ¦ a::B[0] ¦ invisible(postgres::CHECKOUT) ¦
    self ¦ self.a, self.b
";
const NOISE: &str = r#"
    + ¦ - ¦ * ¦ # ¦ ! ¦ ? ¦ @ ¦ $ ¦ . ¦ .. ¦ ... ¦ :: ¦ < ¦ > ¦ = ¦ == ¦ => ¦ : ¦ ; ¦ && ¦ 'a ¦
    "x" ¦ 4 ¦ 25ms ¦ () ¦ [] ¦ {} ¦ (max = 4) ¦ [cfg(x)] ¦ { a, b; c } ¦ invisible() ¦
    invisible(,) ¦ #[cfg(x)] ¦ #![x] ¦ max ¦ ms ¦ é ¦ minus_one
"#;
const SEPARATORS: &str = "
    , ¦ , ¦ , ¦ , ¦ , ¦ , ¦  ¦ ,, ¦ ; ¦ = ¦ |
";

/// One of the alternatives between the bars.
fn any(of: &'static str) -> impl Strategy<Value = &'static str> {
    select(of.split('¦').map(str::trim).collect::<Vec<_>>())
}

pub(super) fn list() -> impl Strategy<Value = String> {
    let key = || prop_oneof![6 => any(KEYS), 1 => any(NO_KEYS)];
    let value = || any(VALUES);
    let entry = prop_oneof![
        12 => (key(), value()).prop_map(|(key, value)| format!("{key} = {value}")),
        1 => key().prop_map(str::to_owned),
        1 => any("settle ¦ settle ¦ settle = true ¦ settle() ¦ settle: ¦ settle retry ¦ settle max = 4").prop_map(str::to_owned),
        1 => key().prop_map(|key| format!("{key} =")),
        1 => (key(), value(), any("¦ : ¦ == ¦ => ¦ = = ¦ ::"))
            .prop_map(|(key, value, between)| format!("{key} {between} {value}")),
        1 => (key(), value()).prop_map(|(key, value)| format!("{key}({value})")),
        4 => list_inside(),
        1 => (key(), value()).prop_map(|(key, value)| format!("#[cfg(x)] {key} = {value}")),
        1 => value().prop_map(str::to_owned),
        2 => any(PATHS).prop_map(str::to_owned),
        2 => vec(any(NOISE), 1..4).prop_map(|noise| noise.join(" ")),
    ];
    let entries = vec((entry, any(SEPARATORS)), 0..7);
    let correct = option::of(any(
        "name = \"x\", max = 4, ¦ CHECKOUT, ¦ capacity = 30, replicas = 4, ¦
         name = \"x\", max = 4, measured(rate = 40, mean = 80ms), ¦ CHECKOUT, deadline = 3s, margin = 150ms, ¦
         name = \"x\", max = 4, timeout = 2s, breaker(), ¦ CHECKOUT, fallback = cached(a, error), ¦
         CHECKOUT, retry(idempotent, attempts = 3, backoff = 40ms, when = is_transient), ¦
         name = \"x\", max = 4, settle, timeout = 2s, deadline = 9s,
             retry(idempotent, attempts = 2, backoff = 40ms, cap = 1s, when = |e| e.f()), fallback = cached(a, w, error), ¦
         name = \"x\", max = 4, retry_budget(ratio = 20%, min = 3, window = 10s),",
    ));
    (correct, entries).prop_map(|(correct, entries)| {
        let mut list = correct.unwrap_or_default().to_owned();
        for (entry, separator) in entries {
            list.extend([entry.as_str(), separator, " "]);
        }
        list
    })
}

/// A list inside of the list.
fn list_inside() -> impl Strategy<Value = String> {
    let key = prop_oneof![6 => any(KEYS_INSIDE), 1 => any(NO_KEYS)];
    let entry = prop_oneof![
        6 => (key, any(VALUES)).prop_map(|(key, value)| format!("{key} = {value}")),
        1 => any(VALUES).prop_map(str::to_owned),
        1 => any("idempotent").prop_map(str::to_owned),
        1 => any(PATHS).prop_map(str::to_owned),
        1 => any(NOISE).prop_map(str::to_owned),
    ];
    (
        any("measured ¦ measured ¦ breaker ¦ breaker ¦ retry ¦ retry ¦ retry_budget ¦ measured = ¦ breaker: ¦ settle ¦ max"),
        vec((entry, any(SEPARATORS)), 0..4),
        any("() ¦ () ¦ () ¦ [] ¦ {}"),
    )
        .prop_map(|(key, entries, braces)| {
            let (open, close) = braces.split_at(1);
            let inside: Vec<_> = entries
                .iter()
                .flat_map(|(entry, separator)| [entry.as_str(), separator])
                .collect();
            format!("{key}{open}{}{close}", inside.join(" "))
        })
}

const BEFORE: &str = r#"
     ¦  ¦ pub ¦ pub(crate) ¦ #[doc = "x: y"] ¦ #[cfg(x)] pub ¦ default ¦
    #[bulkhead(name = "x", max = 4)] ¦ #[bulkhead(CHECKOUT, timeout = )] ¦ invisible(pub)
"#;
const QUALIFIERS: &str = r#"
    async ¦ async ¦ async ¦ async ¦  ¦ const ¦ unsafe ¦ async unsafe ¦ extern "C" ¦ const async ¦
    async gen
"#;
const GENERICS: &str = "
     ¦  ¦ <T> ¦ <'a, T: 'a + Fn() -> u8, const N: usize> ¦ < ¦ <T,
";
const ARGUMENTS: &str = "
     ¦ &self ¦ self: Arc<Self> ¦ &'a mut self, a: u32 ¦ a: u32, b: T ¦ (a, mut b): (u8, u8) ¦
    State(app): State<App>, [x, .., y]: [u8; 4] ¦ #[cfg(x)] a: u8, #[cfg_attr(x, cfg(y))] b: u8 ¦
    _: u8, _guard: Guard, Unit: Unit ¦ w @ R { z, .. }: R ¦ a: impl Fn(u8) -> u8 ¦ a: u8, ... ¦
    a: invisible(u8) ¦ a ¦ a: , b ¦ 1 ¦ mut a: &mut u8, error: u8 ¦ mut self: Pin<&mut Self>, mut a: &'a str ¦
    ref a: String, (ref mut b, _): (u8, &mut u8) ¦ self, a: Cow<'_, str>, b: impl Fn(&u8) -> &u8
";
const OUTPUTS: &str = "
     ¦ -> Result<u32, E> ¦ -> Result<impl Iterator<Item = Vec<u8>> + 'a, E> ¦ -> impl Sized ¦
    -> impl Future<Output = u8> + Send ¦ -> ! ¦ -> (u8, impl A) ¦ -> invisible(Result<T, E>) ¦
    -> Pin<Box<dyn Future<Output = Result<u8, E>> + Send + 'a>> ¦ -> BoxFuture<'a, Result<u8, E>> ¦
    -> [impl A; 2] where T: Send ¦ -> invisible(!) ¦ -> ¦ -> impl ¦ -> Pin<Box<dyn Future>>
";
const BODIES: &str = r#"
    {} ¦ { Ok(1) } ¦ { #![allow(unused)] #![doc = "x"] Ok(a) } ¦ { let x = a. ; if x { } } ¦
    { format!("{a} {b:?}") } ¦ { #! [x] #! } ¦ { return Box::pin(async move { a }) } ¦
    invisible({ a }) ¦ invisible({ a } b) ¦ { match { } } ¦ ; ¦  ¦ { } { } ¦ = 4;
"#;
const OTHER_ITEMS: &str = r#"
    static A: Partition; ¦ pub static A: bulkhead_runtime::Partition; ¦ static mut A: Partition; ¦
    static A: Partition = make(1, 2); ¦ static A: u8; ¦ static mut A: u8 = 1; ¦
    static A: &'static Partition; ¦ #[cfg(x)] pub(crate) static A: Partition; ¦
    static A: invisible(Partition); ¦ static A; ¦ static A: ; ¦ static A: Partition ¦
    static A: Partition = ; ¦ static A: Partition; x ¦ static ¦ const A: u8 = 1; ¦ struct A; ¦
    pub struct A<T> { a: T } ¦ enum A { B } ¦ union A { a: u8 } ¦ type A = u8; ¦ use a::b; ¦
    mod a { } ¦ mod a; ¦ pub mod a { #[partition(name = "a", max = 1)] static A: Partition; } ¦
    #[cfg(x)] mod r#mod { #![doc = "x"] #[cfg_attr(x, cfg(y), partition(max = 1))] static A: Partition; } ¦
    mod a { #[partition] static A: Partition; #[cfg(x)] #[a::partition] pub static B: a::Partition; } ¦
    mod a { #[partition] static A: u8; #[bulkhead(name = "x")] async fn f() {} } ¦ unsafe mod a { } ¦
    mod a { #[bulkhead(name = "x", max = 4)] async fn f() {} #[bulkhead(A)] fn g() {} #[x] #![y] # } ¦
    mod a { invisible(#[partition] static A: invisible(Partition);) } ¦ mod ¦ mod a ¦
    invisible(mod a { #[partition] static A: Partition; }) ¦ impl A { } ¦ unsafe impl A for B { } ¦ trait A { } ¦ auto trait A { } ¦
    extern "C" { } ¦ extern crate a; ¦ macro_rules! a { () => {} } ¦ a::make! { b } ¦ make!(b); ¦
    invisible(struct A;) ¦ invisible(async fn f() -> Result<u8, E> { Ok(1) }) ¦
    invisible(invisible(static A: Partition;)) ¦ pub ¦  ¦ invisible() ¦ fn ¦ async ¦ async fn ¦
    pub(in) ¦ async move { } ¦ let x = 4; ¦ "x" ¦ é!
"#;

pub(super) fn item() -> impl Strategy<Value = String> {
    let function = (
        any(BEFORE),
        any(QUALIFIERS),
        any(GENERICS),
        any(ARGUMENTS),
        any(OUTPUTS),
        any(BODIES),
    );
    prop_oneof![
        6 => function.prop_map(|(before, qualifiers, generics, arguments, output, body)| {
            format!("{before} {qualifiers} fn f{generics}({arguments}) {output} {body}")
        }),
        3 => any(OTHER_ITEMS).prop_map(str::to_owned),
        1 => vec(any(NOISE), 0..6).prop_map(|noise| noise.join(" ")),
    ]
}
