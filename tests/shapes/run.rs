//! The shapes do with the attribute what they do without it.

#![expect(clippy::disallowed_types, reason = "a shape takes a std `Mutex`")]

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use bulkhead_runtime::partition;

macro_rules! results {
    ($($variant:ident)*) => {$(
        #[tokio::test(start_paused = true)]
        async fn $variant() {
            use ::shapes::$variant::support::{App, AppError, Json, NewReport, Path, Query, State};
            use ::shapes::$variant::{self as shapes, Repo, SendStore, Store};

            // Free functions and patterns.
            assert_eq!(shapes::s01_free_fn().await.unwrap(), 1);
            shapes::s02::call().await.unwrap();
            let app = Arc::new(App { name: "app".to_owned() });
            let report = || NewReport { title: "title".to_owned(), pages: 3 };
            let Json(text) = shapes::s03_handler(State(app.clone()), Path(7), Json(report())).await.unwrap();
            assert_eq!(text, "app 7 title 3");
            let query = Query(("k".to_owned(), 0));
            let sum = shapes::s04_patterns((1, 2), [3, 0, 0, 4], report(), &5, "ref".to_owned(), query).await;
            assert_eq!(sum.unwrap(), 3 + 3 + 4 + 5 + 5 + 3 + 1);
            assert_eq!(shapes::s05_mut_args(1, vec![7]).await.unwrap(), [7, 2]);
            shapes::s06_underscore(String::new(), vec![1], ()).await.unwrap();
            assert_eq!(shapes::s07_many_args(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1).await.unwrap(), 16);
            assert_eq!(shapes::s08_names(1, 2, 3, 4, 5, 6).await.unwrap(), 28);
            assert_eq!(shapes::r#match(9).await.unwrap(), 9);
            assert_eq!(shapes::s10_large_arg([0; 4096]).await.unwrap(), 4096);

            // Lifetimes and generics.
            assert_eq!(shapes::s11_elided("ab", &mut vec![]).await.unwrap(), 3);
            assert_eq!(shapes::s13_where_lifetimes(&mut "a", "b").await.unwrap(), "b");
            assert_eq!(shapes::s14_mixed("a", "b", "c".into()).await.unwrap(), 3);
            assert_eq!(shapes::s15_generic(Some(1), 'k').await.unwrap(), "Some(1)k");
            assert_eq!(shapes::s15_generic("other", 2).await.unwrap(), "\"other\"2");
            assert_eq!(shapes::s16_const_generic([1, 2, 3]).await.unwrap(), [1, 2, 3]);
            assert_eq!(shapes::s17_impl_arg("a", &'b', Some(|n| n + 1)).await.unwrap(), "ab2");
            assert_eq!(shapes::s19_dyn(&1, Box::new(|| 2), &mut (3..4)).await.unwrap(), "12Some(3)");
            assert_eq!(shapes::s20_hrtb(|s| &s[1..], "abc".to_owned()).await.unwrap(), 2);
            assert!(matches!(shapes::s21_generic_error(false).await, Err(AppError::Io(_))));

            // Receivers.
            let mut repo = Repo::<u32>::s27_ctor(vec![1, 2, 3, 4], None).await.unwrap();
            assert_eq!(repo.s22_ref_self(2).await.unwrap(), 3);
            assert!(matches!(repo.s22_ref_self(3).await, Err(AppError::NotFound)));
            assert_eq!(*repo.s23_mut_self(9).await.unwrap(), 9);
            assert_eq!(Pin::new(&mut repo).s26_pin().await.unwrap(), 4);
            assert_eq!(repo.s28_own_generics::<u64>(|_| true).await.unwrap(), [1, 2, 3, 9]);
            let shared = Arc::new(repo.clone());
            assert!(Arc::ptr_eq(&shared.s26_ref_arc().await.unwrap(), &shared));
            assert_eq!(shared.s25_arc_self().await.unwrap(), 4);
            let emptied = repo.s24_owned_self().await.unwrap();
            assert_eq!(Arc::new(*Box::new(emptied).s26_box().await.unwrap()).s25_arc_self().await.unwrap(), 0);

            // Traits.
            assert_eq!(Store::get(&*app, 1).await.unwrap(), "app 1");
            assert_eq!((&*app).get_twice(2).await.unwrap().1, "app 2");
            assert_eq!(SendStore::load(&*app, 3).await.unwrap(), 3);
            {
                use shapes::s35_async_trait::{Client, LocalPort, Port};
                struct Local;
                impl LocalPort for Local {}
                let port: Box<dyn Port> = Box::new(Client { base: "base".to_owned() });
                assert_eq!(port.call("x").await.unwrap(), 5);
                assert_eq!(port.call_twice("x").await.unwrap(), 10);
                assert_eq!(Local.local(Rc::new(4)).await.unwrap(), 4);
            }

            // Return types.
            assert_eq!(shapes::s36_alias().await.unwrap(), 1);
            assert_eq!(shapes::s37_full_path().await.unwrap(), "");
            assert_eq!(shapes::s38_result_impl(3).await.unwrap().sum::<u32>(), 6);
            assert_eq!(shapes::s39_result_impl_borrow("a b").await.unwrap().count(), 2);
            assert_eq!(shapes::s40_result_box_dyn(2).await.unwrap()(3), 5);
            assert_eq!(shapes::s42_box_error("5").await.unwrap(), 5);
            assert_eq!(shapes::s42_box_error("").await.unwrap_err().to_string(), "empty");
            shapes::s43_reject_itself().await.unwrap();
            assert_eq!(shapes::s45_return_only().await.unwrap(), 1);
            assert!(matches!(shapes::s45_panic_branch(true).await, Err(AppError::NotFound)));
            assert_eq!(shapes::s47_nested().await.unwrap(), Err("domain".to_owned()));

            // Bodies.
            assert_eq!(shapes::s48_question_marks("4").await.unwrap(), [8]);
            assert!(matches!(shapes::s48_question_marks("x").await, Err(AppError::Parse(_))));
            assert_eq!(shapes::s49_early_return(Some(2), [(1, 2)].into()).await.unwrap(), 1);
            assert!(matches!(shapes::s49_early_return(None, [].into()).await, Err(AppError::NotFound)));
            assert_eq!(shapes::s50_loops(vec![1, 2, 3]).await.unwrap(), "4 1");
            assert_eq!(shapes::s52_nested_items(1).await.unwrap(), 1 + 2 * 2 + 1 + 1);
            assert_eq!(shapes::s53_shadow::shadowed().await.unwrap(), 1);
            assert_eq!(shapes::s54_no_prelude::no_prelude(5).await.unwrap(), 5);
            assert_eq!(shapes::s55_module_names::clash().await.unwrap(), 1);
            assert_eq!(shapes::s56_recursive(2).await.unwrap(), 3);
            assert!(shapes::s57_even(2).await.unwrap());
            assert_eq!(shapes::s58_tail_temporary(&Mutex::new(vec![1])).await.unwrap(), 1);
            assert_eq!(shapes::s58_tail_match(&RefCell::new(Some(2))).await.unwrap(), 2);
            assert_eq!(shapes::s58_tail_if_let(&Mutex::new(Some(3))).await.unwrap(), 3);
            shapes::s60_no_await().await.unwrap();
            assert_eq!(shapes::s61_not_send(Rc::new(6)).await.unwrap(), 6);
            assert_eq!(&*shapes::s65_error_not_send(0).await.unwrap_err().0, "zero");

            // Attributes, unsafe, macros.
            #[expect(deprecated, reason = "the shape says so, and the attribute must not hide it")]
            let kept = shapes::s67_attributes(0).await;
            assert_eq!(kept.unwrap(), 1);
            assert_eq!(shapes::s68_arg_attributes(1, 2).await.unwrap(), 2);
            assert_eq!(shapes::s69_cfg(3_u32).await.unwrap(), 3);
            assert_eq!(shapes::s70_inner_attribute(4).await.unwrap(), 4);
            // SAFETY: the pointer comes from a reference that outlives the call.
            assert_eq!(unsafe { shapes::s71_unsafe(&5) }.await.unwrap(), 5);
            assert_eq!(shapes::s72_extern(6).await.unwrap(), 6);
            assert_eq!(shapes::s73_strict::strict(7).await.unwrap(), 7);
            assert_eq!(shapes::s74_generated(1, "ab").await.unwrap(), 3);
            assert_eq!(app.s75_method().await.unwrap(), "app");
            assert_eq!(shapes::s76_item(8).await.unwrap(), 8);
            assert_eq!(shapes::s77_tt("t").await.unwrap(), "t");
            assert_eq!(*shapes::s78_const(&[9, 1]).await.unwrap(), 9);
            assert_eq!(shapes::s79_one_line_await(1).await.unwrap(), 1);
            #[cfg(edition2024)]
            assert_eq!(shapes::s80_edition_2024_tail().await.unwrap(), 1);
            assert_eq!(shapes::s82_use_bound("ab").await.unwrap().count(), 2);
            assert_eq!(shapes::s85_two_partitions(3).await.unwrap(), 3);
            assert_eq!(app.s87_mut_typed_self(&app).await.unwrap(), "app");
            assert_eq!(shapes::s88_boxed_future("abc").await.unwrap(), 3);
        }
    )*};
}

results! { plain bare timed queued shared bounded under_breaker retried }

fn admitted(name: &str) -> u64 {
    partition(name)
        .expect("it is declared by a shape")
        .snapshot()
        .admitted
}

#[tokio::test(start_paused = true)]
async fn every_instantiation_takes_from_one_partition() {
    use shapes::bare::s16_const_generic;
    let before = admitted("bare.s16");
    s16_const_generic([0; 2]).await.unwrap();
    s16_const_generic([0; 3]).await.unwrap();
    assert!(
        admitted("bare.s16") >= before + 2,
        "both calls are counted there"
    );
}

#[tokio::test(start_paused = true)]
async fn the_lower_of_two_partitions_is_entered_too() {
    shapes::bare::s85_two_partitions(1).await.unwrap();
    assert!(admitted("bare.s85_first") >= 1, "the lower attribute");
    assert!(admitted("bare.s85_second") >= 1, "the upper attribute");
}

#[tokio::test(start_paused = true)]
async fn building_a_boxed_future_takes_no_permit() {
    let future = shapes::timed::s88_boxed_future("abc");
    let held = partition("timed.s88")
        .expect("it is declared by a shape")
        .snapshot();
    assert_eq!(held.in_flight, 0, "nothing was polled yet");
    assert_eq!(future.await.unwrap(), 3);
}

#[test]
fn no_shape_disagrees_with_another_about_a_partition() {
    bulkhead_runtime::verify().expect("every name has one policy");
}
