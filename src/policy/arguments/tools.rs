//! Ordinary tools that have an option which runs another program or reads code.

use super::usage::{Effect, Operands, Others, Usage};

const SSH: &str = "-4 -6 -A -a -C -f -G -g -K -k -M -N -n -q -s -T -t -V -v -X -x -Y -y";

pub const TABLE: &[Usage] = &[
    Usage {
        programs: "find gfind",
        reason: "delete or run something for every file",
        flags: "-H -L -P -and -or -not -a -o -true -false -empty -executable -readable -writable -nouser -nogroup -daystart \
                -depth -d -follow -mount -xdev -noleaf -warn -nowarn -print -print0 -ls -prune -quit -E -X -x -s",
        values: "-name -iname -path -ipath -wholename -iwholename -lname -ilname -regex -iregex -regextype -type -xtype -size \
                 -mtime -mmin -atime -amin -ctime -cmin -newer -anewer -cnewer -newermt -newerct -perm -user -group -uid -gid \
                 -maxdepth -mindepth -links -inum -samefile -fstype -used -printf -context -D",
        effects: &[
            ("-exec", Effect::RunWords),
            ("-execdir", Effect::RunWords),
            ("-ok", Effect::RunWords),
            ("-okdir", Effect::RunWords),
            ("-fprint", Effect::Write),
            ("-fprint0", Effect::Write),
            ("-fprintf", Effect::Write),
            ("-fls", Effect::Write),
            ("-delete", Effect::Refuse),
        ],
        ..Usage::BASE
    },
    Usage {
        programs: "fd fdfind",
        reason: "run something for every file",
        flags: "-H -I -u -s -i -g -F -a -l -L -p -0 -1 -q --hidden --no-ignore --unrestricted --case-sensitive --ignore-case \
                --glob --fixed-strings --absolute-path --list-details --follow --full-path --print0 --quiet --version --help",
        values: "-d -t -e -E -S -c -j --max-depth --min-depth --exact-depth --type --extension --exclude --size --changed-within \
                 --changed-before --color --threads --max-results --base-directory",
        effects: &[
            ("-x", Effect::RunWords),
            ("-X", Effect::RunWords),
            ("--exec", Effect::RunWords),
            ("--exec-batch", Effect::RunWords),
        ],
        ..Usage::BASE
    },
    Usage {
        programs: "rg",
        reason: "filter files through a program",
        flags: "-0 -a -b -c -F -h -H -i -I -l -L -n -N -o -p -P -q -s -S -u -U -v -V -w -x -. --auto-hybrid-regex --binary --block-buffered \
                --byte-offset --case-sensitive --column --context-separator --count --count-matches --crlf --debug --files \
                --files-with-matches --files-without-match --fixed-strings --follow --glob-case-insensitive --heading --hidden \
                --ignore-case --ignore-file-case-insensitive --include-zero --invert-match --json --line-buffered --line-number \
                --line-regexp --max-columns-preview --mmap --multiline --multiline-dotall --no-config --no-filename --no-heading \
                --no-hidden --no-ignore --no-ignore-dot --no-ignore-exclude --no-ignore-files --no-ignore-global --no-ignore-messages \
                --no-ignore-parent --no-ignore-vcs --no-line-number --no-messages --no-mmap --no-require-git --no-unicode --null \
                --null-data --one-file-system --only-matching --passthru --pcre2 --pcre2-version --pretty --quiet --smart-case \
                --stats --stop-on-nonmatch --text --trace --trim --type-list --unrestricted --vimgrep --with-filename --word-regexp \
                --no-column --no-trim --no-stats --no-pre --no-context-separator --sort-files --no-follow --no-json --no-pcre2",
        values: "-A -B -C -d -e -E -f -g -j -m -M -r -t -T --after-context --before-context --color --colors --context --dfa-size-limit \
                 --encoding --engine --field-context-separator --field-match-separator --file --generate --glob --hyperlink-format \
                 --iglob --ignore-file --max-columns --max-count --max-depth --max-filesize --path-separator --pre-glob --regexp \
                 --regex-size-limit --replace --sort --sortr --threads --type --type-add --type-clear --type-not",
        effects: &[
            ("--pre", Effect::Run),
            ("--hostname-bin", Effect::Run),
            // Decompresses with the programs of the search path.
            ("-z", Effect::Refuse),
            ("--search-zip", Effect::Refuse),
        ],
        ..Usage::BASE
    },
    Usage {
        programs: "tar gtar bsdtar",
        reason: "run programs to pack, unpack or report",
        flags: "-c -x -t -r -u -d -A -v -z -j -J -a -k -p -m -h -O -S -U -w -W -l -Z --create --extract --list --append --update \
                --gzip --gunzip --bzip2 --xz --zstd --lzma --auto-compress --verbose --keep-old-files --preserve-permissions \
                --dereference --to-stdout --wildcards --no-recursion --totals --numeric-owner --no-same-owner --checkpoint \
                --exclude-vcs --sort --version --help --anchored --overwrite",
        values: "-b -X -N -T --exclude --exclude-from --files-from --strip-components --transform --xform --owner --group --mode \
                 --mtime --newer --format -H",
        effects: &[
            ("-f", Effect::Archive),
            ("--file", Effect::Archive),
            ("-C", Effect::Inside),
            ("--directory", Effect::Inside),
            ("-I", Effect::Run),
            ("--use-compress-program", Effect::Run),
            ("--to-command", Effect::Run),
            ("-F", Effect::Run),
            ("--info-script", Effect::Run),
            ("--new-volume-script", Effect::Run),
            ("--rsh-command", Effect::Run),
            ("--rmt-command", Effect::Run),
            ("--checkpoint-action", Effect::RunAction),
        ],
        operands: Operands::Bundle,
        ..Usage::BASE
    },
    Usage {
        programs: "zip",
        reason: "test an archive with a program",
        flags: "-# -A -c -d -D -e -f -F -FF -FS -g -j -J -k -l -ll -m -o -q -r -R -sf -T -u -v -X -y -z -@ --recurse-paths --quiet \
                --verbose --junk-paths --test --update --freshen --delete --move --symlinks --encrypt --no-extra --filesync --grow",
        values: "-i -x -n -t -tt -P -s -Z --exclude --include --suffixes --password --split-size --compression-method",
        effects: &[
            ("-TT", Effect::Run),
            ("--unzip-command", Effect::Run),
            ("-O", Effect::Write),
            ("--output-file", Effect::Write),
            ("--out", Effect::Write),
            ("-b", Effect::Write),
            ("--temp-path", Effect::Write),
            ("-lf", Effect::Write),
            ("--logfile-path", Effect::Write),
        ],
        operands: Operands::WriteFirst,
        ..Usage::BASE
    },
    Usage {
        programs: "unzip zipinfo",
        reason: "write files",
        flags: "-# -a -aa -b -B -c -C -D -f -h -j -K -l -L -m -M -n -o -p -q -qq -s -S -t -T -u -U -v -V -W -x -X -z -Z",
        values: "-P -I -O",
        effects: &[("-d", Effect::Inside)],
        ..Usage::BASE
    },
    Usage {
        programs: "diff3 sdiff",
        reason: "compare with any program, or ask an editor",
        flags: "-a -A -b -B -d -e -E -H -i -l -L -m -s -t -T -W -x -X -3 --text --show-all --merge --easy-only --ed --ignore-case \
                --ignore-all-space --ignore-space-change --ignore-blank-lines --left-column --suppress-common-lines --minimal \
                --speed-large-files --strip-trailing-cr --expand-tabs --initial-tab --overlap-only --show-overlap",
        values: "-I -w --width --label --tabsize --ignore-matching-lines",
        effects: &[("--diff-program", Effect::Run), ("-o", Effect::RefuseValue), ("--output", Effect::RefuseValue)],
        ..Usage::BASE
    },
    Usage {
        programs: "rsync",
        reason: "reach the other side through a program",
        flags: "-a -v -z -r -l -p -t -g -o -D -n -u -c -h -i -P -q -x -H -A -X -S -R -W -d -L -k -K -m -0 -C -4 -6 --archive \
                --verbose --compress --recursive --dry-run --update --checksum --delete --progress --stats --partial --inplace \
                --human-readable --itemize-changes --delete-after --delete-excluded --ignore-existing --existing --prune-empty-dirs \
                --links --perms --times --quiet --version --help --no-owner --no-group --no-perms --mkpath --size-only",
        values: "--exclude --include --exclude-from --include-from --filter -f --bwlimit --chmod --chown --timeout --port \
                 --files-from --max-size --min-size --info --out-format -B",
        effects: &[("-e", Effect::Run), ("--rsh", Effect::Run), ("--rsync-path", Effect::Run)],
        operands: Operands::WriteLast,
        ..Usage::BASE
    },
    Usage {
        programs: "ssh",
        reason: "run a program on this side through its options",
        flags: SSH,
        values: "-b -c -D -i -J -L -l -m -p -Q -R -W -w",
        effects: &[
            ("-o", Effect::RefuseValue),
            ("-F", Effect::RefuseValue),
            ("-E", Effect::Write),
            ("-S", Effect::RefuseValue),
            ("-I", Effect::RefuseValue),
        ],
        ..Usage::BASE
    },
    Usage {
        programs: "scp",
        reason: "connect through any program",
        flags: "-3 -4 -6 -A -B -C -O -p -q -R -r -s -T -v",
        values: "-c -i -J -l -P",
        effects: &[("-S", Effect::Run), ("-D", Effect::Run), ("-o", Effect::RefuseValue), ("-F", Effect::RefuseValue)],
        operands: Operands::WriteLast,
        ..Usage::BASE
    },
    Usage {
        programs: "man",
        reason: "show a page with a program",
        flags: "-k -f -w -a -u -d --apropos --whatis --where --path --all --version --help",
        values: "-s -S -L -m -l --sections --locale",
        effects: &[("-P", Effect::Run), ("--pager", Effect::Run), ("-H", Effect::Run), ("--html", Effect::Run)],
        ..Usage::BASE
    },
    Usage {
        programs: "less more most pg",
        reason: "run what a `+` in front says",
        flags: "-# -N -S -R -r -F -X -E -e -i -I -n -q -Q -s -M -m -f -G -g -K -L -u -U -w -W --version --help",
        values: "-p -x -z -b -h -j",
        operands: Operands::Names,
        ..Usage::BASE
    },
    Usage {
        programs: "make gmake",
        reason: "take settings and rules from its arguments",
        flags: "-j -k -n -s -B -i -q -t -w -d -e -r -R -S --jobs --keep-going --dry-run --silent --quiet --always-make --question \
                --no-print-directory --print-directory --version --help --trace --output-sync",
        values: "-l -O -o -W --load-average",
        effects: &[("-C", Effect::Inside), ("--directory", Effect::Inside), ("--eval", Effect::RefuseValue)],
        operands: Operands::Names,
        ..Usage::BASE
    },
    Usage {
        programs: "cargo",
        reason: "take any configuration from its arguments",
        flags: "-v -vv -q -r -h -V --verbose --quiet --release --all --workspace --lib --bins --tests --benches --examples \
                --all-targets --all-features --no-default-features --locked --offline --frozen --version --help --no-run \
                --no-fail-fast --doc --check --fix --allow-dirty --allow-staged --open --no-deps --list --keep-going --exact \
                --message-format --color --timings --dry-run --force --git --ignore-rust-version --future-incompat-report",
        values: "-p -j -F -Z --package --exclude --bin --test --bench --example --features --target --profile --jobs --branch --tag \
                 --rev --path --rename --registry --edition --name --vcs --depth --invert -i -e --edges --format-version",
        effects: &[
            ("--config", Effect::RefuseValue),
            ("--manifest-path", Effect::Inside),
            ("--target-dir", Effect::Write),
            ("--root", Effect::Write),
        ],
        operands: Operands::Names,
        ..Usage::BASE
    },
    Usage {
        programs: "date gdate",
        reason: "show the lines of any file, and set the clock",
        flags: "-u -R -I --utc --universal --rfc-email --rfc-3339 --iso-8601 --debug --resolution --version --help",
        values: "-d -r --date --reference",
        ..Usage::BASE
    },
    Usage {
        programs: "gcc g++ cc c++ clang clang++ tcc",
        reason: "call its parts through a program or plug-in",
        flags: "-c -E -S -v -w -g -g3 -ggdb -O -O0 -O1 -O2 -O3 -Os -Og -Wall -Wextra -Werror -Wpedantic -Wno-unused -pedantic -shared \
                -static -pthread -fPIC -fPIE -pie -no-pie -fopenmp -std -march -mtune -M -MM -MD -MMD -MP -rdynamic --version \
                -fsanitize -fsyntax-only -fno-omit-frame-pointer -flto -m64 -m32 -nostdlib -ffreestanding -fno-exceptions -fno-rtti",
        values: "-I -L -l -D -U -x -isystem -include -MF -MT -MQ -iquote",
        effects: &[("-o", Effect::Write), ("-wrapper", Effect::RefuseValue), ("-B", Effect::RefuseValue)],
        operands: Operands::Names,
        ..Usage::BASE
    },
    Usage {
        programs: "test read wait",
        reason: "evaluate the subscript of a variable's name",
        // These are builtins of bash. The words after other options are data.
        effects: &[("-v", Effect::Subscript), ("-R", Effect::Subscript)],
        others: Others::Plain,
        ..Usage::BASE
    },
    Usage {
        programs: "printf",
        reason: "evaluate the subscript of a variable's name",
        effects: &[("-v", Effect::Subscript)],
        others: Others::Plain,
        operands: Operands::Rest,
        ..Usage::BASE
    },
];
