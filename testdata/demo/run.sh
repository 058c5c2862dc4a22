#!/bin/sh
# Builds a hanging OpenMP program, dumps it while it hangs, and inspects the core.
# Usage: run.sh OMPD-INSPECT   (another compiler: CLANG=clang-19)
set -eu
tool=$1
here=$(dirname "$0")
dir=$(mktemp -d)
pid=
trap 'test -z "$pid" || kill "$pid" 2>/dev/null || true; rm -rf "$dir"' EXIT
"${CLANG:-clang-16}" -g -O1 -fopenmp -o "$dir/hang" "$here/hang.c"
"$dir/hang" &
pid=$!
# It hangs once two of its threads wait for locks that nobody will release: they
# use processor time, which is field 14 in hundredths of a second.
tries=300
until [ "$(ls "/proc/$pid/task" | wc -l)" -ge 4 ] && [ "$(cut -d' ' -f14 "/proc/$pid/stat")" -ge 20 ]; do
  kill -0 "$pid"
  tries=$((tries - 1))
  [ $tries -gt 0 ] || { echo "hang does not hang" >&2; exit 1; }
  sleep 0.1
done
echo "\$ gcore -o core $pid"
gcore -o "$dir/core" "$pid" >"$dir/gcore.log" 2>&1 || {
  cat "$dir/gcore.log" >&2
  echo "if that is not permitted: as root, sysctl kernel.yama.ptrace_scope=0" >&2
  exit 1
}
echo "\$ ompd-inspect core.$pid"
"$tool" "$dir/core.$pid"
