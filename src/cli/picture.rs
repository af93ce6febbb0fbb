//! `testudo __picture MIME MEMORY`: converts the picture on stdin, for `exec/picture_process.rs`.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::process::ExitCode;

use anyhow::Context;

use super::output::print_error;

pub fn run(words: &[OsString]) -> anyhow::Result<ExitCode> {
    let word = |index: usize| words.get(index).and_then(|word| word.to_str()).context("an argument is missing");
    crate::exec::limit_picture_process(word(1)?.parse()?)?;
    let mut data = Vec::new();
    std::io::stdin().lock().read_to_end(&mut data)?;
    match crate::files::convert_picture(word(0)?, &data) {
        Ok(converted) => {
            std::io::stdout().lock().write_all(&converted.encode())?;
            Ok(ExitCode::SUCCESS)
        }
        Err(reason) => {
            print_error(&reason);
            Ok(ExitCode::FAILURE)
        }
    }
}
