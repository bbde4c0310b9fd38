#!/bin/bash
# md rebuilds a RAID1 onto the first drive while the array is in use: small writes all over it, four at a time, without
# end. md leaves its limits as Linux has them: it holds back as soon as somebody else is there.
#
# Usage: md-rebuild-in-use.sh, on three drives; the first is the replacement.
set -euo pipefail

now() { read -r s _ </proc/uptime; echo "[$s s] $*"; }

mdadm --create /dev/md0 --level=1 --raid-devices=2 --assume-clean --bitmap=none --run /dev/sdb /dev/sdc 2>&1 |
  grep started
mdadm --quiet /dev/md0 --fail /dev/sdc
mdadm --quiet /dev/md0 --remove /dev/sdc
fio --name=load --filename=/dev/md0 --rw=randwrite --bs=4k --direct=1 --ioengine=libaio --iodepth=4 --norandommap \
  --time_based --runtime=365d --clocksource=clock_gettime --output=/tmp/fio &
load=$!
now "rebuild of RAID1 begins, onto a $(cat /sys/block/sda/device/model)"
read -r began _ </proc/uptime
mdadm --quiet /dev/md0 --add /dev/sda
while sleep 1h && progress=$(grep -o 'recovery = .*' /proc/mdstat); do now "$progress"; done
read -r end _ < <(dmesg | sed -n 's/^\[ *\([0-9.]*\)\] md: md0: recovery done.*/\1 /p')
now "rebuilt in $(awk "BEGIN { print ($end - $began) / 3600 }") h: $(grep -o '\[[U_]*\]' /proc/mdstat)"
kill -INT $load
wait $load || true
grep -E 'IOPS|clat.*max' /tmp/fio
cmp <(dd if=/dev/sda bs=1M skip=64 status=none) <(dd if=/dev/sdb bs=1M skip=64 status=none) && now "both drives are the same"
