#!/usr/bin/env bash
# All Python tests, with the pytest that is given. Those by the clock on the wall sleep most of the time, and where that
# is allowed the system lets what they measure with come before all others: they run beside these. What fails there, be
# it for noise, is run again with nothing beside it, and only that counts.
set -euo pipefail

pytest=$1
by_the_clock=("$pytest" -q -rs -m real_time -o cache_dir=.pytest_cache/by-the-clock)

# What failed at an earlier time does not count.
rm -rf .pytest_cache/by-the-clock
told=$(mktemp)
TESTS_BESIDE=1 "${by_the_clock[@]}" >"$told" 2>&1 &
beside=$!
trap 'kill "$beside" 2>/dev/null || true; rm -f "$told"' EXIT

failed=0
"$pytest" -q -rs -n auto --dist loadgroup --max-worker-restart 0 -m "not real_time" || failed=$?

if wait "$beside"; then
  echo "==> Python tests by the clock on the wall, beside the others"
  cat "$told"
else
  echo "==> Python tests by the clock on the wall that failed beside the others (now nothing else runs)"
  "${by_the_clock[@]}" --last-failed --last-failed-no-failures all || failed=$?
fi
exit "$failed"
