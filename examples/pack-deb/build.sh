#!/bin/sh
# What `deburr pack assemble --split` wrote -> a .deb of each folder.
#
# In: the folder, the program's name, its version, the maintainer. Out: .deb files in the current folder. deb(5),
# deb-control(5). The versions must be equal: the launcher of the base starts what is in the other packages.
set -eu
[ $# -eq 4 ] || { echo "usage: $0 DIST NAME VERSION MAINTAINER" >&2; exit 2; }
dist=$1 name=$2 version=$3 maintainer=$4
here=$(dirname "$0")
[ -d "$dist/base" ] || { echo "$dist: expected a folder base, as deburr pack assemble --split writes it" >&2; exit 2; }
# What a version must not be unpacked beside: levels of any other one.
breaks=
for tree in "$dist"/*/; do
    level=$(basename "$tree")
    [ "$level" = base ] || breaks="${breaks:+$breaks, }$name-$level (<< $version), $name-$level (>> $version)"
done
# Where the trees are, if the machine chooses one of them (--select).
place=$(cd "$dist/base" && find . -type l -name selected -printf '%P\n' | sed -n '1s|/selected$||p')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for tree in "$dist"/*/; do
    level=$(basename "$tree")
    case $level in
        base) template=base package=$name ;;
        *) template=level package=$name-$level ;;
    esac
    cp -a "$tree" "$work/$level"
    mkdir "$work/$level/DEBIAN"
    sed -e "s/@NAME@/$name/g" -e "s/@LEVEL@/$level/g" -e "s/@VERSION@/$version/g" -e "s/@MAINTAINER@/$maintainer/g" -e "s/@BREAKS@/$breaks/" \
        "$here/$template.control" > "$work/$level/DEBIAN/control"
    for script in postinst prerm triggers; do
        [ -n "$place" ] && [ -e "$here/$template.$script" ] || continue
        sed "s|@PLACE@|$place|g" "$here/$template.$script" > "$work/$level/DEBIAN/$script"
        [ $script = triggers ] || chmod 755 "$work/$level/DEBIAN/$script"
    done
    # What the policy wants of every package; a real one has its own.
    docs=$work/$level/usr/share/doc/$package
    mkdir -p "$docs"
    [ -e "$docs/copyright" ] || echo "$name is packed by $maintainer; the licence is that of its sources." > "$docs/copyright"
    date=$(date -R -u -d "@${SOURCE_DATE_EPOCH:-0}")
    printf '%s (%s) unstable; urgency=medium\n\n  * Variants by level.\n\n -- %s  %s\n' "$package" "$version" "$maintainer" "$date" |
        gzip -9n > "$docs/changelog.Debian.gz"
    dpkg-deb --root-owner-group --build "$work/$level" "${package}_${version}_amd64.deb"
done
