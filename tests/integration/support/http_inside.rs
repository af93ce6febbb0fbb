use std::process::Stdio;

use super::launch::NOBODY;
use super::{HttpServer, Level, User, World, launcher, text};

/// A server over HTTP whose commands try to become its clients.
pub struct HttpInside {
    pub world: World,
    pub server: HttpServer,
    user: User,
}

/// Like [`super::everywhere`], for a server over HTTP. `PROJECT` and `OUTSIDE` in the arguments stand for directories of the
/// world. Each of the two has a file `tokens` with the token `a-token-of-the-test`.
#[track_caller]
pub fn http_everywhere(arguments: &[&str], check: impl Fn(&HttpInside)) {
    super::inside::each_case(|level, nobody| {
        let user = if nobody { User::Nobody } else { User::Tester };
        check(&HttpInside::new(level, user, arguments));
    });
}

impl HttpInside {
    fn new(level: Level, user: User, arguments: &[&str]) -> Self {
        let world = user.world();
        let config = world.outside().join("config.toml");
        let wanted = if level == Level::Full { "auto" } else { "landlock" };
        std::fs::write(&config, format!("[sandbox]\nlevel = \"{wanted}\"\n")).unwrap();
        for place in [world.project(), world.outside()] {
            let tokens = place.join("tokens");
            std::fs::write(&tokens, "me a-token-of-the-test\n").unwrap();
            if user == User::Nobody {
                std::os::unix::fs::chown(tokens, Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
        let places = [("PROJECT", text(&world.project())), ("OUTSIDE", text(&world.outside()))];
        let given = arguments
            .iter()
            .map(|word| places.iter().fold((*word).to_owned(), |word, (name, path)| word.replace(name, path)));
        let listen = if arguments.contains(&"--listen") { &[][..] } else { &["--listen", "127.0.0.1:0"] };
        let config = text(&config);
        let fixed = ["--transport", "http", "--config", &config].into_iter().chain(listen.iter().copied());
        let words: Vec<String> = fixed.map(str::to_owned).chain(given).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let server = HttpServer::start_with(launcher(&world, user, "exec \"$@\"", &words));
        Self { world, server, user }
    }

    /// Runs a script outside the sandbox, as the user of the server, and returns its output.
    pub fn as_server_user(&self, script: &str) -> String {
        let output = self.user.shell(script).stdin(Stdio::null()).current_dir("/").output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    }
}
