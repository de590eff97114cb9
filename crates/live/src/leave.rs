//! Leaving in an orderly way when the operating system asks for it.

use crate::world::Mail;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::Sender;

/// On SIGTERM or SIGINT the service is told to leave; on the second, the process ends at once. Jobs go on in either case.
pub fn leave_on_signals(tell: Sender<Mail>) -> std::io::Result<()> {
    let (mut hears, told) = UnixStream::pair()?;
    signal_hook::low_level::pipe::register(SIGTERM, told.try_clone()?)?;
    signal_hook::low_level::pipe::register(SIGINT, told)?;
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let mut byte = [0];
        if hears.read_exact(&mut byte).is_ok() {
            // Nobody may be there any more.
            let _ = tell.send(Mail::Leave);
        }
        if hears.read_exact(&mut byte).is_ok() {
            std::process::exit(1);
        }
    })?;
    Ok(())
}
