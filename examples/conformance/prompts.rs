//! The suite's prompts.

use rmcp::model::{
    ContentBlock, ErrorData, GetPromptRequestParams, GetPromptResponse, GetPromptResult, InputRequiredResult, Prompt,
    PromptArgument, PromptMessage, Role,
};
use serde_json::Value;

use crate::input_required::{form, questions};
use crate::tools::{PNG, resource};

pub fn all() -> Vec<Prompt> {
    let argument = |name: &str| PromptArgument::new(name).with_required(true);
    let prompt = |name: &str, arguments: &[&str]| {
        let arguments = arguments.iter().map(|name| argument(name)).collect::<Vec<_>>();
        Prompt::new(name, Some("a fixture of the conformance suite"), (!arguments.is_empty()).then_some(arguments))
    };
    vec![
        prompt("test_simple_prompt", &[]),
        prompt("test_prompt_with_arguments", &["arg1", "arg2"]),
        prompt("test_prompt_with_embedded_resource", &["resourceUri"]),
        prompt("test_prompt_with_image", &[]),
        prompt("test_input_required_result_prompt", &[]),
    ]
}

pub fn get(prompt: &GetPromptRequestParams) -> Result<GetPromptResponse, ErrorData> {
    let argument = |name: &str| {
        let value = prompt.arguments.as_ref().and_then(|arguments| arguments.get(name));
        value.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let user = |block: ContentBlock| PromptMessage::new(Role::User, block);
    let text = |text: String| user(ContentBlock::text(text));
    let messages = match prompt.name.as_str() {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.".to_owned())],
        "test_prompt_with_arguments" => {
            let (first, second) = (argument("arg1"), argument("arg2"));
            vec![text(format!("Prompt with arguments: arg1='{first}', arg2='{second}'"))]
        }
        "test_prompt_with_embedded_resource" => vec![
            user(resource(&argument("resourceUri"), "text/plain", "Embedded resource content for testing.")),
            text("Please process the embedded resource above.".to_owned()),
        ],
        "test_prompt_with_image" => {
            vec![user(ContentBlock::image(PNG, "image/png")), text("Please analyze the image above.".to_owned())]
        }
        "test_input_required_result_prompt" => {
            let answer = prompt.input_responses.as_ref().and_then(|answers| answers.get("user_context"));
            let Some(answer) = answer else {
                let question = form("What context should the prompt use?", "context", "string");
                let asked = questions(vec![("user_context", question)]);
                return Ok(InputRequiredResult::from_input_requests(asked).into());
            };
            vec![text(answer.to_string())]
        }
        name => return Err(ErrorData::invalid_params(format!("unknown prompt {name}"), None)),
    };
    Ok(GetPromptResult::new(messages).into())
}
