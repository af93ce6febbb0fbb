"""Tries every package that scripts/build-release makes: run.py DIST WORK."""
import pathlib, sys

import files, images, installed
from report import failures

dist, work = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
files.binary(dist)
files.checksums(dist)
files.tarball(dist)
files.manual(dist)
files.sbom(dist)
files.bundle(dist, work / "node")
files.registry(dist)
files.wheel(dist, work / "python")
installed.bundle(work)
installed.npx(dist, work)
installed.uvx(dist, work)
if debian := installed.debian(dist, work):
    images.try_out(dist, work, debian)
installed.cargo(work)
sys.exit(f"{len(failures)} wrong: {', '.join(failures)}" if failures else 0)
