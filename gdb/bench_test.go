package gdb_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// BenchmarkThreads compares `omp threads` on a program of 200 threads with LLVM's plugin, which works on the
// stripped runtime through the symbol file of ompd-inspect symbols, and with gdb's own info threads. Each run
// starts without cached facts about the program; first includes the start of ompd-inspect, kept is a second call
// at one stop.
func BenchmarkThreads(b *testing.B) {
	const threads = 200
	rt := omptest.RuntimeOf(b, 16)
	library := filepath.Dir(omptest.UnstrippedOMPD(b, 16))
	plugin := filepath.Join(filepath.Dir(library), "share/gdb/python/ompd/__init__.py")
	symbols := b.TempDir()
	if out, err := exec.Command(tool, "symbols", rt.Lib, "-o", symbols).CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	r := omptest.Run{
		Exe: omptest.Compile(b, omptest.Build{Program: "many"}), Runtime: rt, Args: []string{strconv.Itoa(threads)},
		Mode: omptest.Live, Env: []string{"OMP_DEBUG=enabled"},
	}
	p := omptest.Start(b, r)
	b.Setenv("LD_LIBRARY_PATH", library+":"+rt.Dir+":"+os.Getenv("LD_LIBRARY_PATH"))
	sums := map[string]float64{}
	for b.Loop() {
		text := script(b, []string{"-iex", "set debug-file-directory " + symbols, "-iex", "set auto-load safe-path /",
			"-p", strconv.Itoa(p.PID)},
			"source "+plugin, "source testdata/bench.py", "detach")
		_, line, ok := strings.Cut(text, "\nBENCH ")
		if !ok {
			b.Fatalf("gdb ended early:\n%s", text)
		}
		line, _, _ = strings.Cut(line, "\n")
		got := map[string]any{}
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			b.Fatal(err)
		}
		if got["ourlines"].(float64) < threads || got["pluginlines"].(float64) < threads {
			b.Fatalf("not all threads are listed: %s", line)
		}
		for unit, key := range map[string]string{
			"ms/first": "first", "ms/omp-threads": "ours", "ms/kept": "kept", "ms/llvm-plugin": "plugin",
			"ms/info-threads": "info",
			"trips/report":    "trips", "requests/report": "requests", "KiB/report": "kib",
		} {
			sums[unit] += got[key].(float64)
		}
	}
	for unit, sum := range sums {
		b.ReportMetric(sum/float64(b.N), unit)
	}
}
