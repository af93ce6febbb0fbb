use axum::http::{HeaderMap, HeaderName};

/// A header that occurs exactly once and is readable text. If it occurs twice, a proxy and this server could each believe
/// another of the two, so neither counts.
pub fn single_header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut all = headers.get_all(name).iter();
    let (Some(only), None) = (all.next(), all.next()) else { return None };
    only.to_str().ok()
}
