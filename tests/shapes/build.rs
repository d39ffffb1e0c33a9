//! Writes the variants of `signatures.rs` in which the shapes are compiled.
//!
//! Line numbers stay those of `signatures.rs`, so that the lints of two variants can be compared.

use std::path::Path;
use std::{env, fs};

/// What one variant puts in the place of a marker `//@ok bulkhead(name = …, max = …)`.
struct Variant {
    name: &'static str,
    attribute: fn(&str) -> String,
}

const VARIANTS: [Variant; 9] = [
    Variant {
        name: "plain",
        attribute: |_| String::new(),
    },
    Variant {
        name: "bare",
        attribute: guarded,
    },
    Variant {
        name: "timed",
        attribute: |keys| guarded(&format!("{keys}, timeout = 2s")),
    },
    Variant {
        name: "queued",
        attribute: |keys| guarded(&format!("{keys}, queue = 8, wait = 25ms")),
    },
    Variant {
        name: "shared",
        attribute: |keys| guarded(&format!("crate::{}", shared_partition(keys))),
    },
    Variant {
        name: "bounded",
        attribute: |keys| guarded(&format!("{keys}, {OWN}")),
    },
    Variant {
        name: "under_breaker",
        attribute: |keys| {
            let partition = shared_partition(keys);
            guarded(&format!("crate::{partition}_WITH_BREAKER, timeout = 2s"))
        },
    },
    Variant {
        name: "falls_back",
        attribute: |keys| {
            if is_one_of(&["s65"], keys) {
                return guarded(keys);
            }
            guarded(&format!("{keys}, fallback = crate::pending()"))
        },
    },
    Variant {
        name: "retried",
        attribute: |keys| {
            if is_one_of(&ONCE, keys) {
                return guarded(keys);
            }
            guarded(&format!("{keys}, {RETRY}"))
        },
    },
];

const RETRY: &str = "retry(idempotent, attempts = 2, backoff = 40ms, when = crate::never)";

/// The shapes whose arguments cannot be had again: a `&mut`, a `self` by value, no `Clone`. And `s65`, whose error
/// cannot be kept for later by a future that is `Send`.
const ONCE: [&str; 15] = [
    "s11", "s13", "s15", "s17", "s19", "s20", "s23", "s24", "s25", "s26b", "s26c", "s28", "s31",
    "s65", "s69",
];

const OWN: &str =
    "queue = 8, wait = 25ms, timeout = 2s, deadline = 3s, margin = 150ms, breaker(slow = 1s)";

fn main() {
    println!("cargo::rerun-if-changed=../build.rs");
    println!("cargo::rerun-if-changed=../signatures.rs");
    say_cfgs();
    let signatures = fs::read_to_string("../signatures.rs").expect("it lies beside this file");
    let out = env::var("OUT_DIR").expect("cargo sets it");
    for variant in &VARIANTS {
        let path = Path::new(&out).join(variant.name).with_extension("rs");
        let shapes: String = signatures
            .lines()
            .map(|line| variant.line(line) + "\n")
            .collect();
        fs::write(path, shapes).expect("cargo's own directory can be written");
    }
}

/// Cfgs and not features: all features at once must still be edition 2021 in the one package, and
/// the lints of the shapes are looked at only when they are compared.
fn say_cfgs() {
    println!("cargo::rustc-check-cfg=cfg(edition2024, compare_lints, extra)");
    println!("cargo::rerun-if-env-changed=COMPARE_LINTS");
    if env::var("CARGO_PKG_NAME").is_ok_and(|name| name.ends_with("2024")) {
        println!("cargo::rustc-cfg=edition2024");
    }
    if env::var_os("COMPARE_LINTS").is_some() {
        println!("cargo::rustc-cfg=compare_lints");
    }
}

impl Variant {
    fn line(&self, line: &str) -> String {
        // An included file cannot have inner attributes; `lib.rs` puts them on the module.
        if line.starts_with("//!") || line.starts_with("#![") {
            return String::new();
        }
        let line = line.replace("crate::", &format!("crate::{}::", self.name));
        // Another policy is another partition, and needs another name.
        let line = line.replace("\"s", &format!("\"{}.s", self.name));
        match line.split_once("//@ok bulkhead(") {
            Some((indent, keys)) => {
                indent.to_owned() + &(self.attribute)(keys.trim_end().trim_end_matches(')'))
            }
            None => line,
        }
    }
}

fn is_one_of(shapes: &[&str], keys: &str) -> bool {
    let named = |shape: &&str| keys.contains(&format!(".{shape}\""));
    shapes.iter().any(named)
}

fn guarded(keys: &str) -> String {
    format!("#[::bulkhead_runtime::bulkhead({keys})]")
}

/// Two on one function must not be the same.
fn shared_partition(keys: &str) -> &'static str {
    if keys.contains("_second") {
        "SECOND"
    } else {
        "FIRST"
    }
}
