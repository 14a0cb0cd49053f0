//! The other side: what the program does when it starts itself again around a command.
//!
//! It runs before anything else is set up, reads no config, and prints nothing unless it fails.
//! Exit code 125 says that the sandbox failed, not the command.

mod enclose;
mod fence;
mod filter;
mod forward;
mod mounts;
mod namespaces;
mod supervise;
mod write_watch;

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::cgroup;
use super::order::{HelperOrder, HelperStage, ProbeResult};
use write_watch::NotesFile;

/// Does what the arguments after the hidden command say: an order, a program, its arguments.
/// Returns the exit code, or what went wrong; does not return when it becomes the command.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Result<u8, String> {
    let mut arguments = arguments.into_iter();
    let order = arguments.next().unwrap_or_default();
    let order: HelperOrder = serde_json::from_slice(order.as_encoded_bytes())
        .map_err(|error| format!("the sandbox cannot read its order: {error}"))?;
    if order.stage == HelperStage::Probe {
        return probe();
    }
    let program = arguments.next().ok_or("the sandbox was given no program")?;
    let arguments: Vec<OsString> = arguments.collect();
    match order.stage {
        HelperStage::Join => {
            cgroup::join(&order.groups)?;
            let mut command = Command::new(&program);
            // Without notes nothing is known of what it writes, which is no reason not to run it.
            if let Some(notes) = &order.notes {
                let _ = NotesFile::open(notes).and_then(|notes| notes.hand_on(&mut command));
            }
            let error = command.args(&arguments).exec();
            Err(format!("{} cannot be run: {error}", program.display()))
        }
        HelperStage::Tie => {
            tie(order.starter)?;
            let error = Command::new(&program)
                .arg0(&order.name)
                .args(&arguments)
                .exec();
            Err(format!("{} cannot be run: {error}", program.display()))
        }
        HelperStage::Fence => {
            fence::fence(&order)?;
            // Last: whoever changes their rights is untied.
            if order.starter.is_some() {
                tie(order.starter)?;
            }
            let error = Command::new(&program)
                .arg0(&order.name)
                .args(&arguments)
                .exec();
            Err(format!("{} cannot be run: {error}", program.display()))
        }
        HelperStage::Enter => {
            enclose::enclose(&order)?;
            let error = Command::new(&program)
                .arg0(&order.name)
                .args(&arguments)
                .exec();
            Err(format!(
                "{} cannot be run inside the sandbox: {error}",
                program.display()
            ))
        }
        _ => supervise::supervise(&order, &program, &arguments),
    }
}

/// Ends this process when its parent ends, in whatever way. It holds beyond the exec.
fn tie(starter: Option<i32>) -> Result<(), String> {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| format!("the command cannot be tied to its program: {error}"))?;
    // It may have ended before that was said.
    match getppid().map(|pid| pid.as_raw_nonzero().get()) == starter {
        true => Ok(()),
        false => Err("the program that wanted this command is gone".to_owned()),
    }
}

fn probe() -> Result<u8, String> {
    let landlock = enclose::landlock_version();
    let own_namespaces = namespaces::enter()
        .and_then(|()| mounts::can_be_made())
        .is_ok();
    let probed = ProbeResult {
        landlock,
        own_namespaces,
    };
    let text = serde_json::to_string(&probed).map_err(|error| error.to_string())?;
    use std::io::Write;
    writeln!(std::io::stdout(), "{text}").map_err(|error| error.to_string())?;
    Ok(0)
}
