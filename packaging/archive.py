"""Archives that are the same to the byte if their content is: fixed order, owner and time."""
import gzip, io, lzma, tarfile, time, zipfile


def tar(files, epoch, directories=False):
    """`files` maps a path to (mode, bytes)."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive:
        seen = set()
        for path, (mode, content) in sorted(files.items()):
            parts = path.removeprefix("./").split("/")[:-1]
            for depth in range(1, len(parts) + 1) if directories else ():
                name = "./" + "/".join(parts[:depth])
                if name not in seen:
                    seen.add(name)
                    archive.addfile(entry(name, 0o755, 0, epoch, tarfile.DIRTYPE))
            archive.addfile(entry(path, mode, len(content), epoch), io.BytesIO(content))
    return packed.getvalue()


def entry(name, mode, size, epoch, kind=tarfile.REGTYPE):
    found = tarfile.TarInfo(name)
    found.mode, found.size, found.mtime, found.type = mode, size, epoch, kind
    found.uname = found.gname = "root"
    return found


def gz(content):
    return gzip.compress(content, 9, mtime=0)


def xz(content):
    return lzma.compress(content, preset=9)


def zipped(files, epoch):
    """Zip keeps times with two seconds of precision, from 1980 on."""
    packed = io.BytesIO()
    when = time.gmtime(max(epoch, 315532800))[:6]
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path, (mode, content) in files.items():
            info = zipfile.ZipInfo(path, when)
            info.external_attr = (0o100000 | mode) << 16
            info.compress_type, info.create_system = zipfile.ZIP_DEFLATED, 3
            archive.writestr(info, content)
    return packed.getvalue()
