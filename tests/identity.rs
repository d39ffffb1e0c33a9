//! A partition is its crate and its name: who shares permits, and who never does.

mod common;

use bulkhead_runtime::{
    BulkheadError, Mistake, Overrides, Partition, Policy, bulkhead, configure, partition,
    partitions, register, snapshots, verify,
};
use common::{ms, plain};

#[bulkhead(name = "shared", max = 2)]
async fn one() -> Result<(), BulkheadError> {
    tokio::task::yield_now().await;
    Ok(())
}

#[bulkhead(name = "shared", max = 2)]
async fn other() -> Result<(), BulkheadError> {
    tokio::task::yield_now().await;
    Ok(())
}

#[bulkhead(name = "generic", max = 2)]
async fn generic<T: Default, const N: usize>() -> Result<[T; N], BulkheadError>
where
    [T; N]: Default,
{
    tokio::task::yield_now().await;
    Ok(Default::default())
}

mod postgres {
    use super::Partition;

    #[bulkhead_runtime::partition(name = "checkout", max = 3, queue = 2, wait = 25ms)]
    pub(super) static CHECKOUT: Partition;
}

#[bulkhead(postgres::CHECKOUT, timeout = 500ms)]
async fn by_path() -> Result<(), BulkheadError> {
    tokio::task::yield_now().await;
    Ok(())
}

/// The crate `shapes` declares one of the same name.
#[bulkhead_runtime::partition(name = "shared.first", max = 1)]
static NAMESAKE: Partition;

#[bulkhead(name = "never-called", max = 7)]
#[expect(dead_code, reason = "that is the point")]
async fn never_called() -> Result<(), BulkheadError> {
    Ok(())
}

mod conflict {
    use bulkhead_runtime::{BulkheadError, bulkhead};

    #[bulkhead(name = "two-policies", max = 1)]
    pub(super) async fn first() -> Result<(), BulkheadError> {
        Ok(())
    }

    #[bulkhead(name = "two-policies", max = 5, queue = 1, wait = 10ms)]
    pub(super) async fn second() -> Result<(), BulkheadError> {
        Ok(())
    }
}

#[tokio::test]
async fn one_name_is_one_set_of_permits_whoever_calls() {
    let shared = partition("shared").unwrap();
    let (first, second) = (shared.try_enter().unwrap(), shared.try_enter().unwrap());
    one().await.unwrap_err();
    let error = other().await.unwrap_err();
    assert_eq!(
        (error.partition(), error.function()),
        ("shared", Some("identity::other"))
    );
    drop(first);
    other().await.unwrap();
    drop(second);
    assert_eq!(shared.snapshot().started, 5);
}

#[tokio::test]
async fn two_names_are_two_partitions() {
    let a = plain("apart-a", 1);
    let b = plain("apart-b", 1);
    let _held = a.try_enter().unwrap();
    a.try_enter().unwrap_err();
    drop(b.try_enter().expect("the neighbour is free"));
}

#[tokio::test]
async fn a_generic_function_has_one_partition_for_all_its_types() {
    let generic_partition = partition("generic").unwrap();
    let _held = (
        generic_partition.try_enter().unwrap(),
        generic_partition.try_enter().unwrap(),
    );
    generic::<u8, 3>().await.unwrap_err();
    generic::<String, 1>().await.unwrap_err();
    assert_eq!(
        partitions()
            .filter(|partition| partition.name() == "generic")
            .count(),
        1
    );
}

#[tokio::test]
async fn a_static_is_the_partition_of_the_functions_that_name_it() {
    const MAX: u32 = postgres::CHECKOUT.policy().max();
    assert_eq!(MAX, 3, "a constant may read the policy");
    by_path().await.unwrap();
    assert_eq!(postgres::CHECKOUT.snapshot().outcomes.success, 1);
    let found = partition("checkout").unwrap();
    assert_eq!(found.snapshot(), postgres::CHECKOUT.snapshot());
    assert_eq!(*found.policy(), Policy::new(3).with_queue(2, ms(25)));
}

#[test]
fn a_partition_is_known_before_its_first_call() {
    let s = partition("never-called")
        .expect("registered at link time")
        .snapshot();
    assert_eq!((s.max, s.started, s.crate_name), (7, 0, "identity"));
    assert!(snapshots().iter().any(|s| s.name == "never-called"));
}

#[test]
fn partitions_are_listed_once_and_in_order() {
    let names: Vec<_> = snapshots()
        .into_iter()
        .filter(|s| s.crate_name == "identity")
        .map(|s| s.name)
        .collect();
    let declared = [
        "checkout",
        "generic",
        "never-called",
        "shared",
        "shared.first",
        "two-policies",
    ];
    assert_eq!(names, declared);
}

#[tokio::test]
async fn two_policies_under_one_name_are_reported_with_both_sites_and_the_first_holds() {
    conflict::first().await.unwrap();
    conflict::second().await.unwrap();
    let s = partition("two-policies").unwrap().snapshot();
    assert_eq!(
        (s.max, s.queue, s.outcomes.success),
        (1, 0, 2),
        "one partition, the policy of the first site"
    );

    let error = verify().unwrap_err();
    let [first, second] = ["first()", "second()"].map(|function| {
        include_str!("identity.rs")
            .lines()
            .position(|line| line.contains(&format!("async fn {function}")))
            .unwrap()
    });
    let [two_policies, ambiguous] = error.mistakes() else {
        panic!("{error}")
    };
    assert!(
        matches!(two_policies, Mistake::TwoPolicies { .. }),
        "{two_policies:?}"
    );
    assert_eq!(
        two_policies.to_string(),
        format!(
            "`identity/two-policies` has two policies: tests/identity.rs:{first} says max = 1, queue = 0 (this one holds) \
             and tests/identity.rs:{second} says max = 5, queue = 1, wait = 10ms"
        )
    );
    assert_eq!(
        ambiguous.to_string(),
        "`shared.first` is the name of several partitions: `identity/shared.first`, `shapes/shared.first`"
    );
    assert_eq!(error.to_string(), format!("{two_policies}\n{ambiguous}"));
}

#[test]
fn another_crates_equal_name_is_another_partition() {
    let theirs = &shapes::FIRST;
    assert_eq!(theirs.name(), NAMESAKE.name());
    let _held = NAMESAKE.try_enter().unwrap();
    NAMESAKE.try_enter().unwrap_err();
    drop(
        theirs
            .try_enter()
            .expect("the other crate's permits are its own"),
    );
    assert!(
        partition("shared.first").is_none(),
        "the bare name could be either"
    );
    let error = configure(Overrides::from_text("shared.first: max=1")).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("`shared.first` could be several: write `identity/shared.first` or `shapes/shared.first`"),
        "{error}"
    );
    for (path, max) in [("identity/shared.first", 1), ("shapes/shared.first", 64)] {
        assert_eq!(partition(path).unwrap().snapshot().max, max, "{path}");
    }
}

#[test]
fn an_unknown_name_is_none_and_a_crate_can_be_named() {
    assert!(partition("no-such").is_none());
    assert!(partition("no-such-crate/shared").is_none());
    assert_eq!(partition("identity/shared").unwrap().name(), "shared");
}

#[test]
fn a_name_that_configuration_knows_is_made_once() {
    let first = register("partner-1", Policy::new(2)).unwrap();
    let again = register("partner-1", Policy::new(2)).unwrap();
    assert!(std::ptr::eq(first, again), "the same partition");
    assert!(std::ptr::eq(first, partition("partner-1").unwrap()));

    let error = register("partner-1", Policy::new(3))
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with(
            "`partner-1` is already registered with another policy: tests/identity.rs:"
        ) && error.ends_with(" says max = 2, queue = 0"),
        "{error}"
    );
    let error = register("shared", Policy::new(2)).unwrap_err().to_string();
    assert!(
        error.starts_with("`shared` is already declared: tests/identity.rs:")
            && error.ends_with(r#"; use it through `partition("identity/shared")`"#),
        "{error}"
    );
    let error = register("user-{id}", Policy::new(2))
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "`name` is fixed at compile time, `{id}` is not filled in"
    );
}
