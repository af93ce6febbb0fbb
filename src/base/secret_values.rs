//! Values that are secrets whatever the name of their variable: credentials in a URL, a header or a connection string, and
//! tokens that begin as those of their provider do.

use std::sync::LazyLock;

/// How tokens of well-known providers begin (after gitleaks' rules), by how many more characters they have at least.
const TOKENS: [(usize, &str); 4] = [
    (
        10,
        "ghp_ gho_ ghs_ ghu_ ghr_ github_pat_ glpat- gldt- glrt- glsoat- glcbt- glptt- glft- glimt- glagent- xoxb- xoxp- \
         xoxa- xoxr- xoxs- xoxe- xoxe. xapp- sk_live_ sk_test_ rk_live_ rk_test_ whsec_ dckr_pat_ dckr_oat_ tskey- AKIA ASIA \
         ABIA ACCA LTAI",
    ),
    (
        16,
        "sk- npm_ pypi- rubygems_ hf_ api_org_ gsk_ r8_ pplx- nvapi- xai- tvly- lsv2_ jina_ ya29. GOCSPX- dop_v1_ doo_v1_ \
         dor_v1_ shpat_ shpss_ shppa_ shpca_ sq0atp- sq0csp- hvs. hvb. ATATT3 ATCTT3 PMAK- lin_api_ figd_ glc_ glsa_ NRAK- \
         sntrys_ sntryu_ dt0c01. AGE-SECRET-KEY- EAAA",
    ),
    (24, "ATBB ntn_ sbp_ eyJ AKID SG. FLWSECK"),
    (30, "AIza 1//0 key- dapi pul-"),
];

/// The same, by the first byte. Servers look at every variable when they start, and hardly any place in a value begins like a
/// token.
static TOKENS_BY_FIRST_BYTE: LazyLock<[Vec<(usize, &str)>; 128]> = LazyLock::new(|| {
    let mut tokens = [const { Vec::new() }; 128];
    for (least, begins) in TOKENS {
        begins.split_ascii_whitespace().for_each(|begin| tokens[usize::from(begin.as_bytes()[0])].push((least, begin)));
    }
    tokens
});

/// Names of a field with a secret, before `=` or `:`.
const FIELDS: [&str; 14] = [
    "password",
    "passwd",
    "pwd",
    "pass",
    "accountkey",
    "sharedaccesskey",
    "sharedaccesssignature",
    "secret",
    "token",
    "apikey",
    "api_key",
    "api-key",
    "authorization",
    "sig",
];

/// Paths of web hooks. Everybody who knows the URL can post to it.
const HOOKS: [&str; 7] = [
    "hooks.slack.com/",
    "/api/webhooks/",
    "hooks.zapier.com/",
    "webhook.office.com/",
    "outlook.office.com/webhook",
    "chat.googleapis.com/v1/spaces/",
    "api.telegram.org/bot",
];

pub fn is_secret(value: &str) -> bool {
    value.contains("-----BEGIN")
        || has_token(value)
        || has_url_with_credentials(value)
        || has_secret_field(value)
        || HOOKS.iter().any(|hook| value.contains(hook))
        || ["Bearer ", "Basic ", "bearer ", "basic "].iter().any(|scheme| is_scheme(value, scheme))
        || is_bot_token(value)
}

/// Whether a value looks like something random that a machine made: long, mixed, no path, no words.
pub fn is_random(value: &str) -> bool {
    let length = value.len();
    let allowed = |c: char| c.is_ascii_alphanumeric() || "+/=_-.~".contains(c);
    let is_path = value.starts_with(['/', '~', '.']) || value.matches('/').count() > 2;
    let mixed = value.chars().any(|c| c.is_ascii_digit()) && value.chars().any(|c| c.is_ascii_alphabetic());
    (16..=4096).contains(&length)
        && value.chars().all(allowed)
        && !is_path
        && mixed
        && !is_uuid(value)
        && entropy(value) > 3.2
}

/// Many programs number their sessions and windows with these.
fn is_uuid(value: &str) -> bool {
    value.len() == 36
        && value
            .char_indices()
            .all(|(at, c)| if [8, 13, 18, 23].contains(&at) { c == '-' } else { c.is_ascii_hexdigit() })
}

/// Bits per character.
fn entropy(value: &str) -> f64 {
    let mut counts = [0_u16; 256];
    value.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    let all = f64::from(u16::try_from(value.len()).unwrap_or(u16::MAX));
    let share = counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / all);
    -share.map(|share| share * share.log2()).sum::<f64>()
}

fn is_token_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-.".contains(c)
}

/// A token at the beginning of a value, or after something that cannot belong to it.
fn has_token(value: &str) -> bool {
    let mut before = None;
    value.char_indices().any(|(at, c)| {
        let begins = !before.replace(c).is_some_and(|before: char| before.is_alphanumeric() || "_-".contains(before));
        begins && begins_with_token(&value[at..])
    })
}

fn begins_with_token(here: &str) -> bool {
    let tokens = here.bytes().next().and_then(|first| TOKENS_BY_FIRST_BYTE.get(usize::from(first)));
    tokens.into_iter().flatten().any(|(least, begin)| {
        here.strip_prefix(begin).is_some_and(|rest| {
            let length = rest.find(|c| !is_token_character(c)).unwrap_or(rest.len());
            // A name such as `sk-learn-contrib-extras` has no digit.
            length >= *least && rest[..length].contains(|c: char| c.is_ascii_digit())
        })
    })
}

/// `scheme://user:password@host`. A user alone is a secret if it is random, as in the URL of a package index or of Sentry.
fn has_url_with_credentials(value: &str) -> bool {
    value.match_indices("://").any(|(at, found)| {
        let rest = &value[at + found.len()..];
        let authority = &rest[..rest.find(|c: char| "/?# \t\n\"'".contains(c)).unwrap_or(rest.len())];
        let Some((user, _)) = authority.rsplit_once('@') else { return false };
        match user.split_once(':') {
            Some((_, password)) => !password.is_empty(),
            None => is_random(user),
        }
    })
}

/// `Password=…;` of a connection string, `authorization: …` of a header, `&sig=…` of a signed URL.
fn has_secret_field(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    lower.match_indices(['=', ':']).any(|(at, _)| {
        let given = lower[at + 1..].trim_start_matches([' ', '"', '\'']);
        // A placeholder such as `$PASSWORD` is no secret, nor is a scheme such as `pass://`.
        !given.is_empty()
            && !given.starts_with(['$', '/', ';', '&', '<', '{'])
            && FIELDS.iter().any(|field| {
                lower[..at]
                    .strip_suffix(field)
                    .is_some_and(|before| !before.ends_with(|c: char| c.is_ascii_alphanumeric()))
            })
    })
}

/// The value of a header: a scheme and something random.
fn is_scheme(value: &str, scheme: &str) -> bool {
    value.match_indices(scheme).any(|(at, found)| {
        let rest = &value[at + found.len()..];
        rest.split_ascii_whitespace().next().is_some_and(|word| word.len() >= 12 && !word.contains(['/', ':']))
            && (at == 0 || value[..at].ends_with([' ', ':', '"', '\'']))
    })
}

/// Telegram: the number of the bot, a colon, 35 characters.
fn is_bot_token(value: &str) -> bool {
    value.split_once(':').is_some_and(|(number, rest)| {
        (8..=10).contains(&number.len())
            && number.bytes().all(|byte| byte.is_ascii_digit())
            && rest.len() == 35
            && rest.chars().all(is_token_character)
    })
}
