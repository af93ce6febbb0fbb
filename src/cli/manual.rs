//! `testudo completions` and `testudo man`, both made from the command line itself.

use std::process::ExitCode;

use super::arguments;
use super::output::print;

pub fn completions(shell: clap_complete::Shell) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut arguments::command(), "testudo", &mut script);
    print(&String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}

/// One page: the program, then every subcommand with its own options.
pub fn page() -> anyhow::Result<ExitCode> {
    let mut command = arguments::command();
    command.build();
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    for subcommand in command.get_subcommands().filter(|subcommand| subcommand.get_name() != "help") {
        page.extend(section(subcommand)?);
    }
    print(&String::from_utf8(page)?)?;
    Ok(ExitCode::SUCCESS)
}

fn section(subcommand: &clap::Command) -> anyhow::Result<Vec<u8>> {
    // The options of the server stand on the page once.
    let short = subcommand.clone().mut_args(|argument| {
        let is_own = argument.get_help_heading().is_none();
        if is_own { argument } else { argument.hide(true) }
    });
    let man = clap_mangen::Man::new(short);
    let (mut synopsis, mut options) = (Vec::new(), Vec::new());
    man.render_synopsis_section(&mut synopsis)?;
    man.render_options_section(&mut options)?;
    let about = subcommand.get_about().cloned().unwrap_or_default();
    let title = format!(".SH \"TESTUDO {}\"\n{about}\n", subcommand.get_name().to_uppercase());
    let body = String::from_utf8([synopsis, options].concat())?;
    Ok(format!("{title}{}", body.replace(".SH SYNOPSIS\n", ".PP\n").replace(".SH OPTIONS\n", ".PP\n")).into_bytes())
}
