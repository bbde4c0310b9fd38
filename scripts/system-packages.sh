#!/usr/bin/env bash
# What the tests want from the system: installed with apt where that is allowed, otherwise named, with what is skipped.
# Never fails: a missing program skips its tests, and pytest says so.
set -uo pipefail

#     program    Debian package   what is skipped without it
needs='fio        fio              the device arena on real fio
nbdinfo    libnbd-bin       the block server under a second NBD client
blkparse   blktrace         the reader of block traces beside blkparse
chromium   chromium         the report in a real browser'

missing=()
while read -r program package _; do
  command -v "$program" >/dev/null || missing+=("$package")
done <<<"$needs"
[ ${#missing[@]} = 0 ] && exit 0

"$(dirname "$0")"/apt-install.sh "${missing[@]}" && exit 0
while read -r program package skipped; do
  command -v "$program" >/dev/null || echo "skipped without \`$program\`: $skipped (hint: apt install $package)" >&2
done <<<"$needs"
exit 0
