package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// inside is set in the restricted process, and contains its policy.
const inside = "OMPD_TEST_SANDBOX"

func TestMain(m *testing.M) {
	switch os.Getenv(inside) {
	case "":
	case "old kernel":
		unable()
		return
	default:
		locked()
		return
	}
	os.Exit(m.Run())
}

// locked restricts this process, tries all forbidden operations on old and new threads, and prints the results.
func locked() {
	dir := os.Getenv("DIR")
	p := Policy{Write: []string{filepath.Join(dir, "tmp")}, Network: os.Getenv(inside) == "network"}
	if os.Getenv(inside) == "reading" {
		p.Write = nil
	}
	start, done := make(chan struct{}), make(chan struct{})
	var lines sync.Map
	try := func(name string, f func() error) { lines.Store(name, f()) }
	all := func() {
		try("read", func() error { _, err := os.ReadFile(filepath.Join(dir, "in")); return err })
		try("write", func() error { return os.WriteFile(filepath.Join(dir, "out"), nil, 0o600) })
		try("overwrite", func() error { return os.WriteFile(filepath.Join(dir, "in"), []byte("x"), 0o600) })
		try("truncate", func() error { return os.Truncate(filepath.Join(dir, "in"), 0) })
		try("remove", func() error { return os.Remove(filepath.Join(dir, "in")) })
		try("tmp", func() error { return os.WriteFile(filepath.Join(dir, "tmp", "f"), []byte("x"), 0o600) })
		try("rename", func() error {
			return os.Rename(filepath.Join(dir, "tmp", "f"), filepath.Join(dir, "tmp", "g"))
		})
		try("mkdir", func() error { return os.Mkdir(filepath.Join(dir, "new"), 0o700) })
		try("link", func() error { return os.Symlink("in", filepath.Join(dir, "link")) })
		try("chmod", func() error { return os.Chmod(filepath.Join(dir, "in"), 0o600) })
		try("exec", func() error { return syscall.Exec("/bin/true", []string{"true"}, nil) })
		try("tcp", func() error { return socket(unix.AF_INET) })
		try("tcp6", func() error { return socket(unix.AF_INET6) })
		try("unix", func() error { return socket(unix.AF_UNIX) })
		try("ptrace", func() error { return unix.PtraceSeize(os.Getppid()) })
		try("kill", func() error { return unix.Kill(os.Getppid(), 0) })
	}
	go func() { // an earlier thread
		<-start
		all()
		close(done)
	}()
	r, err := Enter(Require, p)
	fmt.Println("enter", r.Files, r.Calls, err)
	close(start)
	<-done
	lines.Range(func(k, v any) bool {
		fmt.Println(k, v)
		return true
	})
}

// unable restricts this process where the kernel seems to have neither Landlock nor filters of system calls,
// and prints the results.
func unable() {
	const landlock = 444 // landlock_create_ruleset, on all architectures
	err := install([]unix.SockFilter{
		{Code: load, K: dataCall}, {Code: equal, Jt: 1, K: landlock}, {Code: equal, Jf: 1, K: unix.SYS_SECCOMP},
		{Code: end, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)}, permit,
	})
	if err != nil {
		fmt.Println("no filter:", err)
		return
	}
	p := Policy{Write: []string{os.TempDir()}}
	r, err := Enter(Auto, p)
	fmt.Println("auto", r.Files, r.Calls, r.Missing != nil, err)
	r, err = Enter(Require, p)
	fmt.Println("require", r.Files, r.Calls, errors.Is(err, unix.ENOSYS), err)
}

// TestUnable checks a kernel without Landlock and seccomp: auto continues and reports the missing restrictions,
// and require is an error.
func TestUnable(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), inside+"=old kernel")
	out, err := cmd.CombinedOutput()
	text := string(out)
	if strings.Contains(text, "no filter:") {
		t.Skipf("this kernel or container cannot be made to look older: %s", text)
	}
	if err != nil || !strings.Contains(text, "auto false false true <nil>\n") ||
		!strings.Contains(text, "require false false true --sandbox=require: ") ||
		!strings.Contains(text, "--sandbox=auto goes on without") {
		t.Errorf("%v: %s", err, text)
	}
}

func socket(family int) error {
	fd, err := unix.Socket(family, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// TestLocked checks the operations that a restricted process can do.
func TestLocked(t *testing.T) {
	for _, policy := range []string{"plain", "network", "reading"} {
		t.Run(policy, func(t *testing.T) {
			dir := t.TempDir()
			if err := errors.Join(os.Mkdir(filepath.Join(dir, "tmp"), 0o700),
				os.WriteFile(filepath.Join(dir, "in"), []byte("in"), 0o600)); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), inside+"="+policy, "DIR="+dir)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v: %s", err, &out)
			}
			got := map[string]string{}
			for line := range strings.Lines(out.String()) {
				name, what, _ := strings.Cut(strings.TrimSpace(line), " ")
				got[name] = what
			}
			if got["enter"] != "true true <nil>" {
				t.Skipf("this kernel or container cannot lock processes in: %s", got["enter"])
			}
			writes := policy != "reading"
			allowed := map[string]bool{
				"read": true, "tmp": writes, "rename": writes, "chmod": writes, "unix": true,
				"tcp": policy == "network",
			}
			for _, name := range []string{
				"read", "write", "overwrite", "truncate", "remove", "tmp", "rename", "mkdir", "link", "chmod", "exec",
				"tcp", "unix",
				"ptrace", "kill",
			} {
				switch what, ok := got[name]; {
				case !ok:
					t.Errorf("%s was not tried: %s", name, &out)
				case allowed[name] != (what == "<nil>"):
					t.Errorf("%s: %s, allowed: %v", name, what, allowed[name])
				}
			}
			if b, err := os.ReadFile(filepath.Join(dir, "in")); string(b) != "in" {
				t.Errorf("the file that was there has %q, %v", b, err)
			}
		})
	}
}

// TestOff checks that no rights are removed, and that the report states it.
func TestOff(t *testing.T) {
	r, err := Enter(Off, Policy{})
	if err != nil || r.Files || r.Calls || r.Missing == nil {
		t.Errorf("%+v, %v", r, err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("the network is gone: %v", err)
	}
	l.Close()
}

func TestParseMode(t *testing.T) {
	for _, s := range []string{"auto", "require", "off"} {
		if m, err := ParseMode(s); err != nil || string(m) != s {
			t.Errorf("%s: %v, %v", s, m, err)
		}
	}
	if _, err := ParseMode("yes"); err == nil || !strings.Contains(err.Error(), "auto, require or off") {
		t.Errorf("yes: %v", err)
	}
}
