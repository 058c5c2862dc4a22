package live

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// TestRefusals checks that each reason for which the kernel refuses has its own cause and fix.
func TestRefusals(t *testing.T) {
	user := func(uid int, capabilities uint64) *status {
		return &status{uids: [4]int{uid, uid, uid, uid}, capabilities: capabilities}
	}
	const mine, other = 4242, 4243
	for _, c := range []struct {
		r          refusal
		cause, fix string
	}{
		{refusal{scope: 3, me: user(0, capSysPtrace), it: user(0, 0)}, "ptrace_scope is 3", "write a core"},
		{refusal{me: user(0, capSysPtrace), it: user(0, 0)}, "seccomp", "--security-opt seccomp=unconfined"},
		{refusal{me: user(0, 0), it: user(0, 0)}, "root is without CAP_SYS_PTRACE", "--cap-add=SYS_PTRACE"},
		{refusal{scope: 2, me: user(mine, 0), it: user(other, 0)}, "belongs to uid 4243, you are uid 4242",
			"sudo ompd-inspect 7"},
		{refusal{scope: 2, me: user(mine, 0), it: user(mine, 0)}, "ptrace_scope is 2", "sudo ompd-inspect 7"},
		{refusal{scope: 1, protected: true, me: user(mine, 0), it: user(mine, 0)}, "protects itself",
			"sudo ompd-inspect 7"},
		{refusal{scope: 1, me: user(mine, 0), it: user(mine, 0)}, "ptrace_scope is 1",
			"sudo sysctl kernel.yama.ptrace_scope=0"},
		{refusal{me: user(mine, 0), it: user(mine, 0)}, "the kernel refused", "sudo ompd-inspect 7"},
	} {
		c.r.typed = "7"
		if cause, fix := c.r.explain(); !strings.Contains(cause, c.cause) || !strings.Contains(fix, c.fix) {
			t.Errorf("%+v: %q, %q; want %q, %q", c.r, cause, fix, c.cause, c.fix)
		}
	}
}

// TestRefusedRoot checks root without the right to inspect processes, as in most containers, and
// root of a user namespace only.
func TestRefusedRoot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give up rights of root")
	}
	prog := startProgram(t, "become.c", "exit")
	for _, c := range []struct {
		words []string
		with  []string
	}{
		{[]string{"without CAP_SYS_PTRACE", "docker run --cap-add=SYS_PTRACE"},
			[]string{"setpriv", "--bounding-set", "-sys_ptrace"}},
		{[]string{"although this user has CAP_SYS_PTRACE", "run it on the host"},
			[]string{"unshare", "--user", "--map-root-user"}},
	} {
		cmd := exec.Command(c.with[0], append(c.with[1:], readlink("/proc/self/exe"))...)
		cmd.Env = append(os.Environ(), childMode+"=open "+strconv.Itoa(prog.pid))
		out, err := cmd.CombinedOutput()
		for _, w := range append(c.words, "permission denied") {
			if err != nil || !strings.Contains(string(out), w) {
				t.Errorf("%v: %v: no %q in %s", c.with, err, w, out)
			}
		}
	}
}
