package server

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestTraceServed shows a record locally and at a server: the output and the written files are the same.
func TestTraceServed(t *testing.T) {
	address := e2e.Serve(t)
	for _, runtime := range []omptest.Runtime{omptest.RuntimeOf(t, 19), omptest.Libgomp(t)} {
		t.Run(runtime.Name, func(t *testing.T) {
			b := omptest.Build{Program: "history"}
			if runtime.Name == omptest.Libgomp(t).Name {
				b.Compiler = omptest.GCC
			}
			dir := t.TempDir()
			file := filepath.Join(dir, "history.recording")
			status, _, errs := e2e.Output(t, "record", "--library", omptest.Recorder(t), "--save", file, "--",
				"env", "LD_LIBRARY_PATH="+runtime.Dir, "sh", "-c", `exec "$0" 0 >/dev/null`, omptest.Compile(t, b))
			if status != 0 || errs != "" {
				t.Fatalf("exit status %d, printed %q", status, errs)
			}
			for _, line := range [][]string{
				{"trace"}, {"trace", "--events", "0"}, {"trace", "--last", "1s"}, {"trace", "--json"},
				{"trace", "--json", "--names", "2013"}, {"trace", "--names", "2016", "--color", "always"},
				{"trace", "--region", "0.2"}, {"trace", "--thread", "1"}, {"trace", "--region", "0.4711"},
				{"trace", "stats"},
				{"trace", "stats", "--json"},
				{"trace", "stats", "--last", "100ms"},
			} {
				wantStatus, want, wantErrs := e2e.Output(t, append(line, file)...)
				status, got, errs := e2e.Output(t, append([]string{"--server", address}, append(line, file)...)...)
				if got != want || status != wantStatus || (errs == "") != (wantErrs == "") {
					t.Errorf("%v: at a server, exit status %d, not %d: %q, not %q\n%s", line, status, wantStatus, errs,
						wantErrs, firstDifference(got, want))
				}
				if len(want) < 100 && wantStatus == 0 || wantStatus != 0 && want != "" {
					t.Errorf("%v prints only %q", line, want)
				}
			}
			servedFiles(t, address, dir, file)
		})
	}
	core := omptest.Dump(t, omptest.Run{
		Exe: omptest.Compile(t, omptest.Build{Program: "barrier"}), Runtime: omptest.RuntimeOf(t, 16),
		Mode: omptest.Kernel,
	}).Core
	_, _, want := e2e.Output(t, "trace", core)
	status, out, errs := e2e.Output(t, "--server", address, "trace", core)
	const says = "no recorder"
	if status != cli.ExitError || out != "" || !strings.Contains(want, says) || !strings.Contains(errs, says) {
		t.Errorf("no recorder: exit status %d: %s%s, here %s", status, out, errs, want)
	}
}

// servedFiles writes a record in each format, locally and at a server, and requires that neither follows it.
func servedFiles(t *testing.T, address, dir, file string) {
	t.Helper()
	status, _, errs := e2e.Output(t, "trace", "--follow", file)
	served, _, says := e2e.Output(t, "--server", address, "trace", "--follow", file)
	if status != cli.ExitUsage || served != cli.ExitError || errs == "" ||
		!strings.Contains(says, "process that can be followed") {
		t.Errorf("--follow: exit status %d and %d: %s%s", status, served, errs, says)
	}
	for _, suffix := range []string{".perfetto-trace", ".json", ".pb.gz", ".jsonl", ".ompt-records"} {
		here, there := filepath.Join(dir, "here"+suffix), filepath.Join(dir, "there"+suffix)
		status1, _, errs1 := e2e.Output(t, "trace", "-o", here, file)
		status2, _, errs2 := e2e.Output(t, "--server", address, "trace", "-o", there, file)
		want, err1 := os.ReadFile(here)
		got, err2 := os.ReadFile(there)
		if status1+status2 != 0 || errs1+errs2 != "" || err1 != nil || err2 != nil || len(got) == 0 ||
			suffix != ".pb.gz" && !bytes.Equal(got, want) { // its order is that of a map
			t.Errorf("%s: %d and %d bytes; exit status %d, %d: %q, %q", suffix, len(want), len(got), status1, status2,
				errs1, errs2)
		}
		if suffix == ".pb.gz" {
			continue
		}
		format := strings.TrimPrefix(suffix, ".")
		status1, out1, errs1 := e2e.Output(t, "trace", "-o", "-", "--format", format, file)
		status2, out2, errs2 := e2e.Output(t, "--server", address, "trace", "-o", "-", "--format", format, file)
		if status1+status2 != 0 || out1 != string(want) || out2 != string(want) {
			t.Errorf("-o - --format %s: %d and %d bytes, want %d; exit status %d, %d: %q, %q", format, len(out1),
				len(out2), len(want), status1, status2, errs1, errs2)
		}
	}
}
