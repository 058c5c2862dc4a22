package symbolize

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// TestInside distinguishes addresses of this machine and of private networks from others, in each
// notation.
func TestInside(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1": true, "127.9.9.9": true, "::1": true, "::ffff:127.0.0.1": true, "0.0.0.0": true, "::": true,
		"10.0.0.1": true, "172.16.0.1": true, "172.31.255.255": true, "192.168.1.1": true, "::ffff:10.0.0.1": true,
		"fd00::1": true, "169.254.169.254": true, "fe80::1": true, "224.0.0.1": true, "ff02::1": true,
		"100.64.0.1": true, "100.127.255.255": true, "no address": true,
		"172.32.0.1": false, "100.128.0.1": false, "100.63.255.255": false, "93.184.216.34": false,
		"2001:4860::1": false,
	} {
		if got := isInside(net.ParseIP(address)); got != want {
			t.Errorf("%s: inside %v, want %v", address, got, want)
		}
	}
}

// TestDebuginfodBytes has downloads with a sum over the limit, while each is below it.
func TestDebuginfodBytes(t *testing.T) {
	full, stripped, debug := strippedAlone(t)
	cache := t.TempDir()
	url, asked := startServer(t, buildID(t, full), func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, debug)
	})
	s := openWith(t, serverOptions(t, cache, url), loadModule(t, stripped, bias))
	s.finder.servers.bytes = maxDownload - 100 // of what came before
	wantNothing(t, s, full)
	wantWarning(t, s, "over the limit of 100")
	if wantCache(t, cache); asked.Load() != 1 {
		t.Errorf("the server was asked %d times, want once", asked.Load())
	}
}

// TestDebuginfodForgedCache checks that a cached file of another build is not used.
func TestDebuginfodForgedCache(t *testing.T) {
	full, stripped, debug := strippedAlone(t)
	id, cache := buildID(t, full), t.TempDir()
	other, err := os.ReadFile(compileProgram(t, "-DOTHER", "-O2"))
	if err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(cache, id, "debuginfo")
	if err := os.MkdirAll(filepath.Dir(kept), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(kept, other, 0o600); err != nil {
		t.Fatal(err)
	}
	url, asked := startServer(t, id, func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, debug) })
	s := openWith(t, serverOptions(t, cache, url), loadModule(t, stripped, bias))
	sameFrames(t, full, s, openSymbolizer(t, full))
	if asked.Load() != 1 {
		t.Errorf("the server was asked %d times, want once: what the cache had is of another build", asked.Load())
	}
}
