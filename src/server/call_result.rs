use base64::prelude::{BASE64_STANDARD, Engine};
use serde::{Deserialize, Serialize};

use super::{ToolError, ToolOutput};

/// The result of a call as the client gets it, block by block. It can be written down.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct CallResult {
    pub is_error: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub picture: Option<Picture>,
    pub texts: Vec<String>,
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Picture {
    pub mime: String,
    /// In base64, as it travels.
    pub data: String,
}

impl From<ToolOutput> for CallResult {
    fn from(output: ToolOutput) -> Self {
        let (image, texts) = output.into_blocks();
        let image = image.filter(|image| !image.data.is_empty());
        let picture =
            image.map(|image| Picture { mime: image.mime.to_owned(), data: BASE64_STANDARD.encode(image.data) });
        Self { is_error: false, picture, texts }
    }
}

impl From<ToolError> for CallResult {
    fn from(error: ToolError) -> Self {
        Self { is_error: true, picture: None, texts: vec![error.to_string()] }
    }
}
