//! What runs on the host, for its `sh`. Variables are set before each of them.

/// Prints the home directory, and `copy` if the binary is missing or is not the one that it should be.
pub const CHECK: &str = r#"cd "$HOME" && pwd; got=$(sha256sum ".cache/testudo/bin/$HASH" 2>/dev/null)
test "${got%% *}" = "$HASH" || echo copy"#;

/// Puts the binary from stdin where it belongs, if what arrived is what was sent.
pub const COPY: &str = r#"set -e; umask 077; mkdir -p "$HOME/.cache/testudo/bin"; cd "$HOME/.cache/testudo/bin"
cat > "$HASH.$$"; got=$(sha256sum "$HASH.$$")
test "${got%% *}" = "$HASH" || { rm -f "$HASH.$$"; echo "the copy is damaged" >&2; exit 1; }
chmod 700 "$HASH.$$"; mv -f "$HASH.$$" "$HASH""#;

/// The token comes on stdin, so that it is on no command line. The server has a session of its own and survives the
/// connection, so it must not take itself for a part of it. What killed gateways left behind a day ago is removed.
pub const START: &str = r#"set -e; umask 077; unset SSH_CLIENT SSH_CONNECTION SSH_TTY; d="$HOME/.cache/testudo/places/$ID"; mkdir -p "${d%/*}"; mkdir "$d"
cat > "$d/token"; printf '%s\n' "$OWNER $SLOT" > "$d/owner"; cd "$DIRECTORY"
setsid sh -c 'd=$1; shift; echo $$ > "$d/pid"; exec "$@"' sh "$d" "$HOME/.cache/testudo/bin/$HASH" \
    --transport http --listen "unix:$d/socket" --token-file "$d/token" "$@" > "$d/log" 2>&1 < /dev/null &
i=0; while ! test -S "$d/socket"; do i=$((i+1))
if test $i -gt 600 || { test -s "$d/pid" && ! kill -0 "$(cat "$d/pid")" 2>/dev/null; }; then
tail -n 20 "$d/log" >&2; rm -rf "$d"; exit 1; fi; sleep 0.05; done
for old in $(find "${d%/*}" -mindepth 1 -maxdepth 1 -mtime +0 2>/dev/null); do
test -s "$old/pid" && kill -0 "$(cat "$old/pid")" 2>/dev/null || rm -rf "$old"; done"#;

/// One line per place: id, state, when it was made, owner, slot.
pub const LIST: &str = r#"cd "$HOME/.cache/testudo/places" 2>/dev/null || exit 0
for d in "$GATEWAY".*; do test -f "$d/owner" || continue
if test -s "$d/pid" && kill -0 "$(cat "$d/pid")" 2>/dev/null; then s=running; else s=ended; fi
echo "$d $s $(stat -c %Y "$d/token") $(cat "$d/owner")"; done"#;

/// TERM lets the server end what runs in the place.
pub const DESTROY: &str = r#"d="$HOME/.cache/testudo/places/$ID"; test -d "$d" || exit 0; p=$(cat "$d/pid" 2>/dev/null)
if test -n "$p"; then kill "$p" 2>/dev/null; i=0; while kill -0 "$p" 2>/dev/null; do i=$((i+1))
test $i -gt 150 && kill -9 "$p" 2>/dev/null; sleep 0.1; done; fi; rm -rf "$d""#;
