//! Runs the built program in a folder of its own.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An empty folder for one test.
pub struct Folder(pub PathBuf);

/// What came of a run of the program.
#[derive(Debug)]
pub struct Outcome {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// A file of the folder `scenarios`.
pub fn scenario(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name).display().to_string()
}

impl Folder {
    pub fn new(test: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("the test's folder can be made");
        Self(path)
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.join(name), text).expect("the test's folder can be written");
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// What is in it, by name.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).expect("the test's folder can be read");
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.expect("the test's folder can be read").file_name().to_string_lossy().into_owned()
        };
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    }

    /// Runs the program here.
    pub fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Outcome {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evenhand"));
        let output = command.args(args).current_dir(&self.0).output().expect("the program can be run");
        Outcome {
            code: output.status.code().expect("the program was not killed"),
            stdout: String::from_utf8(output.stdout).expect("results are text"),
            stderr: String::from_utf8(output.stderr).expect("messages are text"),
        }
    }

    /// Runs the program here, and it must be content.
    pub fn done(&self, line: &str) -> Outcome {
        let outcome = self.run(line.split(' '));
        assert_eq!(outcome.code, 0, "evenhand {line}\n{}", outcome.stderr);
        outcome
    }
}
