//! `testudo audit`: what agents did, from the audit log of all servers of this user.

use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use chrono::{DateTime, Local, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Utc};
use clap::{Args, ValueEnum};
use serde_json::Value;

use super::audit_text::Narrator;
use super::output::{print, print_error, reader_has_gone};
use crate::audit::FILE;
use crate::audit::reader::Reader;
use crate::audit::verify::verify;
use crate::config::Config;

// The doc comments are the help texts.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each one is a switch of the command line")]
pub struct AuditArguments {
    /// `verify` checks that nobody has changed the log; it exits with 1 and names the first broken line
    #[arg(value_enum)]
    action: Option<Action>,
    /// The same as `testudo audit verify`
    #[arg(long, hide = true)]
    verify: bool,
    /// Go on when more is written
    #[arg(long, short)]
    follow: bool,
    /// Only this session
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// Only what was denied or refused
    #[arg(long)]
    denied: bool,
    /// Only commands that failed and calls that ended in an error
    #[arg(long)]
    failed: bool,
    /// Only what happened since then: 30m, 2h, 1d, today, 14:30, 2026-11-16, or a full time
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<DateTime<Utc>>,
    /// Print the lines as they are in the log
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Eq, PartialEq, ValueEnum)]
enum Action {
    Verify,
}

/// How often `--follow` looks for more.
const LOOK_EVERY: Duration = Duration::from_millis(100);

pub fn run(config: &Config, arguments: &AuditArguments) -> anyhow::Result<ExitCode> {
    let directory = &config.state_dir;
    if arguments.verify || arguments.action == Some(Action::Verify) {
        return Ok(check(directory)?);
    }
    let (mut reader, mut narrator) = (Reader::new(directory), Narrator::default());
    let mut none = true;
    loop {
        let mut show = |line: &str, event: Value| {
            none = false;
            let text = narrator.text(&event);
            if !arguments.wants(&event) {
                return Ok(());
            }
            match text.filter(|_| !arguments.json) {
                Some(text) => write(&text),
                None if arguments.json => write(line),
                None => Ok(()),
            }
        };
        match reader.read(&mut show) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(ExitCode::SUCCESS),
            result => result?,
        }
        if !arguments.follow || reader_has_gone() {
            break;
        }
        std::thread::sleep(LOOK_EVERY);
    }
    if none {
        print_error(&format!("testudo: there is no audit log yet at {}", directory.join(FILE).display()));
    }
    Ok(ExitCode::SUCCESS)
}

fn check(directory: &Path) -> io::Result<ExitCode> {
    match verify(directory) {
        Ok(found) => {
            let torn = if found.torn { "; the last line was cut off when its server was killed" } else { "" };
            print(&format!("the audit log is intact: {} lines in {} files{torn}", found.lines, found.files))?;
            Ok(ExitCode::SUCCESS)
        }
        Err(broken) => {
            print_error(&format!("testudo: the audit log was tampered with: {broken}"));
            Ok(ExitCode::FAILURE)
        }
    }
}

/// A closed pipe is an error here: it ends the reading.
fn write(line: &str) -> io::Result<()> {
    use io::Write;
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{}", line.trim_end()).and_then(|()| stdout.flush())
}

impl AuditArguments {
    fn wants(&self, event: &Value) -> bool {
        let text = |name: &str| event[name].as_str().unwrap_or_default();
        let time = || DateTime::parse_from_rfc3339(text("time")).map(|time| time.with_timezone(&Utc));
        if self.since.is_some_and(|since| time().is_ok_and(|time| time < since)) {
            return false;
        }
        if self.session.as_ref().is_some_and(|session| text("session") != session) {
            return false;
        }
        let denied = match text("event") {
            "denied" | "refused" => true,
            "verdict" => text("verdict") == "deny",
            "answer" => text("decision") == "deny",
            _ => false,
        };
        let failed = match text("event") {
            "process_exit" => event["exit_code"] != 0 || !event["ended_by"].is_null(),
            "result" => !event["error"].is_null(),
            _ => false,
        };
        (!self.denied && !self.failed) || (self.denied && denied) || (self.failed && failed)
    }
}

/// A point in time as people write it.
fn since(text: &str) -> Result<DateTime<Utc>, String> {
    let local = |time: NaiveDateTime| time.and_local_timezone(Local).earliest().map(|time| time.with_timezone(&Utc));
    let today = Local::now().date_naive();
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let seconds = match unit {
        "s" => Some(1_i64),
        "m" | "min" => Some(60),
        "h" => Some(60 * 60),
        "d" => Some(24 * 60 * 60),
        _ => None,
    };
    let ago = || {
        let seconds = seconds?.checked_mul(number.parse::<i64>().ok()?)?;
        Utc::now().checked_sub_signed(TimeDelta::try_seconds(seconds)?)
    };
    let clock = || ["%H:%M", "%H:%M:%S"].iter().find_map(|form| NaiveTime::parse_from_str(text, form).ok());
    let moment = || {
        let forms = ["%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"];
        forms.iter().find_map(|form| NaiveDateTime::parse_from_str(text, form).ok())
    };
    let day = || if text == "today" { Some(today) } else { NaiveDate::parse_from_str(text, "%Y-%m-%d").ok() };
    let found = ago()
        .or_else(|| DateTime::parse_from_rfc3339(text).ok().map(|time| time.with_timezone(&Utc)))
        .or_else(|| local(today.and_time(clock()?)))
        .or_else(|| local(moment()?))
        .or_else(|| local(day()?.and_time(NaiveTime::MIN)));
    found.ok_or_else(|| {
        format!("{text:?} is no time; write 30m, 2h, 1d, today, 14:30, 2026-11-16 or 2026-11-16T14:30:00Z")
    })
}

/// Where the log is, for `doctor`.
pub fn row(config: &Config) -> String {
    let path = config.state_dir.join(FILE).display().to_string();
    match (config.audit.enabled, config.audit.required) {
        (false, _) => "off (audit.enabled)".to_owned(),
        (true, true) => format!("{path} (required: calls are refused if it cannot be written)"),
        (true, false) => path,
    }
}

/// The bytes of all files of the log.
pub fn size(config: &Config) -> u64 {
    crate::audit::size(&config.state_dir)
}

/// Why the log cannot be written, and what to do about it: for `doctor`.
pub fn shortcoming(config: &Config) -> Option<String> {
    let error = crate::audit::try_out(&config.state_dir).err().filter(|_| config.audit.enabled)?;
    let directory = config.state_dir.display();
    Some(format!(
        "nothing is recorded in the audit log ({directory}: {error}): make the directory writable, or set XDG_STATE_HOME"
    ))
}

#[cfg(test)]
mod tests {
    use super::since;

    #[test]
    fn times_are_read_as_people_write_them() {
        for text in
            ["30s", "5m", "2h", "1d", "today", "14:30", "2026-11-16", "2026-11-16 14:30", "2026-11-16T14:30:00Z"]
        {
            assert!(since(text).is_ok(), "{text}");
        }
        for text in ["", "m", "5x", "yesterday-ish", "25:00", "99999999999999999999d"] {
            assert!(since(text).is_err(), "{text}");
        }
    }
}
