use std::process::{Command, Stdio};

use super::inside::user_words;
use super::launch::NOBODY;
use super::{HttpServer, Level, World, text};

/// A server over HTTP whose commands try to become its clients.
pub struct HttpInside {
    pub world: World,
    pub server: HttpServer,
    nobody: bool,
}

/// Like [`super::everywhere`], for a server over HTTP. `PROJECT` and `OUTSIDE` in the arguments stand for directories of the
/// world. Each of the two has a file `tokens` with the token `a-token-of-the-test`.
#[track_caller]
pub fn http_everywhere(arguments: &[&str], check: impl Fn(&HttpInside)) {
    super::inside::each_case(|level, nobody| check(&HttpInside::new(level, nobody, arguments)));
}

impl HttpInside {
    fn new(level: Level, nobody: bool, arguments: &[&str]) -> Self {
        let world = if nobody { World::for_user(NOBODY) } else { World::new() };
        let config = world.outside().join("config.toml");
        let wanted = if level == Level::Full { "auto" } else { "landlock" };
        std::fs::write(&config, format!("[sandbox]\nlevel = \"{wanted}\"\n")).unwrap();
        for place in [world.project(), world.outside()] {
            let tokens = place.join("tokens");
            std::fs::write(&tokens, "me a-token-of-the-test\n").unwrap();
            if nobody {
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
        let command = if nobody { world.command_by(&user_words(), &words) } else { world.command(&words) };
        let server = HttpServer::start_with(command);
        Self { world, server, nobody }
    }

    /// Runs a program outside the sandbox, as the user of the server, and returns its output.
    pub fn as_server_user(&self, words: &[&str], variables: &[(&str, &str)]) -> String {
        // The shell looks the program up, because setpriv would find one that this user cannot execute.
        let shell = ["bash", "-c", "exec \"$@\"", "bash"];
        let user = if self.nobody { &user_words()[..] } else { &[] };
        let all = [user, &shell, words].concat();
        let mut command = Command::new(all[0]);
        command.args(&all[1..]).envs(variables.iter().copied()).current_dir("/");
        let output = command.stdin(Stdio::null()).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    }
}
