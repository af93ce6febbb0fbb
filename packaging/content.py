"""What the binary brings along: its manual, its completions, the texts of the repository."""
import subprocess

import identity

#: The shell and the file in the archive.
COMPLETIONS = {"bash": "testudo.bash", "zsh": "_testudo", "fish": "testudo.fish"}


class Content:
    def __init__(self, binary):
        self.binary = binary.read_bytes()
        say = lambda *words: subprocess.run([binary, *words], check=True, capture_output=True).stdout
        self.manual = say("man")
        self.completions = {shell: say("completions", shell) for shell in COMPLETIONS}
        said = say("--version").decode().strip()
        if said != f"testudo {identity.version()}":
            raise SystemExit(f"{binary} says {said!r}, and Cargo.toml {identity.version()}")

    @staticmethod
    def text(name):
        return (identity.ROOT / name).read_bytes()

    def texts(self):
        return {name: (0o644, self.text(name)) for name in ("README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE-MIT", "LICENSE-APACHE")}
