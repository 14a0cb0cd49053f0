//! `chela update`: a newer program in the place of this one, and the way back.

mod archive;
mod download;
mod index;
mod installation;
mod source;
mod version;

use std::path::Path;

use chela_core::Host;
use chela_files::LockFile;
use serde_json::json;

use self::archive::UnpackedArchive;
use self::index::{ArchiveEntry, ReleaseEntry};
use self::installation::{InstallMethod, ProgramInstallation};
use self::source::UpdateSource;
pub use self::source::read_update_key;
use self::version::ProgramVersion;
use super::{CommandOutcome, CommandSetup};
use crate::cli::update::UpdateArgs;
use crate::fail::{CommandError, CommandExit};
use crate::screen::Screen;

/// The version this program says it has.
const CURRENT: &str = env!("CARGO_PKG_VERSION");

pub fn run(host: &Host, screen: &mut Screen, args: &UpdateArgs) -> CommandOutcome {
    let setup = CommandSetup::look(host);
    setup.warn_on_stderr(screen.paint);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CommandError::new(format!("cannot start: {error}")))?;
    runtime.block_on(update(&setup, screen, args))
}

async fn update(setup: &CommandSetup, screen: &mut Screen, args: &UpdateArgs) -> CommandOutcome {
    let installation = ProgramInstallation::find()?;
    if !args.check {
        installation.require_own()?;
    }
    if args.rollback {
        let _lock = lock(&setup.host)?;
        return roll_back(&installation, screen, args.json).await;
    }
    let source = UpdateSource::of(&setup.loaded, args.channel.as_deref())?;
    let http = chela_model::ModelHttp::new(&setup.host, &setup.loaded);
    let release = source.fetch_release(&http).await?;
    let standing = ReleaseStanding::of(&release.version)?;
    if args.check {
        return tell_standing(
            &installation,
            &source,
            &release,
            standing,
            screen,
            args.json,
        );
    }
    match standing {
        ReleaseStanding::Same if !args.force => {
            return tell_standing(
                &installation,
                &source,
                &release,
                standing,
                screen,
                args.json,
            );
        }
        ReleaseStanding::Older if !args.force => {
            return Err(CommandError::new(format!(
                "the index offers {}, which is older than this Chela {CURRENT}",
                release.version
            ))
            .hint("`chela update --force` installs it anyway"));
        }
        _ => {}
    }
    let _lock = lock(&setup.host)?;
    let entry = release.archive_for(&this_target())?;
    let unpacked = fetch_archive(&source, &http, entry).await?;
    let draft = installation.write_beside(&unpacked.program)?;
    installation::require_version(&draft.path(), &release.version).await?;
    let previous = installation.keep_previous()?;
    draft.put_in_place().map_err(CommandError::new)?;
    installation.refresh_shared(&unpacked.shared);
    tracing::info!(from = CURRENT, to = %release.version, "the program was replaced");
    tell_update(screen, &release, &previous, &setup.host, args.json)
}

/// What this program was built for, as archives are named.
fn this_target() -> String {
    let cpu = std::env::consts::ARCH;
    match std::env::consts::OS {
        "linux" if cfg!(target_env = "musl") => format!("{cpu}-unknown-linux-musl"),
        "linux" => format!("{cpu}-unknown-linux-gnu"),
        "macos" => format!("{cpu}-apple-darwin"),
        other => format!("{cpu}-{other}"),
    }
}

/// Whether an offered version is newer than this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReleaseStanding {
    Newer,
    Same,
    Older,
}

impl ReleaseStanding {
    fn of(offered: &str) -> Result<Self, CommandError> {
        let parse = |text: &str| {
            ProgramVersion::parse(text)
                .ok_or_else(|| CommandError::new(format!("`{text}` is not a version")))
        };
        Ok(match parse(offered)?.cmp(&parse(CURRENT)?) {
            std::cmp::Ordering::Greater => Self::Newer,
            std::cmp::Ordering::Equal => Self::Same,
            std::cmp::Ordering::Less => Self::Older,
        })
    }
}

/// Two updates at once would each keep the other's half as the previous program.
fn lock(host: &Host) -> Result<LockFile, CommandError> {
    let path = host.state_dir().join("state").join("update.lock");
    match LockFile::try_take(&path) {
        Ok(Some(lock)) => Ok(lock),
        Ok(None) => Err(CommandError::new("another update is already running")),
        Err(error) => Err(CommandError::new(error)),
    }
}

async fn fetch_archive(
    source: &UpdateSource,
    http: &chela_model::ModelHttp,
    entry: &ArchiveEntry,
) -> Result<UnpackedArchive, CommandError> {
    let address = source.archive_address(entry)?;
    let archive = download::fetch_archive(http, &address, entry).await?;
    archive::unpack(&archive).map_err(|error| {
        CommandError::new(format!("{address}: {error}")).hint("nothing was replaced")
    })
}

fn tell_standing(
    installation: &ProgramInstallation,
    source: &UpdateSource,
    release: &ReleaseEntry,
    standing: ReleaseStanding,
    screen: &mut Screen,
    as_json: bool,
) -> CommandOutcome {
    let newer = standing == ReleaseStanding::Newer;
    if as_json {
        screen.json(&json!({
            "current": CURRENT, "offered": release.version, "newer": newer,
            "channel": source.channel, "notes": release.notes, "updated": false,
        }))?;
        return Ok(CommandExit::Fine);
    }
    if !newer {
        screen.line(format!(
            "Chela {CURRENT} is up to date; {} offers {}.",
            source.channel, release.version
        ))?;
        return Ok(CommandExit::Fine);
    }
    screen.line(format!(
        "Chela {} is available; you have {CURRENT}.",
        release.version
    ))?;
    if let Some(notes) = &release.notes {
        screen.paragraph("  ", notes)?;
    }
    let how = match &installation.installer {
        InstallMethod::Own => "chela update".to_owned(),
        InstallMethod::Other { command, .. } => command.clone(),
    };
    screen.line(format!("To install it: {how}"))?;
    Ok(CommandExit::Fine)
}

fn tell_update(
    screen: &mut Screen,
    release: &ReleaseEntry,
    previous: &Path,
    host: &Host,
    as_json: bool,
) -> CommandOutcome {
    if as_json {
        screen.json(&json!({
            "from": CURRENT, "to": release.version, "previous": previous, "updated": true,
        }))?;
        return Ok(CommandExit::Fine);
    }
    screen.line(format!("Chela is now {} (was {CURRENT}).", release.version))?;
    screen.line(format!(
        "The old program is kept as {}; `chela update --rollback` goes back to it.",
        host.compact(previous)
    ))?;
    Ok(CommandExit::Fine)
}

async fn roll_back(
    installation: &ProgramInstallation,
    screen: &mut Screen,
    as_json: bool,
) -> CommandOutcome {
    let version = installation.roll_back().await?;
    if as_json {
        screen.json(&json!({ "from": CURRENT, "to": version, "updated": true }))?;
        return Ok(CommandExit::Fine);
    }
    screen.line(format!("Chela is {version} again (was {CURRENT})."))?;
    screen.line("Run `chela update --rollback` again to return to the other one.")?;
    Ok(CommandExit::Fine)
}
