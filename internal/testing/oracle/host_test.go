package oracle

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// host is a process that has loaded LLVM's OMPD library.
type host struct {
	t      *testing.T
	serve  func(words []string) (callbacks.RC, []byte) // answers the library's callbacks
	in     io.Writer
	out    *bufio.Scanner
	stderr strings.Builder
}

// compileHost builds testdata/ompdhost.c.
func compileHost(t *testing.T) string {
	t.Helper()
	omptest.Needs(t, "a C compiler")
	exe := filepath.Join(t.TempDir(), "ompdhost")
	out, err := exec.Command("cc", "-O1", "-Wall", "-Wextra", "-Werror", "-o", exe, "testdata/ompdhost.c",
		"-ldl").CombinedOutput()
	if err != nil {
		t.Fatalf("cc: %v: apt-get install gcc\n%s", err, out)
	}
	return exe
}

// startHost loads an OMPD library; libs is the directory of the runtime that it may need.
func startHost(t *testing.T, exe, library, libs string, serve func([]string) (callbacks.RC, []byte)) *host {
	t.Helper()
	h := &host{t: t, serve: serve}
	cmd := exec.Command(exe, library)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+libs)
	cmd.Stderr = &h.stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h.in, h.out = in, bufio.NewScanner(out)
	h.out.Buffer(nil, 1<<20)
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("ompdhost %s: %v\n%s", library, err, h.stderr.String())
		}
	})
	if got := h.answer(); len(got) != 1 || got[0] != "ready" {
		t.Fatalf("ompdhost says %q", got)
	}
	return h
}

// send sends a line.
func (h *host) send(format string, args ...any) {
	if _, err := fmt.Fprintf(h.in, format+"\n", args...); err != nil {
		h.t.Fatalf("ompdhost: %v\n%s", err, h.stderr.String())
	}
}

// answer reads the words of an answer, after it has served the callbacks before it.
func (h *host) answer() []string {
	for h.out.Scan() {
		words := strings.Fields(h.out.Text())
		if len(words) == 0 {
			continue
		}
		if words[0] == "=" {
			return words[1:]
		}
		rc, data := h.serve(words[1:])
		h.send("%d %s", rc, hex.EncodeToString(data))
	}
	h.t.Fatalf("ompdhost ended: %v\n%s", h.out.Err(), h.stderr.String())
	return nil
}

// call calls a function of the library. Its arguments are numbers, out (8 bytes to be written), []byte (to be
// read, and perhaps written) or nil; the results are the bytes of the writable arguments. A function that the
// library lacks returns callbacks.Unsupported.
func (h *host) call(function string, args ...any) (callbacks.RC, [][]byte) {
	line := "call " + function
	for _, a := range args {
		switch a := a.(type) {
		case nil:
			line += " -"
		case []byte:
			line += " b" + hex.EncodeToString(a)
		default:
			line += fmt.Sprint(" ", a)
		}
	}
	h.send("%s", line)
	words := h.answer()
	if words[0] == "missing" {
		return callbacks.Unsupported, nil
	}
	rc, err := strconv.Atoi(words[0])
	if err != nil {
		h.t.Fatalf("%s answers %q", function, words)
	}
	results := make([][]byte, 0, len(words)-1)
	for _, w := range words[1:] {
		results = append(results, h.bytes(w))
	}
	return callbacks.RC(rc), results
}

// out marks an argument that the function writes.
const out = "o"

// table marks the argument that is the table of callbacks.
const table = "c"

// peek reads the word at address a+off of the host's own memory.
func (h *host) peek(a, off uint64) uint64 {
	h.send("peek %d 8", a+off)
	return callbacks.Word(h.bytes(h.answer()[0]))
}

// text reads a string of the host's own memory.
func (h *host) text(a uint64) string {
	if a == 0 {
		return ""
	}
	h.send("text %d", a)
	words := h.answer()
	if len(words) == 0 {
		return ""
	}
	return string(h.bytes(words[0]))
}

func (h *host) bytes(word string) []byte {
	b, err := hex.DecodeString(word)
	if err != nil {
		h.t.Fatalf("ompdhost: %q: %v", word, err)
	}
	return b
}
