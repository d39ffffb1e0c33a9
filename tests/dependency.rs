//! What partitions protect: the declaration of a dependency, wherever it stands and whatever its numbers
//! are made of. What does not compile is in `tests/ui`.

mod common;

use std::time::Duration;

use bulkhead_runtime::{
    BulkheadError, Dependency, Measured, Partition, bulkhead, dependencies, dependency, partition,
};
use common::ms;

const CONNECTIONS: u32 = 60;

/// Takes 120 connections; 8 stay free for administration; at most 4 replicas run at once.
#[dependency(capacity = CONNECTIONS * 2, spare = ledger::SPARE, replicas = 4)]
mod ledger {
    //! The documentation inside stays too.

    use super::{BulkheadError, Partition, bulkhead, partition};

    pub(super) const SPARE: u32 = 8;

    #[partition(
        name = "bookings", max = 20, queue = 11, wait = 25ms,
        reserve = 2, per_key = 3, measured(rate = 200, mean = 40ms, shed = 0.5%), status = 429,
    )]
    pub static BOOKINGS: Partition;

    #[partition(name = "statements", max = 7)]
    static STATEMENTS: Partition;

    #[cfg(any())]
    #[partition(name = "not-compiled", max = 1_000)]
    static NOT_COMPILED: Partition;

    #[bulkhead(STATEMENTS)]
    pub(super) async fn statement() -> Result<u32, BulkheadError> {
        Ok(1)
    }
}

mod partners {
    const REPLICAS: u32 = 2;

    #[bulkhead_runtime::dependency(capacity = 10, replicas = REPLICAS)]
    pub(crate) mod r#mod {
        #[bulkhead_runtime::partition(name = "partners.mod", max = 5)]
        pub(crate) static PARTNERS: bulkhead_runtime::Partition;
    }

    #[bulkhead_runtime::dependency(capacity = 9, spare = 1, replicas = REPLICAS)]
    pub(crate) mod mail {
        #[cfg_attr(any(), bulkhead_runtime::partition(name = "mail", max = 100))]
        #[cfg_attr(all(), bulkhead_runtime::partition(name = "mail", max = 4))]
        pub(crate) static MAIL: bulkhead_runtime::Partition;
    }
}

#[dependency(capacity = 3, replicas = 1)]
#[cfg(any())]
mod not_compiled {
    #[partition(name = "not-compiled-either", max = 3)]
    static NOTHING: Partition;
}

#[dependency(capacity = 3, replicas = 1)]
mod not_compiled_by_itself {
    #![cfg(any())]

    #[partition(name = "not-compiled-by-itself", max = 3)]
    static NOTHING: Partition;
}

const TENTHS: Duration = ms_of(100);
const CALLS: u32 = 3;

const fn ms_of(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[partition(
    name = "constants",
    max = CALLS + 1,
    reserve = CALLS - 1,
    per_key = CALLS,
    measured(rate = CALLS, mean = TENTHS),
)]
static CONSTANTS: Partition;

#[partition(name = "rare", max = 1, measured(rate = 0.005, mean = 1s))]
static RARE: Partition;

fn named(name: &str) -> &'static Dependency {
    dependency(name).unwrap_or_else(|| panic!("`{name}` is not found by its name"))
}

fn names(dependency: &Dependency) -> Vec<&'static str> {
    dependency.partitions().map(Partition::name).collect()
}

#[test]
fn constants_can_read_every_key_of_a_partition() {
    const READ: (u32, Option<u32>, u16, Option<Measured>) = {
        let policy = ledger::BOOKINGS.policy();
        (
            policy.reserve(),
            policy.per_key(),
            policy.status(),
            policy.measured(),
        )
    };
    let measured = Measured::new(200, ms(40)).with_shed(0.5);
    assert_eq!(READ, (2, Some(3), 429, Some(measured)));
}

#[test]
fn expressions_are_worth_what_literals_are() {
    let policy = CONSTANTS.policy();
    assert_eq!((policy.max(), policy.reserve()), (4, 2));
    assert_eq!(policy.per_key(), Some(3));
    assert_eq!(policy.measured(), Some(Measured::new(3, ms(100))));
}

#[test]
fn a_rate_below_one_call_a_second_is_kept() {
    let measured = RARE.policy().measured().unwrap();
    assert!(
        (measured.rate() - 0.005).abs() < 1e-12 && (measured.shed() - 1.0).abs() < 1e-12,
        "{measured}"
    );
}

#[test]
fn the_dependency_knows_its_numbers_and_its_partitions() {
    let ledger = named("ledger");
    assert_eq!(ledger.crate_name(), "dependency");
    assert_eq!((ledger.capacity(), ledger.spare()), (120, 8));
    assert_eq!((ledger.replicas(), ledger.share()), (4, 28));
    assert_eq!(names(ledger), ["bookings", "statements"]);
    assert_eq!(ledger.sum(), 27, "what is not compiled is not counted");
}

#[tokio::test]
async fn functions_inside_of_the_module_take_from_its_partitions() {
    assert_eq!(ledger::statement().await.unwrap(), 1);
    assert_eq!(named("ledger").snapshot().outcomes.success, 1);
}

#[test]
fn a_module_of_a_module_has_its_own_name() {
    let partners = named("mod");
    assert_eq!((partners.share(), partners.sum()), (5, 5));
    let mail = named("mail");
    assert_eq!(names(mail), ["mail"]);
    assert_eq!((mail.share(), mail.sum()), (4, 4));
    assert!(std::ptr::eq(
        mail.partitions().next().unwrap(),
        &raw const partners::mail::MAIL
    ));
    assert_eq!(
        partners::r#mod::PARTNERS.name(),
        partners.partitions().next().unwrap().name()
    );
}

#[test]
fn a_module_in_a_function_sees_the_constants_of_the_function() {
    const CAPACITY: u32 = 12;

    #[dependency(capacity = CAPACITY, spare = local::SPARE, replicas = 2)]
    mod local {
        use super::{Partition, partition};

        pub(super) const SPARE: u32 = 2;

        #[partition(name = "local", max = SPARE + 3)]
        static LOCAL: Partition;
    }

    #[dependency(capacity = 12, replicas = 2)]
    mod literal {
        #[bulkhead_runtime::partition(name = "literal", max = 6)]
        static LITERAL: bulkhead_runtime::Partition;
    }

    assert_eq!((named("local").sum(), named("local").share()), (5, 5));
    assert_eq!((named("literal").sum(), named("literal").share()), (6, 6));
}

macro_rules! declare {
    ($(#[$docs:meta])* $vis:vis $module:ident, $capacity:expr, $replicas:literal, $static:ident = $name:literal, $shed:literal) => {
        $(#[$docs])*
        #[dependency(capacity = $capacity, replicas = $replicas)]
        $vis mod $module {
            #[bulkhead_runtime::partition(name = $name, max = 2, measured(rate = 1, mean = 5ms, shed = $shed%))]
            pub(super) static $static: bulkhead_runtime::Partition;
        }
    };
}

declare!(
    /// From a macro.
    pub from_a_macro, 2 + 2, 2, MADE = "made", 0.5
);

#[test]
fn a_macro_can_declare_a_dependency() {
    let made = named("from_a_macro");
    assert_eq!((made.share(), made.sum()), (2, 2));
    let measured = from_a_macro::MADE.policy().measured();
    assert_eq!(measured, Some(Measured::new(1, ms(5)).with_shed(0.5)));
}

mod renamed {
    pub(crate) mod facade {
        pub(crate) use bulkhead_runtime as runtime;
    }

    /// The path of the runtime begins in this scope; inside of the module it would not.
    #[bulkhead_runtime::dependency(capacity = 1, replicas = 1, crate = facade::runtime)]
    pub(super) mod elsewhere {
        #[bulkhead_runtime::partition(name = "elsewhere", max = 1, crate = super::facade::runtime)]
        pub(super) static ELSEWHERE: super::facade::runtime::Partition;
    }
}

#[test]
fn all_dependencies_are_listed_by_name() {
    let listed: Vec<_> = dependencies().map(Dependency::name).collect();
    assert_eq!(
        listed,
        [
            "absent",
            "elsewhere",
            "from_a_macro",
            "ledger",
            "literal",
            "local",
            "mail",
            "mod",
            "share"
        ]
    );
}

/// Whatever the attribute is called where it is used, its static has no initialiser, and counts.
#[dependency(capacity = 9, replicas = 1)]
mod share {
    use bulkhead_runtime::{Partition, partition as share};

    #[share(name = "renamed-attribute", max = 4)]
    pub(super) static RENAMED: Partition;
}

/// Every member is compiled elsewhere, and so is what it is made of.
#[dependency(capacity = 9, replicas = 1)]
mod absent {
    #[cfg(any())]
    use bulkhead_runtime::{Partition, partition};

    #[cfg(any())]
    #[partition(name = "compiled-elsewhere", max = 4)]
    pub(super) static ELSEWHERE: Partition;
}

#[test]
fn a_partition_under_another_name_of_the_attribute_is_counted() {
    assert_eq!(named("share").sum(), 4);
    assert_eq!(share::RENAMED.policy().max(), 4);
    share::RENAMED.resize(10).expect_err("9 are all");
}

#[test]
fn a_dependency_without_a_member_on_this_platform_compiles() {
    assert_eq!(named("absent").sum(), 0);
}
