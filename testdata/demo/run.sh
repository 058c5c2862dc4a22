#!/bin/sh
# Shows what ompd-inspect says of a core file of testdata/golden and, where there is a C compiler
# with OpenMP, of a program that hangs here. Run it in the root of the repository.
# Usage: testdata/demo/run.sh OMPD-INSPECT   (the compiler is $CC, or gcc)
set -eu
tool=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
core=$("${GO:-go}" run ./testdata/demo/unpack llvm-deadlock "$dir")
echo "A core file of a program that hung on LLVM's runtime (testdata/golden/llvm-deadlock):"
echo "\$ ompd-inspect $core"
"$tool" $core
echo
cc=${CC:-gcc}
if ! "$cc" -g -O1 -fopenmp -o "$dir/hang" testdata/demo/hang.c 2>"$dir/log"; then
	if command -v "$cc" >/dev/null; then
		cat "$dir/log"
	fi
	echo "Install gcc to see a program that hangs here, too."
	exit 0
fi
echo "A program that hangs here (testdata/demo/hang.c, built by $cc):"
echo "\$ ompd-inspect run --hang-after 1s -- ./hang"
status=0
(cd "$dir" && "$tool" run --hang-after 1s -- ./hang) || status=$?
if [ "$status" != 124 ]; then
	echo "The exit status is $status; 124 is that of a program that hung." >&2
	exit 1
fi
