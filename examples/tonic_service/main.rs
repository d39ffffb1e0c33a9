//! A gRPC server whose insurer hangs, and five places for the partition that keeps it at bay.
//!
//! `Quotes` asks an insurer that does not answer; `Branches` needs nobody. Ten calls of the one, two of
//! the other, and three permits: whether `Branches` still answers depends on where they are taken.
//! Everything is real gRPC over loopback.
//!
//! ```text
//! cargo run --example tonic_service
//! ```
//!
//! Start reading in `arrangements.rs`: the five places are there.
#![expect(clippy::print_stdout, reason = "an example shows its result")]

mod arrangements;
#[expect(
    unreachable_pub,
    unused_qualifications,
    clippy::allow_attributes,
    clippy::allow_attributes_without_reason,
    clippy::pedantic,
    reason = "made of `quotes.proto`, which says how"
)]
mod generated;
mod seen;
mod services;
mod stage;

use arrangements::{ONE_METHOD, ONE_SERVICE, OUR_CHANNEL, STREAMS, WHOLE_SERVER};
use stage::Failure;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    println!("Ten calls that hang, then two that need nobody, over three permits:");
    println!();
    println!("a partition                calls       sent    reached   accepted   rejected");

    let seen = arrangements::whole_server().await?;
    seen.show("before the whole server");
    seen.expect([10, 3, 7], [2, 0, 2]);
    seen::assert_counted(&WHOLE_SERVER, &[seen.hanging, seen.quick]);

    let seen = arrangements::one_service().await?;
    seen.show("before one service");
    seen.expect([10, 3, 7], [2, 2, 0]);
    seen::assert_counted(&ONE_SERVICE, &[seen.hanging]);

    let seen = arrangements::one_method().await?;
    seen.show("on one method");
    seen.expect([10, 3, 7], [2, 2, 0]);
    seen::assert_counted(&ONE_METHOD, &[seen.hanging]);

    let seen = arrangements::streams().await?;
    seen.show("until a stream has ended");
    seen.expect([10, 3, 7], [2, 2, 0]);
    seen::assert_counted(&STREAMS, &[seen.hanging]);

    let seen = arrangements::our_channel().await?;
    seen.show("before our own channel");
    seen.expect([3, 3, 7], [2, 2, 0]);
    seen::assert_counted(&OUR_CHANNEL, &[seen.hanging]);

    println!();
    println!("What each of the rejected is told: {}.", seen.told());
    Ok(())
}
