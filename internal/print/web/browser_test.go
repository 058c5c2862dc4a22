package web_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/print/web"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// browserFor returns the browser for tests.
func browserFor(t *testing.T) string {
	t.Helper()
	browser := omptest.Option("browser")
	if browser == "" {
		t.Skip("no browser: go run ./internal/testing/campaign editors -browser PROGRAM")
	}
	return browser
}

// browserFlags make a browser run without a screen and without the network.
func browserFlags(t *testing.T) []string {
	t.Helper()
	return []string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
		"--user-data-dir=" + t.TempDir(),
	}
}

// browse opens a page in a headless browser. It returns the page as its script changed it, and the browser's
// messages.
func browse(t *testing.T, page string, flags ...string) (dom, said string) {
	t.Helper()
	browser := browserFor(t)
	args := append(browserFlags(t), "--enable-logging=stderr")
	cmd := exec.CommandContext(t.Context(), browser, append(append(args, flags...), "file://"+page)...)
	var out, msg strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &msg
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, msg.String())
	}
	return out.String(), msg.String()
}

// TestBrowser runs the page's script in a browser, and checks that the page's policy blocks no part of it.
// Screenshots are kept in the directory of the option keep.
func TestBrowser(t *testing.T) {
	keep := omptest.KeepDir(t)
	if keep == "" {
		keep = t.TempDir()
	}
	pages := map[string]*picture.Picture{
		"large":    timed(large(1024, 100000), 16),
		"recorded": timed(golden(t, "gnu-deadlock"), 30),
	}
	for _, name := range []string{
		"llvm-deadlock", "llvm-crash", "llvm-nested", "llvm-tasks-deps", "gnu-deadlock-join", "llvm-healthy",
	} {
		pages[name] = golden(t, name)
	}
	for name, pic := range pages {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(keep, name+".html")
			page := draw(t, pic, web.Options{})
			if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
				t.Fatal(err)
			}
			dom, said := browse(t, file, "--dump-dom")
			if !strings.Contains(dom, `<span class="tools" id="tools">`) {
				t.Error("the script did not run")
			}
			if strings.Contains(said, "CONSOLE") || strings.Contains(said, "Refused") {
				t.Errorf("the browser says: %s", said)
			}
			tags := regexp.MustCompile(`<(article|section|rect|tr|li)\b`)
			if got, want := len(tags.FindAllString(dom, -1)), len(tags.FindAllString(page, -1)); got != want {
				t.Errorf("%d elements became %d", want, got)
			}
			for _, theme := range []string{"1", "0"} { // light, dark
				shot := filepath.Join(keep, name+"-"+theme+".png")
				colors := "--blink-settings=preferredColorScheme=" + theme
				browse(t, file, "--screenshot="+shot, "--window-size=1200,1600", colors)
				if info, err := os.Stat(shot); err != nil || info.Size() < 20000 {
					t.Errorf("no screenshot: %v", err)
				}
			}
		})
	}
}
