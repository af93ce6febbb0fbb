"""Launchers that a shell script cannot be: `launch.py KIND [WORDS...] -- COMMAND...` starts the command.

streams KIND   stdin and stdout are a `fifo`, `socket`, `tcp`, `pty` or `nonblocking` pipe; what comes in and goes out is
               copied to and from our own streams
without NAMES  the system calls of these names fail, as in an old kernel or under a strict container engine
blocked        every signal is blocked
"""
import ctypes, os, platform, pty, select, signal, socket, struct, sys, tempfile, tty

separator = sys.argv.index("--")
kind, words, command = sys.argv[1], sys.argv[2:separator], sys.argv[separator + 1:]


def streams(kind):
    """Our ends and the command's ends: what it reads, what it writes."""
    if kind == "fifo":
        directory = tempfile.mkdtemp()
        paths = [os.path.join(directory, name) for name in ("in", "out")]
        [os.mkfifo(path) for path in paths]
        both = [os.open(path, os.O_RDWR) for path in paths]
        ours = (os.open(paths[0], os.O_WRONLY), os.open(paths[1], os.O_RDONLY))
        theirs = (os.open(paths[0], os.O_RDONLY), os.open(paths[1], os.O_WRONLY))
        [os.close(descriptor) for descriptor in both]
        return ours, theirs
    if kind == "nonblocking":
        (their_in, our_out), (our_in, their_out) = os.pipe(), os.pipe()
        os.set_blocking(their_in, False), os.set_blocking(their_out, False)
        return (our_out, our_in), (their_in, their_out)
    if kind == "pty":
        master, slave = pty.openpty()
        tty.setraw(slave)
        return (master, master), (slave, slave)
    if kind == "tcp":
        listener = socket.create_server(("127.0.0.1", 0))
        ours = socket.create_connection(listener.getsockname())
        theirs = listener.accept()[0]
    else:
        ours, theirs = socket.socketpair()
    return (ours.fileno(), os.dup(ours.detach())), (theirs.fileno(), os.dup(theirs.detach()))


def copy(child, ours):
    """Until the command closes its output, or our own input ends and then the command's output."""
    into, out_of = ours
    sources = {0: into, out_of: 1}
    while out_of in sources:
        for source in select.select(list(sources), [], [])[0]:
            try:
                data = os.read(source, 65536)
            except OSError:
                data = b""
            if data:
                while data:
                    data = data[os.write(sources[source], data):]
                continue
            del sources[source]
            if source == 0 and kind_of_stream in ("socket", "tcp"):
                socket.socket(fileno=os.dup(into)).shutdown(socket.SHUT_WR)
            elif source == 0 and kind_of_stream == "pty":
                # A terminal has no end of its own; a person would close the window.
                os.kill(child, signal.SIGTERM)
            elif source == 0:
                os.close(into)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def refuse(names):
    """A seccomp filter that answers ENOSYS."""
    numbers = {"landlock": 444, "memfd_create": 319, "seccomp": 317, "close_range": 436, "clone3": 435, "unshare": 272}
    assert platform.machine() == "x86_64"
    load, equal, answer = 0x20, 0x15, 0x06
    program = [(load, 0, 0, 0)]
    for name in names:
        program += [(equal, 0, 1, numbers[name]), (answer, 0, 0, 0x00050000 | 38)]
    program += [(answer, 0, 0, 0x7FFF0000)]
    code = b"".join(struct.pack("HBBI", *line) for line in program)
    buffer = ctypes.create_string_buffer(code)
    filter = struct.pack("HxxxxxxQ", len(program), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0, "no_new_privs"
    assert libc.prctl(22, 2, ctypes.create_string_buffer(filter), 0, 0) == 0, "seccomp"


if kind == "streams":
    kind_of_stream = words[0]
    ours, theirs = streams(kind_of_stream)
    child = os.fork()
    if child == 0:
        os.dup2(theirs[0], 0), os.dup2(theirs[1], 1)
        os.closerange(3, 100)
        os.execvp(command[0], command)
    [os.close(descriptor) for descriptor in set(theirs)]
    copy(child, ours)
elif kind == "without":
    refuse(words)
elif kind == "blocked":
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
os.execvp(command[0], command)
