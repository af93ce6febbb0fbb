pub async fn run(_: &crate::arguments::DoctorOptions) -> anyhow::Result<std::process::ExitCode> {
    anyhow::bail!("later")
}
