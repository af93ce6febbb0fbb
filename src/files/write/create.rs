use std::convert::Infallible;

use super::update::{self, CurrentFile, NotUpdated};
use crate::files::seen::{LARGEST_CONTENT, LastSeen, diff};
use crate::files::{FileError, Scope, SeenFiles, Settings, WriteFile};
use crate::gate::Permitted;

/// Writes a whole file, with the directories it needs. Returns what the agent should know about the write.
pub fn create(
    permitted: &Permitted<WriteFile>,
    content: &str,
    scope: &Scope,
    settings: &Settings,
    seen: &SeenFiles,
) -> Result<Vec<String>, FileError> {
    let size = content.len() as u64;
    if size > settings.max_file_size {
        return Err(FileError::ContentTooLarge { size, maximum: settings.max_file_size });
    }
    let path = permitted.target.path();
    // The old content is needed only to compare it with what the session saw, which is kept up to this size.
    let wanted = |size| Ok(size <= LARGEST_CONTENT);
    let decide = |current: &mut CurrentFile| {
        let overwritten = match seen.last_seen(path) {
            Some(LastSeen::Content(old)) if current.stat.is_some() && *old != *current.content => {
                (current.content != content.as_bytes()).then(|| diff::between(&old, &current.content).text)
            }
            _ => None,
        };
        Ok::<_, Infallible>((content.as_bytes().to_owned(), overwritten))
    };
    let updated = match update::update(permitted, scope, |_, _| Ok(None), wanted, decide) {
        Ok(updated) => updated,
        Err(NotUpdated::Refused(never, _)) => match never {},
        Err(NotUpdated::Failed(error)) => return Err(error),
    };
    seen.record(path, content.as_bytes(), &updated.stat);
    let mut notes = updated.notes;
    if let Some(overwritten) = updated.decision {
        notes.push(format!(
            "The file had changed since this session last saw it. The overwritten change, as a diff:\n{overwritten}"
        ));
    }
    Ok(notes)
}
