//! "Did you mean …?" for names that people and agents type.

/// The valid name closest to what was written, if one is close enough to be what was meant.
pub fn nearest<'a>(written: &str, valid: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    valid
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&written.to_lowercase(), &name.to_lowercase()), name))
        .filter(|(score, _)| *score > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_is_recognised_and_a_stranger_is_not() {
        let valid = ["timeout", "toolset", "max_file_size"];
        assert_eq!(nearest("timout", valid), Some("timeout"));
        assert_eq!(nearest("max-file-size", valid), Some("max_file_size"));
        assert_eq!(nearest("zzz", valid), None);
    }
}
