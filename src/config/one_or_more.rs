use serde::{Deserialize, Deserializer};

/// For serde: a list of texts, or one text that stands for a list of one.
pub fn one_or_more<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        One(String),
        More(Vec<String>),
    }
    Ok(match Written::deserialize(deserializer)? {
        Written::One(text) => vec![text],
        Written::More(texts) => texts,
    })
}
