//! `testudo completions` and `testudo man`, both made from the command line itself.

use std::process::ExitCode;

use super::arguments;
use super::output::print;

pub fn completions(shell: clap_complete::Shell) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    // The help of a subcommand leaves the options of the server out; a shell completes them.
    let show_all = |subcommand: clap::Command| subcommand.mut_args(|argument| argument.hide(false));
    let mut command = arguments::command();
    command.build();
    let mut command = command.mut_subcommands(show_all);
    clap_complete::generate(shell, &mut command, "testudo", &mut script);
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
    let mut own = subcommand.clone();
    if own.get_name() == "serve" {
        // Its options are those of the program, which stand at the top of the page.
        own = own.mut_args(|argument| argument.hide(true));
    }
    let man = clap_mangen::Man::new(own);
    let (mut synopsis, mut options) = (Vec::new(), Vec::new());
    man.render_synopsis_section(&mut synopsis)?;
    man.render_options_section(&mut options)?;
    let about = subcommand.get_about().cloned().unwrap_or_default();
    let title = format!(".SH \"TESTUDO {}\"\n{about}\n", subcommand.get_name().to_uppercase());
    let body = String::from_utf8([synopsis, options].concat())?;
    Ok(format!("{title}{}", body.replace(".SH SYNOPSIS\n", ".PP\n").replace(".SH OPTIONS\n", ".PP\n")).into_bytes())
}
