#!/usr/bin/env bash
# Says what is missing when the core cannot be built.
set -euo pipefail
want=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
if ! command -v cargo >/dev/null; then
  echo "error: the core is written in Rust, and cargo was not found" >&2
  echo "hint: install a Rust toolchain of version $want or newer, for example with rustup" >&2
  exit 5
fi
have=$(cargo --version | sed -E 's/^cargo ([0-9.]+).*/\1/')
if [ "$(printf '%s\n' "$want" "$have" | sort -V | head -n 1)" != "$want" ]; then
  echo "error: this Rust toolchain is $have, the core needs $want or newer" >&2
  echo "hint: rustup update" >&2
  exit 5
fi
