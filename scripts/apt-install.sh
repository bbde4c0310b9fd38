#!/usr/bin/env bash
# Installs Debian packages where that is allowed without asking: as root, or with a sudo that needs no password.
# Exit status 1 where it is not; the caller says what that means.
set -euo pipefail
command -v apt-get >/dev/null || exit 1
if [ "$(id -u)" = 0 ]; then as_root=()
elif sudo -n true 2>/dev/null; then as_root=(sudo -n)
else exit 1; fi
echo "installing with apt: $*"
export DEBIAN_FRONTEND=noninteractive
install() { "${as_root[@]}" apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1; }
install "$@" || { "${as_root[@]}" apt-get update -qq >/dev/null 2>&1 && install "$@"; } || exit 1
