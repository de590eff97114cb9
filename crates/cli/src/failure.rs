//! How the program ends: 0 done, 1 the work failed, 2 the input was wrong.

use crate::output::{self, Closed};
use evenhand_sim::InputError;
use std::fmt;
use std::process::ExitCode;

/// Input that was wrong in a way that is not tied to a field of a file.
#[derive(Debug)]
pub struct Wrong(pub String);

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Wrong {}

/// Input that was wrong, at this place: a file or a flag.
pub fn wrong(place: impl fmt::Display, what: impl fmt::Display) -> anyhow::Error {
    Wrong(format!("{place}: {what}")).into()
}

/// Says what went wrong, if anything did.
pub fn exit_code(result: anyhow::Result<()>) -> ExitCode {
    let Err(error) = result else { return ExitCode::SUCCESS };
    if error.is::<Closed>() {
        // Whoever read our output has seen enough.
        return ExitCode::SUCCESS;
    }
    output::note(&format!("error: {}", told(&error)));
    let input_was_wrong = error.is::<InputError>() || error.is::<Wrong>();
    ExitCode::from(if input_was_wrong { 2 } else { 1 })
}

/// The error and its causes, each once: some say their cause themselves.
fn told(error: &anyhow::Error) -> String {
    error.chain().skip(1).map(ToString::to_string).fold(error.to_string(), |text, cause| {
        if text.ends_with(&cause) { text } else { format!("{text}: {cause}") }
    })
}

/// Does something that may break a law of the engine when its input was tampered with; a broken law comes back as
/// its message.
pub fn survive<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    let loud = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    std::panic::set_hook(loud);
    result.map_err(|payload| match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => (*payload.downcast_ref::<&str>().unwrap_or(&"a law was broken")).to_owned(),
    })
}
