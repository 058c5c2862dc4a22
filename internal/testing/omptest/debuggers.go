package omptest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// GdbSuites are the releases of Debian with a gdb that is also a debug adapter (`gdb -i dap`, since gdb 14);
// Debian 12's is not.
var GdbSuites = [...]string{"trixie", "sid"}

// GdbOf returns the path of the gdb of a release of Debian with all its dependencies, including its own C library
// and Python. The path is that of a script.
func GdbOf(tb testing.TB, suite string) string {
	tb.Helper()
	return packagedGdb(tb, suite, "gdb")
}

// MultiarchGdbOf returns the path of a gdb as GdbOf does, of one that knows all architectures.
func MultiarchGdbOf(tb testing.TB, suite string) string {
	tb.Helper()
	return packagedGdb(tb, suite, "gdb-multiarch")
}

// packagedGdb returns the path of the script that starts the gdb of a package.
func packagedGdb(tb testing.TB, suite, name string) string {
	tb.Helper()
	const arch = "usr/lib/x86_64-linux-gnu"
	dir := closure(tb, suite, []string{name}, `#!/bin/sh
root=$(dirname "$0")
PYTHONHOME=$root/usr exec $root/`+arch+`/ld-linux-x86-64.so.2 --library-path $root/`+arch+`:$root/usr/lib \
	$root/usr/bin/`+name+` --data-directory=$root/usr/share/gdb "$@"
`)
	return filepath.Join(dir, "start")
}

// PythonOf returns the path of a Python interpreter of a release of Debian, such as 3.13, with its own C library. The
// path is that of a script.
func PythonOf(tb testing.TB, suite, release string) string {
	tb.Helper()
	const arch = "usr/lib/x86_64-linux-gnu"
	dir := closure(tb, suite, []string{"python" + release}, `#!/bin/sh
root=$(dirname "$0")
loader=$root/`+arch+`/ld-linux-x86-64.so.2
[ -e "$loader" ] || loader=$root/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2
PYTHONHOME=$root/usr exec $loader --library-path $root/`+arch+`:$root/lib/x86_64-linux-gnu \
	$root/usr/bin/python`+release+` "$@"
`)
	return filepath.Join(dir, "start")
}

// PythonLibraries returns the path of Debian 12's Python with libraries that use OpenMP: numpy with OpenBLAS,
// scikit-learn, PyTorch and numba. The path is that of a script.
func PythonLibraries(tb testing.TB) string {
	tb.Helper()
	const arch = "usr/lib/x86_64-linux-gnu"
	packages := []string{"python3-torch", "python3-sklearn", "python3-numba", "libopenblas0-openmp"}
	dir := closure(tb, "bookworm", packages, `#!/bin/sh
root=$(dirname "$0")
lib=$root/`+arch+`
export PYTHONHOME=$root/usr PYTHONPATH=$root/usr/lib/python3/dist-packages PYTHONDONTWRITEBYTECODE=1
exec $root/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 \
	--library-path $lib/openblas-openmp:$lib:$root/lib/x86_64-linux-gnu:$root/usr/lib $root/usr/bin/python3.11 "$@"
`)
	return filepath.Join(dir, "start")
}

// ROf returns the path of R of a release of Debian, with its own C library, OpenBLAS with OpenMP, and data.table. The
// path is that of a script.
func ROf(tb testing.TB, suite string) string {
	tb.Helper()
	const arch = "usr/lib/x86_64-linux-gnu"
	packages := []string{"r-base-core", "libopenblas0-openmp", "r-cran-data.table"}
	dir := closure(tb, suite, packages, `#!/bin/sh
root=$(dirname "$0")
lib=$root/`+arch+`
loader=$lib/ld-linux-x86-64.so.2
[ -e "$loader" ] || loader=$root/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2
export R_HOME=$root/usr/lib/R R_LIBS_SITE=$root/usr/lib/R/site-library R_SHARE_DIR=$root/usr/share/R/share
export EDITOR=vi PAGER=cat TAR=tar
exec $loader --library-path $R_HOME/lib:$lib/openblas-openmp:$lib:$root/lib/x86_64-linux-gnu \
	$R_HOME/bin/exec/R --vanilla --no-echo "$@"
`)
	return filepath.Join(dir, "start")
}

// modulesOff are extension modules of Python that its tests do not use, and that take long to compile or need
// libraries.
const modulesOff = `*disabled*
_blake2 _bz2 _codecs_cn _codecs_hk _codecs_iso2022 _codecs_jp _codecs_kr _codecs_tw _curses _curses_panel _dbm
_decimal _elementtree _gdbm _hashlib _interpchannels _interpqueues _interpreters _lsprof _lzma _md5 _multibytecodec
_sha1 _sha3 _sqlite3 _ssl _tkinter _uuid _zoneinfo mmap pyexpat readline syslog termios
`

// FreeThreadedPython returns the path of a free-threaded Python 3.13, which is in no package of Debian. It is built of
// the source package of Debian 13, which takes minutes: only with OMPD_FULL, or if the cache has it.
func FreeThreadedPython(tb testing.TB) string {
	tb.Helper()
	NeedsMore(tb, "a free-threaded Python")
	const name = "python3.13t"
	if _, err := os.Stat(filepath.Join(cacheDir(tb), "packages", name)); err != nil && !Full() {
		tb.Skip("it needs a free-threaded Python, which is built only with OMPD_FULL")
	}
	return filepath.Join(cached(tb, "packages", name, func(dir string) {
		apt := aptLists(tb, "trixie", sourcePackages)
		if out, err := apt(dir, "apt-get", "-q", "source", "--download-only", "python3.13"); err != nil {
			tb.Fatalf("apt-get source python3.13 of Debian's trixie: %v\n%s", err, out)
		}
		archives, _ := filepath.Glob(filepath.Join(dir, "*.orig.tar.xz"))
		if len(archives) != 1 {
			tb.Fatalf("apt-get source python3.13 left %d archives, want 1", len(archives))
		}
		command(tb, dir, "tar", "-xf", archives[0], "--strip-components=1")
		must(tb, os.WriteFile(filepath.Join(dir, "Modules/Setup.local"), []byte(modulesOff), 0o644))
		command(tb, dir, "./configure", "-q", "--disable-gil", "--without-ensurepip", "--disable-test-modules",
			"OPT=-O1 -DNDEBUG")
		command(tb, dir, "make", "-s", "-j"+fmt.Sprint(runtime.NumCPU()))
	}), "python")
}

// closure returns a directory with the unpacked content of packages of another release of Debian and of all their
// dependencies, and the executable script start.
func closure(tb testing.TB, suite string, names []string, start string) string {
	tb.Helper()
	NeedsMore(tb, "programs of another release of Debian")
	return cached(tb, "packages", suite+"-all-"+names[0], func(dir string) {
		apt := aptLists(tb, suite, "")
		archives := filepath.Join(dir, "archives")
		must(tb, os.MkdirAll(filepath.Join(archives, "partial"), 0o755))
		args := append([]string{"apt-get", "-q", "-y", "--no-install-recommends", "--download-only", "-o",
			"Dir::Cache::archives=" + archives,
			"-o", "Debug::NoLocking=1", "-o", "APT::Sandbox::User=root", "install"}, names...)
		out, err := apt(dir, args...)
		if err != nil {
			tb.Fatalf("apt-get install %s of Debian's %s: %v\n%s", names, suite, err, out)
		}
		debs, _ := filepath.Glob(filepath.Join(archives, "*.deb"))
		for _, deb := range debs {
			command(tb, dir, "dpkg-deb", "-x", deb, dir)
		}
		must(tb, os.RemoveAll(archives))
		must(tb, os.WriteFile(filepath.Join(dir, "start"), []byte(start), 0o755))
	})
}

// Lldb returns the path of LLVM's debug adapter of a major version, lldb-vscode before 18 and lldb-dap since,
// with its dependencies. The path is that of a script.
func Lldb(tb testing.TB, major int) string {
	tb.Helper()
	NeedsMore(tb, "lldb")
	adapter := "lldb-dap"
	if major < 18 {
		adapter = "lldb-vscode"
	}
	var libraries []string
	llvm := ""
	for _, name := range []string{
		"lldb-%d", "liblldb-%d", "libllvm%d", "libclang-cpp%d", "python3-lldb-%d",
		"libedit2", "libbsd0", "libmd0", "libcurl4", "libipt2", "libpython3.11", "libxml2", "libncurses6", "libtinfo6",
	} {
		if strings.Contains(name, "%") {
			name = fmt.Sprintf(name, major)
		}
		dir := debianPackage(tb, name)
		if llvm == "" {
			llvm = filepath.Join(dir, "usr/lib", fmt.Sprintf("llvm-%d", major))
		}
		for _, sub := range []string{"usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"} {
			libraries = append(libraries, filepath.Join(dir, sub))
		}
	}
	python := filepath.Join(debianPackage(tb, fmt.Sprintf("python3-lldb-%d", major)),
		"usr/lib", fmt.Sprintf("llvm-%d", major), "lib/python3.11/site-packages")
	script := "#!/bin/sh\n" + "LD_LIBRARY_PATH=" + strings.Join(libraries, ":") + " LLDB_DEBUGSERVER_PATH=" + llvm +
		"/bin/lldb-server PYTHONPATH=" + python + " exec " + filepath.Join(llvm, "bin", adapter) + ` "$@"` + "\n"
	path := filepath.Join(tb.TempDir(), adapter)
	must(tb, os.WriteFile(path, []byte(script), 0o755))
	return path
}

// PythonGrpc returns the environment with which the system's Python finds Debian's gRPC, and its directory, with
// protoc and the definitions that come with it.
func PythonGrpc(tb testing.TB) (environment []string, root string) {
	tb.Helper()
	NeedsMore(tb, "gRPC for Python")
	root = cached(tb, "packages", "all-python3-grpcio", func(dir string) {
		for _, name := range []string{
			"python3-grpcio", "python3-protobuf", "libabsl20220623", "libc-ares2", "libre2-9",
			"protobuf-compiler", "libprotoc32", "libprotobuf32", "libprotobuf-dev",
		} {
			command(tb, dir, "cp", "-a", debianPackage(tb, name)+"/.", dir)
		}
	})
	return []string{
		"LD_LIBRARY_PATH=" + filepath.Join(root, "usr/lib/x86_64-linux-gnu"),
		"PYTHONPATH=" + filepath.Join(root, "usr/lib/python3/dist-packages"),
	}, root
}

// PythonSchema returns the environment in which Python has Debian's validator of JSON schemas.
func PythonSchema(tb testing.TB) (environment []string) {
	tb.Helper()
	NeedsMore(tb, "a validator of JSON schemas for Python")
	root := cached(tb, "packages", "all-python3-jsonschema", func(dir string) {
		for _, name := range []string{"python3-jsonschema", "python3-attr", "python3-pyrsistent"} {
			command(tb, dir, "cp", "-a", debianPackage(tb, name)+"/.", dir)
		}
	})
	return []string{"PYTHONPATH=" + filepath.Join(root, "usr/lib/python3/dist-packages")}
}

// Emacs returns the path of a script that starts Emacs with dape, its client of debug adapters.
func Emacs(tb testing.TB) string {
	tb.Helper()
	const arch = "usr/lib/x86_64-linux-gnu"
	dir := closure(tb, "trixie", []string{"emacs-nox", "elpa-dape"}, `#!/bin/sh
root=$(dirname "$0")
share=$(echo $root/usr/share/emacs/[0-9]*)
export EMACSDATA=$share/etc EMACSDOC=$share/etc
export EMACSLOADPATH=$(find $share/lisp -type d | tr '\n' ':')$(echo $root/usr/share/emacs/site-lisp/elpa-src/dape-*)
exec $root/`+arch+`/ld-linux-x86-64.so.2 --library-path $root/`+arch+` $root/usr/bin/emacs-nox \
	--dump-file=$(echo $root/usr/libexec/emacs/*/*/emacs-*.pdmp) "$@"
`)
	return filepath.Join(dir, "start")
}

// Neovim returns the path of a script that starts Neovim.
func Neovim(tb testing.TB) string {
	tb.Helper()
	const arch = "usr/lib/x86_64-linux-gnu"
	dir := closure(tb, "sid", []string{"neovim"}, `#!/bin/sh
root=$(dirname "$0")
export VIM=$root/usr/share/nvim VIMRUNTIME=$root/usr/share/nvim/runtime
export LUA_PATH="$root/usr/share/lua/5.1/?.lua;$root/usr/share/lua/5.1/?/init.lua;;"
export LUA_CPATH="$root/`+arch+`/lua/5.1/?.so;;"
exec $root/`+arch+`/ld-linux-x86-64.so.2 --library-path $root/`+arch+` $root/usr/bin/nvim "$@"
`)
	return filepath.Join(dir, "start")
}
