# The addon deburr-pack of dh: the build of each level instead of the one build.
#
# In: the packages of debian/control. Out: the sequence. It stays as it is in the copies in which levels are built, and where no package of
# a level is for this architecture.

use strict;
use warnings;
use Debian::Debhelper::DeburrPack qw(pack_of is_copy);

my $pack = is_copy() ? undef : pack_of();
if ($pack) {
    insert_before('dh_auto_configure', 'dh_deburr_pack_build');
    insert_before('dh_auto_install', 'dh_deburr_pack');
    # Each copy goes through them by itself.
    remove_command($_)
        for qw(dh_update_autotools_config dh_autoreconf dh_auto_configure dh_auto_build dh_auto_test dh_auto_install);
    # A level's library must not be taken for the one that others need.
    add_command_options('dh_makeshlibs', map { "-X/$_/" } $pack->{lowest}, @{ $pack->{levels} });
}

1;
