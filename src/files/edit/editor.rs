use std::fs::File;
use std::io;

use rustix::fs::Stat;

use super::difference;
use super::large::LargeEdit;
use super::replace::{self, Fit, Mismatch, Plan, ReplaceRequest};
use super::{insert, near_miss, snippet};
use crate::files::seen::{Drift, LARGEST_CONTENT, LastSeen};
use crate::files::text::Encoding;
use crate::files::write::update::{self, CurrentFile, NotUpdated, Rewrite};
use crate::files::{FileError, Interrupt, Scope, SeenFiles, Settings, WriteFile};
use crate::gate::Permitted;

/// What an edit did.
#[derive(Debug)]
pub struct Edited {
    pub count: usize,
    /// The changed lines with a few around them.
    pub snippet: String,
    /// What the agent should know about the edit.
    pub notes: Vec<String>,
}

/// Changes a part of a file. The fields are what every edit needs.
#[derive(Clone, Copy)]
pub struct Editor<'a> {
    pub scope: &'a Scope,
    pub settings: &'a Settings,
    pub seen: &'a SeenFiles,
    pub interrupt: &'a Interrupt,
}

/// Why a replacement was not made. This is decided while the file is locked; what the agent is told about it is worked out
/// after the lock is released, because a diagnosis can take long.
enum NotReplaced {
    Mismatch(Mismatch),
    /// Lines of the edit changed since the session saw them; the diff shows how.
    Stale(String),
    Failed(FileError),
}

impl From<FileError> for NotReplaced {
    fn from(error: FileError) -> Self {
        Self::Failed(error)
    }
}

impl Editor<'_> {
    pub fn replace(&self, permitted: &Permitted<WriteFile>, request: &ReplaceRequest<'_>) -> Result<Edited, FileError> {
        if request.old.is_empty() {
            return Err(FileError::EmptyOld);
        }
        let large = |file: &File, stat: &Stat| self.replace_large(permitted, request, file, stat);
        let edited = self.edit(permitted, large, |text, current| {
            let plan = replace::plan(text, request, self.interrupt).map_err(NotReplaced::Mismatch)?;
            let drift = self.drift(permitted, current);
            if let Some(Drift::Known { before, diff }) = &drift {
                let touched = plan.changes.lines(text).any(|lines| diff.touches(&lines));
                // If the session never saw old_str in the file, the agent knows it from elsewhere, such as its own command,
                // and means the file as it is now.
                if touched && memchr::memmem::find(before, request.old.as_bytes()).is_some() {
                    return Err(NotReplaced::Stale(diff.text.clone()));
                }
            }
            let notes = note_on_fit(&plan.fit).into_iter().chain(drift.map(|drift| drift.note())).collect();
            Ok((plan, notes))
        });
        edited.map_err(|not_updated| match not_updated {
            NotUpdated::Failed(error) | NotUpdated::Refused(NotReplaced::Failed(error), _) => error,
            NotUpdated::Refused(NotReplaced::Mismatch(mismatch), current) => {
                self.explain(permitted, request, &mismatch, &current)
            }
            NotUpdated::Refused(NotReplaced::Stale(changes), current) => {
                self.record(permitted, &current);
                FileError::Stale { path: permitted.requested.text().to_owned(), changes }
            }
        })
    }

    /// Puts whole lines after a line; 0 is the top.
    pub fn insert(&self, permitted: &Permitted<WriteFile>, after: i64, lines: &str) -> Result<Edited, FileError> {
        let edited = self.edit(
            permitted,
            |_, _| Ok(None),
            |text, current| {
                let plan = insert::plan(text, after, lines)?;
                Ok((plan, self.drift(permitted, current).map(|drift| drift.note()).into_iter().collect()))
            },
        );
        edited.map_err(|(NotUpdated::Failed(error) | NotUpdated::Refused(error, _))| error)
    }

    /// The usual edit of a file of which the session keeps no copy.
    fn replace_large(
        &self,
        permitted: &Permitted<WriteFile>,
        request: &ReplaceRequest<'_>,
        file: &File,
        stat: &Stat,
    ) -> io::Result<Option<(Rewrite, Edited)>> {
        let (path, size) = (permitted.target.path(), u64::try_from(stat.st_size).unwrap_or(0));
        let allowed = LARGEST_CONTENT + 1..=self.settings.max_file_size;
        if !allowed.contains(&size) || matches!(self.seen.last_seen(path), Some(LastSeen::Content(_))) {
            return Ok(None);
        }
        let edit = LargeEdit::plan(file, size, request)?.filter(|edit| allowed.contains(&edit.size_after(size)));
        let Some(mut edit) = edit else { return Ok(None) };
        let drift = Drift::since_seen(self.seen, path, &[], stat);
        let notes = drift.map(|drift| drift.note()).into_iter().collect();
        let edited = Edited { count: 1, snippet: std::mem::take(&mut edit.snippet), notes };
        Ok(Some((Box::new(move |old, new| edit.write(old, new)), edited)))
    }

    /// Makes the edit that `large` or else `plan` returns with its notes.
    fn edit<'p, R: From<FileError>>(
        &self,
        permitted: &Permitted<WriteFile>,
        large: impl Fn(&File, &Stat) -> io::Result<Option<(Rewrite, Edited)>>,
        plan: impl Fn(&[u8], &CurrentFile) -> Result<(Plan<'p>, Vec<String>), R>,
    ) -> Result<Edited, NotUpdated<R>> {
        let maximum = self.settings.max_file_size;
        let fits = |size: u64| {
            let hint = "Nothing was changed. A command such as sed can edit it.";
            if size > maximum { Err(FileError::FileTooLarge { size, maximum, hint }) } else { Ok(true) }
        };
        let not_found = || self.scope.not_found(&permitted.requested);
        if permitted.target.existing().is_none() {
            return Err(not_found().into());
        }
        let updated = update::update(permitted, self.scope, large, fits, |current| {
            if current.stat.is_none() {
                return Err(not_found().into());
            }
            let encoding = Encoding::of(&current.content);
            let text = encoding.text_of(&current.content);
            let (plan, notes) = plan(&text, current)?;
            let size = plan.changes.size_after(&current.content, &text, encoding);
            if size > maximum {
                return Err(FileError::ContentTooLarge { size, maximum }.into());
            }
            let (content, changed) = if encoding.unit() == 1 && plan.changes.are_few() {
                drop(text);
                let mut content = std::mem::take(&mut current.content);
                let changed = plan.changes.make(&mut content, encoding.mark().len());
                (content, changed)
            } else {
                plan.changes.apply(&current.content, &text, encoding)
            };
            let snippet = snippet::around(&encoding.text_of(&content), &changed.unwrap_or(plan.matched));
            let edited = Edited { count: plan.count, snippet, notes };
            Ok((content, edited))
        })?;
        match &updated.content {
            Some(content) => self.seen.record(permitted.target.path(), content, &updated.stat),
            None => self.seen.record_signature(permitted.target.path(), &updated.stat),
        }
        let mut edited = updated.decision;
        edited.notes.extend(updated.notes);
        Ok(edited)
    }

    /// The error for a text that does not match. It shows the file as it is, so the session has then seen it.
    fn explain(
        &self,
        permitted: &Permitted<WriteFile>,
        request: &ReplaceRequest<'_>,
        mismatch: &Mismatch,
        current: &CurrentFile,
    ) -> FileError {
        let path = permitted.requested.text().to_owned();
        let text = Encoding::of(&current.content).text_of(&current.content);
        let diagnosis = match mismatch {
            Mismatch::Interrupted => return FileError::Cancelled,
            Mismatch::Many(places) => {
                return FileError::Ambiguous { path, count: places.count, lines: places.lines(&text) };
            }
            Mismatch::ManyNormalised(places, differences) => vec![format!(
                "After normalising {} there are {} matches, at lines {}. Send the text exactly as view shows it, with more \
                 lines around it.",
                difference::names(differences, " and "),
                places.count,
                places.lines(&text)
            )],
            Mismatch::None => near_miss::diagnose(&text, request, self.interrupt),
        };
        if self.interrupt.reason().is_some() {
            return FileError::Cancelled;
        }
        let drift = self.drift(permitted, current).map(|drift| drift.note());
        self.record(permitted, current);
        FileError::NoMatch { path, diagnosis: diagnosis.into_iter().chain(drift).collect() }
    }

    fn drift(&self, permitted: &Permitted<WriteFile>, current: &CurrentFile) -> Option<Drift> {
        Drift::since_seen(self.seen, permitted.target.path(), &current.content, current.stat.as_ref()?)
    }

    fn record(&self, permitted: &Permitted<WriteFile>, current: &CurrentFile) {
        if let Some(stat) = &current.stat {
            self.seen.record(permitted.target.path(), &current.content, stat);
        }
    }
}

/// What the agent is told about a match that was not exact.
fn note_on_fit(fit: &Fit) -> Option<String> {
    match fit {
        Fit::Exact => None,
        Fit::ExactWithCrlf => Some("The new lines end in CRLF, as all lines of the file do.".to_owned()),
        Fit::Normalised(differences) if differences.is_empty() => None,
        Fit::Normalised(differences) => Some(format!(
            "No exact match; the only match after normalising {} was replaced, in the file's own style.",
            difference::names(differences, ", ")
        )),
    }
}
