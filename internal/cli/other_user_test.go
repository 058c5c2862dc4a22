package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/ompd-inspect/ompd-inspect/client"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/sockets"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/daptest"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
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

// dialAddress connects to an address that a verb printed.
func dialAddress(address string) (net.Conn, error) {
	if path := sockets.Path(address); path != "" {
		return net.Dial("unix", path)
	}
	return net.Dial("tcp", address)
}

// flood connects, sends a quoted text and closes, in bursts, and prints the number of connections.
func flood(address, quoted string) int {
	text, err := strconv.Unquote(quoted)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	made := 0
	for range bursts {
		var open []net.Conn
		for n := range burst {
			conn, err := dialAddress(address)
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
	made, said := tryAsNobody(t, address, text)
	if made < burst {
		t.Fatalf("the flood made %d connections: %s", made, said)
	}
	return made
}

// tryAsNobody floods an address as another user, and returns the number of connections, and the errors.
func tryAsNobody(t *testing.T, address, text string) (made int, said string) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), floodEnv+"="+address+" "+strconv.Quote(text))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	var errs strings.Builder
	cmd.Dir, cmd.Stderr = "/", &errs
	out, err := cmd.Output()
	if err == nil {
		_, err = fmt.Sscan(string(out), &made)
	}
	if err != nil {
		t.Fatalf("the flood: %v: %s%s", err, out, &errs)
	}
	return made, errs.String()
}

// needsRoot skips a test unless this process may become another user.
func needsRoot(t *testing.T) {
	t.Helper()
	omptest.Needs(t, "root, to become another user")
	if os.Getuid() != 0 {
		t.Skip("it needs root, to become another user")
	}
}

// startListening starts a verb that listens, and returns its address, the lines that follow it, and its log file.
func startListening(t *testing.T, more int, args ...string) (address string, lines []string, log string) {
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
		if status := <-done; status != ExitOK {
			t.Errorf("%s: exit status %d", args[0], status)
		}
		says.Close()
	})
	in := bufio.NewReader(says)
	for range more + 1 {
		line, err := in.ReadString('\n')
		if err != nil {
			text, _ := os.ReadFile(log)
			t.Fatalf("%q, %v: %s", line, err, text)
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	address, ok := strings.CutPrefix(lines[0], "listening on ")
	if !ok {
		t.Fatalf("%q", lines)
	}
	return address, lines[1:], log
}

// connect returns a connection of this user.
func connect(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := dialAddress(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// checkSocket makes another user connect to a listener on a unix socket: that is refused by the socket's mode. Then
// it makes the socket accessible to all users, and floods it while as many clients of this user as are served at a
// time have a connection. So connections are closed before the listener accepts them. Then as many clients of this
// user get an answer, which means that all connections of the flood were refused.
func checkSocket(t *testing.T, address, log, text string, ask func(net.Conn)) {
	t.Helper()
	path := sockets.Path(address)
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Fatalf("%s: %v, %v", path, st, err)
	}
	openWay(t, filepath.Dir(path))
	made, said := tryAsNobody(t, address, text)
	if made != 0 || strings.Count(said, "permission denied") != bursts*burst {
		t.Errorf("another user has made %d connections: %s", made, said)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	var first []net.Conn
	for range maxEditors {
		first = append(first, connect(t, address))
	}
	made = floodAsNobody(t, address, text)
	for _, conn := range first {
		conn.Close()
	}
	for range maxEditors {
		ask(connect(t, address))
	}
	b, err := os.ReadFile(log)
	refused := strings.Count(string(b), sockets.ErrOtherUser.Error())
	if lines := strings.Count(string(b), "\n"); err != nil || refused != made || lines != refused {
		t.Errorf("%d of %d connections of another user were refused, and the log has %d lines: %v", refused, made,
			lines, err)
	}
}

// openWay lets all users pass through the directories of the test's files.
func openWay(t *testing.T, dir string) {
	t.Helper()
	for ; dir != filepath.Clean(os.TempDir()) && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o711); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOtherUserDlv makes another user flood `dlv` with requests that would run code: none reaches Delve. This
// user's own requests do.
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
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	address, _, log := startListening(t, 0, "dlv", "delve://"+backend.Addr().String())
	text := `{"method":"RPCServer.Command","params":[{"name":"call","expr":"evil()"}],"id":1}` + "\n"
	checkSocket(t, address, log, text, func(conn net.Conn) {
		_, _ = io.WriteString(conn, `{"method":"RPCServer.State","params":[{}],"id":1}`+"\n")
		if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, `"result"`) {
			t.Errorf("this user's own request: %q, %v", line, err)
		}
	})
	omptest.Equal(t, "requests of another user that reached Delve", evil.Load(), int64(0))
	omptest.Equal(t, "requests of this user that reached Delve", own.Load(), int64(maxEditors))
}

// dapMessages returns requests in the protocol's form.
func dapMessages(t *testing.T, requests ...map[string]any) string {
	t.Helper()
	var all strings.Builder
	for i, r := range requests {
		r["seq"], r["type"] = i+1, "request"
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "Content-Length: %d\r\n\r\n%s", len(text), text)
	}
	return all.String()
}

// launching returns the requests of a client that starts a program, which makes a file.
func launching(t *testing.T, file, secret string) string {
	t.Helper()
	return dapMessages(t, map[string]any{"command": "initialize", "arguments": map[string]any{"adapterID": "x"}},
		map[string]any{"command": "launch", "arguments": map[string]any{
			"program": "/bin/sh", "args": []string{"-c", "echo >" + file}, "secret": secret,
		}})
}

// checkMissing checks that no client has started the program of launching.
func checkMissing(t *testing.T, file string) {
	t.Helper()
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("another user has started a program: %v", err)
	}
}

// TestOtherUserDap makes another user flood `dap --listen PATH` with requests to start a program: no session
// starts. This user's own sessions do.
func TestOtherUserDap(t *testing.T) {
	needsRoot(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "evil")
	address, _, log := startListening(t, 0, "dap", "--listen", filepath.Join(dir, "s"))
	checkSocket(t, address, log, launching(t, file, ""), func(conn net.Conn) {
		initialize(daptest.New(t, conn, conn))
	})
	checkMissing(t, file)
}

// TestOtherUserDapTCP makes another user flood `dap --listen HOST:PORT` with requests to start a program, without
// the secret and with a wrong one. No program starts, and idle connections of the other user do not keep this user's
// editors out.
func TestOtherUserDapTCP(t *testing.T) {
	needsRoot(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "evil")
	address, lines, _ := startListening(t, 1, "dap", "--listen", "127.0.0.1:0")
	secret, ok := strings.CutPrefix(lines[0], "secret: ")
	if !ok || len(secret) < minToken {
		t.Fatalf("%q", lines)
	}
	openWay(t, dir)
	for _, wrong := range []string{"", secret[1:], secret + "x"} {
		floodAsNobody(t, address, launching(t, file, wrong))
	}
	for range 2 * maxStrangers {
		connect(t, address)
	}
	for range maxEditors {
		conn := connect(t, address)
		c := daptest.New(t, conn, conn)
		initialize(c)
		if m := c.Response(c.Send("launch", map[string]any{"program": "/bin/true", "secret": secret})); !m.Success {
			t.Errorf("this user's own program: %s", m.Text)
		}
	}
	checkMissing(t, file)
}

// TestOtherUserView makes another user flood the page of `view`, without a token and with a wrong one: there is no
// look, and the token is not used up. This user's own browser gets the page.
func TestOtherUserView(t *testing.T) {
	needsRoot(t)
	s, looks, _ := startPages(t, io.Discard)
	for _, path := range []string{"/", "/?token=" + s.token[1:]} {
		floodAsNobody(t, s.address, "GET "+path+" HTTP/1.1\r\nHost: "+s.address+"\r\n\r\n")
	}
	if status, body := fetch(t, newBrowser(t), "GET", s.invitation(), ""); status != http.StatusOK || body != "look" {
		t.Errorf("this user's own browser: status %d, %s", status, body)
	}
	omptest.Equal(t, "looks", *looks, 1)
}

// TestBrowserCommand checks that the command line of the browser, which all users can read, does not contain the
// secret. The browser gets it from a file that only this user can read, and which done removes.
func TestBrowserCommand(t *testing.T) {
	dir := t.TempDir()
	seen, browser := filepath.Join(dir, "seen"), filepath.Join(dir, "browser")
	if err := syscall.Mkfifo(seen, 0o600); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\nprintf '%%s\\n' \"$*\" >%s\n", seen)
	if err := os.WriteFile(browser, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("BROWSER", browser)
	const address = "http://127.0.0.1:4711/?token=SECRET"
	done, err := openBrowser(address)
	if err != nil {
		t.Fatal(err)
	}
	line, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(strings.TrimSpace(string(line)))
	if err != nil || u.Scheme != "file" || strings.Contains(string(line), "SECRET") {
		t.Fatalf("the browser's command line: %q, %v", line, err)
	}
	page, err := os.ReadFile(u.Path)
	if !regexp.MustCompile(`content="0; url=`+regexp.QuoteMeta(address)+`"`).Match(page) || err != nil {
		t.Errorf("the page: %s, %v", page, err)
	}
	for name, want := range map[string]os.FileMode{u.Path: 0o600, filepath.Dir(u.Path): 0o700} {
		if st, err := os.Stat(name); err != nil || st.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, st, err)
		}
	}
	done()
	if _, err := os.Stat(filepath.Dir(u.Path)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
}

// halfRequest returns the start of a connection to `serve`, and of a request with a token that never ends.
func halfRequest(t *testing.T, token string) string {
	t.Helper()
	var all, block bytes.Buffer
	all.WriteString(http2.ClientPreface)
	f := http2.NewFramer(&all, nil)
	enc := hpack.NewEncoder(&block)
	for _, h := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":authority", "x"}, {"content-type", "application/grpc"},
		{":path", ompdv1.InspectionService_ListTargets_FullMethodName}, {"te", "trailers"},
		{"authorization", "Bearer " + token},
	} {
		if err := enc.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]}); err != nil {
			t.Fatal(err)
		}
	}
	half := http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true}
	message := []byte{0, 0, 0, 0, 9, 1} // its length is 9, but one byte follows
	if err := errors.Join(f.WriteSettings(), f.WriteHeaders(half), f.WriteData(1, false, message)); err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// askServer opens a golden core through a server, and returns the number of its threads.
func askServer(ctx context.Context, address, token, core string) (threads int, err error) {
	c, err := client.Dial(address, client.Options{Token: token})
	if err != nil {
		return 0, err
	}
	defer c.Close()
	target, err := c.OpenCore(ctx, core)
	if err != nil {
		return 0, err
	}
	for _, err := range target.Threads(ctx, ompdv1.ThreadView_THREAD_VIEW_UNSPECIFIED, nil) {
		if err != nil {
			return threads, err
		}
		threads++
	}
	return threads, target.Close(ctx)
}

// TestOtherUserServe makes another user flood `serve` on a unix socket and over TCP, with half requests and wrong
// tokens. Its own calls get no answer, over TCP with the reason, while clients of this user are served.
func TestOtherUserServe(t *testing.T) {
	needsRoot(t)
	core, err := filepath.Abs(filepath.Join("..", "..", "testdata", "golden", "llvm-deadlock", "core.zst"))
	if err != nil {
		t.Fatal(err)
	}
	const token = "0123456789abcdef0123456789abcdef"
	for _, network := range []string{"unix", "tcp"} {
		t.Run(network, func(t *testing.T) {
			dir := t.TempDir()
			openWay(t, dir)
			path, secret := filepath.Join(dir, "s"), filepath.Join(dir, "token")
			if err := os.WriteFile(secret, []byte(token), 0o600); err != nil {
				t.Fatal(err)
			}
			args := []string{"serve", "--listen", "unix://" + path, "--token-file", secret}
			if network == "tcp" {
				args = []string{"serve", "--listen", "tcp://127.0.0.1:0", "--token-file", secret, "--allow-dir", "/"}
			}
			address, _, _ := startListening(t, 0, args...)
			raw := strings.TrimPrefix(address, "tcp://")
			if network == "unix" {
				raw = address
				if made, said := tryAsNobody(t, raw, halfRequest(t, token)); made != 0 ||
					strings.Count(said, "permission denied") != bursts*burst {
					t.Errorf("another user has made %d connections: %s", made, said)
				}
				if err := os.Chmod(path, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			ctx := t.Context()
			want, err := askServer(ctx, address, token, core)
			if err != nil || want == 0 {
				t.Fatalf("%d threads: %v", want, err)
			}
			for _, wrong := range []string{"", token[1:], token + "x"} {
				besideClients(t, func() error {
					threads, err := askServer(ctx, address, token, core)
					if err == nil && threads != want {
						err = fmt.Errorf("%d threads of %d", threads, want)
					}
					return err
				}, func() { floodAsNobody(t, raw, halfRequest(t, wrong)) })
				if said := askAsNobody(t, address, wrong, core); !strings.HasPrefix(said, "0 threads: ") ||
					network == "tcp" && !strings.Contains(said, "this server requires a token") {
					t.Errorf("another user with the token %q: %s", wrong, said)
				}
			}
			if network == "unix" { // the token does not help another user
				if said := askAsNobody(t, address, token, core); !strings.HasPrefix(said, "0 threads: ") {
					t.Errorf("another user with the token: %s", said)
				}
			}
		})
	}
}

// besideClients runs f while clients of this user ask, one after the other, the last of them after the end of f.
func besideClients(t *testing.T, ask func() error, f func()) {
	t.Helper()
	ending, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for last := false; !last; {
			select {
			case <-ending:
				last = true
			default:
			}
			if err := ask(); err != nil {
				t.Errorf("a client of this user: %v", err)
			}
		}
	}()
	defer func() {
		close(ending)
		<-ended
	}()
	f()
}

// askEnv makes this program a client of the server in the variable (see TestMain).
const askEnv = "OMPD_TEST_ASK"

// askOnce asks the server whose address, token and core text names, and prints the answer.
func askOnce(text string) int {
	words := strings.Split(text, " ")
	threads, err := askServer(context.Background(), words[0], words[1], words[2])
	fmt.Printf("%d threads: %v\n", threads, err)
	return 0
}

// askAsNobody asks a server as another user, and returns the printed answer.
func askAsNobody(t *testing.T, address, token, core string) string {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), askEnv+"="+address+" "+token+" "+core)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	cmd.Dir = "/"
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}
