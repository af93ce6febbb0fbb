//! The page for agents, `testudo://guide`: how to work with the tools that this server offers.

use crate::server::ToolEntry;

const PAGE: &str = include_str!("guide.md");

/// The page without the sections about tools that are not offered, and with the limits in force (in seconds).
pub fn guide(offered: &[&'static ToolEntry], timeout: u64, answer_within: u64) -> String {
    let is_offered = |name: &str| offered.iter().any(|entry| entry.name == name);
    let mut sections = PAGE.split("\n## ");
    let mut text = sections.next().unwrap_or_default().to_owned();
    for section in sections {
        let heading = section.lines().next().unwrap_or_default();
        if names(heading).all(is_offered) {
            text = text + "\n## " + section;
        }
    }
    let lines = text.lines().filter(|line| answer_within > 0 || !line.contains("{answer_within}"));
    let text: String = lines.flat_map(|line| [line, "\n"]).collect();
    text.replace("{timeout}", &timeout.to_string()).replace("{answer_within}", &answer_within.to_string())
}

/// The words between backticks.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Toolset;
    use crate::tools::TOOLS;

    #[test]
    fn a_section_names_only_tools_that_are_offered_where_it_is_shown() {
        for toolset in [Toolset::Standard, Toolset::Anthropic, Toolset::Terminal, Toolset::Gemini] {
            let offered: Vec<_> = TOOLS.iter().filter(|entry| entry.toolsets.contains(&toolset)).collect();
            let page = guide(&offered, 120, 50);
            for entry in TOOLS {
                let is_offered = offered.iter().any(|other| other.name == entry.name);
                let has_section =
                    page.lines().any(|line| line.starts_with("## ") && names(line).any(|name| name == entry.name));
                assert_eq!(has_section, is_offered, "{toolset:?}: {}", entry.name);
            }
        }
    }

    /// Every word between backticks that looks like the name of an argument is one of a tool of its section.
    #[test]
    fn arguments_are_those_of_the_tools() {
        for section in PAGE.split("\n## ").skip(1) {
            let (heading, body) = section.split_once('\n').unwrap();
            let tools: Vec<_> = TOOLS.iter().filter(|entry| names(heading).any(|name| name == entry.name)).collect();
            let known = |word: &str| {
                let of = |tool: &&ToolEntry| (tool.schema)()["properties"].get(word).is_some() || tool.name == word;
                tools.is_empty() || tools.iter().any(of) || WORDS_OF_RESULTS.contains(&word)
            };
            for word in names(body) {
                let word = word.split(':').next().unwrap();
                let is_name = word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
                assert!(!is_name || known(word), "{heading}: {word}");
            }
        }
    }

    const WORDS_OF_RESULTS: &[&str] = &[
        "exit_code",
        "cwd",
        "background_pids",
        "stored",
        "task_id",
        "port",
        "view",
        "str_replace",
        "create",
        "insert",
    ];

    #[test]
    fn the_limits_in_force_are_named() {
        let offered: Vec<_> = TOOLS.iter().collect();
        let page = guide(&offered, 7, 0);
        assert!(page.contains("is ended after 7 s"), "{page}");
        assert!(!page.contains("answered after") && !page.contains('{'), "{page}");
    }
}
