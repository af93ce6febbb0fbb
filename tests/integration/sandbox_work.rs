//! Ordinary work succeeds in the sandbox. People switch off a sandbox that gets in their way.

use crate::support::{Inside, Level, everywhere};

/// Uses the system call itself: `mv` would copy where the kernel refuses it.
const MOVE: &str = "\
import os, sys
for top in sys.argv[1:]:
    for name in 'from', 'to', 'from/directory':
        os.mkdir(f'{top}/{name}')
    open(f'{top}/from/file', 'w').close()
    for name in 'file', 'directory':
        os.rename(f'{top}/from/{name}', f'{top}/to/{name}')
    os.link(f'{top}/to/file', f'{top}/from/link')
";

#[test]
fn files_move_from_directory_to_directory() {
    everywhere("", &[], |inside| {
        inside.world.file("move.py", MOVE);
        let home = if inside.level == Level::Full { "~" } else { "" };
        inside.does(&format!("python3 move.py . $TMPDIR {home}"));
    });
}

#[test]
fn git_works() {
    everywhere("", &[], |inside| {
        inside.does(
            "git init -q . && git config user.email a@b && git config user.name n && echo x > f && git add f && \
             git commit -qm one && git switch -qc other && echo y >> f && git commit -qam two && git stash list && \
             git switch -q - && git merge -q other && git gc -q && git clone -q . ../project/copy && git -C copy log --oneline",
        );
    });
}

#[test]
fn a_compiler_and_make_work() {
    everywhere("", &[], |inside| {
        inside.world.file("main.c", "#include <stdio.h>\nint main(void){puts(\"made\");}\n");
        inside.world.file("Makefile", "prog: main.c\n\tgcc -O2 -o prog main.c\n");
        if inside.nobody {
            std::os::unix::fs::chown(inside.world.project(), Some(65534), None).unwrap();
        }
        assert!(inside.does("make -j2 2>&1 && ./prog").ends_with("made\n"));
    });
}

#[test]
fn python_works_with_a_venv_and_processes_of_its_own() {
    everywhere("", &[], |inside| {
        inside.does("python3 -m venv --without-pip v && ./v/bin/python -c 'import json, sqlite3, ssl, subprocess; subprocess.run([\"true\"], check=True)'");
        let test = "import unittest, tempfile\nclass T(unittest.TestCase):\n    def test(self):\n        with tempfile.TemporaryDirectory() as d: open(d + '/x', 'w').close()\nunittest.main()\n";
        inside.does(&format!("cat > t.py <<'E'\n{test}E\npython3 t.py"));
    });
}

/// Creates a package that needs no build, so that nothing has to be downloaded.
const WHEEL: &str = "import zipfile\n\
    with zipfile.ZipFile('dep-1.0-py3-none-any.whl', 'w') as wheel:\n    \
    wheel.writestr('dep.py', 'answer = 42')\n    \
    wheel.writestr('dep-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: dep\\nVersion: 1.0\\n')\n    \
    wheel.writestr('dep-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')\n    \
    wheel.writestr('dep-1.0.dist-info/RECORD', '')\n";

#[test]
fn pip_installs_into_a_venv_and_pytest_tests() {
    everywhere("", &[], |inside| {
        inside.does(&format!("cat > wheel.py <<'E'\n{WHEEL}E\npython3 wheel.py"));
        inside.does("/usr/bin/python3 -m venv v && v/bin/pip install --no-index ./dep-1.0-py3-none-any.whl");
        assert_eq!(inside.does("v/bin/python -c 'import dep; print(dep.answer)'"), "42\n");
        let test = "def test_writes(tmp_path):\n    (tmp_path / 'x').write_text('y')\n";
        inside.does(&format!("cat > test_it.py <<'E'\n{test}E\n/usr/bin/python3 -m pytest -q test_it.py"));
    });
}

#[test]
fn programs_that_talk_over_their_own_sockets_work() {
    for nobody in [false, true] {
        let mut inside = Inside::new(Level::Full, nobody, "", &[]);
        let script = "import multiprocessing as m, socket, threading, os\n\
            for path in ['here.sock', os.environ['TMPDIR'] + '/there.sock']:\n    \
            s = socket.socket(socket.AF_UNIX); s.bind(path); s.listen()\n    \
            c = socket.socket(socket.AF_UNIX); c.connect(path)\n\
            with m.Manager() as manager: assert manager.list([1])[0] == 1\n\
            with m.Pool(2) as pool: assert pool.map(abs, [-1, 2]) == [1, 2]\n\
            s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname())\n";
        inside.does(&format!("cat > t.py <<'E'\n{script}E\npython3 t.py"));
    }
}

#[test]
fn cargo_builds_offline() {
    // Only as the user who runs the tests: rustup installs cargo in a home directory that no other user may enter.
    for level in [Level::Full, Level::Landlock] {
        let mut inside = Inside::new(level, false, "", &[]);
        inside
            .world
            .file("Cargo.toml", "[package]\nname = \"p\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n");
        inside.world.file("src/main.rs", "fn main() { println!(\"built\"); }\n#[test]\nfn t() {}\n");
        let program = env!("CARGO");
        let tools = std::path::Path::new(program).parent().unwrap().display();
        assert!(inside.does(&format!("PATH={tools}:$PATH {program} run --offline 2>&1")).ends_with("built\n"));
        inside.does(&format!("PATH={tools}:$PATH {program} test --offline 2>&1"));
    }
}

#[test]
fn npm_installs_a_package() {
    everywhere("", &[], |inside| {
        inside.world.file("dep/package.json", "{\"name\": \"dep\", \"version\": \"1.0.0\"}");
        inside.world.file(
            "package.json",
            "{\"name\": \"p\", \"version\": \"1.0.0\", \"dependencies\": {\"dep\": \"file:./dep\"}}",
        );
        inside.does("npm install --offline --no-audit --no-fund 2>&1 && ls node_modules/dep");
    });
}

#[test]
fn root_keeps_the_owners_of_files() {
    for level in [Level::Full, Level::Landlock] {
        let mut inside = Inside::new(level, false, "", &[]);
        if !inside.as_root() {
            return;
        }
        std::os::unix::fs::chown(inside.world.project(), Some(65534), Some(65534)).unwrap();
        inside.does("echo x > f && chown 65534:65534 f && tar cf t.tar f && rm f && tar xpf t.tar && stat -c %u f | grep -qx 65534");
        inside.does("setpriv --reuid=65534 --regid=65534 --clear-groups touch g && stat -c %u g | grep -qx 65534");
    }
}
