//! Refuses a request whose headers say something else than its body. A balancer routes by the headers and the place acts by
//! the body, so a difference would let one pass for the other.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use hyper::HeaderMap;

use crate::message::Envelope;

pub const CALL_ID_HEADER: &str = "testudo-call-id";

pub fn headers_match(headers: &HeaderMap, envelope: &Envelope) -> Result<(), String> {
    same("Mcp-Method", single(headers, "mcp-method")?, envelope.method.as_deref())?;
    if envelope.version().is_some() {
        same("Mcp-Protocol-Version", single(headers, "mcp-protocol-version")?, envelope.version())?;
    }
    let name = single(headers, "mcp-name")?.map(decoded).transpose()?;
    same("Mcp-Name", name.as_deref(), envelope.name())?;
    // The id of a call may stand in the header alone.
    if envelope.call_id().is_some() {
        same("Testudo-Call-Id", single(headers, CALL_ID_HEADER)?, envelope.call_id())?;
    }
    Ok(())
}

/// The value of a header that may occur once.
pub fn single<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, String> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(format!("the header {name} occurs twice"));
    }
    value.to_str().map(Some).map_err(|_| format!("the header {name} has unusable characters"))
}

fn same(name: &str, header: Option<&str>, body: Option<&str>) -> Result<(), String> {
    match header {
        Some(header) if Some(header) != body => {
            Err(format!("the header {name} is {header:?}, but the message says {:?}", body.unwrap_or_default()))
        }
        _ => Ok(()),
    }
}

fn decoded(value: &str) -> Result<String, String> {
    let Some(inner) = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Ok(value.to_owned());
    };
    let bytes = BASE64.decode(inner).map_err(|_| "the header Mcp-Name is not valid Base64".to_owned())?;
    String::from_utf8(bytes).map_err(|_| "the header Mcp-Name is not UTF-8".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pairs: &[(&'static str, &str)]) -> Result<(), String> {
        let body = br#"{"id":1,"method":"tools/call","params":{"name":"bash","_meta":{"testudo/callId":"c1"}}}"#;
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers_match(&headers, &Envelope::of(body).unwrap())
    }

    #[test]
    fn a_header_may_be_missing_but_not_different() {
        assert_eq!(check(&[]), Ok(()));
        assert_eq!(check(&[("mcp-method", "tools/call"), ("mcp-name", "bash"), ("testudo-call-id", "c1")]), Ok(()));
        assert_eq!(check(&[("mcp-name", "=?base64?YmFzaA==?=")]), Ok(()));
        for different in [("mcp-method", "tools/list"), ("mcp-name", "view"), ("testudo-call-id", "c2")] {
            assert!(check(&[different]).is_err(), "{different:?}");
        }
        assert!(check(&[("mcp-name", "bash"), ("mcp-name", "bash")]).is_err());
    }
}
