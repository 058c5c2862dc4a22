package client_test

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/ompd-inspect/ompd-inspect/client"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// serve builds the tool and runs its server, which must end without an error after SIGINT.
func serve(t *testing.T) string {
	t.Helper()
	omptest.Needs(t, "a build of the tool")
	dir := t.TempDir()
	exe := filepath.Join(dir, "ompd-inspect")
	if out, err := exec.Command("go", "build", "-o", exe, "../cmd/ompd-inspect").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	address := "unix://" + filepath.Join(dir, "s")
	cmd := exec.Command(exe, "serve", "--listen", address)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	log := new(strings.Builder)
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil || !strings.Contains(log.String(), "msg=stopped") {
			t.Errorf("the server ended with %v\n%s", err, log)
		}
	})
	line := make([]byte, len("listening on ")+len(address)+1)
	if _, err := io.ReadFull(stdout, line); err != nil || string(line) != "listening on "+address+"\n" {
		t.Fatalf("the server said %q, %v", line, err)
	}
	return address
}

func TestClient(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "nested"})
	r := omptest.Dump(t, omptest.Run{Exe: exe, Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Kernel})
	c, err := client.Dial(serve(t), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx := t.Context()
	target, err := c.OpenCore(ctx, r.Core)
	if err != nil {
		t.Fatal(err)
	}
	pic, err := target.Picture(ctx)
	if err != nil || len(pic.Threads) != len(r.Truth.Program.LWPs) {
		t.Fatalf("%d threads, want %d: %v", len(pic.Threads), len(r.Truth.Program.LWPs), err)
	}
	workers, want := 0, 0
	for _, th := range pic.Threads {
		if th.Role == "worker" {
			want++
		}
	}
	for th, err := range target.Threads(ctx, ompdv1.ThreadView_THREAD_VIEW_BASIC,
		&ompdv1.ThreadFilter{Roles: []ompdv1.Role{ompdv1.Role_ROLE_WORKER}}) {
		if err != nil || th.Role != "worker" || th.UserStack != nil {
			t.Errorf("%+v, %v", th, err)
		}
		workers++
	}
	if workers != want || want == 0 {
		t.Errorf("%d workers, want %d", workers, want)
	}
	regions, icvs := 0, 0
	for range target.Regions(ctx, nil) {
		regions++
	}
	for range target.ICVs(ctx, nil) {
		icvs++
	}
	if regions != len(pic.Regions) || icvs < 20 {
		t.Errorf("%d regions, want %d; %d variables", regions, len(pic.Regions), icvs)
	}
	if err := target.Refresh(ctx); err != nil {
		t.Error(err)
	}
	if err := target.Close(ctx); err != nil {
		t.Error(err)
	}
	_, err = target.Picture(ctx)
	var e *client.Error
	if !errors.As(err, &e) || e.Code != codes.NotFound || e.Reason != "TARGET_NOT_FOUND" ||
		strings.Contains(e.Error(), "rpc error") {
		t.Errorf("a target that was closed: %v", err)
	}
	if _, err := client.Dial("localhost:1", client.Options{}); err == nil {
		t.Error("an address without a scheme")
	}
}

// TestFirstCallAgain opens a core through a relay that closes the first connections, before and after the server's
// first bytes, as a server under a flood does.
func TestFirstCallAgain(t *testing.T) {
	address := serve(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for n := 0; ; n++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go relay(t, conn, strings.TrimPrefix(address, "unix://"), n < 2, n == 0)
		}
	}()
	c, err := client.Dial("tcp://"+l.Addr().String(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	core, err := filepath.Abs(filepath.Join("..", "testdata", "golden", "llvm-deadlock", "core.zst"))
	if err != nil {
		t.Fatal(err)
	}
	target, err := c.OpenCore(t.Context(), core)
	if err != nil {
		t.Fatal(err)
	}
	if pic, err := target.Picture(t.Context()); err != nil || len(pic.Threads) == 0 {
		t.Errorf("%v", err)
	}
}

// relay copies between a connection and a new one to the socket at path, until one of them is closed. If close is
// set, it closes both after the first bytes of the client; if silent is not set, the client first gets those of the
// server.
func relay(t *testing.T, conn net.Conn, path string, close, silent bool) {
	defer conn.Close()
	server, err := net.Dial("unix", path)
	if err != nil {
		t.Error(err)
		return
	}
	defer server.Close()
	if close {
		b := make([]byte, 4096)
		n, _ := conn.Read(b)
		_, _ = server.Write(b[:n])
		if !silent {
			n, _ = server.Read(b)
			_, _ = conn.Write(b[:n])
			_, _ = conn.Read(b)
		}
		return
	}
	go func() {
		_, _ = io.Copy(server, conn)
		server.Close()
	}()
	_, _ = io.Copy(conn, server)
}
