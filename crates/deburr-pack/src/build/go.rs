//! Build stage: the `go` of `PATH` → its wrapper, which refuses a Go that does not know the variable of the level.
//!
//! In: a target. Out: the lines of a script. The level itself is in the environment, `GOAMD64` or `GOARM64` (cmd/go,
//! "Environment variables"), which an older Go ignores: all variants would be the same, silently. Which Go compiles depends on
//! `GOTOOLCHAIN` and on `go.mod` in the folder of the call (Go Toolchains), so each call asks `go env` there.

use super::flags;
use super::script::{REFUSED, Script};
use deburr_cpu::{Arch, Target};
use std::ffi::OsStr;

/// Whether a name is that of Go's command: `go`, `go1.22.0` as golang.org/dl installs it, `go-1.22`.
pub(super) fn is_go(name: &str) -> bool {
    let Some(version) = name.strip_prefix("go") else { return false };
    let version = version.strip_prefix('-').unwrap_or(version);
    version.is_empty() && name == "go" || version.starts_with("1.") && version.len() > 2
}

/// Adds what the wrapper does.
pub(super) fn script(text: &mut Script, target: &Target) {
    let go = flags::go(target);
    text.assign("level", OsStr::new(&target.name));
    text.assign("variable", OsStr::new(go.variable));
    text.assign("value", OsStr::new(&go.value));
    text.assign("default", OsStr::new(go.default));
    text.assign("since", OsStr::new(&go.since.to_string()));
    text.assign(
        "machine",
        OsStr::new(match target.arch {
            Arch::X86_64 => "amd64",
            Arch::Aarch64 => "arm64",
        }),
    );
    text.assign("refused", OsStr::new(REFUSED));
    text.line(SCRIPT);
}

/// `-C` may come before the command or after it. Before Go 1.16 there is no GOVERSION; a development version without a
/// number is believed to be new.
const SCRIPT: &str = r#"command=${1-} folder=.
case $command in
-C|--C) folder=${2-.} command=${3-} ;;
-C=*|--C=*) folder=${1#*=} command=${2-} ;;
*) case ${2-} in -C|--C) folder=${3-.} ;; -C=*|--C=*) folder=${2#*=} ;; esac ;;
esac
case $command in build|install|run|test) ;; *) exec "$real" "$@" ;; esac
asked=$(cd -- "$folder" && "$real" env GOARCH GOVERSION 2>/dev/null) || exec "$real" "$@"
{ read -r arch; read -r version; } <<END
$asked
END
[ "$arch" = "$machine" ] || exec "$real" "$@"
case $version in
*go1.*) minor=${version#*go1.} minor=${minor%%[!0-9]*} ;;
'') version='older than 1.16' minor=0 ;;
*) minor=$since ;;
esac
eval "own=\${$variable-}"
if [ "$own" != "$value" ]; then
printf '%s\n' "own $variable=$own" >>"$calls"
elif [ "$value" != "$default" ] && [ "${minor:-$since}" -lt "$since" ]; then
reason="$real is $version here, and $variable needs Go 1.$since: the code for $level would be that of $variable=$default; put Go 1.$since or later first in PATH, or name one (GOTOOLCHAIN=go1.$since.0, the toolchain line of go.mod)"
printf '%s\n' "$refused$reason" >>"$calls"
echo "deburr pack: $reason" >&2
exit 1
fi
printf '%s\n' "called $name" >>"$calls"
exec "$real" "$@""#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_go_are_known_with_versions() {
        for name in ["go", "go1.22.0", "go-1.22", "go1.26rc1"] {
            assert!(is_go(name), "{name}");
        }
        for name in ["gofmt", "gcc", "go-", "go1.", "goimports", "golangci-lint", "gotip"] {
            assert!(!is_go(name), "{name}");
        }
    }
}
