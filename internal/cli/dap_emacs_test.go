package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// dapeScript attaches with a configuration, waits for the stop, and prints the threads and the stack.
const dapeScript = `(require 'dape)
(setq dape-request-timeout 600)
(remove-hook 'dape-start-hook 'dape-info)
(remove-hook 'dape-start-hook 'dape-repl)
(load (getenv "CONFIGURATIONS"))
(dape (dape--config-eval '%s '(%s)))
(let ((end (+ (float-time) 600)) conn)
  (while (and (< (float-time) end) (not (setq conn (dape--live-connection 'stopped t))))
    (accept-process-output nil 0.05))
  (while (and (< (float-time) end) (not (plist-get (dape--current-thread conn) :stackFrames)))
    (accept-process-output nil 0.05))
  (dolist (thread (dape--threads conn)) (message "THREAD %%s" (plist-get thread :name)))
  (dolist (frame (append (plist-get (dape--current-thread conn) :stackFrames) nil))
    (message "FRAME %%s" (plist-get frame :name))))
`

// TestDape opens a core in Emacs with the configuration of docs/guide/dap.md.
func TestDape(t *testing.T) {
	tool := buildTool(t)
	emacs := omptest.Emacs(t)
	g, err := omptest.UnpackGolden("../../testdata/golden", "llvm-deadlock", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	core, err := filepath.Abs(g.Core)
	if err != nil {
		t.Fatal(err)
	}
	arguments := fmt.Sprintf(":target %q :exe %q :sysroot %q", core, g.Exe, g.Sysroot)
	printed := runDape(t, emacs, []string{filepath.Dir(tool)}, fmt.Sprintf(dapeScript, "ompd", arguments))
	for _, want := range []string{
		"THREAD OMP 0/3 lock_cycle.c:13 · wait_lock second", "THREAD OMP 2/3 ", "FRAME <OMP-lock_wait>",
		"DEADLOCK: threads 0 and 1",
	} {
		if !strings.Contains(printed, want) {
			t.Errorf("Emacs shows no %q:\n%s", want, printed)
		}
	}
}

// runDape runs a script in Emacs, with the configurations of docs/guide/dap.md, and returns its output.
func runDape(t *testing.T, emacs string, path []string, script string) string {
	t.Helper()
	doc, err := os.ReadFile("../../docs/guide/dap.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(doc), "```elisp\n")
	block, _, _ = strings.Cut(block, "```")
	dir := t.TempDir()
	for name, text := range map[string]string{"configurations.el": block, "script.el": script} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(emacs, "-Q", "--batch", "-l", filepath.Join(dir, "script.el"))
	cmd.Env = append(os.Environ(), "CONFIGURATIONS="+filepath.Join(dir, "configurations.el"), "HOME="+dir,
		"PATH="+strings.Join(append(path, os.Getenv("PATH")), ":"), "DEBUGINFOD_URLS=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("Emacs ends with %v", err)
	}
	return string(out)
}
