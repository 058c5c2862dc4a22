package omptest

import (
	"cmp"
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// SupportPart names a part of a matrix.
type SupportPart struct {
	Runtime string `json:"runtime"` // libomp, libgomp, libgomp.a, other
	Release int    `json:"release,omitempty"`
	Arch    string `json:"arch"`   // default: x86-64
	Target  string `json:"target"` // core, process, verdicts; ", stripped": without symbols
	Build   string `json:"build"`  // variant or lane of the test
	Test    string `json:"test"`   // set by RecordSupport
}

// SupportRow is the result of one part of a matrix: docs/reference/support.md is made of these.
type SupportRow struct {
	SupportPart
	SupportCount
	Date string `json:"date,omitempty"` // 2006-01-02
	// Programs are the counts of each program, of a part that may run with a choice of programs.
	Programs map[string]SupportCount `json:"programs,omitempty"`
}

// SupportCount counts cases.
type SupportCount struct {
	Cases  int `json:"cases,omitempty"` // 0: not run
	Failed int `json:"failed,omitempty"`
}

func (c *SupportCount) add(o SupportCount) { c.Cases, c.Failed = c.Cases+o.Cases, c.Failed+o.Failed }

// SupportFile returns the file to which results of matrices are appended ($OMPD_SUPPORT), or "".
func SupportFile() string { return os.Getenv("OMPD_SUPPORT") }

// RecordSupport appends a row to SupportFile when a test and its cases are over. Each case defers the returned
// function.
func RecordSupport(t *testing.T, part SupportPart) (count func(*testing.T)) {
	t.Helper()
	byProgram := RecordPrograms(t, part)
	return func(c *testing.T) { byProgram(c, "") }
}

// RecordPrograms is RecordSupport for a part that may run with a choice of programs: a later run replaces the results
// of its programs only. All cases of a program must be counted.
func RecordPrograms(t *testing.T, part SupportPart) (count func(c *testing.T, program string)) {
	t.Helper()
	path := SupportFile()
	row := SupportRow{SupportPart: part, Programs: map[string]SupportCount{}}
	t.Cleanup(func() {
		if path == "" || len(row.Programs) == 0 {
			return
		}
		row.Arch = cmp.Or(row.Arch, "x86-64")
		row.Test, _, _ = strings.Cut(t.Name(), "/")
		row.Date = time.Now().UTC().Format(time.DateOnly)
		row.Sum()
		line, err := json.Marshal(row)
		must(t, err)
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		must(t, err)
		defer f.Close()
		_, err = f.Write(append(line, '\n')) // one write, as other processes append too
		must(t, err)
	})
	var mu sync.Mutex // cases may run in parallel
	return func(c *testing.T, program string) {
		mu.Lock()
		defer mu.Unlock()
		n := row.Programs[program]
		switch {
		case c.Failed():
			n.add(SupportCount{1, 1})
		case c.Skipped():
			return
		default:
			n.add(SupportCount{1, 0})
		}
		row.Programs[program] = n
	}
}

// Sum sets the counts of a row to those of all its programs. A row with counts of no program alone has no programs.
func (r *SupportRow) Sum() {
	r.SupportCount = SupportCount{}
	for _, n := range r.Programs {
		r.add(n)
	}
	if _, all := r.Programs[""]; all {
		r.Programs = nil
	}
}

// MergeSupport returns the newest results of each part of the matrices, and of each program if a part has them: such a
// part has a row for each day. A result without programs holds until as many cases have results with them.
func MergeSupport(rows []SupportRow) (merged []SupportRow) {
	type result struct {
		SupportCount
		date string
	}
	parts := map[SupportPart]map[string]result{}
	for _, row := range rows {
		known := parts[row.SupportPart]
		if known == nil {
			known = map[string]result{}
			parts[row.SupportPart] = known
		}
		programs := row.Programs
		if len(programs) == 0 {
			programs = map[string]SupportCount{"": row.SupportCount}
		}
		for program, n := range programs {
			if row.Date >= known[program].date {
				known[program] = result{n, row.Date}
			}
		}
	}
	for part, known := range parts {
		whole, named := known[""], SupportCount{}
		delete(known, "")
		days := map[string]*SupportRow{}
		for program, r := range known {
			named.add(r.SupportCount)
			if days[r.date] == nil {
				days[r.date] = &SupportRow{SupportPart: part, Date: r.date, Programs: map[string]SupportCount{}}
			}
			days[r.date].Programs[program] = r.SupportCount
		}
		if len(known) == 0 || whole.Cases > named.Cases {
			merged = append(merged, SupportRow{SupportPart: part, SupportCount: whole.SupportCount, Date: whole.date})
			continue
		}
		for _, row := range days {
			row.Sum()
			merged = append(merged, *row)
		}
	}
	return merged
}
