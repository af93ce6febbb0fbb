"""Who we are: what all packages say about themselves."""
import json, os, pathlib, subprocess, urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
#: The name on npm and PyPI. The program is called `testudo` everywhere.
PACKAGE = "testudo-mcp"
#: Whoever publishes sets these two. Without them the packages name a place that cannot exist: nobody takes them for a
#: release, and nothing in them leads to a repository that belongs to somebody else.
REPOSITORY = os.environ.get("TESTUDO_REPOSITORY", "https://example.invalid/testudo").rstrip("/")
MAINTAINER = os.environ.get("TESTUDO_MAINTAINER", "The testudo authors <testudo@example.invalid>")
FOR_TRYING_OUT = "example.invalid" in REPOSITORY + MAINTAINER
#: The registry takes at most 100 characters.
SUMMARY = "A shielded shell for AI agents: an MCP server that never hangs, enforced by the kernel."
LICENSE = "MIT OR Apache-2.0"


def forge():
    """The site that the repository is on, as the MCP registry calls it."""
    host = urllib.parse.urlsplit(REPOSITORY).hostname
    return {"github.com": "github", "gitlab.com": "gitlab"}.get(host, host)


def registry_name():
    """The name in the MCP registry. It lets an account of GitHub, or the owner of a domain, publish below their own name."""
    where = urllib.parse.urlsplit(REPOSITORY)
    path = where.path.strip("/").split("/")
    return f"io.github.{'/'.join(path[:2])}" if forge() == "github" else f"{'.'.join(reversed(where.hostname.split('.')))}/{path[-1]}"


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
