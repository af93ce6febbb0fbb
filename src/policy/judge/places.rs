//! Directories that the shell may be in, and files that commands write.

use std::path::{Path, PathBuf};

use super::super::shell::ast::{Access, Redirection};
use super::super::shell::{Piece, Word};
use super::super::write_targets;
use super::{Judge, readable};
use crate::base::lexical;

/// The most directories that the judge keeps track of. With more, the shell may be anywhere.
const MOST_DIRECTORIES: usize = 8;

impl Judge<'_> {
    pub(super) fn redirection(&mut self, redirection: &mut Redirection) {
        match redirection {
            Redirection::File { access, target, .. } => {
                self.word(target);
                let network = |start: &str| ["/dev/tcp/", "/dev/udp/"].iter().any(|device| start.starts_with(device));
                if *access != Access::Read {
                    self.write(target);
                } else if network(&target.literal_start()) {
                    self.if_strict(&readable(target), "bash opens a network connection for it");
                }
            }
            Redirection::Both { target, .. } => {
                self.word(target);
                self.write(target);
            }
            Redirection::Text { word, .. } => self.word(word),
            Redirection::Duplicate { .. } => {}
        }
    }

    /// Judges a file that the command writes.
    pub(super) fn write(&mut self, target: &Word) {
        // `> >(command)` writes no file, and the command in it has been judged.
        if matches!(target.pieces.as_slice(), [Piece::Process { .. }]) {
            return;
        }
        let objection = match self.path(target) {
            Some(path) => write_targets::objection(&path, self.cwds.as_deref(), self.scene, self.lookup),
            None => Some("the name of the file is known only after bash has expanded it".to_owned()),
        };
        if let Some(objection) = objection {
            self.if_strict(&format!("writes {}", readable(target)), &objection);
        }
    }

    /// Judges a directory that the command works in.
    pub(super) fn work_inside(&mut self, what: &str, directory: &Word) {
        let objection = match self.path(directory) {
            Some(path) => write_targets::outside(&path, self.cwds.as_deref(), self.scene, self.lookup),
            None => Some("the directory is known only after bash has expanded it".to_owned()),
        };
        if let Some(objection) = objection {
            self.if_strict(what, &objection);
        }
    }

    /// The path that a word stands for, if it is known before bash expands the word.
    fn path(&self, word: &Word) -> Option<PathBuf> {
        match word.pieces.split_first() {
            Some((Piece::Tilde(user), rest)) if user.is_empty() => {
                let rest = Word { pieces: rest.to_vec() }.text()?;
                Some(self.scene.home.as_deref()?.join(rest.trim_start_matches('/')))
            }
            _ => word.text().filter(|text| !text.is_empty()).map(PathBuf::from),
        }
    }

    /// Follows a `cd`. It may fail, so the old directories stay possible.
    pub(super) fn move_to(&mut self, arguments: &[Word]) {
        let target = match arguments {
            [] => self.scene.home.clone(),
            [target] => self.path(target).filter(|path| path != Path::new("-")),
            _ => None,
        };
        let (Some(target), false) = (target, self.looping) else {
            self.cwds = None;
            return;
        };
        let Some(cwds) = &mut self.cwds else { return };
        let logical: Vec<PathBuf> = cwds.iter().map(|cwd| lexical::normal(&cwd.join(&target))).collect();
        let physical: Vec<PathBuf> = cwds.iter().map(|cwd| self.lookup.real(&cwd.join(&target))).collect();
        for cwd in logical.into_iter().chain(physical) {
            if !cwds.contains(&cwd) {
                cwds.push(cwd);
            }
        }
        if cwds.len() > MOST_DIRECTORIES {
            self.cwds = None;
        }
    }
}
