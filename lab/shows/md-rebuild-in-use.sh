#!/bin/bash
# md rebuilds a mirror that is in use meanwhile: a few small writes a second, all over it.
#
# Usage: md-rebuild-in-use.sh [USERS], on two drives; the first is the replacement, and was used before.
set -euo pipefail
users=${1:-32}
kept=$((64 << 20))

now() { read -r s _ </proc/uptime; awk -v s="$s" -v what="$*" 'BEGIN { printf "[%5.1f h] %s\n", s / 3600, what }'; }
sum() { head -c $kept /dev/md0 | sha256sum | cut -d ' ' -f 1; }

# A shingled drive lets a command wait for longer than the 30 s after which the kernel would throw it out.
for timeout in /sys/block/sd?/device/timeout; do echo 180 >"$timeout"; done
fio --name=past --filename=/dev/sda --rw=randwrite --bs=4k --number_ios=2000 --direct=1 --ioengine=libaio --iodepth=32 \
  --norandommap --randseed=1 --zero_buffers --clocksource=clock_gettime --output=/tmp/past
mdadm --create /dev/md0 --level=1 --raid-devices=2 --bitmap=none --run /dev/sdb missing 2>&1 | grep started
head -c $kept /dev/urandom >/dev/md0
before=$(sum)

now "a $(cat /sys/block/sda/device/model) joins the mirror, which $users users write to"
./users.py /dev/md0 "$users" $kept >/tmp/users &
load=$!
# As fast as the drives allow beside that.
echo 10000000 >/proc/sys/dev/raid/speed_limit_max
read -r began _ </proc/uptime
mdadm --quiet /dev/md0 --add /dev/sda
while true; do
  for ((minutes = 0; minutes < 360; minutes += 10)); do
    sleep 10m
    grep -q recovery /proc/mdstat || break 2
  done
  now "$(grep -o 'recovery = .*' /proc/mdstat)"
done
read -r end _ < <(dmesg | sed -n 's/^\[ *\([0-9.]*\)\] md: md0: recovery done.*/\1 /p')
now "rebuilt in $(awk "BEGIN { printf \"%.2f\", ($end - $began) / 3600 }") h: $(grep -o '\[U*\]' /proc/mdstat)"
kill $load
wait $load
echo "users: $(cat /tmp/users)"

mdadm --quiet /dev/md0 --fail /dev/sdb
echo 3 >/proc/sys/vm/drop_caches
after=$(sum)
[ "$before" = "$after" ] || { echo "the data is not what it was"; exit 1; }
now "what was there before is there, read without /dev/sdb: $after"
