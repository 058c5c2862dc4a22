package omptest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// machineModules are the modules of Debian's kernel with which a [Machine] reads a directory of this one, in the order
// of their dependences.
var machineModules = []string{
	"drivers/virtio/virtio_pci_legacy_dev", "drivers/virtio/virtio_pci_modern_dev", "drivers/virtio/virtio_pci",
	"fs/netfs/netfs", "fs/fscache/fscache", "net/9p/9pnet", "net/9p/9pnet_virtio", "fs/9p/9p",
}

// machineInit is the first program of a [Machine]. It runs the scripts whose names it reads from the console.
const machineInit = `#!/bin/busybox sh
export PATH=/bin:/usr/bin
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mkdir -p /dev/shm
mount -t tmpfs shm /dev/shm
for m in %s; do insmod /modules/$m.ko; done
mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 shared /shared || poweroff -f
echo core >/proc/sys/kernel/core_pattern
echo 0 >/proc/sys/kernel/core_uses_pid
stty -echo
echo
echo @@ready
while read -r name; do
  sh /shared/$name >/shared/$name.log 2>&1 </dev/null
  status=$?
  echo
  echo "@@$name $status"
done
poweroff -f
`

// Machine is a system emulator that runs Debian's kernel and libraries for aarch64: other than an emulator of programs,
// it has threads with registers and thread pointers, ptrace, and cores of a kernel.
type Machine struct {
	Root string // the files of its system by their paths there: the sysroot of its cores

	gcore  bool   // gdb also writes a core of each running program
	shared string // the directory that the machine sees as /shared
	cmd    *exec.Cmd
	mu     sync.Mutex // one script runs at a time
	in     io.Writer
	out    *bufio.Scanner
	runs   int
}

// machineLibraries returns the files of a [Machine] by their paths there, and those of gdb if that is set.
func machineLibraries(tb testing.TB, gdb bool) map[string]string {
	tb.Helper()
	const lib = "usr/lib/aarch64-linux-gnu"
	files := map[string]string{}
	for _, p := range []struct{ suite, name, file, dir string }{
		{"bookworm", "busybox-static", "bin/busybox", "bin"},
		{"bookworm", "libc6", "lib/ld-linux-aarch64.so.1", "lib"},
		{"bookworm", "libc6", "lib/aarch64-linux-gnu/libc.so.6", lib},
		{"bookworm", "libc6", "lib/aarch64-linux-gnu/libm.so.6", lib},
		{"bookworm", "libc6", "lib/aarch64-linux-gnu/libdl.so.2", lib},
		{"bookworm", "libc6", "lib/aarch64-linux-gnu/libpthread.so.0", lib},
		{"bookworm", "libc6", "lib/aarch64-linux-gnu/librt.so.1", lib},
		{"bookworm", "libgcc-s1", "lib/aarch64-linux-gnu/libgcc_s.so.1", lib},
		{"bookworm", "libstdc++6", lib + "/libstdc++.so.6", lib},
		{"bookworm", "libgomp1", lib + "/libgomp.so.1", lib},
		{"sid", "libc6", lib + "/ld-linux-aarch64.so.1", "opt/sid"},
		{"sid", "libc6", lib + "/libc.so.6", "opt/sid"},
		{"sid", "libc6", lib + "/libm.so.6", "opt/sid"},
		{"sid", "libgcc-s1", lib + "/libgcc_s.so.1", "opt/sid"},
		{"sid", "libstdc++6", lib + "/libstdc++.so.6", "opt/sid"},
	} {
		files[path.Join(p.dir, path.Base(p.file))] = filepath.Join(archPackage(tb, p.suite, "arm64", p.name), p.file)
	}
	if gdb {
		addGdb(tb, files)
	}
	for major, file := range CrossLibomps(tb) {
		files[fmt.Sprintf("opt/libomp-%d/libomp.so.5", major)] = file
	}
	for major, file := range CrossLibgomps(tb) {
		files[fmt.Sprintf("opt/libgomp-%d/libgomp.so.1", major)] = file
	}
	return files
}

// addGdb adds the smallest gdb and its libraries to files. In place of the library that downloads debug information,
// which needs thirty others, it gets an empty one: no function of it is called.
func addGdb(tb testing.TB, files map[string]string) {
	tb.Helper()
	const dir = "usr/lib/aarch64-linux-gnu"
	add := func(name, to, file string) {
		unpacked := archPackage(tb, "bookworm", "arm64", name)
		for _, from := range []string{to, "lib/aarch64-linux-gnu"} { // some packages do not use /usr
			if _, err := os.Stat(filepath.Join(unpacked, from, file)); err == nil {
				files[path.Join(to, file)] = filepath.Join(unpacked, from, file)
				return
			}
		}
		tb.Fatalf("package %s has no file %s", name, file)
	}
	add("gdb-minimal", "usr/bin", "gdb")
	for _, l := range [][2]string{{"libreadline8", "libreadline.so.8"}, {"zlib1g", "libz.so.1"},
		{"libzstd1", "libzstd.so.1"}, {"libtinfo6", "libtinfo.so.6"}, {"libexpat1", "libexpat.so.1"},
		{"liblzma5", "liblzma.so.5"}, {"libgmp10", "libgmp.so.10"}, {"libxxhash0", "libxxhash.so.0"}} {
		add(l[0], dir, l[1])
	}
	const debuginfod = "libdebuginfod.so.1"
	empty := filepath.Join(tb.TempDir(), debuginfod)
	command(tb, "", CrossCC, "-shared", "-nostdlib", "-Wl,-soname,"+debuginfod, "-o", empty, "-x", "c", "/dev/null")
	files[path.Join(dir, debuginfod)] = empty
}

// MachinePython is the path of Python in a [Machine] that has it.
const MachinePython = "/usr/bin/python3.11"

// addPython copies Debian's Python with its libraries into a file system.
func addPython(tb testing.TB, root string) {
	tb.Helper()
	for _, name := range []string{"python3.11-minimal", "libpython3.11-minimal", "libpython3.11-stdlib"} {
		command(tb, "", "cp", "-aT", filepath.Join(archPackage(tb, "bookworm", "arm64", name), "usr"),
			filepath.Join(root, "usr"))
	}
	const dir = "usr/lib/aarch64-linux-gnu"
	for _, l := range [][3]string{{"libffi8", dir, "libffi.so.8"}, {"zlib1g", "lib/aarch64-linux-gnu", "libz.so.1"},
		{"libexpat1", "lib/aarch64-linux-gnu", "libexpat.so.1"}} {
		command(tb, "", "cp", "-L", filepath.Join(archPackage(tb, "bookworm", "arm64", l[0]), l[1], l[2]),
			filepath.Join(root, dir))
	}
}

// gcoreScript makes gdb write a core of a running program.
const gcoreScript = `gdb -nx -batch -readnever -iex 'set debuginfod enabled off' -iex 'set auto-load no' -p $pid \
  -ex 'generate-core-file gcore' >gdb 2>&1
if [ ! -s gcore ]; then cat gdb; exit 1; fi
send gcore
`

// CompileForMachine builds a program in C for a [Machine] and returns the path of the executable; its base name is the
// program's.
func CompileForMachine(tb testing.TB, b Build) string {
	tb.Helper()
	programs := Programs(tb)
	source := findSource(tb, programs, b.Program)
	if filepath.Ext(source) != ".c" {
		tb.Skipf("there is no compiler for %s for aarch64", source)
	}
	inputs := []any{"aarch64", source, b, hashFile(tb, source), hashFile(tb, filepath.Join(programs, "truth.h")),
		hashFile(tb, filepath.Join(programs, "handover.h"))}
	dir := cached(tb, "executables", keyOf(inputs...), func(dir string) {
		exe := filepath.Join(dir, b.Program)
		flags := append([]string{"-fopenmp", "-pthread"}, b.Flags...)
		if b.Compiler == GCC {
			flags = slices.Concat(flags, gccMacros, []string{filepath.Base(source), "-o", exe})
			command(tb, programs, CrossCC, flags...)
		} else {
			command(tb, programs, "clang-16", append(flags, "--target=aarch64-linux-gnu", "-isystem", clangHeaders,
				"-isystem", filepath.Join(crossRoot, "include"), "-c", "-o", exe+".o", filepath.Base(source))...)
			link := []string{"-o", exe, exe + ".o", crossLibomp(tb, 16), "-pthread"}
			for _, f := range b.Flags {
				if strings.HasPrefix(f, "-Wl,") {
					link = append(link, f)
				}
			}
			command(tb, dir, CrossCC, link...)
			must(tb, os.Remove(exe+".o"))
		}
		if b.Strip {
			command(tb, dir, "aarch64-linux-gnu-strip", exe)
		}
	})
	return filepath.Join(dir, b.Program)
}

// CompileLibraryForMachine builds a library in C with OpenMP for a [Machine], and returns its path.
func CompileLibraryForMachine(tb testing.TB, source string, compiler Compiler) string {
	tb.Helper()
	library := filepath.Join(tb.TempDir(), strings.TrimSuffix(filepath.Base(source), ".c")+".so")
	flags := []string{"-g", "-O2", "-fopenmp", "-fPIC", source}
	if compiler == GCC {
		command(tb, "", CrossCC, append(flags, "-shared", "-o", library)...)
		return library
	}
	command(tb, "", "clang-16", append(flags, "--target=aarch64-linux-gnu", "-isystem", clangHeaders, "-isystem",
		filepath.Join(crossRoot, "include"), "-c", "-o", library+".o")...)
	command(tb, "", CrossCC, "-shared", "-o", library, library+".o", crossLibomp(tb, 16))
	return library
}

// MachineRuntime returns a runtime of a [Machine] by its family and its release, and the flags for its programs: some
// runtimes need a newer C library than Debian 12's, with its loader.
func MachineRuntime(family string, major int) (Runtime, []string) {
	name := fmt.Sprintf("%s-%d", family, major)
	r := Runtime{Name: name, Major: major, Dir: "/opt/" + name}
	r.Lib = r.Dir + map[string]string{"libomp": "/libomp.so.5", "libgomp": "/libgomp.so.1"}[family]
	if major > 12 && family == "libgomp" || major > 16 && major != 19 {
		r.Dir = "/opt/sid:" + r.Dir
		return r, []string{"-Wl,--dynamic-linker=/opt/sid/ld-linux-aarch64.so.1"}
	}
	return r, nil
}

// MachineOptions selects the parts of a [Machine].
type MachineOptions struct {
	CPUs   int
	Gcore  bool // gdb also writes a core of each running program
	Python bool // for RunPython
}

// StartMachine starts a machine with the tool in it. The end of the test stops the machine.
func StartMachine(tb testing.TB, o MachineOptions) *Machine {
	tb.Helper()
	NeedsCross(tb)
	qemu := Program(tb, "qemu-system-aarch64")
	m := &Machine{Root: tb.TempDir(), gcore: o.Gcore, shared: tb.TempDir()}
	files := machineLibraries(tb, o.Gcore)
	kernel, release := machineKernel(tb)
	var names []string
	for _, name := range machineModules {
		names = append(names, path.Base(name))
		files["modules/"+path.Base(name)+".ko"] = filepath.Join(kernel, "lib/modules", release, "kernel", name+".ko")
	}
	for name, from := range files {
		to := filepath.Join(m.Root, name)
		must(tb, os.MkdirAll(filepath.Dir(to), 0o755))
		command(tb, "", "cp", "-L", from, to)
		must(tb, os.Chmod(to, 0o755))
	}
	if o.Python {
		addPython(tb, m.Root)
	}
	init := fmt.Appendf(nil, machineInit, strings.Join(names, " "))
	must(tb, os.WriteFile(filepath.Join(m.Root, "init"), init, 0o755))
	for _, dir := range []string{"proc", "sys", "tmp", "dev", "shared"} {
		must(tb, os.MkdirAll(filepath.Join(m.Root, dir), 0o755))
	}
	buildForMachine(tb, filepath.Join(m.Root, "bin/ompd-inspect"))
	archive := filepath.Join(tb.TempDir(), "initrd")
	must(tb, writeInitrd(archive, os.DirFS(m.Root)))
	m.start(tb, exec.Command(qemu, "-M", "virt", "-cpu", "max,pauth-impdef=on", "-smp", fmt.Sprint(o.CPUs),
		"-m", "3000", "-accel", "tcg,thread=multi", "-display", "none", "-monitor", "none", "-serial", "stdio",
		"-net", "none", "-no-reboot", "-kernel", filepath.Join(kernel, "boot", "vmlinuz-"+release), "-initrd", archive,
		"-append", "console=ttyAMA0 rdinit=/init quiet loglevel=1 panic=1",
		"-fsdev", "local,id=s,path="+m.shared+",security_model=none", "-device",
		"virtio-9p-pci,fsdev=s,mount_tag=shared"))
	return m
}

// buildForMachine builds the tool. It is linked again only if it has changed.
func buildForMachine(tb testing.TB, to string) {
	tb.Helper()
	root, err := moduleRoot()
	must(tb, err)
	built := filepath.Join(cacheDir(tb), "ompd-inspect-arm64")
	defer lock(tb, built+".lock")()
	build := exec.Command("go", "build", "-buildvcs=false", "-o", built, "./cmd/ompd-inspect")
	build.Dir, build.Env = root, append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		tb.Fatalf("build for arm64: %v\n%s", err, out)
	}
	command(tb, "", "cp", built, to)
}

// machineKernel returns the directory of Debian's kernel for aarch64, and its release.
func machineKernel(tb testing.TB) (dir, release string) {
	tb.Helper()
	out, err := aptLists(tb, "bookworm", "arm64")("", "apt-cache", "depends", "linux-image-arm64")
	must(tb, err)
	found := regexp.MustCompile(`Depends: (linux-image-(\S+))`).FindSubmatch(out)
	if found == nil {
		tb.Fatalf("linux-image-arm64 depends on no kernel:\n%s", out)
	}
	return archPackage(tb, "bookworm", "arm64", string(found[1])), string(found[2])
}

// start starts the emulator and waits until the machine reads from its console.
func (m *Machine) start(tb testing.TB, cmd *exec.Cmd) {
	tb.Helper()
	in, err := cmd.StdinPipe()
	must(tb, err)
	out, err := cmd.StdoutPipe()
	must(tb, err)
	m.cmd, m.in, m.out = cmd, in, bufio.NewScanner(out)
	cmd.Stderr = cmd.Stdout
	must(tb, cmd.Start())
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	m.await(tb, "ready")
}

// await returns the rest of the next line of the console that starts with @@ and a word.
func (m *Machine) await(tb testing.TB, word string) (rest string) {
	tb.Helper()
	var console strings.Builder
	for m.out.Scan() {
		line := strings.TrimRight(m.out.Text(), "\r")
		if rest, ok := strings.CutPrefix(line, "@@"+word); ok {
			return strings.TrimSpace(rest)
		}
		console.WriteString(line + "\n")
	}
	tb.Fatalf("the machine ended: %v\n%s", m.out.Err(), console.String())
	return ""
}

// shell runs a script in the machine and returns its output.
func (m *Machine) shell(tb testing.TB, name, script string) (output string, status string) {
	tb.Helper()
	must(tb, os.WriteFile(filepath.Join(m.shared, name), []byte(script), 0o755))
	_, err := fmt.Fprintln(m.in, name)
	must(tb, err)
	status = m.await(tb, name)
	text, err := os.ReadFile(filepath.Join(m.shared, name+".log"))
	must(tb, err)
	return string(text), status
}

// MachineLook is a run of a program in a [Machine].
type MachineLook struct {
	Result           // its core, which the kernel wrote
	Answers []Answer // of the tool's commands, on the running program
	Gcore   string   // the core that gdb wrote of the running program; "" if there is none
}

// Cores returns the files of the cores.
func (l *MachineLook) Cores() []string {
	if l.Gcore == "" {
		return []string{l.Core}
	}
	return []string{l.Core, l.Gcore}
}

// Answer is the output of the tool in a [Machine], and its exit status.
type Answer struct {
	Status       string
	Stdout, Errs string
}

// machineScript runs a program until it is ready, has looks at it, and ends it. A program that crashes by itself has
// no looks. The variables before it are those of Run.
const machineScript = `
rm -rf $home; mkdir -p $home; cd $home; cp $shared/program/* $home; ulimit -c unlimited
mkfifo ready
send() { dd if=$1 of=$shared/$1 bs=256k 2>/dev/null; } # cp writes 4 KB at a time, and a write takes a millisecond
start() { # of a low priority: threads that spin leave the processors to the tool
  sh -c 'renice -n 19 $$ >/dev/null; exec env -i "$@"' sh OMPD_READY_FD=3 OMPD_TRUTH=$home/truth.jsonl "$@" 3>ready >output 2>&1 </dev/null &
  started=$!
}
run
line=
read -r line <ready
if [ $mode = wait ]; then
  if [ "$line" != READY ]; then cat output; exit 1; fi
  pid=$(sed -n 's/.*"kind":"program".*"pid":\([0-9]*\).*/\1/p' truth.jsonl)
  last=$(sed -n 's/.*"lwp":\([0-9]*\),.*"function":"truth_end".*/\1/p' truth.jsonl)
  if [ -n "$last" ]; then # it is about to sleep in ppoll
    while [ -d /proc/$pid ] && ! grep -q '^73 ' /proc/$pid/task/$last/syscall; do usleep 1000; done
  fi
  look
  kill -ABRT $pid
fi
wait $started
if [ ! -s core ]; then echo "no core"; cat output; exit 1; fi
send core
cp truth.jsonl $shared/
cd /; rm -rf $home
`

// Run runs a program in the machine as [Start] does, which comes to dir there. The tool's commands get its PID as the
// last argument. Then the program's core is written.
func (m *Machine) Run(tb testing.TB, home string, r Run, commands ...[]string) *MachineLook {
	tb.Helper()
	mode := "wait"
	if r.Mode == Kernel || r.Mode == Segv {
		mode = string(r.Mode)
	}
	argv := append([]string{path.Join(home, filepath.Base(r.Exe)), mode}, r.Args...)
	return m.run(tb, home, r, mode, []string{r.Exe}, argv, commands)
}

// RunPython does so with a script of Python and a library, the script's argument. The script writes its truth and READY
// as programs in C do.
func (m *Machine) RunPython(tb testing.TB, home, script, library string, r Run, commands ...[]string) *MachineLook {
	tb.Helper()
	r.Exe = filepath.Join(m.Root, MachinePython)
	kept := filepath.Join(m.Root, home) // where the tool finds the library of a core
	must(tb, os.MkdirAll(kept, 0o755))
	command(tb, "", "cp", library, kept)
	argv := []string{MachinePython, path.Join(home, filepath.Base(script)), path.Join(home, filepath.Base(library))}
	return m.run(tb, home, r, "wait", []string{script, library}, argv, commands)
}

// run runs a command line in the machine, whose files come to the directory home.
func (m *Machine) run(tb testing.TB, home string, r Run, mode string, files, argv []string,
	commands [][]string) *MachineLook {
	tb.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.runs++
	name := fmt.Sprint("run", m.runs)
	dir := filepath.Join(m.shared, name+".files")
	program := filepath.Join(dir, "program")
	must(tb, os.MkdirAll(program, 0o755))
	defer os.RemoveAll(dir)
	command(tb, "", "cp", append(files, program)...)
	argv = slices.Concat([]string{"LD_LIBRARY_PATH=" + r.Runtime.Dir}, r.Env, argv)
	var looks strings.Builder
	for i, c := range commands {
		fmt.Fprintf(&looks, "ompd-inspect %s $pid >$shared/%d.out 2>$shared/%d.err\necho $? >$shared/%d.status\n",
			quoted(c), i, i, i)
	}
	if m.gcore {
		looks.WriteString(gcoreScript)
	}
	script := fmt.Sprintf("home=%s shared=/shared/%s.files mode=%s\nrun() { start %s; }\nlook() {\n:\n%s}\n",
		home, name, mode, quoted(argv), looks.String()) + machineScript
	if out, status := m.shell(tb, name, script); status != "0" {
		tb.Fatalf("%s on %s: exit status %s\n%s", r.Exe, r.Runtime.Name, status, out)
	}
	look := &MachineLook{}
	for i := range commands {
		var texts [3]string
		for n, suffix := range []string{"status", "out", "err"} {
			b, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%d.%s", i, suffix)))
			must(tb, err)
			texts[n] = string(b)
		}
		look.Answers = append(look.Answers, Answer{strings.TrimSpace(texts[0]), texts[1], texts[2]})
	}
	kept := tb.TempDir()
	command(tb, "", "cp", "--sparse=always", filepath.Join(dir, "core"), filepath.Join(dir, "truth.jsonl"), kept)
	look.Result = *result(tb, r, kept)
	if m.gcore && mode == "wait" {
		look.Gcore = filepath.Join(kept, "gcore")
		command(tb, "", "cp", "--sparse=always", filepath.Join(dir, "gcore"), look.Gcore)
	}
	return look
}

// quoted returns arguments as words of a shell.
func quoted(args []string) string {
	var b bytes.Buffer
	for _, a := range args {
		fmt.Fprintf(&b, " '%s'", strings.ReplaceAll(a, "'", `'\''`))
	}
	return b.String()
}
