//! A binary that is nothing but a supervisor, for tests that run jobs without the whole program.

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    // The first word says that a supervisor is wanted; there is nothing else to be had here.
    let words: Vec<OsString> = std::env::args_os().skip(2).collect();
    evenhand_live::supervise(&words)
}
