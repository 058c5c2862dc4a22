package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/print/report"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// errFound is the error of a run that found a verdict; the verdict is already printed.
var errFound = errors.New("a verdict was found")

// Values of --fail-on that are not names of kinds.
const (
	failOnHang    = "hang"  // every verdict of a hang
	failOnCrash   = "crash" // every verdict of a crash; also the name of a kind
	failOnNothing = "none"
)

// diagnoseVerb returns the verb diagnose, which prints only the verdicts. Its exit status is ExitFound or
// ExitCrash if there is one.
func (a *app) diagnoseVerb() *cobra.Command {
	var failOn []string
	cmd := &cobra.Command{
		Use: "diagnose CORE|PID|PICTURE.json", Short: "Show only the verdicts: deadlocks, missing threads at a " +
			"barrier, the cause of a crash",
	}
	cmd.Long = `Prints only the verdicts: the cause of a hang or a crash, with the evidence.
docs/verdicts explains each kind. A picture that "ompd-inspect report --json" saved
in a file *.json is diagnosed again, by the rules of this version.

Exit status: 0 nothing found, 3 a hang or another verdict of the kinds of --fail-on was
found (with certainty certain or likely), 4 a crash and no hang, 1 the target could not be
read, or too little of it to exclude a hang, 2 wrong usage. A signal that ended the program,
such as that of abort, is a crash.`
	cmd.Flags().StringSliceVar(&failOn, "fail-on", []string{failOnHang, failOnCrash},
		"exit with status 3, or 4 for a crash, on verdicts of these kinds: hang (all verdicts of a hang), crash (all "+
			"of a crash), "+strings.Join(diagnose.Names(), ", ")+", or none")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		for _, k := range failOn {
			if k != failOnHang && k != failOnNothing && !slices.Contains(diagnose.Names(), k) {
				return usageError{fmt.Errorf("--fail-on %q: it must be hang, none, or one of %s", k,
					strings.Join(diagnose.Names(), ", "))}
			}
		}
		// Without the threads, a missing verdict proves no health.
		question := engine.Query{Parts: picture.Parts{Threads: true}, Verdicts: true}
		return a.askPicture(args[0], question, func(pic *picture.Picture) error {
			if !a.quiet || a.toFile() {
				if err := a.print(pic, report.Verdicts); err != nil {
					return err
				}
			}
			return judge(pic, failOn)
		})
	}
	a.setView(cmd.Name(), report.Verdicts)
	return a.targeted(cmd)
}

// judge returns the error with the exit status for a picture with a verdict that --fail-on names. It returns
// another error if too little could be read to exclude a hang, unless --fail-on names only a crash that was found.
func judge(pic *picture.Picture, failOn []string) error {
	found := slices.Clone(pic.Verdicts)
	found = slices.DeleteFunc(found, func(v picture.Verdict) bool { return !fails(v, failOn) })
	switch {
	case slices.ContainsFunc(found, func(v picture.Verdict) bool { return !diagnose.Crashes(v) }):
		return errFound
	case len(pic.Target.Hung) > 0 && slices.Contains(failOn, failOnHang):
		return errFound
	case pic.Undecided() != "" && (len(found) == 0 || slices.Contains(failOn, failOnHang)):
		return fmt.Errorf("not known whether it hangs: %s (`ompd-inspect doctor` shows the missing parts)",
			pic.Undecided())
	case len(found) > 0:
		return statusError(ExitCrash)
	}
	return nil
}

// fails reports whether --fail-on names the verdict v.
func fails(v picture.Verdict, failOn []string) bool {
	return slices.Contains(failOn, failOnHang) && diagnose.Hangs(v) ||
		slices.Contains(failOn, failOnCrash) && diagnose.Crashes(v) ||
		slices.Contains(failOn, string(v.Kind)) && v.Certainty != picture.Possible
}
