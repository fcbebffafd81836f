"""A user and a group that every machine has, for emulated TPMs."""

import grp
import os
import pwd

SWTPM_OWNERS = {
    "libvirt__swtpm_user": pwd.getpwuid(os.getuid()).pw_name,
    "libvirt__swtpm_group": grp.getgrgid(os.getgid()).gr_name,
}
