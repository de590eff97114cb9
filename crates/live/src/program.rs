//! What a job runs: handed to the operating system as it is, no shell reads it.

use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A program with its arguments and surroundings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// The program, looked up in `PATH` if it is a bare name, and its arguments.
    pub argv: Vec<String>,
    /// Variables for it, besides the few that are passed on and those that Evenhand sets.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// Where it runs; a folder of its own if none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// What it may use at most.
    #[serde(default, skip_serializing_if = "is_default", deserialize_with = "by_name")]
    pub limits: ProgramLimits,
    /// What an engine outside calls the job, if it was found there and not submitted here: then that engine knows what it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside: Option<String>,
}

/// What each process of a job may use at most, and all of them together; unlimited where nothing is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramLimits {
    /// Address space, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Processor time, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_s: Option<u64>,
    /// Files open at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_files: Option<u64>,
    /// Memory of all processes together, in bytes. This and what follows takes cgroups that the service may make.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_memory_bytes: Option<u64>,
    /// Processes and threads at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_processes: Option<u64>,
    /// Processors' worth of time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_cpus: Option<u32>,
}

/// Limits by their names alone: serde would take them from a list too, by their order, which nobody means.
fn by_name<'de, D: Deserializer<'de>>(from: D) -> Result<ProgramLimits, D::Error> {
    let named = serde_json::Map::deserialize(from)?;
    ProgramLimits::deserialize(serde_json::Value::Object(named)).map_err(serde::de::Error::custom)
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Variables that only Evenhand sets.
const RESERVED_PREFIX: &str = "EVENHAND_";
const RESERVED: &str = "CUDA_VISIBLE_DEVICES";

/// The most that a program may be: arguments and variables together, in bytes.
pub const PROGRAM_BYTES_MAX: usize = 64 * 1024;

impl Program {
    /// A program with these words and nothing special.
    pub fn new(argv: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { argv: argv.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// How large it is: arguments and variables together.
    pub(crate) fn bytes(&self) -> usize {
        let words = self.argv.iter().map(String::len).sum::<usize>();
        words + self.environment.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>()
    }

    /// What is wrong with it, as a field, a value and what is allowed.
    pub fn check(&self) -> Result<(), String> {
        // Whoever could say so could have somebody else's job stopped.
        if let Some(outside) = &self.outside {
            return Err(format!("outside is {outside:?}: only Evenhand says this"));
        }
        if self.argv.first().is_none_or(String::is_empty) {
            return Err("argv is empty: name a program to run".to_owned());
        }
        let bytes = self.bytes();
        if bytes > PROGRAM_BYTES_MAX {
            return Err(format!(
                "argv and environment have {bytes} bytes: at most {PROGRAM_BYTES_MAX} are allowed"
            ));
        }
        if let Some(word) = self.argv.iter().find(|word| word.contains('\0')) {
            return Err(format!("argv has the word {word:?}: a zero byte is not allowed"));
        }
        for (name, value) in &self.environment {
            let plain = !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0');
            if !plain {
                return Err(format!("environment has the name {name:?}: names have no = and no zero byte"));
            }
            if name.starts_with(RESERVED_PREFIX) || name == RESERVED {
                return Err(format!("environment sets {name}: Evenhand sets that itself"));
            }
        }
        if self.limits.job_processes == Some(0) || self.limits.job_cpus == Some(0) {
            return Err("limits allow the job no process or no processor: at least 1 is needed".to_owned());
        }
        match &self.folder {
            Some(folder) if !folder.is_absolute() => {
                Err(format!("folder is {}: a path from the root is expected", folder.display()))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_cannot_be_run_as_it_is_is_refused() {
        let with = |name: &str, value: &str| Program {
            environment: [(name.to_owned(), value.to_owned())].into(),
            ..Program::new(["true"])
        };
        assert_eq!(Program::new(["true"]).check(), Ok(()));
        assert_eq!(with("SEED", "1").check(), Ok(()));
        for wrong in [
            Program::default(),
            Program::new([""]),
            Program::new(["a\0b"]),
            with("A=B", "1"),
            with("EVENHAND_JOB", "7"),
            with("CUDA_VISIBLE_DEVICES", "0,1"),
            with("BIG", &"x".repeat(PROGRAM_BYTES_MAX)),
            Program { folder: Some("relative".into()), ..Program::new(["true"]) },
        ] {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
    }
}
