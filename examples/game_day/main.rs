//! A game day: one service, its slow partner, and everything that can go wrong with it in under a minute.
//!
//! 300 requests a second, real HTTP over loopback. `/checkout` asks a shipping partner for a price and charges a card
//! at a payment partner; `/stock` asks nobody. Payment slows down to three seconds while shipping refuses every second
//! request, both recover, both fail again, and in the middle of that the service is sent SIGTERM. First the service
//! is written as it often is, then with the contract. Users, partners and the books of both sides are outside of the
//! service, which is a process of its own: this program, started a second time.
//!
//! ```text
//! cargo run --release --example game_day
//! cargo run --release --example game_day -- --picture day.svg
//! ```
//!
//! Start reading in `service/contract.rs`, beside `service/naive.rs`; then `day.rs`, which is the plot.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example shows its result"
)]

mod args;
mod claims;
mod curves;
mod day;
mod figures;
mod http;
mod instance;
mod partner;
mod picture;
mod samples;
mod service;
mod table;
mod users;

use std::path::Path;
use std::process::ExitCode;

use args::Command;
use claims::Day;
use figures::Figures;
use http::Error;
use peak_alloc::PeakAlloc;
use service::Arrangement;

/// Counts the bytes that are allocated, exactly and for the price of two additions. The memory figure of the operating
/// system would hold what the allocator keeps for later too, and would never fall.
#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

#[tokio::main]
async fn main() -> ExitCode {
    let done = match args::parse(std::env::args().skip(1)) {
        Ok(Command::GameDay { picture }) => game_day(&picture).await,
        Ok(Command::Serve {
            arrangement,
            payment,
            shipping,
        }) => service::run(arrangement, payment, shipping).await,
        Ok(Command::Help) => {
            println!("{}", args::USAGE);
            Ok(())
        }
        Err(mistake) => {
            eprintln!("game_day: {mistake}\n{}", args::USAGE);
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("game_day: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The same day for both arrangements, one after the other.
async fn game_day(picture: &Path) -> Result<(), Error> {
    table::introduction();
    let naive = live_through(Arrangement::Naive).await?;
    let contract = live_through(Arrangement::Contract).await?;

    let claims = claims::claims();
    table::claims(&claims, &naive, &contract);
    picture::draw(&[&naive.run, &contract.run], picture)?;
    println!("\nThe curves are in {}.", picture.display());
    claims::check(&claims, &naive, &contract);
    Ok(())
}

async fn live_through(arrangement: Arrangement) -> Result<Day, Error> {
    table::heading(arrangement);
    let run = day::run(arrangement).await?;
    let figures = Figures::of(&run);
    table::phases(&figures);
    table::day(&run);
    Ok(Day { run, figures })
}
