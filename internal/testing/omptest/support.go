package omptest

import (
	"cmp"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

// SupportRow is the result of one part of a matrix: docs/reference/support.md is made of these.
type SupportRow struct {
	Runtime string `json:"runtime"` // libomp, libgomp, libgomp.a, other
	Release int    `json:"release,omitempty"`
	Arch    string `json:"arch"`            // default: x86-64
	Target  string `json:"target"`          // core, process, verdicts; ", stripped": without symbols
	Build   string `json:"build"`           // variant or lane of the test
	Test    string `json:"test"`            // set by RecordSupport
	Cases   int    `json:"cases,omitempty"` // 0: not run
	Failed  int    `json:"failed,omitempty"`
	Date    string `json:"date,omitempty"` // 2006-01-02
}

// SupportFile returns the file to which results of matrices are appended ($OMPD_SUPPORT), or "".
func SupportFile() string { return os.Getenv("OMPD_SUPPORT") }

// RecordSupport appends a row to SupportFile when a test and its cases are over. Each case defers the returned
// function.
func RecordSupport(t *testing.T, row SupportRow) (count func(*testing.T)) {
	t.Helper()
	path := SupportFile()
	t.Cleanup(func() {
		if path == "" || row.Cases == 0 {
			return
		}
		row.Arch = cmp.Or(row.Arch, "x86-64")
		row.Test, _, _ = strings.Cut(t.Name(), "/")
		row.Date = time.Now().UTC().Format(time.DateOnly)
		line, err := json.Marshal(row)
		must(t, err)
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		must(t, err)
		defer f.Close()
		_, err = f.Write(append(line, '\n')) // one write, as other processes append too
		must(t, err)
	})
	return func(c *testing.T) {
		switch {
		case c.Failed():
			row.Cases, row.Failed = row.Cases+1, row.Failed+1
		case !c.Skipped():
			row.Cases++
		}
	}
}
