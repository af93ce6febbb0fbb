//! A change touches the entry and nothing else: byte for byte, in every format.

use proptest::prelude::*;

use super::{Format, Item};

fn entry() -> Item {
    Item::Table(vec![
        ("command".to_owned(), Item::text("/bin/testudo")),
        ("args".to_owned(), Item::List(vec!["--timeout".to_owned(), "60".to_owned()])),
    ])
}

/// Whether `before` is left if some bytes of `after` are taken away.
fn only_adds(before: &str, after: &str) -> bool {
    let mut rest = after.chars();
    before.chars().all(|c| rest.any(|other| other == c))
}

/// The text with the entry, and that the entry can be taken back.
#[track_caller]
fn check(format: Format, servers: &str, before: &str, want: &str) {
    let path = [servers, "testudo"];
    let after = format.set(before, &path, &entry()).unwrap_or_else(|fault| panic!("{fault} in\n{before}"));
    assert_eq!(after, want, "from\n{before}");
    assert!(only_adds(before, &after), "{before}\n{after}");
    if format != Format::Toml {
        assert_eq!(format.set(&after, &path, &entry()).unwrap(), after, "a second time changes nothing");
    }
    let back = format.remove(&after, &path).unwrap();
    let (old, new) = (format.read(before).unwrap(), format.read(&back).unwrap());
    assert!(super::same(&old, &new), "{old} {new}");
    if format.read(before).unwrap().get(servers).is_some_and(|table| table.as_object().is_some_and(|t| !t.is_empty())) {
        assert_eq!(back, before, "taken back");
    }
}

const LINES: &str = "\"testudo\": {\n      \"command\": \"/bin/testudo\",\n      \"args\": [\n        \"--timeout\",\n        \"60\"\n      ]\n    }";

#[test]
fn json_keeps_comments_order_and_layout() {
    let rows = [
        ("", format!("{{\n  \"s\": {{\n    {LINES}\n  }}\n}}\n")),
        ("{}", format!("{{\n  \"s\": {{\n    {LINES}\n  }}\n}}")),
        ("{\n}\n", format!("{{\n  \"s\": {{\n    {LINES}\n  }}\n}}\n")),
        ("// a\n{\n  // b\n}\n", format!("// a\n{{\n  // b\n  \"s\": {{\n    {LINES}\n  }}\n}}\n")),
        (
            "{\n  \"a\": 1 // note\n  // end\n}",
            format!("{{\n  \"a\": 1, // note\n  \"s\": {{\n    {LINES}\n  }}\n  // end\n}}"),
        ),
        ("{\n  \"s\": {}\n}\n", format!("{{\n  \"s\": {{\n    {LINES}\n  }}\n}}\n")),
        (
            "{\n  \"s\": {\n    \"x\": {\"c\": 1} /* one */ // note\n  },\n  \"z\": []\n}\n",
            format!(
                "{{\n  \"s\": {{\n    \"x\": {{\"c\": 1}}, /* one */ // note\n    {LINES}\n  }},\n  \"z\": []\n}}\n"
            ),
        ),
        (
            "{\n  \"s\": {\n    \"x\": 1, // note\n    // end\n  },\n}\n",
            format!("{{\n  \"s\": {{\n    \"x\": 1, // note\n    {LINES},\n    // end\n  }},\n}}\n"),
        ),
    ];
    for (before, want) in rows {
        check(Format::Jsonc, "s", before, &want);
        let (before, want) = (before.replace('\n', "\r\n"), want.replace('\n', "\r\n"));
        if !before.is_empty() && before.contains('\n') {
            check(Format::Jsonc, "s", &before, &want);
            check(Format::Jsonc, "s", &format!("\u{feff}{before}"), &format!("\u{feff}{want}"));
        }
    }
    let tabs = |text: &str| text.replace("  ", "\t");
    check(
        Format::Json,
        "s",
        &tabs("{\n  \"s\": {\n    \"x\": 1\n  }\n}"),
        &tabs(&format!("{{\n  \"s\": {{\n    \"x\": 1,\n    {LINES}\n  }}\n}}")),
    );
}

#[test]
fn json_on_one_line_stays_on_one_line() {
    let entry = r#""testudo":{"command":"/bin/testudo","args":["--timeout","60"]}"#;
    let airy = r#""testudo": {"command": "/bin/testudo", "args": ["--timeout", "60"]}"#;
    check(Format::Json, "s", r#"{"a":{"b":1}}"#, &format!(r#"{{"a":{{"b":1}},"s":{{{entry}}}}}"#));
    check(Format::Json, "s", r#"{"a":{"b":1},"s":{}}"#, &format!(r#"{{"a":{{"b":1}},"s":{{{entry}}}}}"#));
    check(Format::Json, "s", r#"{ "s": { "x": 1 } }"#, &format!(r#"{{ "s": {{ "x": 1, {airy} }} }}"#));
    check(Format::Jsonc, "s", r#"{ "s": { "x": 1, } }"#, &format!(r#"{{ "s": {{ "x": 1, {airy}, }} }}"#));
}

const SECTION: &str = "[s.testudo]\ncommand = \"/bin/testudo\"\nargs = [\"--timeout\", \"60\"]\n";

#[test]
fn toml_gets_a_section_at_the_end() {
    let rows = [
        ("", SECTION.to_owned()),
        ("# only a comment", format!("# only a comment\n\n{SECTION}")),
        (
            "model = \"x\" # m\n\n[s.a]\ncommand = '1'  # hi\n# end\n",
            format!("model = \"x\" # m\n\n[s.a]\ncommand = '1'  # hi\n# end\n\n{SECTION}"),
        ),
        ("s.a.command = \"1\"\n", format!("s.a.command = \"1\"\n\n{SECTION}")),
        (
            "s = { a = { c = 1 } } # c\n",
            "s = { a = { c = 1 }, testudo = { command = \"/bin/testudo\", args = [\"--timeout\", \"60\"] } } # c\n"
                .to_owned(),
        ),
    ];
    for (before, want) in rows {
        check(Format::Toml, "s", before, &want);
        if before.contains('\n') {
            check(Format::Toml, "s", &before.replace('\n', "\r\n"), &want.replace('\n', "\r\n"));
        }
    }
}

#[test]
fn toml_takes_a_section_back_with_all_that_is_below_it() {
    let before = "[s.a]\nc = 1\n\n# about b\n[s.testudo]\ncommand = \"2\"\n\n[s.testudo.env]\nA = \"1\"\n\n# about z\n[z]\nq = 1\n";
    let after = Format::Toml.remove(before, &["s", "testudo"]).unwrap();
    assert_eq!(after, "[s.a]\nc = 1\n\n# about b\n\n# about z\n[z]\nq = 1\n");
}

const BLOCK: &str = "  testudo:\n    command: /bin/testudo\n    args:\n      - \"--timeout\"\n      - \"60\"\n";

#[test]
fn yaml_gets_a_block_at_the_end_of_its_mapping() {
    let rows = [
        ("", format!("s:\n{BLOCK}")),
        ("# only a comment\n", format!("s:\n{BLOCK}# only a comment\n")),
        ("a: 1 # one", format!("a: 1 # one\ns:\n{BLOCK}")),
        (
            "---\ns: # ours\n  x:\n    args:\n    - a\n    text: |\n      s:\n        testudo: no\n\n# next\nb: 'it'' s'\n",
            format!(
                "---\ns: # ours\n  x:\n    args:\n    - a\n    text: |\n      s:\n        testudo: no\n{BLOCK}\n# next\nb: 'it'' s'\n"
            ),
        ),
        ("s:\na: 1\n", format!("s:\n{BLOCK}a: 1\n")),
    ];
    for (before, want) in rows {
        check(Format::Yaml, "s", before, &want);
        if before.contains('\n') {
            check(Format::Yaml, "s", &before.replace('\n', "\r\n"), &want.replace('\n', "\r\n"));
        }
    }
    let four = "s:\n    x:\n        y: 1\n";
    let after = Format::Yaml.set(four, &["s", "testudo"], &entry()).unwrap();
    assert!(after.starts_with(&format!("{four}    testudo:\n      command: ")), "{after}");
    let empty = Format::Yaml.set("s: {} # none\nb: 1\n", &["s", "testudo"], &entry()).unwrap();
    assert_eq!(empty, format!("s:\n{BLOCK}b: 1\n"));
}

#[test]
fn a_value_inside_the_entry_is_changed_in_place() {
    let rows = [
        (
            Format::Jsonc,
            "{\n  \"s\": {\n    \"testudo\": {\n      \"command\": \"old\", // mine\n      \"env\": {}\n    }\n  }\n}\n",
        ),
        (Format::Toml, "[s.testudo]\ncommand = \"old\" # mine\nenv = {}\n"),
        (Format::Yaml, "s:\n  testudo:\n    # mine\n    command: old\n    env: {}\n"),
    ];
    for (format, text) in rows {
        let changed = format.set(text, &["s", "testudo", "command"], &Item::text("new")).unwrap();
        assert_eq!(changed, text.replace("old", "new"));
        let added = format.set(text, &["s", "testudo", "args"], &Item::List(vec!["a".to_owned()])).unwrap();
        assert!(only_adds(text, &added) && added.contains("mine"), "{added}");
    }
}

#[test]
fn a_broken_file_is_refused_with_line_and_column() {
    let rows = [
        (Format::Json, "{\n  \"a\": [1,\n}", "line 3, column 1"),
        (Format::Json, "{\n  // no comments here\n}", "line 2, column 3"),
        (Format::Json, "{\"a\": 1,}", "line 1, column "),
        (Format::Jsonc, "{ 'a': 1 }", "line 1, column 3"),
        (Format::Json, "[1]", "line 1, column 1"),
        (Format::Jsonc, "{\n  \"s\": {},\n  \"s\": {}\n}", "line 3, column 3: the key \"s\" is there twice"),
        (Format::Jsonc, "{\n  \"s\": []\n}", "line 2, column 8: \"s\" is not an object"),
        (Format::Toml, "a = 1\nb = [1\nc = 2\n", "line 3, column 1"),
        (Format::Toml, "s = 5\n", "line 1, column 5: \"s\" is not a table"),
        (Format::Yaml, "a: 1\nb: [1\nc: }\n", "line "),
        (Format::Yaml, "- a\n", "line 1, column 1"),
    ];
    for (format, text, want) in rows {
        let fault = format.set(text, &["s", "testudo"], &entry()).unwrap_err().to_string();
        assert!(fault.contains(want), "{text:?}: {fault}");
    }
}

#[test]
fn a_layout_that_cannot_be_changed_is_refused() {
    for text in ["{a: 1}\n", "s: {x: {\n  y: 1}}\n", "s: &anchor\n- 1\n", "a: 1\n...\n---\nb: 2\n"] {
        assert!(Format::Yaml.set(text, &["s", "testudo"], &entry()).is_err(), "{text:?}");
    }
}

/// A JSON text with comments and blanks between all its parts.
fn jsonc() -> impl Strategy<Value = String> {
    let blank = || prop::sample::select(vec!["", " ", "\n  ", "\r\n", "\t", " /* c */ ", " // c\n", "\n\n"]);
    let leaf = prop::sample::select(vec!["1", "true", "null", "\"a,}\"", "[1, {\"k\": 2}]", "{}", "\"\\\"\""]);
    let value = leaf.prop_map(str::to_owned).prop_recursive(3, 12, 3, move |inner| {
        let field = (blank(), blank(), inner, blank());
        (prop::collection::vec(field, 1..4), any::<bool>(), blank()).prop_map(|(fields, trailing, end)| {
            let fields: Vec<String> = fields
                .iter()
                .enumerate()
                .map(|(index, (a, b, value, c))| format!("{a}\"{}\"{b}: {value}{c}", ["s", "k", "z"][index]))
                .collect();
            format!("{{{}{}{end}}}", fields.join(","), if trailing { "," } else { "" })
        })
    });
    (blank(), value, blank()).prop_map(|(before, value, after)| format!("{before}{value}{after}"))
}

proptest! {
    #[test]
    fn whatever_the_layout_nothing_else_changes(text in jsonc()) {
        let path = ["s", "testudo"];
        if let Ok(after) = Format::Jsonc.set(&text, &path, &entry()) {
            prop_assert!(only_adds(&text, &after), "{text}\n{after}");
            let back = Format::Jsonc.remove(&after, &path);
            prop_assert!(back.is_ok_and(|back| back.matches("/* c */").count() == text.matches("/* c */").count()));
        } else {
            // Only a file that has something else in that place, or no object at all, is refused.
            let value = Format::Jsonc.read(&text);
            prop_assert!(value.map_or(true, |value| value.get("s").is_some_and(|s| !s.is_object())), "{text}");
        }
    }
}
