package live

import (
	"os"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// FuzzProc parses bytes as each of the kernel's texts on a process. Names of programs, files and
// control groups in these texts are untrusted.
func FuzzProc(f *testing.F) {
	for _, name := range []string{"maps", "status", "stat", "syscall", "cgroup", "mountinfo"} {
		b, err := os.ReadFile("/proc/self/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b), "0::/a/../b\n")
	}
	f.Add("1 (a) b) R 1) S", "4:cpu,cpuacct:/x/\n4:cpu:/../x\n")
	f.Add("Name:\tTgid:\t0\nUid:\t1 2 3 4 5 6\nNSpid:\nState:\n", "0::\n::\n0::/x")
	f.Add("7f0000000000-7f0000001000 rwxp 0 0:0 1   /a\\012b\n0-0 r--p 0 0 0\n", "")
	f.Add("36 35 0:1 /a /sys/fs/cgroup rw - cgroup2 x y\n36 35 0:1 / /b rw - cgroup x cpu", "0::/a/b/c\n1:cpu:/\n")
	f.Fuzz(func(t *testing.T, text, membership string) {
		b := []byte(text)
		if list, err := parseMappings(b); err == nil {
			for _, m := range list {
				if m.Low.Offset >= m.High.Offset || strings.Contains(m.File, "\x00") &&
					!strings.Contains(text, "\x00") {
					t.Fatalf("%+v", m)
				}
			}
			for _, m := range list {
				mappingAt(list, m.Low.Offset)
			}
		}
		parseStatus(b)
		parseStat(b)
		for _, a := range []callbacks.Arch{callbacks.ArchX86_64, callbacks.ArchAArch64} {
			if r, err := parseSyscall(a, text); err == nil && r.Arch != a {
				t.Fatalf("%+v", r)
			}
		}
		for _, controller := range []string{cpuController, cpusetController} {
			for _, g := range groupsOf(controller, text, membership) {
				read := func(string) string { return text }
				g.readQuota(read)
				g.readCpuset(read)
			}
		}
	})
}
