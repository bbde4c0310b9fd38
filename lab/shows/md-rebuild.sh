#!/bin/bash
# md rebuilds a RAID onto the first drive: how long it takes, and whether every byte is there afterwards.
#
# Usage: md-rebuild.sh [LEVEL], on four drives or more (RAID1: two or more); the first is the replacement.
set -euo pipefail
level=${1:-6}

now() { read -r s _ </proc/uptime; echo "[$s s] $*"; }
sum() { echo 3 >/proc/sys/vm/drop_caches; sha256sum /mnt/data | cut -d ' ' -f 1; }

candidate=/dev/sda
members=(/dev/sd[b-z])
old=${members[-1]}
mdadm --create /dev/md0 --level="$level" --raid-devices=${#members[@]} --assume-clean --bitmap=none --run \
  "${members[@]}" 2>&1 | grep started
mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/md0
mount /dev/md0 /mnt
dd if=/dev/urandom of=/mnt/data bs=1M count=256 conv=fsync status=none
before=$(sum)

mdadm --quiet /dev/md0 --fail "$old"
mdadm --quiet /dev/md0 --remove "$old" 2>/dev/null
# As fast as the drives allow: nobody else uses the array.
echo 10000000 >/proc/sys/dev/raid/speed_limit_max
now "rebuild of RAID$level begins, onto a $(cat /sys/block/sda/device/model)"
read -r began _ </proc/uptime
mdadm --quiet /dev/md0 --add $candidate
while sleep 60 && progress=$(grep -o 'recovery = .*' /proc/mdstat); do now "$progress"; done
read -r end _ < <(dmesg | sed -n 's/^\[ *\([0-9.]*\)\] md: md0: recovery done.*/\1 /p')
now "rebuilt in $(awk "BEGIN { print $end - $began }") s: $(grep -o '\[U*\]' /proc/mdstat)"

# The rebuilt drive is needed now: without it and as many others as the level may lose there is no data.
lost=("${members[0]}")
[ "$level" = 6 ] && lost+=("${members[1]}")
mdadm --quiet /dev/md0 --fail "${lost[@]}"
after=$(sum)
[ "$before" = "$after" ] || { echo "the data is not what it was"; exit 1; }
now "the file is what it was, read without ${lost[*]}: $after"
