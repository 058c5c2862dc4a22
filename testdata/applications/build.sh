#!/bin/sh
# build.sh DIR: fetches programs that others wrote, builds them with GCC and with clang as
# their makefiles do, and writes DIR/list, of which each line is a program with its arguments.
# TestHealthyApplications looks at them. What is in DIR/src already is not fetched. Of Debian
# come numpy, scikit-learn and R with OpenBLAS, unpacked into DIR/debian.
set -eu
dir=$(mkdir -p "$1" && cd "$1" && pwd)
mkdir -p "$dir/src" "$dir/bin"
: >"$dir/list"

fetch() { # name, repository, commit
	[ -d "$dir/src/$1" ] || git clone -q "https://github.com/$2" "$dir/src/$1"
	git -C "$dir/src/$1" checkout -q "$3"
}
fetch lulesh LLNL/LULESH 3e01c40b3281aadb7f996525cdd4a3354f6d3801
fetch bots bsc-pm/bots 2607a695128727a3f6c98754367705443663136d
fetch npb GMAP/NPB-CPP 5bc1e2c4aca09f4ebae370b80f8f335a76e162ef
fetch gapbs sbeamer/gapbs b5e3e19c2845f22fb338f4a4bc4b1ccee861d026

built() { # name, compiler, arguments: a line of the list
	name=$1.$2
	shift 2
	echo "$dir/bin/$name $*" >>"$dir/list"
}

lulesh() { # C++ compiler
	(cd "$dir/src/lulesh" && "$1" -g -O3 -fopenmp -DUSE_MPI=0 lulesh*.cc -o "$dir/bin/lulesh.$1")
	built lulesh "$1" -s 30 -i 4000
}

bots_arguments() {
	in=$dir/src/bots/inputs
	case $1 in
	alignment_*) echo "-f $in/alignment/prot.100.aa" ;;
	concom) echo "-n 3000000 -m 12" ;;
	fft) echo "-n 16000000" ;;
	fib) echo "-n 34" ;;
	health) echo "-f $in/health/medium.input" ;;
	knapsack) echo "-f $in/knapsack/knapsack-040.input" ;;
	nqueens) echo "-n 14" ;;
	sort) echo "-n 64000000" ;;
	sparselu_*) echo "-n 80 -m 60" ;;
	strassen) echo "-n 4096" ;;
	uts) echo "-f $in/uts/small.input" ;;
	esac
}

bots() { # C compiler
	for source in "$dir"/src/bots/omp-tasks/*/app-desc.h "$dir"/src/bots/omp-tasks/*/*/app-desc.h; do
		app=$(dirname "$source")
		name=$(basename "$app")
		[ "$name" = floorplan ] && continue # it crashes
		# Some of them do not build with each compiler.
		"$1" -g -O2 -fopenmp -fcommon -w -I "$dir/src/bots/common" -I "$app" \
			"$app"/*.c "$dir"/src/bots/common/bots_common.c "$dir"/src/bots/common/bots_main.c \
			-lm -o "$dir/bin/bots-$name.$1" 2>/dev/null || continue
		built "bots-$name" "$1" $(bots_arguments "$name")
	done
}

npb() { # C++ compiler
	for name in BT CG EP FT IS LU MG SP; do
		make -s -C "$dir/src/npb/NPB-OMP" clean "$name" CLASS=A CC="$1 -std=c++14" \
			CFLAGS="-g -O3 -fopenmp" CLINKFLAGS="-O3 -fopenmp" >/dev/null 2>&1 || continue
		lower=$(echo "$name" | tr A-Z a-z)
		mv "$dir/src/npb/NPB-OMP/bin/$lower.A" "$dir/bin/npb-$lower.$1"
		built "npb-$lower" "$1"
	done
}

gapbs() { # C++ compiler
	for name in bc bfs cc pr sssp tc; do
		"$1" -g -std=c++11 -O3 -fopenmp "$dir/src/gapbs/src/$name.cc" -o "$dir/bin/gapbs-$name.$1"
		built "gapbs-$name" "$1" -g 16 -n 1000
	done
}

unpack() { # packages of Debian
	mkdir -p "$dir/debian"
	(cd "$dir/debian" && for package; do
		[ -e ".$package" ] && continue
		apt-get download -qq "$package" && dpkg-deb -x "$package"_*.deb . && rm "$package"_*.deb && : >".$package"
	done)
}

interpreted() {
	unpack libopenblas0-openmp libblas3 liblapack3 python3-numpy python3-scipy python3-sklearn python3-sklearn-lib \
		python3-joblib python3-threadpoolctl python3-decorator r-base-core r-cran-data.table libgfortran5 libtre5 libicu72 liblbfgsb0
	root=$dir/debian lib=$dir/debian/usr/lib
	cat >"$dir/bin/matrices.py" <<'P'
import numpy
a = numpy.random.rand(700, 700)
for _ in range(12):
    a = a @ a.T
    a /= numpy.linalg.norm(a)
    numpy.linalg.svd(a[:200, :200])
P
	cat >"$dir/bin/forests.py" <<'P'
import numpy
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingRegressor
x = numpy.random.rand(20000, 12)
for _ in range(3):
    HistGradientBoostingRegressor(max_iter=20).fit(x, x[:, 0])
    KMeans(8, n_init=2).fit(x)
P
	cat >"$dir/bin/matrices.R" <<'P'
x <- matrix(runif(400000), 632)
for (i in 1:8) { y <- crossprod(x); z <- solve(y + diag(nrow(y))) }
library(data.table)
for (i in 1:6) { t <- data.table(a = sample(100000, 1e6, TRUE), b = runif(1e6)); t[, .(m = mean(b)), by = a][order(m)] }
P
	libraries=$lib/x86_64-linux-gnu/openblas-openmp:$lib/x86_64-linux-gnu:$lib/R/lib
	python="env PYTHONPATH=$lib/python3/dist-packages LD_LIBRARY_PATH=$libraries /usr/bin/python3"
	for script in matrices forests; do
		echo "$python $dir/bin/$script.py" >>"$dir/list"
	done
	echo "env LD_LIBRARY_PATH=$libraries R_HOME=$lib/R R_ENVIRON=$root/etc/R/Renviron EDITOR=vi R_LIBS=$lib/R/site-library $lib/R/bin/exec/R" \
		"--vanilla --no-echo -f $dir/bin/matrices.R" >>"$dir/list"
}

interpreted
for c in gcc clang-16; do
	plus=$(echo "$c" | sed 's/gcc/g++/; s/clang/clang++/')
	lulesh "$plus"
	bots "$c"
	npb "$plus"
	gapbs "$plus"
done
wc -l "$dir/list"
