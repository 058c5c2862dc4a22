#!/bin/sh
# Builds a hanging OpenMP program, dumps it while it hangs, and inspects the core.
# Usage: run.sh OMPD-INSPECT   (CLANG and LIBOMP_DIR may be set)
set -eu
tool=$1
here=$(dirname "$0")
clang=${CLANG:-clang-16}
dir=$(mktemp -d)
trap 'kill "$pid" 2>/dev/null || true; rm -rf "$dir"' EXIT
pid=
"$clang" -g -O1 -fopenmp -o "$dir/hang" "$here/hang.c"
"$dir/hang" &
pid=$!
# It hangs once two of its threads spin in locks that nobody will release.
until [ "$(ls "/proc/$pid/task" | wc -l)" -ge 4 ] && [ "$(cat "/proc/$pid/stat" | cut -d' ' -f14)" -ge 20 ]; do
  kill -0 "$pid"
done
echo "\$ gcore -o core $pid"
gcore -o "$dir/core" "$pid" >"$dir/gcore.log" 2>&1 || { cat "$dir/gcore.log"; exit 1; }
echo "\$ ompd-inspect core.$pid"
"$tool" "$dir/core.$pid"
