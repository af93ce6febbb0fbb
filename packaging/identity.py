"""Who we are: what all packages say about themselves."""
import json, os, pathlib, subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
#: The name on npm and PyPI. The program is called `testudo` everywhere.
PACKAGE = "testudo-mcp"
#: Set by whoever publishes: the repository decides the name in the MCP registry, too.
REPOSITORY = os.environ.get("TESTUDO_REPOSITORY", "https://github.com/testudo-mcp/testudo")
REGISTRY_NAME = "io.github." + "/".join(REPOSITORY.rstrip("/").split("/")[-2:])
MAINTAINER = os.environ.get("TESTUDO_MAINTAINER", "The testudo authors <testudo@localhost>")
#: The registry takes at most 100 characters.
SUMMARY = "A shielded shell for AI agents: an MCP server that never hangs, enforced by the kernel."
LICENSE = "MIT OR Apache-2.0"


def run(*words):
    return subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def metadata(target):
    """Everything that cargo knows about us and our dependencies on that target."""
    return json.loads(run("cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target))


def version():
    found = (line for line in (ROOT / "Cargo.toml").read_text().splitlines() if line.startswith("version = "))
    return next(found).split('"')[1]


def epoch():
    """The time in all archives: that of the last commit, so that two builds of it are the same to the byte."""
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    return int(run("git", "log", "-1", "--format=%ct"))
