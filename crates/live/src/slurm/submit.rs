//! Jobs that were submitted to Evenhand and not to Slurm: handed to Slurm once, with a mark by which they are known again.

use super::jobs::SlurmJob;
use crate::account::{Account, own_user};
use crate::local::{JobFolder, PASSED_ON, PERSONAL, furnish_job, give, give_file, gpus};
use crate::runner::LiveJob;
use evenhand_core::{JobId, Lease};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::PathBuf;

/// What is handed to sbatch.
#[derive(Clone, Debug)]
pub(super) struct Submission {
    name: String,
    gpus: u32,
    comment: String,
    output: PathBuf,
    folder: PathBuf,
    script: PathBuf,
    /// As whom it runs, if not as whoever runs the service.
    user: Option<Account>,
}

/// The comment by which jobs of this store are known again.
pub(super) fn mark(store: &str, job: JobId) -> String {
    format!("evenhand of {store}: job {}", job.0)
}

/// Which job of this store a Slurm job says it is. Anybody could write that.
pub(super) fn marked(store: &str, job: &SlurmJob) -> Option<JobId> {
    let number = job.comment.strip_prefix(&format!("evenhand of {store}: job "))?;
    number.parse().ok().map(JobId)
}

/// The user of a job, if they are not who runs the service.
pub(super) fn somebody_else(job: &LiveJob) -> io::Result<Option<Account>> {
    let user = job.user.as_deref().filter(|user| own_user().as_deref() != Some(user));
    Ok(user.map(Account::find).transpose()?)
}

impl Submission {
    /// Writes the script of a job. What differs from lease to lease is in a file of its own, which the script reads first.
    pub(super) fn prepare(store: &str, own: &JobFolder, job: &LiveJob) -> io::Result<Self> {
        let program = &job.program;
        let folder = program.folder.clone().unwrap_or_else(|| own.work());
        let user = furnish(own, job)?;
        let script = own.path().join("script.sh");
        let mut text = "#!/bin/sh\n".to_owned();
        let _ = writeln!(text, ". {}", quoted(&own.path().join("environment").display().to_string()));
        let limits = [
            ("v", program.limits.memory_bytes.map(|bytes| bytes / 1024)),
            ("t", program.limits.cpu_s),
            ("n", program.limits.open_files),
        ];
        for (letter, limit) in limits.into_iter().filter_map(|(letter, limit)| Some((letter, limit?))) {
            let _ = writeln!(text, "ulimit -{letter} {limit}");
        }
        let words: Vec<String> = program.argv.iter().map(|word| quoted(word)).collect();
        // The program takes the place of the shell, so that it hears the signal to save.
        let _ = writeln!(text, "exec {}", words.join(" "));
        fs::write(&script, text)?;
        let comment = mark(store, job.spec.id);
        let gpus = job.spec.gpus.min.0;
        Ok(Self { name: job.spec.name(), gpus, comment, output: own.output(), folder, script, user })
    }

    pub(super) fn words(&self, partition: &str) -> Vec<String> {
        let mut words =
            ["--parsable", "--requeue", "--export=NIL", "--open-mode=append"].map(str::to_owned).to_vec();
        words.extend([
            format!("--partition={partition}"),
            format!("--job-name={}", self.name),
            format!("--gpus={}", self.gpus),
            format!("--comment={}", self.comment),
            format!("--output={}", self.output.display()),
            format!("--chdir={}", self.folder.display()),
        ]);
        words.extend(self.user.iter().map(|user| format!("--uid={}", user.name)));
        words.push(self.script.display().to_string());
        words
    }
}

/// Makes the folders and the output of a job, for its user.
fn furnish(own: &JobFolder, job: &LiveJob) -> io::Result<Option<Account>> {
    furnish_job(own.path(), &own.checkpoints())?;
    fs::create_dir_all(own.work())?;
    let user = somebody_else(job)?;
    if let Some(user) = &user {
        give(&own.checkpoints(), user)?;
        give(&own.work(), user)?;
        // Slurm opens it as the user, who may make nothing beside it.
        fs::File::options().create(true).append(true).open(own.output())?;
        give_file(&own.output(), user)?;
    }
    Ok(user)
}

/// Writes what a job finds in its environment under this lease.
pub(super) fn write_environment(own: &JobFolder, lease: &Lease, job: &LiveJob) -> io::Result<()> {
    let user = furnish(own, job)?;
    let mut text = String::new();
    let mut export = |name: &str, value: &str| {
        let _ = writeln!(text, "export {name}={}", quoted(value));
    };
    let personal: &[&str] = if user.is_none() { &PERSONAL } else { &[] };
    for name in PASSED_ON.iter().chain(personal) {
        if let Ok(value) = std::env::var(name) {
            export(name, &value);
        }
    }
    for (name, value) in user.iter().flat_map(Account::environment) {
        export(name, &value);
    }
    // A name that is no word of the shell cannot be set in it.
    let is_word = |name: &str| name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    for (name, value) in job.program.environment.iter().filter(|(name, _)| is_word(name)) {
        export(name, value);
    }
    export("EVENHAND_JOB", &lease.job.0.to_string());
    export("EVENHAND_LEASE", &lease.id.0.to_string());
    export("EVENHAND_GPUS", &gpus(&lease.gpus));
    export("EVENHAND_CHECKPOINT_DIR", &own.checkpoints().display().to_string());
    export("EVENHAND_CHECKPOINT", &own.checkpoint().display().to_string());
    export("EVENHAND_PROGRESS", &own.progress().display().to_string());
    export("EVENHAND_RESUME", if own.checkpoint().exists() { "1" } else { "0" });
    if let Some(member) = job.spec.array {
        export("EVENHAND_ARRAY", &member.array.0.to_string());
        export("EVENHAND_ARRAY_INDEX", &member.index.to_string());
    }
    let new = own.path().join("environment.new");
    fs::write(&new, text)?;
    if let Some(user) = &user {
        give_file(&new, user)?;
    }
    fs::rename(new, own.path().join("environment"))
}

/// A word as the shell reads it back.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_reach_the_program_as_they_are() {
        for word in ["plain", "it's", "a b", "$HOME `x` \\ \"", "two\nlines", ""] {
            let script = format!("printf %s {}", quoted(word));
            let said = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8(said.stdout).unwrap(), word);
        }
    }
}
