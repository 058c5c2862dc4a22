package recordtest

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestAarch64 builds the recorder for aarch64, with all warnings as errors, and lets
// programs of GNU's runtime run with it in an emulator: they ask for each state and make
// each request of Sun's collector API.
func TestAarch64(t *testing.T) {
	const compiler, emulator, root = "aarch64-linux-gnu-gcc", "qemu-aarch64", "/usr/aarch64-linux-gnu"
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skipf("it needs a compiler for aarch64: %v", err)
	}
	recorder := filepath.Join(t.TempDir(), "libompd-recorder.so")
	compile := exec.Command("make", "-s", "-C", "../..", "libompd-recorder.so", "CC="+compiler, "RECORDER="+recorder)
	if text, err := compile.CombinedOutput(); err != nil || len(text) != 0 {
		t.Fatalf("%v: %v\n%s", compile.Args, err, text)
	}
	if _, err := exec.LookPath(emulator); err != nil {
		t.Skipf("it was built; to run, it needs an emulator: %v", err)
	}
	for source, want := range map[string]string{
		"collector_requests.c": "158 checks, 0 failed\n", "collector_states.c": "0 failed\n",
	} {
		exe := build(t, compiler, source, "-fopenmp", "-DGNU")
		text, err := exec.Command(emulator, "-L", root, "-E", "LD_PRELOAD="+recorder, exe, "gnu").CombinedOutput()
		if err != nil || string(text) != want {
			t.Errorf("%s: %v\n%s", source, err, text)
		}
	}
}
