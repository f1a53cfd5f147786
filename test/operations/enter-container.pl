# What a container runtime does last: makes a folder the root of this process, read-only but for its mounts, gives up all
# privileges for good and becomes the command. In Perl, which every Debian has: what does it must need nothing of the new root.
#
#   unshare --user --map-user=UID --map-group=GID --keep-caps --mount --pid --fork ... \
#     perl enter-container.pl ROOT WORKDIR MOUNT... -- COMMAND...
#
# A mount is bind:FROM:TO, bind-read-only:FROM:TO, tmpfs:TO:BYTES or proc:TO, where TO is below ROOT and exists.
use strict;
use warnings;

# Of linux/include/uapi: mount.h, prctl.h, capability.h.
use constant { MS_RDONLY => 1, MS_NOSUID => 2, MS_NODEV => 4, MS_REMOUNT => 32, MS_BIND => 4096, MNT_DETACH => 2 };
use constant { PR_CAPBSET_DROP => 24, PR_SET_NO_NEW_PRIVS => 38, PR_CAP_AMBIENT => 47, PR_CAP_AMBIENT_CLEAR_ALL => 4 };
use constant { CAPABILITY_VERSION_3 => 0x20080522, CAPABILITY_NUMBERS_MAX => 64 };

my %numbers_of = (
    x86_64  => { mount => 165, umount2 => 166, pivot_root => 155, prctl => 157, capset => 126 },
    aarch64 => { mount => 40,  umount2 => 39,  pivot_root => 41,  prctl => 167, capset => 91 },
);
chomp(my $machine = `uname -m`);
my $number_of = $numbers_of{$machine} or die "enter-container: no system call numbers for $machine are written here\n";

sub call {
    my ($name, @parameters) = @_;
    push @parameters, 0 while @parameters < 5;
    return syscall($number_of->{$name}, @parameters) != -1;
}

sub must {
    my ($name, @parameters) = @_;
    call($name, @parameters) or die "enter-container: $name(@parameters): $!\n";
}

my ($root, $folder, @rest) = @ARGV;
my @mounts;
while (@rest and (my $next = shift @rest) ne '--') { push @mounts, $next }

must('mount', $root, $root, 0, MS_BIND);
for (@mounts) {
    my ($kind, $first, $second) = split /:/;
    if ($kind eq 'tmpfs') {
        must('mount', 'tmpfs', "$root$first", 'tmpfs', MS_NOSUID | MS_NODEV, "size=$second,mode=1777");
    } elsif ($kind eq 'proc') {
        must('mount', 'proc', "$root$first", 'proc', MS_NOSUID | MS_NODEV);
    } else {
        must('mount', $first, "$root$second", 0, MS_BIND);
        my $writable = $kind eq 'bind' ? 0 : MS_RDONLY;
        # Devices stay devices.
        my $devices = $second =~ m{^/dev/} ? 0 : MS_NODEV;
        must('mount', 0, "$root$second", 0, MS_REMOUNT | MS_BIND | MS_NOSUID | $writable | $devices);
    }
}
# The old root goes over the new one, and then away: nothing of it can be reached any more.
chdir $root or die "enter-container: $root: $!\n";
must('pivot_root', '.', '.');
must('umount2', '.', MNT_DETACH);
must('mount', 0, '/', 0, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV);
chdir $folder or die "enter-container: $folder: $!\n";

must('prctl', PR_SET_NO_NEW_PRIVS, 1);
# Those that the kernel does not know fail.
call('prctl', PR_CAPBSET_DROP, $_) for 0 .. CAPABILITY_NUMBERS_MAX - 1;
must('prctl', PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL);
must('capset', pack('LL', CAPABILITY_VERSION_3, 0), pack('L6', 0, 0, 0, 0, 0, 0));
exec { $rest[0] } @rest or die "enter-container: $rest[0]: $!\n";
