use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Level;
use super::home::{Home, State};
use super::limits::Limits;
use super::secrets::{self, Mask};
use crate::base::packed::{Malformed, Reader, put_count, put_paths, put_size, put_text};

/// What one keeper enforces. The server decides it. Every path is absolute and free of symbolic links.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Profile {
    pub level: Level,
    pub network: Network,
    /// With [`Network::Hosts`], the port of the proxy on the loopback interface. 0 if there is none.
    pub proxy: u16,
    /// The `ProxyCommand` of ssh, at level `full`. Empty if there is none.
    pub ssh_command: String,
    /// Mode `read-only`: commands may write their temporary directory alone.
    pub read_only: bool,
    /// Directories that commands may write: the scope, and tool caches if the home is not private. Empty in mode
    /// `read-only`.
    pub writable: Vec<PathBuf>,
    /// Tool caches, which commands may write if the home turns out not to be private. They may not exist yet.
    pub caches: Vec<PathBuf>,
    /// The home directory, if the session sees it through an overlay.
    pub home: Option<Home>,
    /// The scope alone, without tool caches. Commands may connect to the Unix sockets in it. Empty in mode `read-only`.
    pub scope: Vec<PathBuf>,
    /// The layers of the drafts in scope. The guard holds them while the session lives.
    pub drafts: Vec<PathBuf>,
    /// Directories that stay visible even if the sandbox hides a directory above them.
    pub visible: Vec<PathBuf>,
    /// The session's temporary directory, by its path on the host.
    pub tmp: PathBuf,
    /// Whether commands see that directory as `/tmp`.
    pub private_tmp: bool,
    /// Paths below the writable directories that commands may not write.
    pub protected: Vec<PathBuf>,
    /// Paths that commands may not read, sorted.
    pub secrets: Arc<[Mask]>,
    /// Mounts that do not answer. A keeper that looks at one would wait for ever.
    pub silent: Vec<PathBuf>,
    /// Variables that lead tools to copies of their settings.
    pub variables: Vec<(String, PathBuf)>,
    /// Variables that lead programs to the proxy.
    pub announced: Vec<Announced>,
    /// The Unix sockets outside the scope that commands may connect to.
    pub sockets: Sockets,
    pub limits: Limits,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Network {
    #[default]
    On,
    Off,
    /// Off, but the session has a loopback interface of its own.
    Loopback,
    /// The proxy in the server is the only way out. At level `full` the session has a network of its own.
    Hosts,
}

/// A variable that commands get unless they have set it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Announced {
    pub name: String,
    pub value: String,
    /// A value of ours that it replaces: that of a proxy which this command cannot reach.
    pub replaces: Option<String>,
}

/// Which Unix sockets commands may connect to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Sockets {
    All,
    Only(Vec<PathBuf>),
}

impl Default for Sockets {
    fn default() -> Self {
        Self::Only(Vec::new())
    }
}

/// Where commands see a private temporary directory.
const TMP: &str = "/tmp";

impl Profile {
    /// A private `/tmp` would hide a directory of the scope that is `/tmp` itself or contains it.
    pub fn can_have_private_tmp<'a>(level: Level, scope: impl IntoIterator<Item = &'a PathBuf>) -> bool {
        level == Level::Full && !scope.into_iter().any(|directory| Path::new(TMP).starts_with(directory))
    }

    /// The session's temporary directory, by the path that commands see.
    pub fn tmp_seen(&self) -> &Path {
        if self.private_tmp { Path::new(TMP) } else { &self.tmp }
    }

    /// Whether the session has a network namespace.
    pub fn has_own_network(&self) -> bool {
        self.level == Level::Full && self.network != Network::On
    }

    /// Whether the supervisor lets commands connect to nothing but the proxy, because they share the host's network.
    pub fn connects_to_proxy_only(&self) -> bool {
        self.level == Level::Landlock && self.network == Network::Hosts
    }

    /// Whether a program outside must not be reached even by a Unix socket in the scope: it may use the network freely.
    pub fn reaches_own_sockets_only(&self) -> bool {
        self.network != Network::On && self.sockets != Sockets::All
    }

    pub fn is_writable(&self, path: &Path) -> bool {
        let below = |directory: &PathBuf| path.starts_with(directory);
        let writable = self.writable.iter().chain(self.private_home()).any(below);
        path.starts_with(self.tmp_seen()) || writable && !self.protected.iter().any(below)
    }

    /// The home directory, if commands write it and what they write goes to a layer of the project's own.
    pub fn private_home(&self) -> Option<&PathBuf> {
        self.home.as_ref().filter(|home| home.state == State::Private).map(|home| &home.path)
    }

    /// What became of the home. If commands cannot write it, they can write tool caches; missing ones are created.
    pub fn settle_home(&mut self, state: State) {
        if let Some(home) = &mut self.home {
            home.state = state;
        }
        let caches = std::mem::take(&mut self.caches);
        if state == State::Private {
            return;
        }
        for cache in caches {
            // If this fails, the tool will report it.
            let _ = std::fs::create_dir_all(&cache);
            let real = cache.canonicalize().ok().filter(|cache| cache.is_dir());
            self.writable.extend(real.filter(|cache| !self.writable.iter().any(|outer| cache.starts_with(outer))));
        }
    }

    /// Directories in the home that the session needs even if a directory above them is hidden.
    pub fn places_in_home(&self) -> Vec<PathBuf> {
        let Some(home) = &self.home else { return Vec::new() };
        let tmp = (!self.private_tmp).then_some(&self.tmp);
        let places = self.writable.iter().chain(&self.visible).chain(tmp);
        places.filter(|place| place.starts_with(&home.path) && **place != home.path).cloned().collect()
    }

    /// Whether commands cannot read a path because it is a secret.
    pub fn hides(&self, path: &Path) -> bool {
        // The innermost mask decides: a file may be shown in a directory that is hidden.
        self.secrets.iter().rev().find(|mask| path.starts_with(&mask.at)).is_some_and(|mask| mask.hides(path))
    }

    /// Whether commands may connect to a Unix socket that lies there. A secret inside the scope is no such place; a
    /// scope inside a secret directory is.
    pub fn may_connect(&self, path: &Path) -> bool {
        let is_secret_in =
            |outer: &PathBuf| self.secrets.iter().any(|mask| path.starts_with(&mask.at) && mask.at.starts_with(outer));
        self.lists_socket(path)
            || path.starts_with(self.tmp_seen())
            || self.scope.iter().any(|directory| path.starts_with(directory) && !is_secret_in(directory))
    }

    /// Whether the person has listed this socket, or a directory above it.
    pub fn lists_socket(&self, path: &Path) -> bool {
        match &self.sockets {
            Sockets::All => true,
            Sockets::Only(listed) => listed.iter().any(|listed| path.starts_with(listed)),
        }
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_count(&mut out, self.level as usize);
        put_count(&mut out, self.network as usize);
        put_count(&mut out, usize::from(self.proxy));
        put_text(&mut out, &self.ssh_command);
        put_count(&mut out, usize::from(self.private_tmp));
        put_count(&mut out, usize::from(self.read_only));
        put_text(&mut out, &self.tmp);
        let lists =
            [&self.writable, &self.scope, &self.drafts, &self.visible, &self.protected, &self.caches, &self.silent];
        for paths in lists {
            put_paths(&mut out, paths);
        }
        secrets::encode(&mut out, &self.secrets);
        Home::encode(self.home.as_ref(), &mut out);
        match &self.sockets {
            Sockets::All => put_count(&mut out, 1),
            Sockets::Only(paths) => {
                put_count(&mut out, 0);
                put_paths(&mut out, paths);
            }
        }
        let limits = &self.limits;
        for limit in [limits.processes, limits.memory, limits.file, limits.open_files] {
            put_size(&mut out, limit);
        }
        out
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut rest = Reader(bytes);
        Ok(Self {
            // An unknown value is an error. It must not turn into a weaker level.
            level: match rest.count()? {
                0 => Level::None,
                1 => Level::Landlock,
                2 => Level::Full,
                _ => return Err(Malformed),
            },
            network: match rest.count()? {
                0 => Network::On,
                1 => Network::Off,
                2 => Network::Loopback,
                3 => Network::Hosts,
                _ => return Err(Malformed),
            },
            proxy: u16::try_from(rest.count()?).map_err(|_| Malformed)?,
            ssh_command: rest.text()?.to_string_lossy().into_owned(),
            private_tmp: rest.count()? == 1,
            read_only: rest.count()? == 1,
            tmp: PathBuf::from(rest.text()?),
            writable: rest.paths()?,
            scope: rest.paths()?,
            drafts: rest.paths()?,
            visible: rest.paths()?,
            protected: rest.paths()?,
            caches: rest.paths()?,
            silent: rest.paths()?,
            secrets: secrets::decode(&mut rest)?.into(),
            home: Home::decode(&mut rest)?,
            // Only the server starts commands.
            variables: Vec::new(),
            announced: Vec::new(),
            sockets: if rest.count()? == 1 { Sockets::All } else { Sockets::Only(rest.paths()?) },
            limits: Limits {
                processes: rest.size()?,
                memory: rest.size()?,
                file: rest.size()?,
                open_files: rest.size()?,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_profile_survives_the_wire() {
        let profile = Profile {
            level: Level::Full,
            network: Network::Hosts,
            proxy: 3128,
            ssh_command: "x %h".to_owned(),
            writable: vec!["/a".into(), "/b c".into()],
            scope: vec!["/a".into()],
            drafts: vec!["/state/drafts/a".into()],
            visible: vec!["/tmp/x".into()],
            tmp: "/cache/t".into(),
            private_tmp: true,
            read_only: true,
            protected: vec!["/a/.git/hooks".into()],
            caches: vec!["/root/.npm".into()],
            home: Some(Home {
                path: "/root".into(),
                layer: Some("/state/x".into()),
                aliases: vec![("/mnt/root".into(), "".into()), ("/mnt/c".into(), ".config".into())],
                state: State::Private,
            }),
            secrets: [Mask::hidden("/root/.ssh".into())].into(),
            silent: vec!["/net".into()],
            variables: Vec::new(),
            announced: Vec::new(),
            sockets: Sockets::Only(vec!["/run/x.sock".into()]),
            limits: Limits { processes: 1, memory: 2, file: u64::MAX, open_files: 4 },
        };
        assert_eq!(Profile::decode(&profile.encode()), Ok(profile.clone()));
        let all = Profile { sockets: Sockets::All, home: None, ..profile };
        assert_eq!(Profile::decode(&all.encode()), Ok(all));
    }

    proptest! {
        #[test]
        fn rubbish_is_refused_without_a_panic(bytes: Vec<u8>) {
            let _ = Profile::decode(&bytes);
        }
    }

    #[test]
    fn tmp_stays_the_hosts_when_the_scope_holds_it() {
        for (scope, private) in [("/work/p", true), ("/tmp/p", true), ("/tmp", false), ("/", false)] {
            assert_eq!(Profile::can_have_private_tmp(Level::Full, &[scope.into()]), private, "{scope}");
            assert!(!Profile::can_have_private_tmp(Level::Landlock, &[scope.into()]));
        }
    }

    #[test]
    fn protected_names_are_holes_in_what_is_writable() {
        let profile = Profile {
            writable: vec!["/p".into()],
            protected: vec!["/p/.git/hooks".into()],
            tmp: "/t".into(),
            ..Profile::default()
        };
        for (path, writable) in [("/p/a", true), ("/p/.git/hooks/x", false), ("/q", false), ("/t/x", true)] {
            assert_eq!(profile.is_writable(Path::new(path)), writable, "{path}");
        }
    }
}
