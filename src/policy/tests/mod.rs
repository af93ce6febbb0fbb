//! The whole policy, by tables: settings, a text, the expected verdict.

mod allow_list;
mod arguments;
mod deny_list;
mod sources;

use std::path::{Path, PathBuf};

use Verdict::{Allow, Ask, Deny};

use super::action::{Action, RunCommand};
use super::*;
use crate::base::protected_names::Names;

const BASE: &[&str] =
    &["ls", "cat", "git", "find", "grep", "echo", "head", "tail", "wc", "sort", "true", "cd", "pwd", "printf", "test"];

/// A machine with the usual programs in /usr/bin, where /bin is a link to /usr/bin. Of the links in the project /p, two lead out
/// of it and one to a protected name.
/// `home-tool` is in the home of the person, and `home-planted` is what a command put there.
/// `venv-tool` is in a directory of the project that is in the `PATH`, but behind the others.
struct Table;

impl ProgramLookup for Table {
    fn find(&self, name: &str) -> Option<PathBuf> {
        let directory = match name {
            name if name.starts_with("venv") => "/p/.venv/bin",
            name if name.starts_with("home") => "/home/me/bin",
            _ => "/usr/bin",
        };
        (!name.starts_with("missing")).then(|| Path::new(directory).join(name))
    }

    fn is_in_layer(&self, file: &Path, layer: &Overlaid) -> bool {
        file.strip_prefix(&layer.home).is_ok_and(|below| below.to_string_lossy().ends_with("-planted"))
    }

    fn can_be_shadowed(&self, name: &str, _: &Scene) -> bool {
        name.starts_with("missing")
    }

    fn real(&self, path: &Path) -> PathBuf {
        let path = crate::base::lexical::normal(path);
        match path.to_str().unwrap() {
            "/p/link-to-rm" => "/usr/bin/rm".into(),
            "/p/out/x" => "/outside/x".into(),
            "/p/innocent" => "/p/.zed".into(),
            text => text.strip_prefix("/bin/").map_or(path.clone(), |name| Path::new("/usr/bin").join(name)),
        }
    }
}

fn settings(allow: &[&str], ask: &[&str], deny: &[&str]) -> Settings {
    let owned = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
    Settings { allow: owned(allow), ask: owned(ask), deny: owned(deny), ..Settings::default() }
}

fn judge(settings: &Settings, text: &str) -> Judgement {
    let action = RunCommand { command: text.to_owned(), cwd: "/p".into(), search_path: None, description: None };
    let protected = Names::new(&[".zed", ".vscode/tasks.json", "deploy/*.key"].map(str::to_owned));
    let scene =
        Scene { home: Some("/home/me".into()), protected: protected.into(), ..Scene::in_project(Path::new("/p")) };
    Policy::new(settings).unwrap().judge(&action.subject(), &scene, &Table)
}

#[track_caller]
fn check(settings: &Settings, rows: &[(&str, Verdict)]) {
    let judged = rows.iter().map(|(text, verdict)| (text, verdict, judge(settings, text)));
    let wrong = judged.filter(|(_, verdict, judgement)| judgement.verdict != **verdict);
    let wrong: Vec<_> = wrong.map(|(text, verdict, judgement)| (text, verdict, judgement.reason)).collect();
    assert!(wrong.is_empty(), "text, expected verdict, reason for another: {wrong:#?}");
}
