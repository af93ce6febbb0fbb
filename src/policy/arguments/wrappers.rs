//! Programs that run the command that follows their own arguments. The judge then judges that command as if it were
//! written alone. A new wrapper is one entry here.

use super::usage::{Alone, Effect, Operands, Usage};

const WRAPPER: Usage = Usage { reason: "run another command", operands: Operands::Command(0), ..Usage::BASE };

/// Without a command, these start a shell, which runs what it reads.
const SHELL_WITHOUT_COMMAND: Usage = Usage { alone: Alone::RunsInput, ..WRAPPER };

pub const TABLE: &[Usage] = &[
    Usage {
        programs: "env",
        flags: "-0 -v --null --debug",
        // -S splits its value into words as a shell does. -C changes which file a relative path means.
        effects: &[
            ("-S", Effect::Run),
            ("--split-string", Effect::Run),
            ("-C", Effect::Inside),
            ("--chdir", Effect::Inside),
            ("-u", Effect::Unset),
            ("--unset", Effect::Unset),
            ("-i", Effect::UnsetAll),
            ("-", Effect::UnsetAll),
            ("--ignore-environment", Effect::UnsetAll),
        ],
        operands: Operands::Environment,
        ..WRAPPER
    },
    Usage {
        programs: "xargs",
        reason: "run another command with arguments from its input",
        // The value of --max-lines can only be glued on.
        flags: "-0 -r -t -p -x --null --no-run-if-empty --verbose --exit --open-tty --max-lines --version --help",
        values: "-a -d -E -L -n -P -s --arg-file --delimiter --max-args --max-procs --max-chars",
        effects: &[
            ("-I", Effect::Placeholder),
            ("-i", Effect::GluedPlaceholder),
            ("--replace", Effect::GluedPlaceholder),
        ],
        operands: Operands::FedCommand,
        ..WRAPPER
    },
    Usage {
        programs: "parallel",
        reason: "run another command with arguments from its input",
        flags: "-0 -k -X -m -v --keep-order --null --verbose --bar --progress",
        values: "-j -n -N --jobs -a --arg-file --max-args --halt",
        operands: Operands::FedCommand,
        // Without a command, every line that it reads is one.
        alone: Alone::RunsInput,
        ..WRAPPER
    },
    Usage {
        programs: "timeout gtimeout",
        flags: "-v --verbose --preserve-status --foreground --version --help",
        values: "-k -s --kill-after --signal",
        operands: Operands::Command(1),
        ..WRAPPER
    },
    Usage { programs: "nice", flags: "-# --version --help", values: "-n --adjustment", ..WRAPPER },
    Usage { programs: "nohup", flags: "--version --help", ..WRAPPER },
    Usage { programs: "setsid", flags: "-c -f -w --ctty --fork --wait --version --help", ..WRAPPER },
    Usage { programs: "stdbuf", flags: "--version --help", values: "-i -o -e --input --output --error", ..WRAPPER },
    Usage {
        programs: "time gtime",
        flags: "-p -v -a -q --portability --verbose --append --quiet --version --help",
        values: "-f --format",
        effects: &[("-o", Effect::Write), ("--output", Effect::Write)],
        ..WRAPPER
    },
    Usage { programs: "ionice", flags: "-t --ignore", values: "-c -n --class --classdata", ..WRAPPER },
    Usage {
        programs: "chrt",
        flags: "-a -b -d -f -i -o -r -v --all-tasks --batch --fifo --idle --other --rr",
        operands: Operands::Command(1),
        ..WRAPPER
    },
    Usage { programs: "taskset", flags: "-a -c --all-tasks --cpu-list", operands: Operands::Command(1), ..WRAPPER },
    Usage {
        programs: "flock",
        flags: "-s -x -e -u -n -o -F --shared --exclusive --unlock --nonblock --close --no-fork --verbose",
        values: "-w -E --timeout --conflict-exit-code",
        effects: &[("-c", Effect::Run), ("--command", Effect::Run)],
        operands: Operands::Command(1),
        ..WRAPPER
    },
    Usage {
        programs: "strace ltrace",
        flags: "-f -ff -c -C -i -q -r -t -tt -ttt -T -v -x -xx -y -yy -k",
        values: "-e -s -a -p -E -I -O -S -P",
        // A value that begins with `|` is a command that gets the output.
        effects: &[("-o", Effect::RefuseValue), ("--output", Effect::RefuseValue)],
        ..WRAPPER
    },
    Usage {
        programs: "unshare nsenter",
        flags: "-r -m -u -i -n -p -U -C -T -f -c --map-root-user --fork --mount --net --pid --user --ipc --uts",
        values: "-R -w -t",
        ..SHELL_WITHOUT_COMMAND
    },
    Usage { programs: "chroot", operands: Operands::Command(1), ..SHELL_WITHOUT_COMMAND },
    Usage {
        programs: "sudo doas",
        flags: "-n -E -H -S -b -k -K -A -P -i -s --non-interactive --preserve-env --set-home --stdin --background",
        values: "-u -g -U -p -C -r -t -T -h -D -R --user --group --prompt",
        operands: Operands::Environment,
        ..SHELL_WITHOUT_COMMAND
    },
    Usage {
        programs: "su runuser",
        flags: "-l -p -m - --login --preserve-environment",
        values: "-g -G -s -w",
        effects: &[("-c", Effect::Run), ("--command", Effect::Run), ("--session-command", Effect::Run)],
        operands: Operands::Refuse,
        ..SHELL_WITHOUT_COMMAND
    },
    Usage {
        programs: "watch",
        reason: "hand its arguments to a shell",
        flags: "-d -e -g -t -b -c -p -x --differences --errexit --chgexit --no-title --beep --color --precise --exec",
        values: "-n --interval",
        ..WRAPPER
    },
    Usage {
        programs: "script",
        flags: "-a -e -f -q --append --return --flush --quiet",
        values: "-E -m -o --echo",
        effects: &[
            ("-c", Effect::Run),
            ("--command", Effect::Run),
            ("-O", Effect::Write),
            ("-B", Effect::Write),
            ("-T", Effect::Write),
            ("-I", Effect::Write),
        ],
        operands: Operands::Write,
        ..SHELL_WITHOUT_COMMAND
    },
    Usage {
        programs: "npx bunx pnpx uvx",
        reason: "fetch and run a package",
        flags: "-y -q --yes --no --no-install --quiet",
        values: "-p --package",
        effects: &[
            ("-c", Effect::Run),
            ("--call", Effect::Run),
            ("--shell", Effect::Run),
            ("--script-shell", Effect::Run),
        ],
        operands: Operands::Package,
        ..WRAPPER
    },
    Usage { programs: "busybox toybox", flags: "--list --help", ..WRAPPER },
    Usage {
        programs: "systemd-run dbus-run-session xvfb-run fakeroot unbuffer rlwrap setpriv prlimit numactl catchsegv choom \
                   linux32 linux64 setarch torsocks proxychains proxychains4 pkexec faketime ccache sccache cgexec \
                   firejail bwrap direnv dumb-init tini expect-unbuffer chpst softlimit",
        ..SHELL_WITHOUT_COMMAND
    },
    Usage { programs: "entr", reason: "run a command when files change", flags: "-a -c -d -n -p -r -s -z", ..WRAPPER },
];
