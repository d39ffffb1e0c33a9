//! Each situation beside its peers, both sides in one run; prints one table.
//!
//! `cargo bench -p bulkhead-runtime --bench table --features tower`, optionally with words that pick situations. The
//! sides of a pair take turns, a few milliseconds each, many times; a ratio is the median of the
//! ratios of neighbouring turns. A harness that takes one side first and the other later compares
//! two moods of a shared machine.

#![expect(clippy::print_stdout, reason = "the table is what this program is for")]
#![expect(
    clippy::disallowed_types,
    reason = "a measurement needs the real clock"
)]

mod admitted;
mod compile;
mod contended;
mod functions;
#[cfg(feature = "tower")]
mod layer;
mod neighbour;
mod overload;
mod pair;
mod queued;
mod rejected;

use pair::Row;

/// A word that picks it, and how it is measured.
type Situation = (&'static str, fn() -> Vec<Row>);

fn main() {
    let picked: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with("--"))
        .collect();
    let situations: &[Situation] = &[
        ("admitted", admitted::rows),
        ("rejected", rejected::rows),
        ("queued", queued::rows),
        ("contended", contended::rows),
        ("overload", overload::rows),
        ("neighbour", neighbour::rows),
        #[cfg(feature = "tower")]
        ("layer", layer::rows),
        ("compile", compile::rows),
    ];
    println!("{}", Row::HEAD);
    for &(name, rows) in situations {
        // Compiling takes minutes, and so is done only when it is asked for.
        let is_picked = if picked.is_empty() {
            name != "compile"
        } else {
            picked.iter().any(|word| word == name)
        };
        if is_picked {
            for row in rows() {
                println!("{row}");
            }
        }
    }
}
