//! A shop, its two partners, and what one hanging partner does to a route that never calls it.
//!
//! `/checkout` and `/shipping-quote` ask a shipping partner for a price; `/checkout` then charges a
//! card at a payment partner; `/login` talks to nobody. Like any server, the shop has room for so many
//! requests at once. Everything is real HTTP over loopback.
//!
//! ```text
//! cargo run --example shop                        the load, without and with `#[bulkhead]`: 25 s
//! cargo run --example shop -- serve               the shop with `#[bulkhead]`, for curl
//! cargo run --example shop -- serve --port 9000
//! ```
//!
//! Start reading in `clients.rs`: the attribute is there, and nothing else differs. `shutdown.rs` is how it goes down.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example shows its result"
)]

mod args;
mod claims;
mod clients;
mod http;
mod load;
mod partners;
mod report;
mod service;
mod shutdown;

use std::process::ExitCode;
use std::time::Duration;

use args::Command;
use clients::Arrangement;
use http::{Http, HttpError, Server};
use load::Answers;
use partners::{QUICK, Running, SLOW};
use shutdown::Readiness;

const CALM: Duration = Duration::from_secs(3);
const HANGING: Duration = Duration::from_secs(6);

/// What one arrangement answered, phase by phase.
struct Phases {
    calm: Vec<Answers>,
    slow: Vec<Answers>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let done = match args::parse(std::env::args().skip(1)) {
        Ok(Command::Load { port }) => compare(port).await,
        Ok(Command::Serve { port }) => serve(port).await,
        Ok(Command::Help) => {
            println!("{}", args::USAGE);
            Ok(ExitCode::SUCCESS)
        }
        Err(mistake) => {
            eprintln!("shop: {mistake}\n{}", args::USAGE);
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("shop: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The same load on both arrangements, one after the other.
async fn compare(port: u16) -> Result<ExitCode, HttpError> {
    let partners = Running::start().await?;

    let shop = Server::start(port, service::router(Arrangement::Unguarded, &partners)).await?;
    report::introduction();
    report::heading("Without #[bulkhead]");
    let without = run(shop, &partners).await?;
    report::unguarded_note();

    let shop = Server::start(port, service::router(Arrangement::Guarded, &partners)).await?;
    report::heading("With #[bulkhead] on the two functions that call a partner");
    let with = run(shop, &partners).await?;
    report::guarded_note();

    let snapshots = bulkhead_runtime::snapshots();
    report::partitions(&snapshots);
    claims::check(&without, &with);
    claims::check_counts(&with, &snapshots);
    report::conclusion(&without.slow, &with.slow);
    partners.stop().await;
    Ok(ExitCode::SUCCESS)
}

/// A calm phase, then one in which shipping hangs; then the shop closes.
async fn run(shop: Server, partners: &Running) -> Result<Phases, HttpError> {
    // The users' connections are their own: they and the shop are different machines in real life.
    let users = Http::new();

    let calm = load::offer(&users, shop.address(), CALM).await;
    report::rows("calm", &calm);

    partners.delay_shipping(SLOW).await?;
    let slow = load::offer(&users, shop.address(), HANGING).await;
    report::rows("shipping hangs", &slow);

    partners.delay_shipping(QUICK).await?;
    drop(users);
    shop.stop().await;
    Ok(Phases { calm, slow })
}

/// Keeps the guarded shop running until it is told to end, and ends it in order.
async fn serve(port: u16) -> Result<ExitCode, HttpError> {
    let partners = Running::start().await?;
    let readiness = Readiness::new();
    let router = readiness.route(service::router(Arrangement::Guarded, &partners));
    let shop = Server::start(port, router).await?;
    report::lines_to_try(shop.address(), &partners);
    shutdown::signal().await?;
    Ok(shutdown::run(shop, readiness).await)
}
