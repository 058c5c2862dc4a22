package fronts

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestViewPageOfCore writes the page of a core, in a process that has dropped its other rights. The page contains
// the lines of the sources. The tool overwrites its own page, but not a file that it did not write.
func TestViewPageOfCore(t *testing.T) {
	bin, core := e2e.BuildTool(t), e2e.DumpProgram(t, "lock_cycle").Core
	dir := t.TempDir()
	page, foreign := filepath.Join(dir, "page.html"), filepath.Join(dir, "foreign.html")
	if err := os.WriteFile(foreign, []byte("<!DOCTYPE html>"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if out, err := exec.Command(bin, "report", core, "--html", page).CombinedOutput(); err != nil || len(out) != 0 {
			t.Fatalf("%v: %s", err, out)
		}
	}
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"DEADLOCK", `class="arrow cyclic"`, "waits here for lock second", "omp_set_lock(&amp;second)",
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("no %q in the page", want)
		}
	}
	out, err := exec.Command(bin, "report", core, "--html", foreign).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "--force") {
		t.Errorf("a file of others: %v: %s", err, out)
	}
}

// TestView shows a process in a browser: each page is a look, and the process continues; after its end, the page
// reports the end.
func TestView(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "lock_cycle"})
	p := omptest.Start(t, omptest.Run{Exe: exe, Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Live})
	defer p.Stop()
	view := exec.Command(e2e.BuildTool(t), "view", "--no-browser", strconv.Itoa(p.PID))
	view.Stderr = os.Stderr
	said, err := view.StdoutPipe()
	if err := errors.Join(err, view.Start()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(view.Process.Signal(syscall.SIGTERM), view.Wait()); err != nil {
			t.Errorf("view: %v", err)
		}
	}()
	address, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	address, browser := strings.TrimSpace(address), &http.Client{Jar: jar}
	get := func(address string) (int, string) {
		answer, err := browser.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		b, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(b)
	}
	if status, page := get(address); status != http.StatusOK || !strings.Contains(page, `data-refresh="5"`) {
		t.Fatalf("status %d: %s", status, page)
	}
	if status, page := get(address); status != http.StatusForbidden {
		t.Errorf("the address again: status %d: %s", status, page)
	}
	p.Stop()
	base, _, _ := strings.Cut(address, "?")
	status, page := get(base)
	for status == http.StatusOK { // the page is older than the end
		status, page = get(base)
	}
	if status != http.StatusBadGateway || !strings.Contains(page, strconv.Itoa(p.PID)) {
		t.Errorf("after its end: status %d: %s", status, page)
	}
}
