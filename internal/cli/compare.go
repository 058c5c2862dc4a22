package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/front/compare"
	"github.com/ompd-inspect/ompd-inspect/internal/print/report"
)

// compareHelper is the file name of the program that loads another OMPD library. It is in the same places as the
// recorder.
const compareHelper = "ompd-compare"

// findCompareHelper returns the path of compareHelper.
func findCompareHelper() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	for _, dir := range recorderPlaces {
		path := filepath.Join(filepath.Dir(self), dir, compareHelper)
		if _, err = os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("--compare needs the program %s, which `make install` installs (in a clone: `make %s`): %w",
		compareHelper, compareHelper, err)
}

// compare compares the answers of the OMPD library at path about a target with our own.
func (a *app) compare(name, path string) (err error) {
	form, err := a.format()
	switch {
	case err != nil:
		return err
	case a.remote():
		return usageError{errors.New("--compare: it works on this machine only, not on a server")}
	case form != report.Text && form != report.JSON:
		return usageError{errors.New("--compare: it prints text or, with --json, JSON")}
	}
	program, err := findCompareHelper()
	if err != nil {
		return err
	}
	helper, err := compare.Start(program, path) // the sandbox forbids it later
	if err != nil {
		return err
	}
	defer helper.Close()
	if err := a.enterSandbox(name); err != nil {
		return err
	}
	t, err := a.openTarget(a.context(), name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	var got *compare.Comparison
	var failed error
	err = t.Read(a.context(), func(target callbacks.Target) error {
		got, failed = helper.Compare(target)
		return failed
	})
	if failed != nil {
		return failed
	}
	if err != nil {
		return err
	}
	if form == report.JSON {
		return report.WriteJSON(a.Stdout, got)
	}
	return printComparison(a.Stdout, got, a.all)
}

// printComparison prints a comparison. Equal answers are counted, or with all printed too.
func printComparison(w io.Writer, c *compare.Comparison, all bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "library %s\n", c.Library)
	if c.Version != "" {
		fmt.Fprintf(&b, "        %s\n", c.Version)
	}
	fmt.Fprintf(&b, "runtime %s\n%d facts are the same, %d differ; %d have only our answer, %d only the library's\n"+
		"This is a check of two readers: no verdict rests on it, and equal answers do not prove that both are right.\n",
		c.Runtime, c.Count(compare.Same), c.Count(compare.Differs), c.Count(compare.OnlyOurs),
		c.Count(compare.OnlyTheirs))
	shown := slices.DeleteFunc(slices.Clone(c.Facts), func(f compare.Fact) bool {
		return f.Result == compare.Same && !all
	})
	if len(shown) > 0 {
		table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprint(table, "\nFACT\tRESULT\tOURS\tLIBRARY'S\n")
		for _, f := range shown {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", f.Name, f.Result, f.Ours, f.Theirs)
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
