#!/bin/bash
# md throws a drive out of its array: small writes all over it, until its housekeeping keeps the kernel waiting for
# longer than the 30 s that it gives a command. Aborts, a reset, a failed write, and the drive is out.
#
# Usage: md-kicks.sh [HOURS], on two drives, a RAID1; the first is the one in question.
set -euo pipefail
hours=${1:-48}

now() { read -r s _ </proc/uptime; echo "[$s s] $*"; }

mdadm --create /dev/md0 --level=1 --raid-devices=2 --assume-clean --bitmap=none --run /dev/sda /dev/sdb 2>&1 |
  grep started
now "a $(cat /sys/block/sda/device/model) and a $(cat /sys/block/sdb/device/model), time-outs of" \
  "$(cat /sys/block/sda/device/timeout) s: random writes of 4 KiB, 32 at once, for up to $hours h"
fio --name=load --filename=/dev/md0 --rw=randwrite --bs=4k --direct=1 --ioengine=libaio --iodepth=32 --time_based \
  --runtime="${hours}h" --clocksource=clock_gettime --output=/tmp/fio &
load=$!
while kill -0 $load 2>/dev/null && ! grep -q '(F)' /proc/mdstat; do sleep 10; done
if grep -q '(F)' /proc/mdstat; then now "out of the array"; else now "still in the array"; fi
kill -INT $load 2>/dev/null || true
wait $load || true
grep -E 'IOPS|clat.*max' /tmp/fio
grep -E -A 1 '^md0' /proc/mdstat
echo "what the kernel says:"
dmesg | grep -E 'abort|reset|timing out|rejecting|I/O error|md/raid1' | sed -e 's/tag#[0-9]*/tag#N/' -e 's/, sector.*//' |
  awk '{ what = $0; sub(/^[^]]*\] /, "", what); if (!seen[what]++) print }' | head -n 12
