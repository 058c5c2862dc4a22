package omptest

import (
	"os"
	"path/filepath"
	"testing"
)

// Recorder builds the recorder of the directory recorder and returns the path of libompd-recorder.so: for
// OMP_TOOL_LIBRARIES, or LD_PRELOAD with libgomp.
func Recorder(tb testing.TB) string {
	tb.Helper()
	module := filepath.Dir(filepath.Dir(Programs(tb)))
	inputs := []any{hashFile(tb, filepath.Join(module, "Makefile")), os.Getenv("CFLAGS")} // make reads these
	for _, pattern := range []string{"*.[ch]", "legacy/*.[ch]"} {
		files, _ := filepath.Glob(filepath.Join(module, "recorder", pattern))
		for _, file := range files {
			inputs = append(inputs, filepath.Base(file), hashFile(tb, file))
		}
	}
	dir := cached(tb, "executables", keyOf(inputs...), func(dir string) {
		path := filepath.Join(dir, "libompd-recorder.so")
		command(tb, module, "make", "-s", "libompd-recorder.so", "VERSION=test", "RECORDER="+path)
	})
	path := filepath.Join(dir, "libompd-recorder.so")
	if _, err := os.Stat(path); err != nil {
		tb.Fatalf("make libompd-recorder.so made none: %v", err)
	}
	return path
}
