package cli

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// echoLines repeats the lines of a client. It panics at one of them.
func echoLines(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	in := bufio.NewReader(conn)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		if line == "break\n" {
			panic("a defect")
		}
		_, _ = io.WriteString(conn, line)
	}
}

// TestConnectionsApart makes the code that serves one connection panic. That connection is closed and the log
// names the place; another open connection and new ones continue. The debug adapter and the proxy for Delve
// accept their connections in this way.
func TestConnectionsApart(t *testing.T) {
	printed, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer printed.Close()
	said, stderr, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	l, err := listenTCP("127.0.0.1:0", false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	e := editors{&app{Command: Command{Stdout: stdout, Stderr: stderr}}}
	done := make(chan error, 1)
	go func() {
		done <- e.accept(ctx, l, maxEditors, "", echoLines)
		stdout.Close()
		stderr.Close()
	}()
	line, err := bufio.NewReader(printed).ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		t.Fatalf("%q, %v", line, err)
	}
	ask := func(conn net.Conn, text string) string {
		_, _ = io.WriteString(conn, text)
		line, _ := bufio.NewReader(conn).ReadString('\n')
		return line
	}
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	first, second := dial(), dial()
	omptest.Equal(t, "the first", ask(first, "one\n"), "one\n")
	omptest.Equal(t, "the second, which breaks", ask(second, "break\n"), "")
	omptest.Equal(t, "the first after that", ask(first, "two\n"), "two\n")
	omptest.Equal(t, "a third", ask(dial(), "three\n"), "three\n")
	cancel()
	log, err := io.ReadAll(said)
	if err != nil || !strings.Contains(string(log), "a defect") || !strings.Contains(string(log), "contain_test.go") {
		t.Errorf("the log: %v, %s", err, log)
	}
	omptest.Equal(t, "accept's end", <-done, nil)
}
