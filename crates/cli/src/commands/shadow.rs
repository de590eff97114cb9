//! `evenhand shadow`: watches a cluster without touching it.

use crate::failure::wrong;
use crate::output;
use crate::shadow_args::{Engine, Shadow};
use anyhow::Result;
use evenhand_core::{Span, Time};
use evenhand_kubernetes::KubernetesEyes;
use evenhand_live::shadow::{Eyes, Journal, JournalError, Sight};
use evenhand_live::{Clock, Mail, SlurmEyes, leave_on_signals, system_ms};
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Looks again and again until it is told to stop.
pub fn run(args: &Shadow) -> Result<()> {
    if args.every == Span::ZERO {
        return Err(wrong("--every", "some time must be between two looks"));
    }
    let mut watch = Watch::begin(args)?;
    let (tell, inbox) = channel::<Mail>();
    leave_on_signals(tell.clone())?;
    let clock = Clock::start();
    let goes_on = |now: Time| args.during.is_none_or(|during| now.since(Time::ZERO) < during);
    let pause = Duration::from_millis(args.every.0);
    // Whoever tells anything here tells to leave.
    while goes_on(clock.now()) && inbox.recv_timeout(pause).is_err() {
        watch.look_again()?;
    }
    let ((jobs, ended), file) = (watch.journal.counts(), args.journal.display());
    output::say(&format!(
        "{jobs} jobs seen, {ended} of them to their end.\n\nhow fair it was          evenhand report {file}\nwhat Evenhand would do   evenhand whatif {file}"
    ))
}

/// Somebody who watches.
struct Watch {
    eyes: Box<dyn Eyes>,
    journal: Journal,
    path: PathBuf,
    /// Nothing could be seen the last time.
    is_blind: bool,
}

impl Watch {
    /// The first look tells whether there is anything to see, before a file is made.
    fn begin(args: &Shadow) -> Result<Self> {
        let (mut eyes, name) = eyes(args)?;
        let first = eyes.look().map_err(|error| wrong(name, error))?;
        let journal = Journal::open(&args.journal, name).map_err(|error| refused(&args.journal, error))?;
        let gpus: u32 = first.nodes.iter().map(|node| u32::from(node.gpus)).sum();
        output::note(&format!(
            "watching {} nodes with {gpus} GPUs, and {} jobs; nothing is changed there. What is seen is kept in {}",
            first.nodes.len(),
            first.jobs.len(),
            args.journal.display()
        ));
        let mut watch = Self { eyes, journal, path: args.journal.clone(), is_blind: false };
        watch.note(first)?;
        Ok(watch)
    }

    fn look_again(&mut self) -> Result<()> {
        match self.eyes.look() {
            Ok(sight) => {
                if std::mem::take(&mut self.is_blind) {
                    output::note("it answers again");
                }
                return self.note(sight);
            }
            // Nothing is concluded from silence.
            Err(error) if !self.is_blind => {
                self.is_blind = true;
                output::note(&format!("warning: nothing can be seen now: {error}"));
            }
            Err(_) => {}
        }
        Ok(())
    }

    fn note(&mut self, sight: Sight) -> Result<()> {
        self.journal.note(sight, system_ms()).map_err(|error| refused(&self.path, error))
    }
}

/// A journal that cannot be gone on with is wrong input; a disk that is full is not.
fn refused(path: &Path, error: JournalError) -> anyhow::Error {
    match error {
        JournalError::Io(error) => anyhow::anyhow!("{}: {error}", path.display()),
        error => wrong(path.display(), error),
    }
}

fn eyes(args: &Shadow) -> Result<(Box<dyn Eyes>, &'static str)> {
    match args.engine {
        Engine::Slurm if args.kubeconfig.is_some() => {
            Err(wrong("--kubeconfig", "Slurm has none; say kubernetes instead of slurm"))
        }
        Engine::Kubernetes if !args.partition.is_empty() => {
            Err(wrong("--partition", "Kubernetes has none; say slurm instead of kubernetes"))
        }
        Engine::Slurm => Ok((Box::new(SlurmEyes::new(args.partition.clone(), None)), "slurm")),
        Engine::Kubernetes => {
            let eyes = KubernetesEyes::new(args.kubeconfig.clone());
            Ok((Box::new(eyes.map_err(|error| wrong("kubernetes", error))?), "kubernetes"))
        }
    }
}
