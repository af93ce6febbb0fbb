//! Converts pictures in a process of its own, for the file tools. A file of a few kilobytes can hold gigabytes of pixels or
//! draw for hours. The kernel ends that process at its limits, and the server goes on.

use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, Signal, set_parent_process_death_signal, setrlimit};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::sync::Semaphore;

/// The hidden subcommand that does the work. Its arguments are the MIME type and the memory in bytes.
pub const PICTURE_SUBCOMMAND: &str = "__picture";

/// All conversions together may take so many MiB. Further ones wait.
const MOST_AT_ONCE: u32 = 768;
static MEMORY: Semaphore = Semaphore::const_new(MOST_AT_ONCE as usize);

/// What a conversion needs besides the pixels of the picture.
const OVERHEAD: u64 = 128 << 20;
const CPU_SECONDS: u64 = 10;
/// For a machine that is too busy to give it its share.
const PATIENCE: Duration = Duration::from_mins(1);
/// More than any result has.
const LARGEST_RESULT: u64 = 64 << 20;

/// Has the picture converted. `memory` is what its pixels take. Dropping the future ends the process.
pub async fn convert_picture(mime: &str, data: &[u8], memory: u64) -> Result<Vec<u8>, String> {
    let share = u32::try_from((memory + OVERHEAD / 4) >> 20).unwrap_or(MOST_AT_ONCE).clamp(1, MOST_AT_ONCE);
    let _share = MEMORY.acquire_many(share).await.map_err(|error| error.to_string())?;
    let mut process = Command::new("/proc/self/exe")
        .arg0("testudo-picture")
        .args([PICTURE_SUBCOMMAND, mime, &(2 * memory + OVERHEAD).to_string()])
        .env_clear()
        .current_dir("/")
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("no process can be started for it: {error}"))?;
    let (Some(mut input), Some(output), Some(errors)) =
        (process.stdin.take(), process.stdout.take(), process.stderr.take())
    else {
        return Err("its process has no pipes".to_owned());
    };
    let (mut result, mut reason) = (Vec::new(), String::new());
    let exchange = async {
        let send = async {
            // If the process has ended, its status tells more than this error.
            let _ = input.write_all(data).await;
            drop(input);
        };
        let mut output = output.take(LARGEST_RESULT);
        let mut errors = errors.take(4096);
        let _ = tokio::join!(send, output.read_to_end(&mut result), errors.read_to_string(&mut reason));
        process.wait().await
    };
    match tokio::time::timeout(PATIENCE, exchange).await {
        Ok(Ok(status)) if status.success() => Ok(result),
        Ok(Ok(status)) => Err(why(status, reason.trim())),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("it takes too long".to_owned()),
    }
}

fn why(status: ExitStatus, reason: &str) -> String {
    match status.signal() {
        Some(libc::SIGXCPU | libc::SIGKILL) => "it takes too long".to_owned(),
        Some(_) => "it takes too much memory".to_owned(),
        None => reason.to_owned(),
    }
}

/// Limits the process that converts. From here on it opens no file, and it ends with the server.
pub fn limit_picture_process(memory: u64) -> std::io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let limits = [
        (Resource::As, memory),
        (Resource::Cpu, CPU_SECONDS),
        (Resource::Nofile, 3),
        (Resource::Fsize, 0),
        (Resource::Core, 0),
    ];
    for (resource, limit) in limits {
        setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })?;
    }
    Ok(())
}
