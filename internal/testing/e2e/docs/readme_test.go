package docs

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// readmeRow matches a row of the matrix in README.md: runtime, and tested releases.
var readmeRow = regexp.MustCompile(`(?m)^\| (LLVM's|GNU's|another) ([^|]*) \| ([^|]*) \|`)

// TestReadmeMatrix requires a result for each release in the matrix of README.md.
func TestReadmeMatrix(t *testing.T) {
	_, matrix, _ := strings.Cut(readFile(t, "README.md"), "\n## What is read\n")
	tested := map[string]bool{}
	for _, row := range supportRows(t) {
		if row.Cases > row.Failed && row.Arch == "x86-64" {
			tested[fmt.Sprint(row.Runtime, " ", row.Release)] = true
		}
	}
	listed := 0
	for _, m := range readmeRow.FindAllStringSubmatch(matrix, -1) {
		runtime := map[string]string{"LLVM's": "libomp", "GNU's": "libgomp", "another": "other"}[m[1]]
		if strings.Contains(m[2], "linked into") {
			runtime += ".a"
		}
		releases := expand(m[3])
		if runtime == "other" {
			releases = []int{0}
		}
		for _, release := range releases {
			listed++
			if name := fmt.Sprint(runtime, " ", release); !tested[name] {
				t.Errorf("README.md lists %s, and %s has no passed case of it", name, supportFile)
			}
		}
	}
	const least = 15
	if listed < least {
		t.Errorf("%d releases in the matrix of README.md, want at least %d", listed, least)
	}
}

// expand returns the releases of a cell of README.md, such as "9, 11, 13 to 19, 23 of Debian".
func expand(cell string) (releases []int) {
	cell, _, _ = strings.Cut(cell, "(")
	for _, m := range regexp.MustCompile(`(\d+)(?: to (\d+))?`).FindAllStringSubmatch(cell, -1) {
		first, _ := strconv.Atoi(m[1])
		last, err := strconv.Atoi(m[2])
		if err != nil {
			last = first
		}
		for ; first <= last; first++ {
			releases = append(releases, first)
		}
	}
	return releases
}
