#!/bin/bash
# Puts Berth in the place of the placement service of a devstack. Goes into devstack's folder, which runs it
# at the end of stack.sh. To go back, remove the drop-in and restart the unit:
#     sudo rm -r /etc/systemd/system/devstack@placement-api.service.d
#     sudo systemctl daemon-reload && sudo systemctl restart devstack@placement-api
# BERTH_SOURCE is what pip installs: a name, or the path of a clone.
set -euo pipefail

source=${BERTH_SOURCE:-openstack-berth}
unit=devstack@placement-api.service
export OS_PLACEMENT_CONFIG_DIR=${OS_PLACEMENT_CONFIG_DIR:-/etc/placement}

[ -d /opt/berth ] || sudo python3 -m venv /opt/berth
sudo /opt/berth/bin/pip install --upgrade "${source}[keystone,mysql]" pyuwsgi

# 1 is a warning
checked=0
/opt/berth/bin/placement-status upgrade check || checked=$?
[ "$checked" -le 1 ] || exit "$checked"
/opt/berth/bin/placement-manage db sync

# devstack's own ini, which has the socket that its Apache knows; the environment is Berth's
ini=$OS_PLACEMENT_CONFIG_DIR/placement-uwsgi.ini
sudo mkdir -p "/etc/systemd/system/$unit.d"
sudo tee "/etc/systemd/system/$unit.d/berth.conf" >/dev/null <<DROPIN
[Service]
ExecStart=
ExecStart=/opt/berth/bin/uwsgi --procname-prefix placement --ini $ini
DROPIN
sudo systemctl daemon-reload
sudo systemctl restart "$unit"
