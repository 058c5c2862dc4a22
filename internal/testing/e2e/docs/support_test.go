package docs

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// supportFile has the results of the matrices, one row a line. `make matrix` appends to it.
const supportFile = "testdata/support.jsonl"

// supportRows returns the newest result of each part of the matrices, sorted. With -update, the file keeps only these.
func supportRows(t *testing.T) []omptest.SupportRow {
	t.Helper()
	text := readFile(t, supportFile)
	var all []omptest.SupportRow
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var row omptest.SupportRow
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatalf("%s: %v in %s", supportFile, err, lines.Text())
		}
		all = append(all, row)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	rows := omptest.MergeSupport(all)
	slices.SortFunc(rows, func(a, b omptest.SupportRow) int {
		return cmp.Or(slices.Index(runtimeOrder, a.Runtime)-slices.Index(runtimeOrder, b.Runtime), a.Release-b.Release,
			-strings.Compare(a.Arch, b.Arch), strings.Compare(a.Target, b.Target), strings.Compare(a.Test, b.Test),
			strings.Compare(a.Build, b.Build), strings.Compare(a.Date, b.Date))
	})
	if *update {
		var out strings.Builder
		for _, row := range rows {
			line, err := json.Marshal(row)
			if err != nil {
				t.Fatal(err)
			}
			out.Write(append(line, '\n'))
		}
		if err := os.WriteFile(filepath.Join(e2e.Root, supportFile), []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return rows
}

// runtimeOrder has the runtimes in the order of the page.
var runtimeOrder = []string{"libomp", "libgomp", "libgomp.a", "other"}

// runtimeNames are the names of the runtimes on the page.
var runtimeNames = map[string]string{"libomp": "LLVM's libomp", "libgomp": "GNU's libgomp",
	"libgomp.a": "GNU's libgomp in the executable", "other": "another runtime"}

// supportTargets are the columns of the page.
var supportTargets = []string{"core", "core, stripped", "process", "process, stripped", "verdicts"}

// supportPage returns the page of the tested runtimes: the results of the matrices.
func supportPage(t *testing.T) string {
	p := newPage("Tested runtimes", supportFile, "See which runtimes, releases and kinds of targets the tests have "+
		"covered, and when. A cell has the number of programs whose picture was compared with the notes of their own "+
		"threads; for verdicts, the number of programs with and without a problem.")
	p.text("*Stripped* means an executable without symbols; the shared runtimes are those of distributions, which " +
		"are always stripped. A part that failed has the number of failures. *Not run* means that the part exists " +
		"and has no result in this table yet; an empty cell, that there is no such test. `make matrix` runs all " +
		"parts and writes the results.")
	all := supportRows(t)
	p.text(runsOf(all))
	builds := slices.DeleteFunc(slices.Clone(all), func(r omptest.SupportRow) bool { return r.Target != "build" })
	all = slices.DeleteFunc(all, func(r omptest.SupportRow) bool { return r.Target == "build" })
	var rows [][]string
	for i := 0; i < len(all); {
		from, end := all[i], i
		for end < len(all) && all[end].Runtime == from.Runtime && all[end].Release == from.Release &&
			all[end].Arch == from.Arch {
			end++
		}
		row := []string{runtimeNames[from.Runtime], "", from.Arch}
		if from.Release != 0 {
			row[1] = strconv.Itoa(from.Release)
		}
		oldest := "9"
		for _, target := range supportTargets {
			row = append(row, supportCell(all[i:end], target, &oldest))
		}
		row = append(row, strings.TrimPrefix(oldest, "9"))
		rows = append(rows, row)
		i = end
	}
	head := slices.Concat([]string{"runtime", "release", "architecture"}, supportTargets, []string{"oldest result"})
	p.table(head, rows)
	p.text("The row *another runtime* is a runtime of the tests that exports only the functions `omp_get_*`. " +
		"[Findings](../history/findings.md) has results of runs that this table does not count.")
	p.text("## Builds")
	p.text("`TestOddBuilds` looks at a deadlock of two locks, in a process and in its core, and at its healthy twin, " +
		"in builds that are not those of the other tests. *Right* means that names, lines (without -g: names alone), " +
		"stacks, holders and the verdict are right.")
	p.table([]string{"build", "runtime", "pictures", "result", "date"}, buildRows(builds))
	p.text("Not tried: libgomp 7 and 8, and libomp 10, 12 and 20 to 22 (no release of Debian that is in use has " +
		"them), Intel's runtime, AMD's (AOCC) and Cray's.")
	return p.String()
}

// buildRows returns the rows of the table of builds.
func buildRows(rows []omptest.SupportRow) (out [][]string) {
	for _, row := range rows {
		runtime := runtimeNames[row.Runtime]
		if row.Release != 0 {
			runtime += " " + strconv.Itoa(row.Release)
		}
		result := "right"
		switch {
		case row.Cases == 0:
			result = "not run"
		case row.Failed > 0:
			result = fmt.Sprintf("%d wrong", row.Failed)
		}
		out = append(out, []string{row.Build, runtime, strconv.Itoa(row.Cases), result, row.Date})
	}
	return out
}

// runsOf returns the sentence with the days of the runs that the table is from, and the number of parts without one.
func runsOf(rows []omptest.SupportRow) string {
	var days []string
	missing, parts := 0, map[omptest.SupportPart]bool{}
	for _, row := range rows {
		parts[row.SupportPart] = true
		if row.Cases == 0 {
			missing++
		} else if !slices.Contains(days, row.Date) {
			days = append(days, row.Date)
		}
	}
	slices.Sort(days)
	text := "This table is from the runs of " + strings.Join(days, ", ")
	if missing == 0 {
		return text + ", which covered all parts."
	}
	return fmt.Sprintf("%s. They covered %d of %d parts: the other %d are *not run*.", text, len(parts)-missing,
		len(parts), missing)
}

// supportCell returns the results for a kind of target, and lowers oldest to the oldest date of these.
func supportCell(rows []omptest.SupportRow, target string, oldest *string) string {
	cases, failed, notRun, found := 0, 0, 0, false
	for _, row := range rows {
		if row.Target != target {
			continue
		}
		found = true
		cases, failed = cases+row.Cases, failed+row.Failed
		if row.Cases > 0 {
			*oldest = min(*oldest, row.Date)
		} else {
			notRun++
		}
	}
	switch {
	case !found:
		return ""
	case cases == 0:
		return "not run"
	}
	text := strconv.Itoa(cases)
	if failed > 0 {
		text += fmt.Sprintf(", %d failed", failed)
	}
	if notRun > 0 {
		text += fmt.Sprintf(" (%s not run)", phrase.Count(notRun, "part"))
	}
	return text
}
