//! Package managers and build tools. The scripts of the project that they run are the project's own; an option or a
//! subcommand that runs something else is judged.

use super::super::shell::Word;
use super::usage::{Effect, Operands, Style, Usage, lists};
use super::vet::by;
use super::vetted::Vetted;

const NODE: Usage = Usage {
    reason: "run another program",
    flags: "-D -E -O -P -S -d -f -g -h -l -q -s -v -w -y --all --audit --no-audit --bail --ci --color --no-color --depth --dev \
            --dry-run --exact --force --frozen-lockfile --fund --no-fund --global --if-present --ignore-scripts --immutable \
            --include --json --legacy-peer-deps --link --long --no-save --offline --omit --only --package-lock \
            --no-package-lock --parseable --prefer-offline --prod --production --progress --no-progress --quiet --recursive \
            --save --save-dev --save-exact --save-optional --save-peer --save-prod --short --silent --strict-peer-deps --tag \
            --verbose --workspaces --yes --loglevel --no-optional --otp --access --filter --workspace",
    ..Usage::BASE
};

/// Options whose value names a program, or a file that names one.
const NODE_EFFECTS: &[(&str, Effect)] = &[
    ("--script-shell", Effect::Run),
    ("--shell", Effect::Run),
    ("--shell-emulator", Effect::Refuse),
    ("-c", Effect::Run),
    ("--call", Effect::Run),
    ("--editor", Effect::Run),
    ("--viewer", Effect::Run),
    ("--browser", Effect::Run),
    ("--git", Effect::Run),
    ("--node-options", Effect::RefuseValue),
    ("--userconfig", Effect::RefuseValue),
    ("--globalconfig", Effect::RefuseValue),
    ("--use-yarnrc", Effect::RefuseValue),
    ("--prefix", Effect::Inside),
    ("-C", Effect::Inside),
    ("--cwd", Effect::Inside),
    ("--dir", Effect::Inside),
    ("--cache", Effect::Write),
];

const NPM: Usage = Usage { programs: "npm pnpm yarn", effects: NODE_EFFECTS, ..NODE };

/// Programs with subcommands that run the words behind them, and these subcommands.
const RUNNERS: &[(&str, &str)] = &[
    ("npm pnpm yarn", "exec x dlx"),
    ("uv poetry pipenv pipx hatch pdm rye conda mamba micromamba", "run"),
    ("bundle rbenv pyenv asdf mise", "exec x"),
];

/// Subcommands of npm and its kin that run a program of another package, or change settings that may name a program.
const REFUSED: &str = "explore create init edit config c set";

pub const GO: Usage = Usage {
    programs: "go",
    reason: "call its parts through another program, or read other files in place of the sources",
    style: Style::Words,
    flags: "-a -asan -benchmem -cover -d -deps -e -failfast -find -fix -fullpath -h -json -linkshared -modcacherw -m -msan -n -race \
            -short -test -trimpath -u -v -versions -work -x -compiled -export -dry-run -buildvcs -buildmode -shuffle",
    values: "-bench -benchtime -blockprofilerate -compiler -count -covermode -coverpkg -cpu -fuzz -fuzzminimizetime -fuzztime \
             -go -installsuffix -list -mod -p -parallel -pgo -pkgdir -reuse -run -skip -tags -timeout -vet -f -fmt",
    effects: &[
        ("-exec", Effect::Run),
        ("-toolexec", Effect::Run),
        ("-vettool", Effect::Run),
        ("-C", Effect::Inside),
        ("-o", Effect::Write),
        ("-outputdir", Effect::Write),
        ("-coverprofile", Effect::Write),
        ("-cpuprofile", Effect::Write),
        ("-memprofile", Effect::Write),
        ("-blockprofile", Effect::Write),
        ("-mutexprofile", Effect::Write),
        ("-trace", Effect::Write),
        // The linker and the compilers take options of their own that name programs.
        ("-ldflags", Effect::RefuseValue),
        ("-gcflags", Effect::RefuseValue),
        ("-asmflags", Effect::RefuseValue),
        ("-gccgoflags", Effect::RefuseValue),
        ("-modfile", Effect::RefuseValue),
        ("-overlay", Effect::RefuseValue),
        // `go env -w` changes settings, which may name a program.
        ("-w", Effect::Refuse),
    ],
    operands: Operands::Plain,
    ..Usage::BASE
};

/// `npm test`, `npm run build` and the like run scripts of the project. `None` for a program that is not listed here.
pub fn vet(program: &str, arguments: &[Word]) -> Option<Vetted> {
    let node = NPM.names(program);
    let mut vetted = match RUNNERS.iter().find(|(programs, _)| lists(programs, program)) {
        Some((_, subcommands)) => run_words(subcommands, arguments),
        None => return None,
    };
    if node && vetted.carried.is_empty() {
        // Behind `--`, the words belong to a script.
        let own: Vec<Word> =
            arguments.iter().take_while(|word| word.text().as_deref() != Some("--")).cloned().collect();
        vetted = vetted.and(by(&NPM, &own));
        let refused = subcommand(arguments).filter(|at| arguments[*at].text().is_none_or(|name| lists(REFUSED, &name)));
        if refused.is_some_and(|at| at + 1 < arguments.len()) {
            vetted.unvetted(arguments.len() - 1, "it may run another program, or name one that it runs later");
        }
    }
    Some(vetted)
}

/// The index of the first word that is not an option.
fn subcommand(arguments: &[Word]) -> Option<usize> {
    arguments.iter().position(|word| !word.literal_start().starts_with('-'))
}

/// Such a program comes from the project, or is fetched. So a rule for a program of the same name does not cover it.
fn run_words(subcommands: &str, arguments: &[Word]) -> Vetted {
    let mut vetted = Vetted::default();
    let Some(at) =
        subcommand(arguments).filter(|at| arguments[*at].text().is_some_and(|name| lists(subcommands, &name)))
    else {
        return vetted;
    };
    let options = by(&Usage { operands: Operands::Package, ..NPM }, &arguments[at + 1..]);
    vetted = vetted.and(options);
    shift(&mut vetted, at + 1);
    vetted
}

/// Makes the indices count from the first argument of the program, not of the subcommand.
fn shift(vetted: &mut Vetted, by: usize) {
    vetted.patterns.iter_mut().for_each(|pattern| *pattern += by);
    vetted.unvetted.iter_mut().for_each(|unvetted| unvetted.at += by);
}
