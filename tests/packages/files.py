"""What can be said about the files themselves: sizes, checksums, schemas, contents."""
import hashlib, importlib.resources, json, os, pathlib, re, sys, tarfile, zipfile

import jsonschema
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from report import check, run

#: SPEC's megabytes are powers of 1024. This is stricter, for people who count in thousands.
LARGEST = 15_000_000


def binary(dist):
    found, size = dist / "testudo", (dist / "testudo").stat().st_size
    check("the binary is at most 15 MB", size <= LARGEST, f"{size} bytes")
    headers = run("readelf", "--program-headers", "--dynamic", found).stdout
    check("it is static", "INTERP" not in headers and "NEEDED" not in headers, headers)
    paths = re.findall(rb"/(?:root|home)/[\w.-]+/[\w./-]+\.rs", found.read_bytes())
    check("it holds no path of the machine that built it", not paths, paths[:5])


def checksums(dist):
    listed = dict(reversed(line.split("  ")) for line in (dist / "SHA256SUMS").read_text().splitlines())
    real = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in dist.iterdir() if path.name != "SHA256SUMS"}
    check("every file has its checksum", listed == real, f"{listed}\n{real}")


def tarball(dist):
    [path] = dist.glob("*-linux.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames()}
        program = next(entry for entry in archive if entry.name.endswith("/testudo"))
    wanted = {"testudo", "testudo.1", "README.md", "LICENSE-MIT", "LICENSE-APACHE", "completions/testudo.bash",
              "completions/_testudo", "completions/testudo.fish"}
    check("the archive has the program, its manual and completions", wanted <= names and program.mode == 0o755, names)


def manual(dist):
    page = run(dist / "testudo", "man").stdout
    shown = run("man", "--warnings", "-l", "-", input=page, env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "MANWIDTH": "100"})
    check("man shows the manual without a warning", "testudo" in shown.stdout and not shown.stderr, shown.stderr)
    script = run(dist / "testudo", "completions", "bash").stdout
    done = run("bash", "-c", script + "\nCOMP_WORDS=(testudo doc); COMP_CWORD=1; _testudo testudo doc testudo; echo ${COMPREPLY[@]}")
    check("bash completes a subcommand", done.stdout.strip() == "doctor", done)


def sbom(dist):
    [path] = dist.glob("*.cdx.json")
    wrong = JsonStrictValidator(SchemaVersion.V1_6).validate_str(path.read_text())
    check("the bill of materials follows the schema of CycloneDX", wrong is None, wrong)
    parts = json.loads(path.read_text())["components"]
    names = {part["name"] for part in parts}
    check("it has what is linked in and nothing else", {"tokio", "rmcp"} <= names and "proptest" not in names, names)
    bare = [part["name"] for part in parts if "licenses" not in part or "hashes" not in part]
    check("every crate has a licence and a checksum", not bare, bare)


def bundle(dist, node):
    [path] = dist.glob("*.mcpb")
    with zipfile.ZipFile(path) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        mode = archive.getinfo("server/testudo").external_attr >> 16
        same = archive.read("server/testudo") == (dist / "testudo").read_bytes()
        folder = dist.parent / "packages/bundle"
        archive.extractall(folder)
    schema = json.loads((node / "node_modules/@anthropic-ai/mcpb/schemas/mcpb-manifest-v0.3.schema.json").read_text())
    wrong = list(jsonschema.validators.validator_for(schema)(schema).iter_errors(manifest))
    check("the manifest of the bundle follows its schema", not wrong, wrong)
    said = run(node / "node_modules/.bin/mcpb", "validate", folder / "manifest.json")
    check("mcpb accepts it", said.returncode == 0, said.stdout + said.stderr)
    check("the bundle has the binary, which can be run", same and mode & 0o111 == 0o111, oct(mode))
    variables = manifest["server"]["mcp_config"]["env"]
    known = run(dist / "testudo", "--help").stdout
    check("the server knows every setting of the bundle", all(f"${name}" in known for name in variables), variables)
    used = set(re.findall(r"\$\{user_config\.(\w+)\}", json.dumps(variables)))
    check("every setting that the person sees is used", used == set(manifest["user_config"]), used)


def fits_registry(what, about):
    version = re.search(r"/(\d{4}-\d\d-\d\d)/", about["$schema"]).group(1)
    folder = importlib.resources.files("skillsaw.schemas.mcp_registry") / f"v{version.replace('-', '_')}"
    schema = json.loads((folder / "server.schema.json").read_text())
    kind = jsonschema.validators.validator_for(schema)
    wrong = list(kind(schema, format_checker=kind.FORMAT_CHECKER).iter_errors(about))
    check(f"{what} follows the registry's own schema", schema["$id"] == about["$schema"] and not wrong, wrong)


def registry(dist):
    about = json.loads((dist / "server.json").read_text())
    fits_registry("server.json", about)
    owner = {"TESTUDO_REPOSITORY": "https://github.com/somebody/testudo", "TESTUDO_MAINTAINER": "Some Body <some@body.example>"}
    said = run(sys.executable, "-B", "-c", "import registry; print(registry.description('x.mcpb', b'').decode())",
               cwd=pathlib.Path(__file__).parents[2] / "packaging", env={**os.environ, **owner})
    published = json.loads(said.stdout)
    fits_registry("that of somebody who publishes", published)
    right = published["name"] == "io.github.somebody/testudo" and "somebody/testudo/releases" in said.stdout
    check("what they publish is under their own name", right and "invalid" not in said.stdout, said.stdout)
    kinds = {one["registryType"]: one for one in about["packages"]}
    fields = {"registryType", "identifier", "version", "transport", "runtimeHint", "fileSha256", "environmentVariables"}
    right = set(kinds) == {"npm", "pypi", "mcpb"} and all(set(one) <= fields for one in kinds.values())
    check("it lists the three packages", right and all(one["version"] == about["version"] for one in kinds.values()), kinds)
    [path] = dist.glob("*.mcpb")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    check("it has the checksum of the bundle", kinds["mcpb"]["fileSha256"] == digest and path.name in kinds["mcpb"]["identifier"], kinds["mcpb"])
    [package] = dist.glob("testudo-mcp-*.tgz")
    with tarfile.open(package) as archive:
        described = json.load(archive.extractfile("package/package.json"))
    check("the npm package proves that it belongs to that name", described["mcpName"] == about["name"], described)
    [wheel] = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(next(name for name in archive.namelist() if name.endswith("/METADATA"))).decode()
    check("the wheel does, too", f"mcp-name: {about['name']}" in text, text[:500])


def wheel(dist, python):
    [path] = dist.glob("*.whl")
    for words in (["check-wheel-contents", "--ignore", "W007", path], ["twine", "check", "--strict", path]):
        said = run(python / "bin" / words[0], *words[1:])
        check(f"{words[0]} accepts the wheel", said.returncode == 0, said.stdout + said.stderr)
