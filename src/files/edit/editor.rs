//! Changing a part of a file: replacing text and inserting lines.

use std::ops::Range;

use super::replace::{self, Mismatch, Plan, ReplaceRequest, Splice};
use super::{near_miss, normalise, snippet};
use crate::files::seen::diff::{self, Diff};
use crate::files::seen::seen_files::{LastSeen, Signature};
use crate::files::text::Encoding;
use crate::files::write::update::{self, Current};
use crate::files::{FileError, Scope, SeenFiles, Settings, WriteFile};
use crate::gate::Permitted;

/// What an edit did.
#[derive(Debug)]
pub struct Edited {
    pub count: usize,
    /// The changed lines with a few around them.
    pub snippet: String,
    /// What the agent should know besides.
    pub notes: Vec<String>,
}

/// Places that an error names.
const MOST_NAMED: usize = 50;

/// Everything an edit needs besides what it is to do.
#[derive(Clone, Copy)]
pub struct Editor<'a> {
    pub scope: &'a Scope,
    pub settings: &'a Settings,
    pub seen: &'a SeenFiles,
}

impl Editor<'_> {
    pub fn replace(&self, permitted: &Permitted<WriteFile>, request: &ReplaceRequest<'_>) -> Result<Edited, FileError> {
        if request.old.is_empty() {
            return Err(FileError::EmptyOld);
        }
        self.edit(permitted, |text, current| {
            let plan = replace::plan(text, request).map_err(|mismatch| {
                let mut error = explain(permitted.asked.text(), text, request, mismatch);
                if let FileError::NoMatch { diagnosis, .. } = &mut error {
                    diagnosis.extend(self.drift(permitted, current).map(|drift| drift.told));
                    self.note(permitted, current);
                }
                error
            })?;
            let notes = self.check_drift(permitted, text, current, request, &plan)?;
            Ok((plan, notes))
        })
    }

    /// Puts whole lines after a line; 0 is the top.
    pub fn insert(&self, permitted: &Permitted<WriteFile>, after: i64, lines: &str) -> Result<Edited, FileError> {
        self.edit(permitted, |text, current| {
            let plan = insertion(text, after, lines)?;
            let drift = self.drift(permitted, current);
            Ok((plan, drift.map(|drift| drift.told).into_iter().collect()))
        })
    }

    fn edit(
        &self,
        permitted: &Permitted<WriteFile>,
        plan: impl Fn(&[u8], &Current<'_>) -> Result<(Plan, Vec<String>), FileError>,
    ) -> Result<Edited, FileError> {
        let maximum = self.settings.max_file_size;
        let fits = |size: u64| {
            let hint = "Nothing was changed. A command such as sed can edit it.";
            if size > maximum { Err(FileError::FileTooLarge { size, maximum, hint }) } else { Ok(true) }
        };
        let not_found = || self.scope.not_found(&permitted.asked);
        if permitted.target.existing().is_none() {
            return Err(not_found());
        }
        let changed = update::update(permitted, self.scope, fits, |current| {
            if current.stat.is_none() {
                return Err(not_found());
            }
            let encoding = Encoding::of(&current.content);
            let text = encoding.decode(&current.content[encoding.mark().len()..]);
            let (plan, notes) = plan(&text, current)?;
            let (content, places) = splice(&current.content, &text, encoding, &plan.splices);
            let size = content.len() as u64;
            if size > maximum {
                return Err(FileError::ContentTooLarge { size, maximum });
            }
            let edited = Edited { count: plan.count, snippet: show(&content, encoding, &places, &plan), notes };
            Ok((content, edited))
        })?;
        let mut edited = changed.decision;
        self.seen.note(permitted.target.path(), &changed.content, &changed.stat);
        edited.notes.extend(changed.notes);
        Ok(edited)
    }

    /// What changed since this session saw the file.
    fn drift(&self, permitted: &Permitted<WriteFile>, current: &Current<'_>) -> Option<Drift> {
        const CHANGED: &str = "The file has changed since this session last saw it";
        match self.seen.get(permitted.target.path())? {
            LastSeen::Content(old) if *old == *current.content => None,
            LastSeen::Content(old) => {
                let encoding = Encoding::of(&current.content);
                let decoded =
                    |content: &[u8]| encoding.decode(&content[encoding.mark().len().min(content.len())..]).into_owned();
                let before = decoded(&old);
                let changes = diff::between(&before, &decoded(&current.content));
                Some(Drift { told: format!("{CHANGED}:\n{}", changes.text), changes: Some((before, changes)) })
            }
            LastSeen::Signature(old) => current
                .stat
                .is_some_and(|stat| Signature::of(stat) != old)
                .then(|| Drift { told: format!("{CHANGED}; it is too large to show how."), changes: None }),
        }
    }

    /// A change elsewhere is mentioned. One in the very lines of the edit refuses it, if the agent can have meant the text
    /// as it was: text that only the new version has, the agent knows from elsewhere.
    fn check_drift(
        &self,
        permitted: &Permitted<WriteFile>,
        text: &[u8],
        current: &Current<'_>,
        request: &ReplaceRequest<'_>,
        plan: &Plan,
    ) -> Result<Vec<String>, FileError> {
        let mut notes = match &plan.normalised[..] {
            [] => Vec::new(),
            ["line endings of new_str"] => vec!["The new lines end in CRLF, as all lines of the file do.".to_owned()],
            names => vec![format!(
                "No exact match; the only match after normalising {} was replaced, in the file's own style.",
                names.join(", ")
            )],
        };
        let Some(drift) = self.drift(permitted, current) else { return Ok(notes) };
        if let Some((before, changes)) = &drift.changes {
            let touched = lines_of(text, &plan.splices).iter().any(|lines| changes.touches(lines));
            if touched && memchr::memmem::find(before, request.old.as_bytes()).is_some() {
                self.note(permitted, current);
                let (path, changes) = (permitted.asked.text().to_owned(), changes.text.clone());
                return Err(FileError::Stale { path, changes });
            }
        }
        notes.push(drift.told);
        Ok(notes)
    }

    fn note(&self, permitted: &Permitted<WriteFile>, current: &Current<'_>) {
        if let Some(stat) = current.stat {
            self.seen.note(permitted.target.path(), &current.content, stat);
        }
    }
}

struct Drift {
    told: String,
    /// The text as it was, and what became of it.
    changes: Option<(Vec<u8>, Diff)>,
}

fn explain(path: &str, text: &[u8], request: &ReplaceRequest<'_>, mismatch: Mismatch) -> FileError {
    let lines = |starts: &[usize]| {
        let named = starts.iter().take(MOST_NAMED).map(|start| (line_of(text, *start) + 1).to_string());
        named.collect::<Vec<_>>().join(", ") + if starts.len() > MOST_NAMED { ", …" } else { "" }
    };
    let path = path.to_owned();
    match mismatch {
        Mismatch::None => FileError::NoMatch { path, diagnosis: near_miss::diagnose(text, request) },
        Mismatch::Many(starts) => FileError::Ambiguous { path, count: starts.len(), lines: lines(&starts) },
        Mismatch::ManyNormalised(starts, what) => {
            let told = format!(
                "After normalising {what} there are {} matches, at lines {}. Send the text exactly as view shows it, with more context.",
                starts.len(),
                lines(&starts)
            );
            FileError::NoMatch { path, diagnosis: vec![told] }
        }
    }
}

fn insertion(text: &[u8], after: i64, lines: &str) -> Result<Plan, FileError> {
    let bad = |what: String| FileError::BadRange { what: format!("insert_line: {what}") };
    let after = usize::try_from(after).map_err(|_| bad(format!("must be >= 0, got {after}")))?;
    let mut offsets = vec![0];
    offsets.extend(memchr::memchr_iter(b'\n', text).map(|newline| newline + 1));
    if text.last().is_some_and(|last| *last != b'\n') {
        offsets.push(text.len());
    }
    let Some(at) = offsets.get(after).copied() else {
        return Err(bad(format!("{after} exceeds total lines {}", offsets.len() - 1)));
    };
    let ending = normalise::split(text).map(normalise::ending_of).find(|ending| !ending.is_empty()).unwrap_or(b"\n");
    let mut inserted: Vec<u8> = normalise::split(lines.as_bytes())
        .flat_map(|line| [&line[..line.len() - normalise::ending_of(line).len()], ending].concat())
        .collect();
    if at == text.len() && text.last().is_some_and(|last| *last != b'\n') {
        // The file does not end with a line ending, and will not.
        inserted.truncate(inserted.len() - ending.len().min(inserted.len()));
        inserted = [ending, &inserted].concat();
    }
    let splices = vec![Splice { range: at..at, text: inserted }];
    Ok(Plan { splices, count: 1, matched: at..at, normalised: Vec::new() })
}

/// The stored bytes with the splices in them, and where these are in the new body.
fn splice(content: &[u8], text: &[u8], encoding: Encoding, splices: &[Splice]) -> (Vec<u8>, Vec<Range<usize>>) {
    let mark = encoding.mark().len();
    let mut out = Vec::with_capacity(content.len() + splices.iter().map(|splice| splice.text.len()).sum::<usize>());
    let (mut read, mut stored) = (0, mark);
    let mut done = 0;
    let mut places = Vec::new();
    let mut shown = 0;
    for splice in splices {
        stored += encoding.stored_length(&text[read..splice.range.start]);
        out.extend_from_slice(&content[done..stored]);
        out.extend(encoding.encode(&splice.text));
        shown += splice.range.start - read;
        places.push(shown..shown + splice.text.len());
        shown += splice.text.len();
        stored += encoding.stored_length(&text[splice.range.clone()]);
        (read, done) = (splice.range.end, stored);
    }
    out.extend_from_slice(&content[done..]);
    (out, places)
}

fn show(content: &[u8], encoding: Encoding, places: &[Range<usize>], plan: &Plan) -> String {
    let changed = match (places.first(), places.last()) {
        (Some(first), Some(last)) => first.start..last.end,
        _ => plan.matched.clone(),
    };
    snippet::around(&encoding.decode(&content[encoding.mark().len()..]), &changed)
}

fn line_of(text: &[u8], at: usize) -> usize {
    memchr::memchr_iter(b'\n', &text[..at]).count()
}

/// The lines that each splice is in, from 0; one pass for all of them.
fn lines_of(text: &[u8], splices: &[Splice]) -> Vec<Range<usize>> {
    let (mut at, mut line) = (0, 0);
    let lines = splices.iter().map(|splice| {
        let Range { start, end } = splice.range;
        line += line_of(&text[at..start], start - at);
        at = start;
        let inside = line_of(&text[start..], end.saturating_sub(1).max(start) - start);
        line..line + inside + 1
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ENCODINGS: [Encoding; 6] = [
        Encoding::Bytes,
        Encoding::Utf8Bom,
        Encoding::Utf16Le,
        Encoding::Utf16Be,
        Encoding::Utf32Le,
        Encoding::Utf32Be,
    ];

    #[test]
    fn splices_know_their_lines() {
        let splice = |range| Splice { range, text: Vec::new() };
        let lines = lines_of(b"a\nb\nc\nd\n", &[splice(0..1), splice(2..5), splice(6..8)]);
        assert_eq!(lines, [0..1, 1..3, 3..4]);
    }

    proptest! {
        /// Whatever surrounds the match, valid in the encoding or not, is the same afterwards.
        #[test]
        fn stored_bytes_outside_of_the_match_are_identical(
            before in proptest::collection::vec(any::<u8>(), 0..40),
            after in proptest::collection::vec(any::<u8>(), 0..40),
            new in ".{0,10}",
        ) {
            for encoding in ENCODINGS {
                let whole = before.len() / 4 * 4;
                // The first half of a pair would take the first unit of the match for its second.
                let before = [&before[..whole], &encoding.encode(b"|")].concat();
                let stored = [encoding.mark(), &before, &encoding.encode(b"<needle>"), &after].concat();
                let encoding = Encoding::of(&stored);
                let text = encoding.decode(&stored[encoding.mark().len()..]).into_owned();
                let Ok(plan) = replace::plan(&text, &ReplaceRequest { old: "<needle>", new: &new, all: false }) else { continue };
                let (written, _) = splice(&stored, &text, encoding, &plan.splices);
                let head = encoding.mark().len() + before.len();
                let old = encoding.encode(b"<needle>").len();
                prop_assert_eq!(&written[..head], &stored[..head]);
                prop_assert_eq!(&written[written.len() - after.len()..], &stored[head + old..]);
                prop_assert_eq!(written.len(), stored.len() - old + encoding.encode(plan.splices[0].text.as_slice()).len());
            }
        }
    }
}
