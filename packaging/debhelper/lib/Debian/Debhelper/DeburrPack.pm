package Debian::Debhelper::DeburrPack;

# Which packages of debian/control are levels of which base: PROG-x86-64-v3 of PROG.
#
# In: the packages that are built here. Out: the base, its lowest level, and the levels in the order of debian/control. What both
# commands and the sequence need; the manual pages are in the commands.

use strict;
use warnings;
use Debian::Debhelper::Dh_Lib qw(dpkg_architecture_value error getpackages);
use Exporter qw(import);

our @EXPORT_OK = qw(pack_of is_copy STATE);

# Where the builds and what was laid out are; dh_clean removes it.
use constant STATE => 'debian/.debhelper/deburr-pack';

# The level that every CPU of an architecture has, and those that packages may be named for.
my %LEVELS = (
    amd64 => [ 'x86-64-v1', qr/x86-64-v[2-4]/ ],
    arm64 => [ 'armv8.0-a', qr/armv(?:8|9)(?:\.\d)?-a(?:\+[a-z0-9+.]+)?/ ],
);

# Whether this is the build of one level, in its copy of the sources.
sub is_copy { return exists $ENV{DEBURR_PACK_COPY} }

# { base, lowest, levels }; nothing where no package of a level is built for this architecture.
sub pack_of {
    my $known = $LEVELS{ dpkg_architecture_value('DEB_HOST_ARCH') } or return;
    my ($lowest, $level) = @{$known};
    my %is_package = map { $_ => 1 } getpackages();
    my ($base, @levels);
    for my $package (getpackages('arch')) {
        my ($of, $name) = $package =~ /^(.+)-($level)$/ or next;
        $is_package{$of} or error("$package: debian/control has no package $of, of which this would be a level");
        $base //= $of;
        $base eq $of or error("$package: expected levels of one package, $base");
        push @levels, $name;
    }
    return unless @levels;
    return { base => $base, lowest => $lowest, levels => \@levels };
}

1;
