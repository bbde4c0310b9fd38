#!/bin/bash
# OpenZFS replaces a drive by the first one, which resilvers a pool that has been written to for some time.
#
# Usage: zfs-resilver.sh [raidz1|mirror|draid] [-s], on five drives (mirror: three) or more, with `lab run --zfs`; the
# first is the replacement, for dRAID one that follows a distributed spare. -s: sequentially, which raidz cannot.
set -euo pipefail
kind=${1:-raidz1}
how=${2:-}

now() { read -r s _ </proc/uptime; echo "[$s s] $*"; }
sum() { cat /tank/* | sha256sum | cut -d ' ' -f 1; }
scan() { zpool status tank | sed -n -e 's/ on [A-Z].*//' -e 's/^ *scan: //p'; }

members=(sd{b..z})
for n in "${!members[@]}"; do [ -e "/dev/${members[n]}" ] || unset "members[n]"; done
vdev=$kind
[ "$kind" = draid ] && vdev=draid1:2d:${#members[@]}c:1s
zpool create -O compression=off -O atime=off tank "$vdev" "${members[@]}"
# Files of 8 MiB, every third one rewritten in its middle and every fifth deleted: a pool with a past.
for n in {10..59}; do dd if=/dev/urandom of=/tank/$n bs=1M count=8 status=none; done
zpool sync
for n in {10..59..3}; do dd if=/dev/urandom of=/tank/$n bs=16k seek=97 count=40 conv=notrunc status=none; done
for n in {10..59..5}; do rm /tank/$n; done
zpool sync
before=$(sum)

old=${members[-1]}
zpool offline tank "$old"
if [ "$kind" = draid ]; then
  zpool replace tank "$old" draid1-0-0
  zpool wait -t resilver,replace tank
  now "onto the distributed spare: $(scan)"
fi
now "a $(cat /sys/block/sda/device/model) takes the place of $old"
# shellcheck disable=SC2086
zpool replace $how tank "$old" sda
zpool wait -t resilver,replace tank
now "$(scan)"
zpool scrub -w tank
now "$(scan)"
zpool export tank
zpool import tank
after=$(sum)
zpool status tank | sed -n '/NAME/,$p'
[ "$before" = "$after" ] || { echo "the data is not what it was"; exit 1; }
now "after export and import the files are what they were: $after"
echo "deadman events: $(zpool events -H | grep -c deadman || true)"
