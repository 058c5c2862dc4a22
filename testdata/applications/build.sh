#!/bin/sh
# build.sh DIR: unpacks programs of Debian into DIR/debian, builds the small applications of this directory
# with GCC and with clang, and writes DIR/list, of which each line is a program with its arguments.
# TestHealthyApplications looks at them.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mkdir -p "$1" && cd "$1" && pwd)
mkdir -p "$dir/bin" "$dir/debian"
: >"$dir/list"

unpack() { # packages of Debian
	(cd "$dir/debian" && for package; do
		[ -e ".$package" ] && continue
		apt-get download -qq "$package" && dpkg-deb -x "$package"_*.deb . && rm "$package"_*.deb && : >".$package"
	done)
}

small() { # source, rounds
	name=${1%.*}
	case $1 in
	*.f90) compilers=gfortran flags="-cpp -DDOACROSS -J $dir/bin" ;;
	*) compilers="g++ clang++-16" flags= ;;
	esac
	for compiler in $compilers; do
		for level in -O0 -O2; do
			exe=$dir/bin/$name.$compiler$level
			"$compiler" -g "$level" -fopenmp $flags "$here/$1" -o "$exe"
			echo "$exe $2" >>"$dir/list"
		done
	done
}

# sequences writes N sequences with a common origin, in the format of biology programs.
sequences() { # N
	awk -v n="$1" 'BEGIN {
		srand(1)
		for (i = 0; i < 400; i++) origin[i] = substr("ACGT", 1 + int(rand() * 4), 1)
		for (k = 0; k < n; k++) {
			for (i = 0; i < 400; i++) now[i] = origin[i]
			for (i = 0; i < 60; i++) now[int(rand() * 400)] = substr("ACGT", 1 + int(rand() * 4), 1)
			text = ""
			for (i = 0; i < 400; i++) text = text now[i]
			print ">s" k; print text
		}
	}'
}

stripped() {
	unpack fasttree muscle graphicsmagick libgraphicsmagick-q16-3 libjpeg62-turbo libpng16-16 libtiff6 libwebp7 \
		libwebpmux3 liblcms2-2 libfreetype6 libheif1 libde265-0 libx265-199 libaom3 libdav1d6 libjbig0 libdeflate0 \
		libwmflite-0.2-7 libxext6 libsm6 libice6 libx11-6 libxcb1 libxau6 libxdmcp6 libbsd0 libmd0 libltdl7 \
		libbrotli1 libjxl0.7 libhwy1 liblerc4 libxml2 libicu72 libnuma1 libzstd1 libbz2-1.0 liblzma5
	bin=$dir/debian/usr/bin
	sequences 400 >"$dir/bin/many.fasta"
	sequences 120 >"$dir/bin/few.fasta"
	echo "$bin/fasttreeMP -nt $dir/bin/many.fasta" >>"$dir/list"
	echo "$bin/muscle -align $dir/bin/few.fasta -output /dev/null -threads 4" >>"$dir/list"
	libraries=$dir/debian/usr/lib/x86_64-linux-gnu:$dir/debian/lib/x86_64-linux-gnu:$dir/debian/usr/lib
	echo "env LD_LIBRARY_PATH=$libraries MAGICK_CONFIGURE_PATH=$dir/debian/etc/GraphicsMagick $bin/gm convert" \
		"-size 3000x3000 gradient:red-blue -blur 0x12 -rotate 30 -sharpen 0x8 /dev/null" >>"$dir/list"
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

small graph.cc 200
small tasktree.cc 20000
small stencil.f90 2000
stripped
interpreted
wc -l "$dir/list"
