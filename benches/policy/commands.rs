/// Command lines as agents write them.
pub const ORDINARY: &[&str] = &[
    "ls -la",
    "git status --porcelain",
    "git log --oneline -n 20 -- src | head -5",
    "cargo test --release 2>&1 | tail -20",
    "grep -rn --include='*.rs' 'fn main' . | sort | uniq -c",
    "cd src && find . -name '*.rs' -not -path './target/*' -type f | wc -l",
    "for f in *.rs; do wc -l \"$f\"; done",
    "if [ -f Cargo.toml ]; then cat Cargo.toml; else echo none; fi",
    "git commit -m \"$(cat <<'EOF'\nfix: it's (done)\n\nWith a body of some length, as agents write them.\nEOF\n)\"",
    "cat > notes.txt <<'EOF'\none\ntwo\nthree\nEOF",
    "x=$(date +%s); echo \"$x\" && sleep 0.1",
    "timeout 60 npm test -- --watch=false > out.log 2>&1 || tail -50 out.log",
    "sed -n '1,40p' src/main.rs",
    "find . -name '*.tmp' -exec rm {} +",
    "curl -s https://example.invalid/x | jq .a",
];
