pub async fn run(_: &crate::arguments::ServeOptions) -> anyhow::Result<()> {
    anyhow::bail!("later")
}
