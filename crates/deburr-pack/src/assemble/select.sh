#!/bin/sh
# Makes @PROG@ the program of the level that this CPU runs best, without its launcher: /proc/PID/exe of the link and of what runs are
# then one file, which start-stop-daemon --exec, pidof and gdb compare. Written by deburr pack assemble --select.
#
# select              where the machine chooses again at each boot; elsewhere (a chroot, an image that is built) the launcher stays
# select --always     also there: what is installed must not run on a machine with another CPU
# select --launcher   back to the launcher, which chooses at each start: before the files of a level are removed
set -eu

here=$(cd "$(dirname "$0")" && pwd -P)
# What the launchers of these programs would start is asked; each line is a path below start/.
programs='@PROGRAMS@'
unit='@UNIT@'
root="$here/@UP@"

use() {
    rm -f "$here/selected.new"
    ln -s "$1" "$here/selected.new"
    mv -T "$here/selected.new" "$here/selected"
}

# Whether the unit runs at the next boot.
chooses_at_boot() {
    [ -d /run/systemd/system ] && [ / -ef /proc/1/root ] && [ "$here" -ef '@INSTALLED@' ] || return 1
    [ "$(readlink "/etc/systemd/system/$unit" || :)" != /dev/null ] || return 1
    for folder in "$root/@WANTS@" /etc/systemd/system/sysinit.target.wants; do
        [ -L "$folder/$unit" ] && return 0
    done
    return 1
}

# The trees from which the launchers would start, such as 0123456789ab/x86-64-v3, each once.
trees() {
    printf '%s\n' "$programs" | while IFS= read -r program; do
        said=$(env -u DEBURR_LEVEL DEBURR_EXPLAIN=exit "$here/start/$program" 2>&1 >/dev/null </dev/null) || :
        path=$(printf '%s\n' "$said" | sed -n 's/^.*: would start //p')
        path=${path#"$here/"}
        printf '%s\n' "${path%"/$program"}"
    done | sort -u
}

case "${1-}" in
--launcher)
    use start
    exit ;;
--always) ;;
'')
    if ! chooses_at_boot; then
        use start
        echo "$0: nothing chooses again at the next boot of this machine: the launcher chooses at each start" >&2
        exit
    fi ;;
*)
    echo "usage: $0 [--always | --launcher]" >&2
    exit 2 ;;
esac
chosen=$(trees)
if [ -n "$chosen" ] && [ -d "$here/$chosen" ]; then
    use "$chosen"
else
    use start
    echo "$0: the launchers do not agree on a tree; each chooses at each start" >&2
fi
