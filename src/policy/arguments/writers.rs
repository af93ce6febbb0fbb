//! Programs that write the files named in their arguments. Those files are judged like the target of a redirection.

use super::usage::{Effect, Operands, Others, Usage};

const WRITER: Usage = Usage { reason: "write a file", operands: Operands::Write, ..Usage::BASE };

/// Options of the programs that copy, move and remove files. None of them runs a program.
const FILES: &str = "-a -b -d -D -f -H -i -I -l -L -n -N -p -P -q -r -R -s -T -u -v -x -X -Z --archive --attributes-only --backup \
    --force --interactive --link --dereference --no-dereference --no-clobber --preserve --no-preserve --parents --recursive \
    --reflink --remove-destination --sparse --strip-trailing-slashes --symbolic-link --no-target-directory --update --verbose \
    --one-file-system --context --logical --physical --relative --directory --dir --preserve-root --no-preserve-root --exchange \
    --ignore-fail-on-non-empty --copy-contents --debug --keep-directory-symlink";

pub const TABLE: &[Usage] = &[
    Usage {
        programs: "tee touch truncate unlink shred mkfifo mknod fallocate sponge dos2unix unix2dos",
        flags: "-a -c -d -f -h -i -l -m -n -o -p -u -v -x -z -Z --append --ignore-interrupts --output-error --no-create \
                --no-dereference --io-blocks --exact --force --remove --verbose --zero --keep-size --dig-holes \
                --collapse-range --zero-range --context --keepdate --quiet",
        values: "-r -s -t --reference --size --time --date --length --offset --iterations --mode",
        ..WRITER
    },
    Usage { programs: "mkdir rmdir rm", flags: FILES, values: "-m --mode", ..WRITER },
    Usage {
        programs: "mv",
        flags: FILES,
        values: "-S --suffix",
        effects: &[("-t", Effect::Write), ("--target-directory", Effect::Write)],
        ..WRITER
    },
    Usage {
        programs: "cp ln link",
        flags: FILES,
        values: "-S --suffix",
        effects: &[("-t", Effect::Write), ("--target-directory", Effect::Write)],
        operands: Operands::WriteLast,
        ..WRITER
    },
    Usage {
        programs: "install",
        flags: "-b -c -C -d -D -p -s -T -v -Z --backup --compare --directory --preserve-timestamps --strip --no-target-directory \
                --verbose --preserve-context",
        values: "-m -o -g -S --mode --owner --group --suffix",
        effects: &[
            ("-t", Effect::Write),
            ("--target-directory", Effect::Write),
            // Runs the named program to strip symbols.
            ("--strip-program", Effect::Run),
        ],
        operands: Operands::WriteLast,
        ..WRITER
    },
    Usage {
        programs: "chmod chown chgrp setfacl setfattr chattr",
        // What begins with a dash may be a mode: `chmod -x`.
        others: Others::Plain,
        ..WRITER
    },
    Usage {
        programs: "uniq",
        flags: "-c -d -D -i -u -z -# --count --repeated --all-repeated --group --ignore-case --unique --zero-terminated",
        values: "-f -s -w --skip-fields --skip-chars --check-chars",
        operands: Operands::WriteSecond,
        ..WRITER
    },
    Usage {
        programs: "xxd",
        flags: "-a -autoskip -b -bits -C -capitalize -d -e -E -EBCDIC -i -include -p -ps -plain -postscript -r -revert -u \
                -uppercase -v -version -h -help",
        values: "-c -cols -g -groupsize -l -len -n -name -o -R -s -seek",
        operands: Operands::WriteSecond,
        ..WRITER
    },
    Usage {
        programs: "patch",
        flags: "-b -c -E -f -l -n -N -R -s -t -u -v --backup --context --dry-run --forward --force --ignore-whitespace \
                --normal --reverse --quiet --silent --batch --unified --binary --posix --verbose",
        values: "-D -F -g -i -p -V -Y -z --input --ifdef --fuzz --strip --suffix --version-control",
        effects: &[
            ("-o", Effect::Write),
            ("--output", Effect::Write),
            ("-r", Effect::Write),
            ("--reject-file", Effect::Write),
            ("-d", Effect::Inside),
            ("--directory", Effect::Inside),
            ("-B", Effect::Write),
            ("--prefix", Effect::Write),
        ],
        operands: Operands::WriteFirst,
        ..WRITER
    },
    Usage { programs: "dd", operands: Operands::WriteOf, ..WRITER },
    Usage {
        programs: "sort gsort",
        reason: "compress with any program, or write its output anywhere",
        flags: "-b -d -f -g -i -M -h -n -R -r -V -c -C -m -s -u -z --ignore-leading-blanks --dictionary-order --ignore-case \
                --general-numeric-sort --ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort --random-sort \
                --reverse --version-sort --check --merge --stable --unique --zero-terminated --debug --version --help --sort",
        values: "-k -t -S -T --key --field-separator --buffer-size --parallel --batch-size --temporary-directory",
        effects: &[("-o", Effect::Write), ("--output", Effect::Write), ("--compress-program", Effect::Run)],
        ..Usage::BASE
    },
    Usage {
        programs: "split csplit",
        flags: "-d -e -x -z -# --numeric-suffixes --elide-empty-files --verbose",
        values: "-a -b -C -l -n -t --bytes --lines --number --suffix-length --additional-suffix --separator",
        effects: &[("--filter", Effect::Run)],
        operands: Operands::WriteLast,
        ..WRITER
    },
    Usage {
        programs: "curl",
        reason: "write its output anywhere and read options from a file",
        flags: "-s -S -L -f -k -I -i -v -g -G -N -# -4 -6 -O -J -R -a -l -n -p -q -j -Z -0 -1 -2 -3 --silent --show-error \
                --location --fail --insecure --head --include --verbose --get --no-buffer --compressed --http1.1 --http2 \
                --ipv4 --ipv6 --remote-name --remote-header-name --globoff --progress-bar --version --help --fail-with-body \
                --no-progress-meter --tlsv1.2 --retry-connrefused --retry-all-errors --location-trusted --parallel",
        values: "-H -X -d -F -u -A -e -b -m -x -r -w -y -Y -z -C --header --request --data --data-raw --data-binary \
                 --data-urlencode --json --form --user --user-agent --referer --cookie --max-time --connect-timeout --retry \
                 --retry-delay --retry-max-time --proxy --range --write-out --url --resolve --limit-rate --max-redirs \
                 --cacert --form-string --oauth2-bearer --interface --noproxy --max-filesize",
        effects: &[
            ("-o", Effect::Write),
            ("--output", Effect::Write),
            ("--output-dir", Effect::Write),
            ("-D", Effect::Write),
            ("--dump-header", Effect::Write),
            ("-c", Effect::Write),
            ("--cookie-jar", Effect::Write),
            ("--trace", Effect::Write),
            ("--trace-ascii", Effect::Write),
            ("--stderr", Effect::Write),
            ("--etag-save", Effect::Write),
            ("--libcurl", Effect::Write),
            ("--hsts", Effect::Write),
            ("--alt-svc", Effect::Write),
            ("-K", Effect::RefuseValue),
            ("--config", Effect::RefuseValue),
            ("--engine", Effect::RefuseValue),
        ],
        ..Usage::BASE
    },
    Usage {
        programs: "wget",
        reason: "run a program for the password and take any setting as a command",
        flags: "-q -v -c -N -S -nv -nc -nd -np -r -k -p -m -E -H -L -4 -6 -b --quiet --verbose --continue --no-verbose \
                --server-response --spider --no-check-certificate --recursive --no-parent --timestamping --version --help",
        values: "-t -T -w -l -U -A -R -D -I -X --tries --timeout --wait --level --user-agent --header --user --password \
                 --post-data --method --body-data --limit-rate --quota",
        effects: &[
            ("-O", Effect::Write),
            ("--output-document", Effect::Write),
            ("-o", Effect::Write),
            ("-a", Effect::Write),
            ("--output-file", Effect::Write),
            ("--append-output", Effect::Write),
            ("-P", Effect::Write),
            ("--directory-prefix", Effect::Write),
            ("--save-cookies", Effect::Write),
            ("--use-askpass", Effect::Run),
            ("-e", Effect::RefuseValue),
            ("--execute", Effect::RefuseValue),
            ("--config", Effect::RefuseValue),
            ("-i", Effect::RefuseValue),
        ],
        ..Usage::BASE
    },
];
