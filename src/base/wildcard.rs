//! `*` in names that people write in the configuration.

/// Whether a name matches a pattern in which each `*` stands for any number of characters.
pub fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, rest)) => {
            let ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
            name.starts_with(head) && ends.filter(|at| *at >= head.len()).any(|at| matches(rest, &name[at..]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_is_any_part_of_a_name() {
        let rows = [
            ("TOKEN", "TOKEN", true),
            ("TOKEN", "TOKENS", false),
            ("*_URL", "DATABASE_URL", true),
            ("CI_*", "CI_", true),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "aXc", false),
            ("*", "ü", true),
            ("", "", true),
        ];
        for (pattern, name, expected) in rows {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
