//! Programs that run code. The text for a shell is judged like any other command. Code in other languages cannot be judged,
//! so a rule that allows an interpreter covers little more than `--version`, unless it says `arguments = "any"`.

use super::usage::{Alone, Effect, Language, Operands, Usage};

const INTERPRETER: Usage = Usage {
    reason: "run any code",
    informs: "--version --help -V -h",
    operands: Operands::Code,
    alone: Alone::RunsInput,
    ..Usage::BASE
};

pub const TABLE: &[Usage] = &[
    Usage {
        programs: "sh bash dash zsh ksh mksh ash rbash fish",
        reason: "run shell text",
        flags: "--norc --noprofile --posix --login --restricted",
        operands: Operands::Shell,
        ..Usage::BASE
    },
    Usage {
        programs: "python python2 python3 python3.8 python3.9 python3.10 python3.11 python3.12 python3.13 python3.14 pypy \
                   pypy3",
        flags: "-u -B -O -OO -q -s -S -E -I -P -b -d -x -v",
        informs: "--version --help -V -VV -h -?",
        values: "-W -X",
        effects: &[("-c", Effect::Code), ("-m", Effect::Module)],
        ..INTERPRETER
    },
    Usage {
        programs: "perl ruby",
        informs: "--version --help -v",
        effects: &[("-e", Effect::Code), ("-E", Effect::Code)],
        ..INTERPRETER
    },
    Usage {
        programs: "node nodejs deno bun",
        informs: "--version --help -v -h",
        effects: &[("-e", Effect::Code), ("-p", Effect::Code), ("--eval", Effect::Code), ("--print", Effect::Code)],
        ..INTERPRETER
    },
    Usage {
        programs: "php lua luajit tclsh wish Rscript osascript guile racket julia elixir swipl ghci scala groovy jshell \
                   pwsh powershell",
        effects: &[("-r", Effect::Code), ("-e", Effect::Code), ("-c", Effect::Code), ("-Command", Effect::Code)],
        ..INTERPRETER
    },
    Usage {
        programs: "awk gawk mawk nawk original-awk",
        reason: "run a command or write a file from its program",
        flags: "--version --posix --traditional --re-interval --sandbox -S",
        values: "-F -v --field-separator --assign",
        effects: &[
            ("-f", Effect::RefuseValue),
            ("--file", Effect::RefuseValue),
            ("-e", Effect::Script(Language::Awk)),
            ("--source", Effect::Script(Language::Awk)),
        ],
        operands: Operands::Script(Language::Awk),
        ..Usage::BASE
    },
    Usage {
        programs: "sed gsed",
        reason: "run a command or write a file from its script",
        flags: "-n -E -r -s -u -z --quiet --silent --regexp-extended --separate --unbuffered --null-data --posix --debug \
                --sandbox --version --help",
        values: "-l --line-length",
        effects: &[
            ("-e", Effect::Script(Language::Sed)),
            ("--expression", Effect::Script(Language::Sed)),
            ("-f", Effect::RefuseValue),
            ("--file", Effect::RefuseValue),
            ("-i", Effect::InPlace),
            ("--in-place", Effect::InPlace),
        ],
        operands: Operands::Script(Language::Sed),
        ..Usage::BASE
    },
    Usage {
        programs: "ed red vi vim nvim view vimdiff ex rvim emacs nano pico joe micro gdb lldb sqlite3 mysql psql redis-cli \
                   ftp sftp telnet m4 dc irb expect socat nc ncat netcat screen tmux at batch crontab",
        reason: "run commands it is told at its prompt or in its arguments",
        informs: "--version --help -V",
        operands: Operands::Refuse,
        alone: Alone::RunsInput,
        ..Usage::BASE
    },
];
