//! Instructions for each call, counted by valgrind: they do not depend on the mood of the machine.
//!
//! `cargo bench -p bulkhead-runtime --bench instructions` needs valgrind. It runs itself under
//! callgrind twice for each situation, with more calls the second time, so that start-up cancels
//! out; prints what it finds beside tokio's semaphore; and fails where a limit is exceeded. After a
//! change that is meant to cost more, or that costs less, change the limit here.

#![expect(clippy::print_stdout, reason = "the table is what this program is for")]

#[path = "table/functions.rs"]
#[expect(dead_code, reason = "the table uses the rest")]
#[expect(clippy::disallowed_types, reason = "the table measures time with it")]
mod functions;

use std::env;
use std::process::{Command, ExitCode};

use functions::{
    guarded, guarded_and_full, guarded_with_contract, guarded_with_retry_and_fallback,
    guarded_with_timeout, run_ready, semaphore, semaphore_and_full, semaphore_with_timeout,
};

const FEW: u64 = 6_400;
const MORE: u64 = 12_800;

struct Situation {
    name: &'static str,
    limit: u64,
    ours: fn(u64),
    theirs: fn(u64),
}

/// Limits leave five in a hundred for another version of the compiler or of tokio.
const SITUATIONS: [Situation; 5] = [
    Situation {
        name: "admitted",
        limit: 92,
        ours: |calls| _ = run_ready(calls, guarded),
        theirs: |calls| _ = run_ready(calls, semaphore),
    },
    Situation {
        name: "admitted, with `timeout`",
        limit: 290,
        ours: |calls| _ = run_ready(calls, guarded_with_timeout),
        theirs: |calls| _ = run_ready(calls, semaphore_with_timeout),
    },
    Situation {
        name: "admitted, with `deadline` and a closed breaker",
        limit: 450,
        ours: |calls| _ = run_ready(calls, guarded_with_contract),
        theirs: |calls| _ = run_ready(calls, semaphore),
    },
    Situation {
        name: "admitted, with `retry` and `fallback`",
        limit: 1_053,
        ours: |calls| _ = run_ready(calls, guarded_with_retry_and_fallback),
        theirs: |calls| _ = run_ready(calls, semaphore),
    },
    Situation {
        name: "rejected",
        limit: 189,
        ours: rejected,
        theirs: |calls| _ = run_ready(calls, semaphore_and_full),
    },
];

fn rejected(calls: u64) {
    let full = bulkhead_runtime::partition("rejected").expect("declared beside the function");
    let _held = full.try_enter().expect("it is free");
    run_ready(calls, guarded_and_full);
}

fn main() -> ExitCode {
    let words: Vec<String> = env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    if let [side, at, calls] = &words[..] {
        run(
            side,
            at.parse().expect("an index"),
            calls.parse().expect("a number"),
        );
        return ExitCode::SUCCESS;
    }
    println!("| situation | instructions a call | limit | tokio semaphore |\n|---|---|---|---|");
    let mut exceeded = false;
    for (at, Situation { name, limit, .. }) in SITUATIONS.iter().enumerate() {
        let [ours, theirs] = ["ours", "theirs"].map(|side| instructions_a_call(side, at));
        println!("| {name} | {ours} | {limit} | {theirs} |");
        exceeded |= ours > *limit;
    }
    if exceeded {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// What runs under valgrind.
fn run(side: &str, at: usize, calls: u64) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    let _context = runtime.enter();
    let Situation { ours, theirs, .. } = SITUATIONS[at];
    if side == "ours" {
        ours(calls);
    } else {
        theirs(calls);
    }
}

fn instructions_a_call(side: &str, at: usize) -> u64 {
    let [few, more] = [FEW, MORE].map(|calls| instructions(side, at, calls));
    (more - few) / (MORE - FEW)
}

fn instructions(side: &str, at: usize, calls: u64) -> u64 {
    let this = env::current_exe().expect("the path of this program");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(this)
        .args([side, &at.to_string(), &calls.to_string()])
        .output()
        .expect("valgrind can be run; install it with your package manager");
    let said = String::from_utf8_lossy(&output.stderr);
    let collected = said
        .lines()
        .find_map(|line| line.split_once("Collected : "));
    let (_, count) = collected.unwrap_or_else(|| panic!("valgrind counted nothing:\n{said}"));
    count.trim().parse().expect("a number of instructions")
}
