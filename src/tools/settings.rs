use super::TOOLS;

/// Which tools are offered.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Settings {
    toolsets: Vec<String>,
    disabled: Vec<String>,
}

pub const TOOLSETS: [&str; 5] = ["standard", "anthropic", "terminal", "gemini", "all"];

impl Settings {
    /// Unknown names are refused; the error lists the valid ones.
    pub fn new(toolsets: Vec<String>, disabled: Vec<String>) -> Result<Self, String> {
        check("toolset", &toolsets, &TOOLSETS)?;
        check("tool", &disabled, &TOOLS.iter().map(|entry| entry.name).collect::<Vec<_>>())?;
        Ok(Self { toolsets, disabled })
    }

    pub fn offers(&self, tool: &str, toolsets: &[&str]) -> bool {
        let wanted = |name: &String| name == "all" || toolsets.contains(&name.as_str());
        self.toolsets.iter().any(wanted) && !self.disabled.iter().any(|name| name == tool)
    }
}

fn check(what: &str, written: &[String], valid: &[&str]) -> Result<(), String> {
    let Some(unknown) = written.iter().find(|name| !valid.contains(&name.as_str())) else { return Ok(()) };
    let near = crate::base::spelling::nearest(unknown, valid.iter().copied());
    let suggestion = near.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
    Err(format!("unknown {what} {unknown:?}{suggestion} (valid: {})", valid.join(", ")))
}
