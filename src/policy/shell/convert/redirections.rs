//! Redirections, here-documents and here-strings.

use brush_parser::ast as brush;

use super::super::ast::{Access, Redirection, Word};
use super::super::{Opaque, word};
use super::Converter;

impl Converter<'_> {
    pub(super) fn redirections(&self, list: Option<&brush::RedirectList>) -> Result<Vec<Redirection>, Opaque> {
        list.iter().flat_map(|list| &list.0).map(|redirection| self.redirection(redirection)).collect()
    }

    pub(super) fn redirection(&self, redirection: &brush::IoRedirect) -> Result<Redirection, Opaque> {
        Ok(match redirection {
            brush::IoRedirect::File(fd, kind, target) => self.file(*fd, kind, target)?,
            brush::IoRedirect::OutputAndError(target, append) => {
                Redirection::Both { append: *append, target: self.word(target)? }
            }
            brush::IoRedirect::HereString(fd, text) => Redirection::Text { fd: *fd, word: self.word(text)? },
            brush::IoRedirect::HereDocument(fd, document) => {
                let body = &document.doc.value;
                let Some(body) = body.strip_suffix('\n') else {
                    // A here-string would add a newline, which an empty here-document does not have.
                    let empty = body.is_empty();
                    let target = Word::literal("/dev/null");
                    return if empty {
                        Ok(Redirection::File { fd: *fd, access: Access::Read, target })
                    } else {
                        Err(Opaque::broken("a here-document is not closed"))
                    };
                };
                let word = if document.requires_expansion {
                    word::parse_document(body, self.depth)?
                } else {
                    Word::literal(body)
                };
                Redirection::Text { fd: *fd, word }
            }
        })
    }

    fn file(
        &self,
        fd: Option<i32>,
        kind: &brush::IoFileRedirectKind,
        target: &brush::IoFileRedirectTarget,
    ) -> Result<Redirection, Opaque> {
        use brush::IoFileRedirectKind as Redirect;
        let target = match target {
            brush::IoFileRedirectTarget::Filename(word) | brush::IoFileRedirectTarget::Duplicate(word) => {
                self.word(word)?
            }
            brush::IoFileRedirectTarget::Fd(number) => Word::literal(number.to_string()),
            brush::IoFileRedirectTarget::ProcessSubstitution(kind, subshell) => self.process(kind, subshell)?,
        };
        let access = match kind {
            Redirect::Read => Access::Read,
            Redirect::Write => Access::Write,
            Redirect::Append => Access::Append,
            Redirect::ReadAndWrite => Access::ReadWrite,
            Redirect::Clobber => Access::Clobber,
            Redirect::DuplicateInput | Redirect::DuplicateOutput => {
                let input = matches!(kind, Redirect::DuplicateInput);
                let text = target.text();
                let number =
                    |text: &&String| !text.is_empty() && text.trim_end_matches('-').bytes().all(|b| b.is_ascii_digit());
                return match text.as_ref().filter(number) {
                    Some(source) => Ok(Redirection::Duplicate { fd, input, source: source.clone() }),
                    // `>&file` means `&>file`.
                    None if !input && fd.is_none() && text.is_some() => Ok(Redirection::Both { append: false, target }),
                    None => Err(Opaque::new(
                        "a descriptor is copied from one that is known only after bash has expanded it",
                    )),
                };
            }
        };
        Ok(Redirection::File { fd, access, target })
    }
}
