//! What only the whole program can tell: one that is wrong in every way.

use bulkhead_runtime::{
    BulkheadError, Mistake, Overrides, bulkhead, configure, dependencies, dependency, verify,
};

/// Above the declaration in the module, so this policy holds, and the sum was checked with the other.
#[bulkhead(name = "bookings", max = 50)]
async fn book() -> Result<(), BulkheadError> {
    Ok(())
}

#[dependency(capacity = 20, replicas = 1)]
mod ledger {
    use bulkhead_runtime::{Partition, partition};

    #[partition(name = "bookings", max = 5)]
    pub(crate) static BOOKINGS: Partition;

    #[partition(name = "statements", max = 5)]
    pub(crate) static STATEMENTS: Partition;
}

mod elsewhere {
    use bulkhead_runtime::dependency;

    #[dependency(capacity = 4, replicas = 2)]
    pub(crate) mod ledger {
        use bulkhead_runtime::{Partition, partition};

        #[partition(name = "audits", max = 2)]
        pub(crate) static AUDITS: Partition;
    }
}

/// Two dependencies with one partition, and partitions that no attribute on a module can see.
#[dependency(capacity = 10, replicas = 1)]
mod search {
    use bulkhead_runtime::{Partition, partition};

    #[partition(name = "shared-by-two", max = 2)]
    pub(crate) static QUERIES: Partition;

    pub(crate) mod nested {
        use bulkhead_runtime::{Partition, partition};

        #[partition(name = "nested", max = 50)]
        pub(crate) static NESTED: Partition;
    }

    pub(crate) struct Client;

    impl Client {
        #[bulkhead_runtime::bulkhead(name = "method", max = 50)]
        pub(crate) async fn call(&self) -> Result<(), bulkhead_runtime::BulkheadError> {
            Ok(())
        }
    }
}

#[dependency(capacity = 10, replicas = 1)]
mod index {
    use bulkhead_runtime::{Partition, partition};

    #[partition(name = "shared-by-two", max = 2)]
    pub(crate) static UPDATES: Partition;
}

#[tokio::test]
async fn every_mistake_is_told_with_its_numbers_and_sites() {
    book().await.expect("there is room");
    let error = verify().expect_err("it is wrong in every way");
    search::Client.call().await.expect("there is room");
    let [two_policies, broken_sum, nested, method, shared, ambiguous] = error.mistakes() else {
        panic!("{error}")
    };
    for (mistake, name) in [(method, "verify/method"), (nested, "verify/nested")] {
        let text = mistake.to_string();
        assert!(
            text.starts_with(&format!(
                "`{name}` is declared inside the dependency `verify::search`, which does not count it: tests/verify.rs:"
            )),
            "{text}"
        );
    }
    assert_eq!(
        shared.to_string(),
        "`verify/shared-by-two` belongs to several dependencies: `verify::index`, `verify::search`; \
         give each a partition of its own name"
    );
    assert!(
        matches!(two_policies, Mistake::TwoPolicies { .. }),
        "{two_policies}"
    );
    assert!(
        two_policies
            .to_string()
            .contains("says max = 50, queue = 0 (this one holds)"),
        "{two_policies}"
    );
    assert!(
        matches!(broken_sum, Mistake::BrokenSum { .. }),
        "{broken_sum}"
    );
    assert_eq!(
        broken_sum.to_string(),
        "`ledger` is over by 35: its partitions take 55 in each of 1 replica, 55 in all, \
         and `capacity = 20` less `spare = 0` leaves 20"
    );
    let text = ambiguous.to_string();
    assert!(
        text.starts_with("`ledger` is the name of several dependencies: `verify::elsewhere::ledger` (tests/verify.rs:"),
        "{text}"
    );
    assert!(dependency("ledger").is_none(), "it could be either");
    assert_eq!(dependencies().count(), 4);

    // Numbers that are over already can only go down.
    let grown = ledger::STATEMENTS.resize(6).expect_err("still over");
    assert!(
        grown.to_string().starts_with("`ledger` is over by 36"),
        "{grown}"
    );
    ledger::STATEMENTS.resize(4).expect("fewer than there were");
    configure(Overrides::from_text("bookings: max=40; statements: max=5")).expect("fewer in all");
    configure(Overrides::from_text("bookings: max=16")).expect("fewer, and still too many");
    verify().expect_err("21 of 20");
    configure(Overrides::from_text("bookings: max=15")).expect("now they fit");
    let error = verify().expect_err("the rest stays");
    let is_sum = |mistake: &Mistake| matches!(mistake, Mistake::BrokenSum { .. });
    assert!(!error.mistakes().iter().any(is_sum), "{error}");
    ledger::STATEMENTS
        .resize(6)
        .expect_err("20 of 20 are given");

    let error = configure(Overrides::from_text("ledger: replicas=1")).expect_err("which one?");
    assert!(
        error.to_string().contains(
            "`ledger` could be several: `verify` has more than one of them, so rename one"
        ),
        "{error}"
    );
}
