"""`fuse.py DIRECTORY MARK -- COMMAND...` mounts an empty FUSE file system and starts the command.

A child process, found by the MARK in its command line, serves the file system. When a test stops that process, everything
that touches the directory waits for ever, as with a network file system whose server is gone. The kernel is told to
remember nothing, so that every access asks the process.
"""
import ctypes, os, signal, struct, sys, time

separator = sys.argv.index("--")
directory, command = sys.argv[1], sys.argv[separator + 1:]
libc = ctypes.CDLL(None, use_errno=True)

INIT, GETATTR, OPENDIR, READDIR, RELEASEDIR, STATFS = 26, 3, 27, 28, 29, 17
FORGET, BATCH_FORGET, LOOKUP = 2, 42, 1


def attributes():
    now, nanos = int(time.time()), 0
    inode = struct.pack("<QQQQQQIIIIIIIIII", 1, 0, 0, now, now, now, nanos, nanos, nanos, 0o40777, 2, 0, 0, 0, 4096, 0)
    return struct.pack("<QII", 0, 0, 0) + inode


def answer(opcode):
    """An error number, or the body of the answer."""
    if opcode == INIT:
        return struct.pack("<IIIIHHIIHHI28x", 7, 31, 4096, 0, 8, 8, 4096, 1, 1, 0, 0)
    if opcode == GETATTR:
        return attributes()
    if opcode == OPENDIR:
        return struct.pack("<QII", 1, 0, 0)
    if opcode in (READDIR, RELEASEDIR):
        return b""
    if opcode == STATFS:
        return bytes(80)
    return -2 if opcode == LOOKUP else -38


def serve(fuse):
    while True:
        request = os.read(fuse, 1 << 20)
        _, opcode, unique = struct.unpack_from("<IIQ", request)
        if opcode in (FORGET, BATCH_FORGET):
            continue
        body = answer(opcode)
        error, body = (body, b"") if isinstance(body, int) else (0, body)
        try:
            os.write(fuse, struct.pack("<IiQ", 16 + len(body), error, unique) + body)
        except OSError:
            # Whoever asked has gone.
            pass


fuse = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={fuse},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()},allow_other".encode()
if libc.mount(b"test", directory.encode(), b"fuse", 0, options) != 0:
    raise OSError(ctypes.get_errno(), "mount")
if os.fork() == 0:
    libc.prctl(1, signal.SIGKILL, 0, 0, 0)
    [os.close(descriptor) for descriptor in (0, 1)]
    os.open("/dev/null", os.O_RDWR), os.dup(0)
    serve(fuse)
os.close(fuse)
os.listdir(directory)
os.execvp(command[0], command)
