//! The gateway as a service of the user.

use std::path::PathBuf;
use std::process::Command;

use chela_core::Host;
use chela_files::{FileMode, write_file};
use chela_gateway::{ServiceManager, ServiceUnit};

use super::super::CommandOutcome;
use crate::cli::gateway::{GatewayInstallArgs, ServiceManagerName};
use crate::fail::{CommandError, CommandExit};
use crate::screen::Screen;

pub fn install(host: &Host, screen: &mut Screen, args: &GatewayInstallArgs) -> CommandOutcome {
    let unit = unit_of(host, args)?;
    if let Some(folder) = unit.file.parent() {
        std::fs::create_dir_all(folder).map_err(|error| {
            CommandError::new(format!("cannot make {}: {error}", host.compact(folder)))
        })?;
    }
    write_file(&unit.file, unit.text.as_bytes(), FileMode::KeepOrUsual)
        .map_err(CommandError::new)?;
    screen.line(format!("Written: {}", host.compact(&unit.file)))?;
    if args.file_only {
        screen.line(format!("Start it with: {}", start_of(&unit).join(" && ")))?;
        return Ok(CommandExit::Fine);
    }
    for command in start_of(&unit) {
        run_command(&command)?;
    }
    screen.line("The gateway starts with your session, and is running now.")?;
    if unit.manager == ServiceManager::Systemd {
        screen.line("To let it run while you are not logged in: loginctl enable-linger")?;
    }
    Ok(CommandExit::Fine)
}

pub fn uninstall(host: &Host, screen: &mut Screen, args: &GatewayInstallArgs) -> CommandOutcome {
    let unit = unit_of(host, args)?;
    if !unit.file.exists() {
        screen.line(format!(
            "There is no service: {} is not there.",
            host.compact(&unit.file)
        ))?;
        return Ok(CommandExit::Fine);
    }
    if !args.file_only {
        run_command(&end_of(&unit))?;
    }
    std::fs::remove_file(&unit.file).map_err(|error| {
        CommandError::new(format!(
            "cannot remove {}: {error}",
            host.compact(&unit.file)
        ))
    })?;
    screen.line(format!("Removed: {}", host.compact(&unit.file)))?;
    Ok(CommandExit::Fine)
}

fn unit_of(host: &Host, args: &GatewayInstallArgs) -> Result<ServiceUnit, CommandError> {
    let manager = match args.manager {
        Some(ServiceManagerName::Systemd) => ServiceManager::Systemd,
        Some(ServiceManagerName::Launchd) => ServiceManager::Launchd,
        None if cfg!(target_os = "macos") => ServiceManager::Launchd,
        None => ServiceManager::Systemd,
    };
    let program: Option<PathBuf> = host.program.clone();
    let program = program.or_else(|| std::env::current_exe().ok());
    let program = program.ok_or_else(|| {
        CommandError::new("where this program lies cannot be found out, and a service needs it")
    })?;
    Ok(ServiceUnit::of(host, manager, &program))
}

fn start_of(unit: &ServiceUnit) -> Vec<String> {
    match unit.manager {
        ServiceManager::Systemd => vec![
            "systemctl --user daemon-reload".to_owned(),
            format!("systemctl --user enable --now {}", unit.name),
        ],
        ServiceManager::Launchd => vec![format!("launchctl load -w '{}'", unit.file.display())],
    }
}

fn end_of(unit: &ServiceUnit) -> String {
    match unit.manager {
        ServiceManager::Systemd => format!("systemctl --user disable --now {}", unit.name),
        ServiceManager::Launchd => format!("launchctl unload -w '{}'", unit.file.display()),
    }
}

fn run_command(command: &str) -> Result<(), CommandError> {
    let ran = Command::new("sh").arg("-c").arg(command).status();
    let failed = |why: String| {
        CommandError::new(format!("`{command}` {why}"))
            .hint("--file-only leaves starting and stopping to you")
    };
    match ran {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(failed(format!("ended with {status}"))),
        Err(error) => Err(failed(format!("cannot be run: {error}"))),
    }
}
