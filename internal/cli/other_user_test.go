package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/daptest"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// floodEnv makes this program a client that floods the address in the variable (see TestMain).
const floodEnv = "OMPD_TEST_FLOOD"

// nobody is the unprivileged user of most systems.
const nobody = 65534

// bursts and burst are the number of connections of a flood: some hundred at once.
const (
	bursts = 3
	burst  = 100
)

// flood connects, sends and closes, in bursts, and prints the number of connections.
func flood(address, text string) int {
	made := 0
	for range bursts {
		var open []net.Conn
		for n := range burst {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				continue
			}
			made++
			_, _ = io.WriteString(conn, text)        // fails if the connection is already refused
			if open = append(open, conn); n%2 == 0 { // half of them are closed at once, the others together
				conn.Close()
			}
		}
		for _, conn := range open {
			conn.Close()
		}
	}
	fmt.Println(made)
	return 0
}

// floodAsNobody floods an address as another user, and returns the number of connections after all are closed.
func floodAsNobody(t *testing.T, address, text string) (made int) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), floodEnv+"="+address+" "+text)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	cmd.Dir, cmd.Stderr = "/", os.Stderr
	out, err := cmd.Output()
	if err == nil {
		_, err = fmt.Sscan(string(out), &made)
	}
	if err != nil || made < burst {
		t.Fatalf("the flood: %v: %s", err, out)
	}
	return made
}

// needsRoot skips a test unless this process may become another user.
func needsRoot(t *testing.T) {
	t.Helper()
	omptest.Needs(t, "root, to become another user")
	if os.Getuid() != 0 {
		t.Skip("it needs root, to become another user")
	}
}

// startListening starts a verb that listens, and returns its address and its log file.
func startListening(t *testing.T, args ...string) (address, log string) {
	t.Helper()
	says, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	log = filepath.Join(t.TempDir(), "log")
	logged, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan int, 1)
	go func() {
		c := Command{Version: "test", Stdin: os.Stdin, Stdout: theirs, Stderr: logged}
		done <- c.Run(ctx, args)
		theirs.Close()
		logged.Close()
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		says.Close()
	})
	line, err := bufio.NewReader(says).ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok {
		t.Fatalf("%q, %v", line, err)
	}
	return address, log
}

// connect returns a connection of this user.
func connect(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// checkFlood makes another user flood a listener that serves maxEditors clients at a time, while it has as many
// of this user's. So sockets are closed before the listener checks them. Then as many clients of this user get
// an answer, which means that all connections of the flood were refused.
func checkFlood(t *testing.T, address, log, text string, ask func(net.Conn)) {
	t.Helper()
	var first []net.Conn
	for range maxEditors {
		first = append(first, connect(t, address))
	}
	made := floodAsNobody(t, address, text)
	for _, conn := range first {
		conn.Close()
	}
	for range maxEditors {
		ask(connect(t, address))
	}
	b, err := os.ReadFile(log)
	refused := strings.Count(string(b), errOtherUser.Error())
	if lines := strings.Count(string(b), "\n"); err != nil || refused != made || lines != refused {
		t.Errorf("%d of %d connections of another user were refused, and the log has %d lines: %v", refused, made,
			lines, err)
	}
}

// TestOtherUserDlv makes another user flood `dlv --listen` with requests that would run code: none reaches
// Delve. This user's own requests do.
func TestOtherUserDlv(t *testing.T) {
	needsRoot(t)
	backend, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Close()
	var evil, own atomic.Int64
	go func() {
		for {
			conn, err := backend.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				line, err := bufio.NewReader(conn).ReadString('\n')
				if err == nil && strings.Contains(line, "RPCServer.State") {
					own.Add(1)
					_, _ = io.WriteString(conn, `{"id":1,"result":{},"error":null}`+"\n")
				} else {
					evil.Add(1)
				}
			}()
		}
	}()
	address, log := startListening(t, "dlv", "--listen", "127.0.0.1:0", "delve://"+backend.Addr().String())
	text := `{"method":"RPCServer.Command","params":[{"name":"call","expr":"evil()"}],"id":1}` + "\n"
	checkFlood(t, address, log, text, func(conn net.Conn) {
		_, _ = io.WriteString(conn, `{"method":"RPCServer.State","params":[{}],"id":1}`+"\n")
		if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, `"result"`) {
			t.Errorf("this user's own request: %q, %v", line, err)
		}
	})
	omptest.Equal(t, "requests of another user that reached Delve", evil.Load(), int64(0))
	omptest.Equal(t, "requests of this user that reached Delve", own.Load(), int64(maxEditors))
}

// TestOtherUserDap makes another user flood `dap --listen` with requests: no session starts. This user's own
// sessions do.
func TestOtherUserDap(t *testing.T) {
	needsRoot(t)
	address, log := startListening(t, "dap", "--listen", "127.0.0.1:0")
	const text = `{"seq":1,"type":"request","command":"initialize","arguments":{"adapterID":"x"}}`
	checkFlood(t, address, log, fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(text), text), func(conn net.Conn) {
		initialize(daptest.New(t, conn, conn))
	})
}

// TestOtherUserView makes another user flood the page of `view` at its known address: the token is not used up.
// This user's own browser gets the page.
func TestOtherUserView(t *testing.T) {
	needsRoot(t)
	s, looks, _ := startPages(t, io.Discard)
	floodAsNobody(t, s.address, "GET "+strings.TrimPrefix(s.invitation(), "http://"+s.address)+" HTTP/1.1\r\nHost: "+
		s.address+"\r\n\r\n")
	// The server accepts connections in order, so that the whole flood is refused or served before this one.
	if status, body := fetch(t, newBrowser(t), "GET", s.invitation(), ""); status != http.StatusOK || body != "look" {
		t.Errorf("this user's own browser: status %d, %s", status, body)
	}
	omptest.Equal(t, "looks", *looks, 1)
}

// TestOwnedBy connects as root to itself. The connection is accepted as root's and as no other user's, and
// never after its end is closed, half or fully.
func TestOwnedBy(t *testing.T) {
	for _, c := range []struct {
		what  string
		close func(*net.TCPConn) error
		uid   int
		want  bool
	}{
		{"open", func(*net.TCPConn) error { return nil }, os.Getuid(), true},
		{"open, for another user", func(*net.TCPConn) error { return nil }, os.Getuid() + 1, false},
		{"half closed", (*net.TCPConn).CloseWrite, os.Getuid(), false},
		{"closed", (*net.TCPConn).Close, os.Getuid(), false},
		{"closed, for user 0", (*net.TCPConn).Close, 0, false},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		far, err := net.Dial("tcp", l.Addr().String())
		if err == nil {
			err = c.close(far.(*net.TCPConn))
		}
		if err != nil {
			t.Fatal(err)
		}
		near, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		err = ownedBy(near, c.uid)
		omptest.Equal(t, c.what, err == nil, c.want)
		omptest.Equal(t, "reason of "+c.what, err == nil || errors.Is(err, errOtherUser), true)
		far.Close()
		near.Close()
		l.Close()
	}
}

// TestOwnedByAnother resets a connection while it waits to be accepted, and connects again from the same port.
// The kernel lists an established socket of this user there, but it is not the other end of the first
// connection.
func TestOwnedByAnother(t *testing.T) {
	l, second := resetAndReconnect(t)
	for l == nil { // another program has taken the port
		l, second = resetAndReconnect(t)
	}
	for _, want := range []bool{false, true} {
		near, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer near.Close()
		omptest.Equal(t, "address", near.RemoteAddr().String(), second.LocalAddr().String())
		omptest.Equal(t, "of this user", ownedBy(near, os.Getuid()) == nil, want)
	}
}

// resetAndReconnect makes two connections to a listener from one port, and resets the first. It returns the
// listener and the second connection. The listener is nil if another program took the port in between.
func resetAndReconnect(t *testing.T) (net.Listener, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	first, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, err1 := io.WriteString(first, "evil")
	// SetLinger(0) makes Close reset the connection
	if err := errors.Join(err1, first.(*net.TCPConn).SetLinger(0), first.Close()); err != nil {
		t.Fatal(err)
	}
	again := net.Dialer{LocalAddr: first.LocalAddr()}
	second, err := again.DialContext(t.Context(), "tcp", l.Addr().String())
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, nil
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { second.Close() })
	return l, second
}
