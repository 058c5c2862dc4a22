#!/bin/sh
# run.sh DIR MAJOR...: builds LLVM's OpenMP runtime, OMPD library and gdb plugin of each release from Debian's source
# packages, and runs LLVM's own tests of OMPD with LLVM's library and with ours, which bin/ must have (`make
# libompd.so`): on the runtime as it was built, on the same stripped, without and with the file that `ompd-inspect
# symbols` writes, and on Debian's own stripped runtime with such a file. What is in DIR already is not made again, but
# the tests run. Each line of its output is one run; DIR/runs has what the tests printed.
#
# SUITE_RUNS chooses runs by their names, as in "ours-built ours-debian"; SUITE_TESTS chooses tests (lit's --filter).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "$here/../../bin" && pwd)
dir=$(mkdir -p "$1" && cd "$1" && pwd)
shift
. "$here/packages.sh"

need() { # packages of Debian
	missing=
	for package; do
		dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
	done
	[ -z "$missing" ] || DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
}

# suite_of is the release of Debian that has a release of LLVM.
suite_of() {
	case $1 in
	17 | 18) echo trixie ;;
	*) echo bookworm ;;
	esac
}

build() { # release: LLVM's openmp alone
	[ -e "$dir/build-$1/done" ] && return
	mkdir -p "$dir/source-$1" "$dir/build-$1"
	source_of "$(suite_of "$1")" "llvm-toolchain-$1"
	tar -C "$dir/source-$1" --strip-components=1 -xf "$dir/llvm-toolchain-$1"_*.orig.tar.xz --wildcards '*/openmp/*' '*/cmake/*'
	cmake -G Ninja -S "$dir/source-$1/openmp" -B "$dir/build-$1" -DOPENMP_STANDALONE_BUILD=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo \
		-DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19 -DPython3_EXECUTABLE=/usr/bin/python3 \
		-DOPENMP_LLVM_TOOLS_DIR=/usr/lib/llvm-19/bin -DOPENMP_ENABLE_LIBOMPTARGET=OFF >"$dir/build-$1/log" 2>&1
	ninja -C "$dir/build-$1" omp ompd ompdModule ompd_gdb_plugin >>"$dir/build-$1/log" 2>&1
	touch "$dir/build-$1/done"
}

# prepare makes the directory of one run: the runtime, the library beside it, the plugin, and a configuration of the
# tests. $run, $release and $library (llvm or ours) say which.
prepare() { # path of the runtime
	mkdir -p "$run/lib" "$run/test" "$run/debug"
	cp "$1" "$run/lib/libomp.so"
	ln -s libomp.so "$run/lib/libomp.so.5"
	ln -s "$dir/build-$release/libompd/gdb-plugin" "$run/gdb-plugin"
	if [ "$library" = ours ]; then
		cp "$bin/libompd.so" "$bin/ompd-inspect" "$run/lib"
	else
		cp "$dir/build-$release/libompd/src/libompd.so" "$run/lib"
	fi
	cat >"$run/.gdbinit" <<-GDB
		set debuginfod enabled off
		set debug-file-directory $run/debug:/usr/lib/debug
		set libthread-db-search-path $libraries
		set auto-load safe-path /
	GDB
	cat >"$run/test/lit.site.cfg" <<-CFG
		config.test_c_compiler = "/usr/bin/clang-19"
		config.test_filecheck = "/usr/lib/llvm-19/bin/FileCheck"
		config.test_extra_flags = "$flags"
		config.ompd_obj_root = "$run/test"
		config.ompd_test_src = "$dir/source-$release/openmp/libompd/test"
		config.library_dir = "$run/lib"
		config.ompd_library_dir = "$run/lib"
		config.operating_system = "Linux"
		config.ompt_plugin = ""
		config.ompt_include_dir = "$dir/build-$release/runtime/src"
		config.ompd_module = "$run/gdb-plugin/python-module/ompd/"
		lit_config.load_config(config, config.ompd_test_src + "/lit.cfg")
		config.available_features.add("determinism")
		config.environment["HOME"] = "$run"
	CFG
}

# try runs the tests, and prints which failed and how many answers there were.
try() {
	/usr/bin/python3 /usr/lib/llvm-19/build/utils/lit/lit.py -v -j "${JOBS:-2}" --timeout 90 --filter "${SUITE_TESTS:-.}" "$run/test" >"$run/log" 2>&1 || true
	passed=$(grep -c '^PASS: ' "$run/log") || { tail -n 3 "$run/log" >&2 && exit 1; }
	failed=$(sed -n 's/^\(FAIL\|TIMEOUT\): .*:: [^ ]*\/\([a-z_]*\)\.c .*/\2/p' "$run/log" | sed 's/^test_ompd_//' | sort | tr '\n' ' ')
	answers=$(find "$run/test" -name '*.out' -exec cat {} + | grep -c Success) || true
	printf '%-4s %-26s %4s passed %4s answers  %s\n' "$release" "$name" "$passed" "$answers" "${failed:+failed: $failed}"
}

one() { # name of the run, path of the runtime, whether it gets our symbol file
	name=$library-$1
	run=$dir/runs/$release-$name
	case " ${SUITE_RUNS:-$name} " in *" $name "*) ;; *) return ;; esac
	rm -rf "$run"
	prepare "$2"
	[ "$3" = no ] || "$bin/ompd-inspect" symbols "$run/lib/libomp.so" -o "$run/debug" >/dev/null
	try
}

# debian fetches Debian's runtime, with its C library if that is newer than the system's, and sets $debian and the flags
# with which programs are linked for it.
debian() {
	suite=$(suite_of "$release")
	package=libomp5-$release
	[ "$release" != 17 ] || package=${package}t64
	unpack "$suite" "$package"
	debian=$dir/debian/$package/usr/lib/llvm-$release/lib/libomp.so.5
	[ "$suite" = bookworm ] && return
	unpack "$suite" libc6
	libraries=$dir/debian/libc6/usr/lib/x86_64-linux-gnu
	flags="-Wl,--dynamic-linker=$libraries/ld-linux-x86-64.so.2 -Wl,-rpath,$libraries -Wl,--allow-shlib-undefined"
}

need clang-19 cmake ninja-build python3-dev python3-psutil llvm-19-tools gdb binutils
mkdir -p "$dir/runs"
for release; do
	build "$release"
	built=$dir/build-$release/runtime/src/libomp.so
	strip -o "$dir/build-$release/stripped.so" "$built"
	for library in llvm ours; do
		flags='' libraries='$sdir:$pdir'
		one built "$built" no
		one stripped "$dir/build-$release/stripped.so" no
		one stripped+symbols "$dir/build-$release/stripped.so" yes
		debian
		one debian+symbols "$debian" yes
	done
done
