package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// event is one line of go test -json (go doc test2json).
type event struct {
	Time       time.Time
	Action     string
	Package    string
	ImportPath string // of a build
	Test       string
	Elapsed    float64 // seconds
	Output     string
}

// taken is the time that a package or a test took.
type taken struct {
	name    string
	seconds float64
}

// results are the results of go test so far.
type results struct {
	out      io.Writer
	output   map[string][]string  // of each test and package that has not ended, by its name
	running  map[string]time.Time // start time of each
	passed   int
	skipped  int
	failed   []string
	broken   map[string]bool // packages with a failed test, subtests not counted
	packages []taken
	tests    []taken
	passedTo string // file to which the names of packages that did not fail are appended; may be empty
}

func newResults(out io.Writer) *results {
	return &results{out: out, output: map[string][]string{}, running: map[string]time.Time{}, broken: map[string]bool{}}
}

// splitLines sends the lines of a stream, and closes the channel at its end.
func splitLines(in io.Reader, lines chan<- string) error {
	defer close(lines)
	r := bufio.NewReader(in)
	for {
		line, err := r.ReadString('\n')
		if line != "" {
			lines <- line
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// add adds one line of go test, and reports whether it is the result of a test or a package.
func (r *results) add(line string) bool {
	var e event
	if err := json.Unmarshal([]byte(line), &e); err != nil {
		fmt.Fprint(r.out, line) // of go test itself
		return false
	}
	name := e.Package + " " + e.Test
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "output":
		r.output[name] = append(r.output[name], e.Output)
	case "run":
		r.running[name] = e.Time
	case "pass", "fail", "skip":
		r.end(e, name)
		return true
	}
	return false
}

// end adds the result of a test or a package.
func (r *results) end(e event, name string) {
	output := r.output[name]
	delete(r.output, name)
	delete(r.running, name)
	failed := e.Action == "fail"
	switch {
	case e.Test == "":
		r.endPackage(e, output)
	case failed:
		for _, line := range output {
			fmt.Fprint(r.out, line)
		}
	}
	top := e.Test != "" && !strings.Contains(e.Test, "/")
	if !top {
		return
	}
	r.tests = append(r.tests, taken{name, e.Elapsed})
	switch {
	case failed:
		r.broken[e.Package] = true
		r.failed = append(r.failed, name)
	case e.Action == "skip":
		r.skipped++
	default:
		r.passed++
	}
}

// endPackage adds the result of a package. It may fail without a failure of a test: if it
// does not build, or ends before its tests do.
func (r *results) endPackage(e event, output []string) {
	word := map[string]string{"pass": "ok  ", "fail": "FAIL", "skip": "?   "}[e.Action]
	if e.Action == "fail" && !r.broken[e.Package] {
		for _, test := range slices.Sorted(maps.Keys(r.running)) {
			if strings.HasPrefix(test, e.Package+" ") {
				fmt.Fprintf(r.out, "%s did not end\n", test)
				for _, line := range r.output[test] {
					fmt.Fprint(r.out, line)
				}
				delete(r.running, test)
				delete(r.output, test)
			}
		}
		for _, line := range output {
			fmt.Fprint(r.out, line)
		}
		r.failed = append(r.failed, e.Package)
	}
	if e.Action != "fail" && r.passedTo != "" {
		if err := appendLine(r.passedTo, e.Package+"\n"); err != nil {
			fmt.Fprintln(r.out, "testrun:", err)
		}
	}
	if e.Action != "skip" { // it has tests
		fmt.Fprintf(r.out, "%s\t%s\t%.1fs\n", word, e.Package, e.Elapsed)
		r.packages = append(r.packages, taken{e.Package, e.Elapsed})
	}
}

// printRunning prints the tests that run, with the time since they started.
func (r *results) printRunning(now time.Time) {
	for _, name := range slices.Sorted(maps.Keys(r.running)) {
		fmt.Fprintf(r.out, "running for %v: %s\n", now.Sub(r.running[name]).Round(time.Second), name)
	}
}

// shown is the number of packages, and of tests, with printed times.
const shown = 15

// finish prints the times and the sum. A run without any result has failed.
func (r *results) finish(err error) (passed, failed int) {
	r.printLongest("package", r.packages)
	r.printLongest("test", r.tests)
	if err == nil && len(r.packages) == 0 {
		r.failed = append(r.failed, "go test: no test ran")
	}
	for _, name := range r.failed {
		fmt.Fprintln(r.out, "FAILED:", name)
	}
	if r.skipped > 0 {
		fmt.Fprintln(r.out, r.skipped, "skipped")
	}
	fmt.Fprintf(r.out, "%d passed, %d failed\n", r.passed, len(r.failed))
	return r.passed, len(r.failed)
}

// printLongest prints the longest packages or tests.
func (r *results) printLongest(kind string, list []taken) {
	slices.SortStableFunc(list, func(a, b taken) int { return int(1000 * (b.seconds - a.seconds)) })
	fmt.Fprintln(r.out, "seconds", kind)
	for _, t := range list[:min(shown, len(list))] {
		fmt.Fprintf(r.out, "%7.1f %s\n", t.seconds, t.name)
	}
}
