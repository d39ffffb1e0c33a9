//! What the attribute costs while compiling: 500 functions, beside `#[tracing::instrument]`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs};

use crate::pair::{Goal, Ratio, Row};

const FUNCTIONS: usize = 500;

pub(crate) fn rows() -> Vec<Row> {
    let ours = |at| format!(r#"#[bulkhead_runtime::bulkhead(name = "f{at}", max = 4)]"#);
    let [bare, guarded, instrumented] = [
        crate_of("bare", |_| String::new()),
        crate_of("guarded", ours),
        crate_of("instrumented", |_| "#[tracing::instrument]".into()),
    ];
    let [guarded_cold, instrumented_cold] = ["bulkhead-runtime", "tracing"];
    vec![
        Row {
            situation: format!("compile: {FUNCTIONS} annotated functions, added time"),
            beside: "`#[tracing::instrument]`",
            ratio: Ratio::of(9, || {
                let [bare, guarded, instrumented] =
                    [&bare, &guarded, &instrumented].map(|path| check(path).as_secs_f64());
                (guarded - bare) / (instrumented - bare)
            }),
            goal: Goal::AtMost(1.0),
        },
        Row {
            situation: "cold build of `bulkhead-runtime` and all it needs".into(),
            beside: "`tracing` with its macro",
            ratio: Ratio::of(3, || {
                let [ours, theirs] = [(&guarded, guarded_cold), (&instrumented, instrumented_cold)]
                    .map(|(path, dependency)| cold(path, dependency).as_secs_f64());
                ours / theirs
            }),
            goal: Goal::Report,
        },
    ]
}

/// A crate of that many functions under an attribute, in the target folder.
fn crate_of(name: &str, attribute: impl Fn(usize) -> String) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("compile")
        .join(name);
    let mut source = String::from(
        "#![allow(dead_code)]\npub type R = Result<u64, Box<dyn std::error::Error + Send + Sync>>;\n",
    );
    for at in 0..FUNCTIONS {
        let attribute = attribute(at);
        writeln!(
            source,
            "{attribute}\npub async fn f{at}(a: u64, b: &str) -> R {{\n    let n: u64 = b.parse()?;\n    \
             std::future::ready(()).await;\n    Ok(a + n + {at})\n}}"
        )
        .expect("a string takes everything");
    }
    let runtime = env!("CARGO_MANIFEST_DIR");
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n\
         bulkhead-runtime = {{ path = \"{runtime}\" }}\ntracing = {{ version = \"0.1\" }}\n"
    );
    fs::create_dir_all(path.join("src")).expect("the target folder can be written");
    fs::write(path.join("src/lib.rs"), source).expect("the target folder can be written");
    fs::write(path.join("Cargo.toml"), manifest).expect("the target folder can be written");
    cargo(&path, &["check"]);
    path
}

/// The time to check the crate itself again, its dependencies being ready.
fn check(path: &Path) -> Duration {
    let source = path.join("src/lib.rs");
    let text = fs::read(&source).expect("written above");
    fs::write(&source, text).expect("the target folder can be written");
    cargo(path, &["check"])
}

/// The time to build one dependency and what it alone needs.
fn cold(path: &Path, dependency: &str) -> Duration {
    cargo(path, &["clean"]);
    cargo(path, &["build", "-p", dependency])
}

fn cargo(path: &Path, words: &[&str]) -> Duration {
    let start = Instant::now();
    let status = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(words)
        .args(["--quiet", "--offline"])
        .current_dir(path)
        .env("CARGO_TARGET_DIR", path.join("target"))
        .env("CARGO_INCREMENTAL", "0")
        .env_remove("RUSTFLAGS")
        .status()
        .expect("cargo can be run");
    assert!(
        status.success(),
        "cargo {words:?} failed in {}",
        path.display()
    );
    start.elapsed()
}
