use proptest::prelude::*;

use super::Difference::{Indentation, LineEndings, Punctuation, TrailingBlanks};
use super::*;
use crate::files::text::Encoding;

fn apply(text: &[u8], plan: &Plan<'_>) -> Vec<u8> {
    plan.changes.apply(text, text, Encoding::Bytes).0
}

fn plan<'a>(text: &[u8], request: &ReplaceRequest<'a>) -> Result<Plan<'a>, Mismatch> {
    super::plan(text, request, &Interrupt::never())
}

#[track_caller]
fn check(file: &str, old: &str, new: &str, want: &str, fit: &Fit) {
    let plan = plan(file.as_bytes(), &ReplaceRequest { old, new, all: false });
    let plan = plan.unwrap_or_else(|mismatch| panic!("{mismatch:?} for {old:?} in {file:?}"));
    assert_eq!(String::from_utf8(apply(file.as_bytes(), &plan)).unwrap(), want);
    assert_eq!(plan.fit, *fit);
}

#[test]
fn an_exact_match_is_replaced_by_the_new_text() {
    check("a b c", "b", "x", "a x c", &Fit::Exact);
    check("a b c", " b", "", "a c", &Fit::Exact);
    check("a\r\nb\r\n", "a\r\nb", "x\r\ny", "x\r\ny\r\n", &Fit::Exact);
    check("a\nb\r\n", "b", "x\ny", "a\nx\ny\r\n", &Fit::Exact);
}

#[test]
fn several_lines_in_place_of_one_follow_the_endings_of_the_file() {
    check("a\r\nb\r\n", "b", "x\ny", "a\r\nx\r\ny\r\n", &Fit::ExactWithCrlf);
}

#[test]
fn line_endings_are_ignored_and_stay_the_files() {
    check("a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\n", "x\r\ny\r\nc\r\n", &Fit::Normalised(vec![LineEndings]));
    check("a\nb\nc\n", "a\r\nb", "a\r\nx", "a\nx\nc\n", &Fit::Normalised(vec![LineEndings]));
    check("a\rb\rc", "a\nb", "x\nb", "x\rb\rc", &Fit::Normalised(vec![LineEndings]));
}

#[test]
fn trailing_blanks_are_ignored_and_stay_on_lines_that_are_not_changed() {
    check("a  \nb\t\nc\n", "a\nb\nc", "a\nx\nc", "a  \nx\nc\n", &Fit::Normalised(vec![TrailingBlanks]));
    check("a\nb\n", "a  \nb", "a  \nx", "a\nx\n", &Fit::Normalised(vec![TrailingBlanks]));
    check("x = 1\n", "x = 1 \n", "x = 2\n", "x = 2\n", &Fit::Normalised(vec![TrailingBlanks]));
}

#[test]
fn blanks_at_the_end_of_old_mean_that_the_line_ends_there() {
    let request = ReplaceRequest { old: "x = 1 \t", new: "y", all: false };
    assert_eq!(plan(b"x = 15\n", &request), Err(Mismatch::None));
}

#[test]
fn indentation_style_is_ignored_and_stays_the_files() {
    check(
        "fn a() {\n\tif x {\n\t\tb();\n\t}\n}\n",
        "    if x {\n        b();\n    }",
        "    if x {\n        if y {\n            b();\n        }\n    }",
        "fn a() {\n\tif x {\n\t\tif y {\n\t\t\tb();\n\t\t}\n\t}\n}\n",
        &Fit::Normalised(vec![Indentation]),
    );
    check(
        "class A:\n    def f(self):\n        return 1\n",
        "def f(self):\n    return 1",
        "def f(self):\n    x = 2\n    return x",
        "class A:\n    def f(self):\n        x = 2\n        return x\n",
        &Fit::Normalised(vec![Indentation]),
    );
    check("\tkey: 1\n", "    key: 1", "    key: 2", "\tkey: 2\n", &Fit::Normalised(vec![Indentation]));
}

#[test]
fn an_indentation_of_another_shape_is_no_match() {
    let request = ReplaceRequest { old: "if x:\n    a()\nb()", new: "", all: false };
    assert_eq!(plan(b"if x:\n\ta()\n\tb()\n", &request), Err(Mismatch::None));
}

#[test]
fn typographic_punctuation_is_ignored_and_stays_the_files() {
    check(
        "He said “hi” – don’t.\n",
        "said \"hi\" - don't",
        "said \"bye\" - won't",
        "He said “bye” – won’t.\n",
        &Fit::Normalised(vec![Punctuation]),
    );
    check("a \"b\"\n", "a “b”", "a “c”", "a \"c\"\n", &Fit::Normalised(vec![Punctuation]));
}

#[test]
fn several_differences_at_once_are_all_named() {
    check(
        "\ta = “x”  \r\n\tb\r\n",
        "  a = \"x\"\n  b",
        "  a = \"y\"\n  b",
        "\ta = “y”\r\n\tb\r\n",
        &Fit::Normalised(vec![LineEndings, TrailingBlanks, Indentation, Punctuation]),
    );
}

#[test]
fn two_matches_are_none_whatever_was_ignored() {
    let rows: [(&str, &str, bool, Mismatch); 4] = [
        ("a b a", "a", false, Mismatch::Many([0, 4].into_iter().collect())),
        ("a\r\nb\r\na\r\nb", "a\nb", false, Mismatch::ManyNormalised([0, 6].into_iter().collect(), &[LineEndings])),
        ("\tx\n\t\tx\n", "    x\n", true, Mismatch::ManyNormalised([0, 3].into_iter().collect(), &[Indentation])),
        ("abc", "zzz", true, Mismatch::None),
    ];
    for (file, old, all, want) in rows {
        assert_eq!(plan(file.as_bytes(), &ReplaceRequest { old, new: "n", all }), Err(want), "{old:?} in {file:?}");
    }
}

#[test]
fn all_exact_matches_are_replaced_when_asked() {
    let plan = plan(b"aXaXa", &ReplaceRequest { old: "a", new: "bb", all: true }).unwrap();
    assert_eq!((plan.count, apply(b"aXaXa", &plan)), (3, b"bbXbbXbb".to_vec()));
}

#[test]
fn a_cancelled_edit_is_not_looked_for_any_further() {
    let cancel = tokio_util::sync::CancellationToken::new();
    cancel.cancel();
    let interrupt = Interrupt::never().or_cancelled(cancel);
    let request = ReplaceRequest { old: "a\nb", new: "z", all: false };
    assert_eq!(super::plan(b"a\r\nb", &request, &interrupt), Err(Mismatch::Interrupted));
    assert_eq!(super::super::near_miss::diagnose(b"a\nbc", &request, &interrupt), Vec::<String>::new());
}

fn line() -> impl Strategy<Value = String> {
    "[ \t]{0,4}[a-c“”\"'’… -]{0,6}[ \t]{0,2}(\r\n|\n|\r)"
}

proptest! {
    /// What one step finds is never ruled out before the steps.
    #[test]
    fn whatever_a_step_finds_could_match(text in "[ab \t\r\n“\"….]{0,16}", old in "[ab \t\r\n“\"….]{1,5}") {
        for (_, rules) in LADDER {
            let (_, places) = candidates(text.as_bytes(), &old, rules);
            prop_assert!(places.count == 0 || could_match(text.as_bytes(), &old, true), "{:?}", rules);
        }
    }

    /// Arbitrary bytes around the match stay the same.
    #[test]
    fn bytes_outside_of_the_match_are_identical(
        before in proptest::collection::vec(any::<u8>(), 0..40),
        after in proptest::collection::vec(any::<u8>(), 0..40),
        new in ".{0,10}",
    ) {
        let text = [&before[..], b"<needle>", &after].concat();
        let plan = plan(&text, &ReplaceRequest { old: "<needle>", new: &new, all: false }).unwrap();
        prop_assert_eq!(apply(&text, &plan), [&before[..], new.as_bytes(), &after].concat());
    }

    /// At every step of the ladder, what lies outside the matched lines stays identical, and replacing a text by itself
    /// changes nothing.
    #[test]
    fn a_normalised_match_changes_only_what_the_edit_changes(
        lines in proptest::collection::vec(line(), 1..6), from in 0usize..6, count in 1usize..4, spaces in 1usize..5,
    ) {
        let text = lines.concat();
        let from = from % lines.len();
        let old = lines[from..(from + count).min(lines.len())].concat();
        let old = old.replace("\r\n", "\n").replace('\r', "\n").replace('\t', &" ".repeat(spaces)).replace(['“', '”'], "\"");
        if let Ok(same) = plan(text.as_bytes(), &ReplaceRequest { old: &old, new: &old, all: false })
            && matches!(&same.fit, Fit::Normalised(differences) if !differences.is_empty())
        {
            prop_assert_eq!(String::from_utf8(apply(text.as_bytes(), &same)).unwrap(), text.clone());
        }
        if let Ok(gone) = plan(text.as_bytes(), &ReplaceRequest { old: &old, new: "", all: false }) {
            let left = apply(text.as_bytes(), &gone);
            prop_assert_eq!(&left[..gone.matched.start], &text.as_bytes()[..gone.matched.start]);
            prop_assert_eq!(&left[gone.matched.start..], &text.as_bytes()[gone.matched.end..]);
        }
    }
}
