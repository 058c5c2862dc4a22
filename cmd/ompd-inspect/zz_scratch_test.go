package main

import (
	"os"
	"testing"
)

func BenchmarkScratch(b *testing.B) {
	null, _ := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	b.ReportAllocs()
	for b.Loop() {
		if run([]string{os.Getenv("SCRATCH_PID")}, null, os.Stderr) != exitOK {
			b.Fatal("no report")
		}
	}
}
