//! The connection to one host, made by the person's own `ssh` with its configuration, agent and jump hosts. It is one
//! connection: commands and forwarded sockets share it, and a lost link is noticed within seconds.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

#[derive(Clone)]
pub struct SshLink {
    host: String,
    control: PathBuf,
    options: Vec<String>,
    master: Arc<Mutex<Option<Child>>>,
}

const CONNECT: Duration = Duration::from_secs(30);

impl SshLink {
    pub fn new(host: String, control: PathBuf, options: Vec<String>) -> Self {
        Self { host, control, options, master: Arc::default() }
    }

    pub fn control(&self) -> &Path {
        &self.control
    }

    fn ssh(&self) -> Command {
        let mut command = Command::new("ssh");
        command.arg("-S").arg(&self.control).args(&self.options).kill_on_drop(true);
        command
    }

    /// Makes sure that the connection is there. A caller may stop waiting for it; the connection is still made. Otherwise a host
    /// that takes longer than its callers wait would never be reached again.
    pub async fn connect(&self) -> io::Result<()> {
        let link = self.clone();
        tokio::spawn(async move { link.start_master().await }).await.map_err(io::Error::other)?
    }

    async fn start_master(&self) -> io::Result<()> {
        let mut master = self.master.lock().await;
        if let Some(running) = master.as_mut()
            && running.try_wait()?.is_none()
        {
            return Ok(());
        }
        // What a dead master left behind.
        let _ = std::fs::remove_file(&self.control);
        let mut started = self
            .ssh()
            .args([
                "-M",
                "-N",
                "-T",
                "-o",
                "BatchMode=yes",
                "-o",
                "ServerAliveInterval=1",
                "-o",
                "ServerAliveCountMax=3",
            ])
            .args(["-o", "ControlPersist=no", "-o", "ConnectTimeout=5", "-o", "StreamLocalBindUnlink=yes"])
            .args(["--", &self.host])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let begin = Instant::now();
        while !self.control.exists() {
            if started.try_wait()?.is_some() || begin.elapsed() > CONNECT {
                let output = started.wait_with_output().await?;
                let text = String::from_utf8_lossy(&output.stderr).trim().to_owned();
                return Err(io::Error::new(
                    io::ErrorKind::HostUnreachable,
                    format!("{text}; `ssh {}` has to work without a question", self.host),
                ));
            }
            sleep(Duration::from_millis(20)).await;
        }
        // Nobody reads its complaints from here on, and a full pipe would stop it.
        drop(started.stderr.take());
        *master = Some(started);
        Ok(())
    }

    /// Runs a script with the host's `sh` and gives it these bytes.
    pub async fn run(&self, script: &str, input: &[u8]) -> io::Result<String> {
        self.connect().await?;
        let mut child = self
            .ssh()
            .args(["-T", "-o", "BatchMode=yes", "--", &self.host])
            .arg(format!("exec sh -c {}", quoted(script)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut stdin = child.stdin.take().ok_or_else(|| io::Error::other("no stdin"))?;
        // A script that fails does not read to the end. Its own words say why.
        let _ = stdin.write_all(input).await;
        drop(stdin);
        let output = child.wait_with_output().await?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(io::Error::other(format!("on {}: {text} ({})", self.host, output.status)));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Makes a socket of the host reachable at a path of this machine.
    pub async fn forward(&self, local: &Path, remote: &str) -> io::Result<()> {
        self.connect().await?;
        let _ = std::fs::remove_file(local);
        self.tell("forward", local, remote).await
    }

    pub async fn end_forward(&self, local: &Path, remote: &str) {
        if let Err(error) = self.tell("cancel", local, remote).await {
            tracing::info!("ssh {}: {error}", self.host);
        }
    }

    async fn tell(&self, what: &str, local: &Path, remote: &str) -> io::Result<()> {
        let output = self
            .ssh()
            .args(["-O", what, "-o", "StreamLocalBindUnlink=yes", "-L"])
            .arg(format!("{}:{remote}", local.display()))
            .args(["--", &self.host])
            .stdin(Stdio::null())
            .output()
            .await?;
        if output.status.success() {
            return Ok(());
        }
        Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
    }
}

/// As one word of a shell.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_one_word_of_the_login_shell() {
        assert_eq!(quoted("a 'b' $c"), r"'a '\''b'\'' $c'");
    }
}
