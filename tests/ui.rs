//! Every mistake gets one good error: each file of `tests/ui` makes one, and beside it stands what
//! the compiler says. The names begin with the row of the list of diagnostics, or with what the
//! mistake is about; `body_*` are the user's own mistakes, which the attribute must not move.

use std::process::Command;

/// The compiler whose texts are checked in. Another one underlines the same tokens, but words its
/// own notes differently.
const RUSTC: &str = "rustc 1.95.";

#[test]
#[expect(
    clippy::print_stderr,
    reason = "a test that did not compare anything has to say so"
)]
fn every_mistake_gets_its_error() {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let output = Command::new(rustc)
        .arg("--version")
        .output()
        .expect("the compiler of this test can be run");
    let version = String::from_utf8_lossy(&output.stdout);
    if !version.starts_with(RUSTC) {
        eprintln!("NOTHING COMPARED: the errors are checked in for {RUSTC}x, this is {version}");
        return;
    }
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
