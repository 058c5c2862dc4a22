#!/bin/sh
# build-bugs.sh DIR: puts bugs (bugs/*.patch) into programs that others wrote, builds each with
# GCC and with clang, at -O0 and at -O2, and writes DIR/bugs/list for TestInjectedBugs, of which
# each line is a bug, its build, where its source is, and the program with its arguments. What is
# in DIR/src already is not fetched. COMPILERS chooses others than gcc and clang-16, BUGS some of
# the bugs.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mkdir -p "$1" && cd "$1" && pwd)
bugs=$dir/bugs
mkdir -p "$dir/src" "$bugs"

fetch() { # name, repository, commit
	[ -d "$dir/src/$1" ] || git clone -q "https://github.com/$2" "$dir/src/$1"
	eval "commit_$1=$3"
}
fetch lulesh LLNL/LULESH 3e01c40b3281aadb7f996525cdd4a3354f6d3801
fetch bots bsc-pm/bots 2607a695128727a3f6c98754367705443663136d
fetch npb GMAP/NPB-CPP 5bc1e2c4aca09f4ebae370b80f8f335a76e162ef
fetch gapbs sbeamer/gapbs b5e3e19c2845f22fb338f4a4bc4b1ccee861d026
fetch comd ECP-copa/CoMD 3d48396b77ca8caa3124bc2391f9139c3ffb556c
fetch xsbench ANL-CESAR/XSBench ba08e5221af6106252b866e50ea123c69d31a4e2
fetch prk ParRes/Kernels 04248b66a03d7f5edba8d54c9ae7834dd718027a

paths() { # repository: what is needed of it
	case $1 in
	bots) echo common omp-tasks inputs/health ;;
	npb) echo NPB-OMP ;;
	gapbs) echo src ;;
	comd) echo src-openmp ;;
	xsbench) echo openmp-threading ;;
	prk) echo C1z FORTRAN ;;
	lulesh) echo . ;;
	esac
}

patched() { # bug, repository: a copy with the bug
	rm -rf "${bugs:?}/$1" && mkdir -p "$bugs/$1"
	eval "commit=\$commit_$2"
	git -C "$dir/src/$2" archive "$commit" $(paths "$2") | tar -x -C "$bugs/$1"
	patch -s -p1 -d "$bugs/$1" <"$here/bugs/$1.patch"
}

built() { # bug, compiler, optimization, source, command
	bug=$1 build=$2$3 source=$4
	shift 4
	echo "$bug $build $source $*" >>"$bugs/$bug/list"
}

bots() { # bug, compiler, optimization, application, arguments
	s=$bugs/$1 exe=$bugs/$1/program.$2$3
	"$2" -g "$3" -fopenmp -fcommon -w -I "$s/common" -I "$s/omp-tasks/$4" "$s/omp-tasks/$4"/*.c \
		"$s/common/bots_common.c" "$s/common/bots_main.c" -lm -o "$exe"
	app=$4
	shift 4
	built "$(basename "$s")" "${exe##*.}" "" "$s/omp-tasks/$app/$app.c" "$exe" "$@"
}

plus() { echo "$1" | sed 's/gcc/g++/; s/clang/clang++/'; }

build() { # bug, compiler, optimization
	s=$bugs/$1 exe=$bugs/$1/program.$2$3
	case $1 in
	health-*) bots "$@" health -f "$s/inputs/health/small.input" ;;
	nqueens-*) bots "$@" nqueens -n 10 ;;
	concom-*) bots "$@" concom -n 3000 -m 12 ;;
	fib-*) bots "$@" fib -n 12 ;;
	sssp-* | bfs-*)
		app=${1%%-*}
		$(plus "$2") -g "$3" -std=c++11 -fopenmp "$s/src/$app.cc" -o "$exe"
		built "$1" "$2" "$3" "$s/src/$app.cc" "$exe" -g 12 -n 200
		;;
	lu-*)
		make -s -C "$s/NPB-OMP" clean lu CLASS=S CC="$(plus "$2") -std=c++14" CFLAGS="-g $3 -fopenmp" \
			CLINKFLAGS=-fopenmp >/dev/null 2>&1
		mv "$s/NPB-OMP/bin/lu.S" "$exe"
		built "$1" "$2" "$3" "$s/NPB-OMP/LU/lu.cpp" "$exe"
		;;
	xsbench-*)
		"$2" -g "$3" -std=gnu99 -fopenmp -w "$s"/openmp-threading/*.c -lm -o "$exe"
		built "$1" "$2" "$3" "$s/openmp-threading/Simulation.c" "$exe" -s small -l 100000
		;;
	comd-*)
		for name in VARIANT HOSTNAME KERNEL_NAME KERNEL_RELEASE PROCESSOR COMPILER COMPILER_VERSION CFLAGS LDFLAGS; do
			echo "#define CoMD_$name \"\""
		done >"$s/src-openmp/CoMD_info.h"
		"$2" -g "$3" -std=gnu99 -fopenmp -DDOUBLE -w "$s"/src-openmp/*.c -lm -o "$exe"
		built "$1" "$2" "$3" "$s/src-openmp/ljForce.c" "$exe" -x 8 -y 8 -z 8
		;;
	lulesh-*)
		$(plus "$2") -g "$3" -fopenmp -DUSE_MPI=0 -w "$s"/lulesh*.cc -o "$exe"
		built "$1" "$2" "$3" "$s/lulesh.cc" "$exe" -s 10
		;;
	p2p-doacross)
		"$2" -g "$3" -std=gnu11 -DPRKVERSION=2020 -fopenmp -w "$s/C1z/p2p-simd-openmp.c" -lm -o "$exe"
		built "$1" "$2" "$3" "$s/C1z/p2p-simd-openmp.c" "$exe" 10 100 100
		;;
	p2p-doacross-fortran)
		[ "$2" = gcc ] || return 0 # flang has no doacross loops
		(cd "$s" && gfortran -g "$3" -fopenmp -w FORTRAN/prk_mod.F90 FORTRAN/p2p-doacross-openmp.F90 -o "$exe")
		built "$1" "$2" "$3" "$s/FORTRAN/p2p-doacross-openmp.F90" "$exe" 10 100 100
		;;
	esac
}

for patch in "$here"/bugs/${BUGS:-*}.patch; do
	bug=$(basename "$patch" .patch)
	patched "$bug" "$(sed -n 's/^Program: //p' "$patch")"
	for compiler in ${COMPILERS:-gcc clang-16}; do
		for optimization in -O0 -O2; do
			build "$bug" "$compiler" "$optimization"
		done
	done
done
cat "$bugs"/*/list >"$bugs/list"
wc -l "$bugs/list"
