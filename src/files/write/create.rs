use super::update;
use crate::files::seen::diff;
use crate::files::seen::seen_files::{LARGEST_CONTENT, LastSeen};
use crate::files::{FileError, Scope, SeenFiles, Settings, WriteFile};
use crate::gate::Permitted;

/// Writes a whole file, with the directories it needs. Gives back what the agent should know besides.
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
    let changed = update::update(
        permitted,
        scope,
        |size| Ok(size <= LARGEST_CONTENT),
        |current| {
            let lost = match seen.get(path) {
                Some(LastSeen::Content(old)) if current.stat.is_some() && *old != *current.content => {
                    (current.content != content.as_bytes()).then(|| diff::between(&old, &current.content).text)
                }
                _ => None,
            };
            Ok((content.as_bytes().to_owned(), lost))
        },
    )?;
    seen.note(path, content.as_bytes(), &changed.stat);
    let mut notes = changed.notes;
    if let Some(lost) = changed.decision {
        notes.push(format!(
            "The file had changed since this session last saw it. What was overwritten, as a diff from then:\n{lost}"
        ));
    }
    Ok(notes)
}
