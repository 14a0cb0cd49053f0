//! The program described by itself: completion scripts, manual page, reference pages.

use std::path::Path;

use clap::{Command, CommandFactory};

use super::CommandOutcome;
use crate::cli::Cli;
use crate::fail::{CommandError, CommandExit};
use crate::file_trouble::unwritable;
use crate::screen::Screen;

pub fn completion(screen: &mut Screen, shell: clap_complete::Shell) -> CommandOutcome {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "chela", &mut script);
    screen.bytes(&script)?;
    Ok(CommandExit::Fine)
}

pub fn man(screen: &mut Screen) -> CommandOutcome {
    screen.bytes(&man_page()?)?;
    Ok(CommandExit::Fine)
}

/// The pages under `docs/generated`.
pub fn write_pages(dir: &Path) -> CommandOutcome {
    let write = |name: &str, bytes: &[u8]| {
        let path = dir.join(name);
        std::fs::write(&path, bytes).map_err(|error| unwritable(path.display(), &error))
    };
    std::fs::create_dir_all(dir).map_err(|error| unwritable(dir.display(), &error))?;
    write("CLI.md", commands_page().as_bytes())?;
    write("CONFIG.md", chela_config::reference::page().as_bytes())?;
    write("chela.1", &man_page()?)?;
    Ok(CommandExit::Fine)
}

fn man_page() -> Result<Vec<u8>, CommandError> {
    let mut page = Vec::new();
    let man = clap_mangen::Man::new(Cli::command())
        .date("")
        .source("Chela");
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    let mut commands = Vec::new();
    each_command(&Cli::command(), "chela", &mut |path, command| {
        commands.push((path.to_owned(), command.clone()));
    });
    page.extend_from_slice(b".SH COMMANDS\n");
    for (path, command) in commands {
        let about = command
            .get_about()
            .map(ToString::to_string)
            .unwrap_or_default();
        page.extend_from_slice(
            format!(".TP\n\\fB{}\\fR\n{}\n", roff(&path), roff(&about)).as_bytes(),
        );
    }
    man.render_extra_section(&mut page)?;
    Ok(page)
}

/// Text in which a manual page's own signs are taken literally.
fn roff(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('-', "\\-");
    if text.starts_with(['.', '\'']) {
        format!("\\&{text}")
    } else {
        text
    }
}

pub fn commands_page() -> String {
    let mut page = String::from(
        "# Commands\n\nGenerated from the program by `cargo xtask docs`; do not edit.\n",
    );
    each_command(&Cli::command(), "chela", &mut |path, command| {
        let help = command
            .clone()
            .bin_name(path)
            .color(clap::ColorChoice::Never)
            .term_width(90)
            .render_help();
        page.push_str(&format!(
            "\n## `{path}`\n\n```text\n{}\n```\n",
            help.to_string().trim_end()
        ));
    });
    // Help texts are padded; the page is not.
    let mut trimmed: String = page
        .lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect();
    trimmed.truncate(trimmed.trim_end().len());
    trimmed.push('\n');
    trimmed
}

/// Visits every command that people see, parents first. `help` has nothing of its own to say: it
/// repeats the others.
fn each_command(command: &Command, path: &str, visit: &mut impl FnMut(&str, &Command)) {
    let mut built = command.clone();
    built.build();
    visit(path, &built);
    let inner = built.get_subcommands();
    for inner in inner.filter(|inner| !inner.is_hide_set() && inner.get_name() != "help") {
        each_command(inner, &format!("{path} {}", inner.get_name()), visit);
    }
}
