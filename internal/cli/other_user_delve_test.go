package cli

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// forged are requests of Delve's protocol that set a breakpoint, and then kill the program.
const forged = `{"method":"RPCServer.CreateBreakpoint","params":[{"Breakpoint":{"name":"forged",` +
	`"functionName":"main.goMember"}}],"id":1}` + "\n" +
	`{"method":"RPCServer.Detach","params":[{"Kill":true}],"id":2}` + "\n"

// breakpoints returns Delve's answer to a request for its breakpoints.
func breakpoints(t *testing.T, conn net.Conn) string {
	t.Helper()
	const request = `{"method":"RPCServer.ListBreakpoints","params":[{"All":true}],"id":1}` + "\n"
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil || !strings.Contains(line, `"Breakpoints"`) {
		t.Errorf("this user's own request: %q, %v", line, err)
	}
	return line
}

// TestOtherUserRealDelve makes another user flood `dlv`, in front of a Delve that holds a program, with requests that
// set a breakpoint and kill the program: neither happens. The same bytes do both if this user sends them.
func TestOtherUserRealDelve(t *testing.T) {
	needsRoot(t)
	run := omptest.Run{Exe: omptest.CompileGo(t, omptest.GCC), Runtime: omptest.Libgomp(t), Mode: omptest.Live}
	p := omptest.Start(t, run)
	socket := omptest.AttachDelve(t, p, "--accept-multiclient")
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	address, _, log := startListening(t, 0, "dlv", "--no-debuginfod", "delve://"+socket)
	var own net.Conn
	checkSocket(t, address, log, forged, func(conn net.Conn) {
		own = conn
		if list := breakpoints(t, conn); strings.Contains(list, "forged") {
			t.Errorf("another user has set a breakpoint: %s", list)
		}
	})
	// Delve's own socket is closed to others, too.
	openWay(t, filepath.Dir(socket))
	if made, said := tryAsNobody(t, "unix:"+socket, forged); made != 0 {
		t.Errorf("another user has connected to Delve %d times: %s", made, said)
	}
	if _, err := io.WriteString(own, forged); err != nil {
		t.Fatal(err)
	}
	in := json.NewDecoder(own)
	for range strings.Count(forged, "\n") {
		var answer struct{ Error any }
		if err := in.Decode(&answer); err != nil || answer.Error != nil {
			t.Errorf("this user's own request: %v, %v", answer.Error, err)
		}
	}
	checkKilled(t, p)
}

// checkKilled waits for the end of a program that Delve kills: it sends SIGINT.
func checkKilled(t *testing.T, p *omptest.Process) {
	t.Helper()
	if s, ok := p.Wait().Sys().(syscall.WaitStatus); !ok || !s.Signaled() || s.Signal() != syscall.SIGINT {
		t.Errorf("Delve has not killed the program: wait status %#x", s)
	}
}

// TestOtherUserRealDelveTCP shows that --insecure-tcp of `dlv` means what docs/security/listeners.md says: another user
// kills the program that Delve holds. Without the flag, dlv does not listen on a port (script usage.txtar).
func TestOtherUserRealDelveTCP(t *testing.T) {
	needsRoot(t)
	run := omptest.Run{Exe: omptest.CompileGo(t, omptest.GCC), Runtime: omptest.Libgomp(t), Mode: omptest.Live}
	p := omptest.Start(t, run)
	socket := omptest.AttachDelve(t, p, "--accept-multiclient")
	address, _, _ := startListening(t, 0, "dlv", "--no-debuginfod", "delve://"+socket, "--listen", "127.0.0.1:0",
		"--insecure-tcp")
	floodAsNobody(t, address, forged)
	checkKilled(t, p)
}
