#!/usr/bin/env bash
# Makes the virtual environment given as $1, with the pinned versions of constraints.txt.
set -euo pipefail
environment=$1

for python in python3 python3.14 python3.13 python3.12 python3.11; do
  if command -v "$python" >/dev/null && "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    found=$python
    break
  fi
done
if [ -z "${found:-}" ]; then
  echo "error: Python 3.11 or newer was not found" >&2
  echo "hint: install it (Debian 12 and later: apt install python3 python3-venv)" >&2
  exit 5
fi

if ! "$found" -c 'import ensurepip' 2>/dev/null; then
  "$(dirname "$0")"/apt-install.sh python3-venv || {
    echo "error: this Python cannot make virtual environments (ensurepip is missing)" >&2
    echo "hint: apt install python3-venv, then run make again" >&2
    exit 5
  }
fi

[ -x "$environment/bin/python" ] || "$found" -m venv "$environment"
export PIP_CONSTRAINT=constraints.txt PIP_DISABLE_PIP_VERSION_CHECK=1
"$environment/bin/pip" install --quiet --upgrade pip maturin
"$environment/bin/pip" install --quiet --group dev
