//! Why a job waits, for those who look at its pods.

use crate::books::Note;
use evenhand_core::Reason;
use evenhand_engine::{Outlook, Standing};

/// What its pods should say; nothing if it runs. Without numbers that change all the time: every new sentence is a write.
pub(crate) fn note(outlook: &Outlook) -> Option<Note> {
    let lacking = outlook.free < outlook.needs;
    let (reason, message) = match &outlook.standing {
        Standing::Runs => return None,
        Standing::Queued => {
            // Autoscalers of the cluster listen to this word, and more nodes help only if GPUs are lacking.
            let reason = if lacking { "Unschedulable" } else { "WaitingForTurn" };
            let why = outlook.why.map_or("jobs that come first in the queue wait too", Reason::sentence);
            let gpus = format!("needs {} GPUs at once", outlook.needs.0);
            (reason, format!("{gpus}; {why}"))
        }
        Standing::After(_) => ("WaitingForOthers", "waits for other jobs to end".to_owned()),
        Standing::NoTurn => ("WaitingForTurn", "another job of its array must end first".to_owned()),
        Standing::Retries(_) => ("BackOff", "it crashed, and is tried again after a pause".to_owned()),
        Standing::OnHold => ("Held", "it is on hold: evenhand release lets it go on".to_owned()),
        Standing::Promised => {
            ("Promised", "others have been asked to leave the GPUs that it was given".to_owned())
        }
        Standing::Stopping => ("Preempted", "it is given GPUs again when its turn comes".to_owned()),
    };
    Some(Note { reason, message })
}
