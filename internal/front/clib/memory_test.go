package clib

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// TestMemoryAsksOnce fills overlapping pieces: no byte is requested twice, and all are right.
func TestMemoryAsksOnce(t *testing.T) {
	asked := map[uint64]int{}
	at := func(a uint64) byte { return byte(a * 7) }
	read := func(a callbacks.Address, p []byte) error {
		for i := range p {
			p[i] = at(a.Offset + uint64(i))
			asked[a.Offset+uint64(i)]++
		}
		return nil
	}
	var m memory
	for _, piece := range []struct{ low, n uint64 }{{100, 8}, {96, 3}, {103, 20}, {90, 60}, {99, 1}, {100, 8}, {0, 0}} {
		p := make([]byte, piece.n)
		if err := m.fill(callbacks.Addr(piece.low), p, read); err != nil {
			t.Fatal(err)
		}
		for i, b := range p {
			if b != at(piece.low+uint64(i)) {
				t.Fatalf("%d bytes at %d: %v", piece.n, piece.low, p)
			}
		}
	}
	for a := uint64(90); a < 150; a++ {
		if asked[a] != 1 {
			t.Errorf("byte %d was asked for %d times", a, asked[a])
		}
	}
}

// TestMemoryKeepsNoFailure makes the first read fail.
func TestMemoryKeepsNoFailure(t *testing.T) {
	var m memory
	p := make([]byte, 8)
	failing := func(callbacks.Address, []byte) error { return callbacks.DeviceReadError }
	if err := m.fill(callbacks.Addr(16), p, failing); !errors.Is(err, callbacks.DeviceReadError) {
		t.Fatal(err)
	}
	working := func(_ callbacks.Address, p []byte) error { copy(p, "12345678"); return nil }
	if err := m.fill(callbacks.Addr(16), p, working); err != nil || !bytes.Equal(p, []byte("12345678")) {
		t.Errorf("%q, %v", p, err)
	}
}

// TestStanding uses a program that runs only on request, with a clock of its own.
func TestStanding(t *testing.T) {
	cmd := exec.Command("cat")
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil || cmd.Start() != nil {
		t.Fatal(err1, err2, "cat does not start")
	}
	turn := func() { // its answer shows that it has run
		if _, err := fmt.Fprintln(in, "x"); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 2)); err != nil {
			t.Fatal(err)
		}
	}
	turn()
	s := standing{clock: processClock(cmd.Process.Pid)}
	if s.stood() {
		t.Error("the first question has nothing to compare with")
	}
	turn()
	if s.stood() {
		t.Error("it has run, and is said to have stood")
	}
	stop(t, cmd.Process.Pid)
	s.stood()
	for range 3 {
		if !s.stood() {
			t.Error("it stands, and is said to have run")
		}
	}
	if err := cmd.Process.Signal(unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	turn()
	if s.stood() {
		t.Error("it was resumed, and is said to have stood")
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if s.stood() || s.clock != 0 {
		t.Error("it has ended, and is said to have stood")
	}
	if none := (standing{}); none.stood() {
		t.Error("of a program that is not known it is said that it stood")
	}
}

// stop stops a child and waits until it is stopped.
func stop(t *testing.T, pid int) {
	t.Helper()
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(pid, &status, unix.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("%v, %#x", err, status)
	}
}

// TestStandingIsOfATracedProcess looks for a process that the debugger does not trace.
func TestStandingIsOfATracedProcess(t *testing.T) {
	s := standing{debugger: 1 << 30, clock: 1}
	if s.find(readAuxv("/proc/self")); s.clock != 0 {
		t.Error("a process that nobody traces was found")
	}
	if len(readAuxv("/proc/self")) == 0 || readAuxv("/proc/none") != nil {
		t.Error("the auxiliary vector is not read as it is")
	}
}

// TestForesee uses a library that can read the first of three pieces: the next question is for the others only.
func TestForesee(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	here, there := os.NewFile(uintptr(fds[0]), "here"), os.NewFile(uintptr(fds[1]), "there")
	defer here.Close()
	asked := make(chan message, 1)
	go func() {
		defer there.Close()
		library := &wire{rw: there}
		m, err := library.receive()
		if err == nil {
			err = library.send(message{kind: kindAnswer, words: [wireWords]uint64{uint64(callbacks.DeviceReadError), 1},
				bytes: []byte("12345678")})
		}
		if err != nil {
			t.Error(err)
		}
		asked <- m
	}()
	target := &target{wire: &wire{rw: here}}
	target.Foresee([]callbacks.Piece{{At: callbacks.Addr(16), Size: 8}}) // a single piece is read on demand
	pieces := []callbacks.Piece{
		{At: callbacks.Addr(16), Size: 8}, {At: callbacks.Addr(32), Size: 8}, {At: callbacks.Addr(64), Size: 4},
	}
	target.Foresee(pieces)
	if m := <-asked; m.kind != kindReads || m.words[0] != 3 || len(m.bytes) != 3*24 {
		t.Errorf("%v", m)
	}
	p := make([]byte, 8)
	if err := target.ReadMemory(callbacks.Addr(16), p); err != nil || string(p) != "12345678" {
		t.Errorf("%q, %v", p, err)
	}
	if target.read.contains(callbacks.Addr(32), 8) || target.read.contains(callbacks.Addr(64), 1) || target.asked != 3 {
		t.Errorf("an unreadable piece is known, or %d questions were counted", target.asked)
	}
}
